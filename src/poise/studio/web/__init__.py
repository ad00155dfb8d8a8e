"""The studio's web server: gate, connections, uploads, background tasks."""
