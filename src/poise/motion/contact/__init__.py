"""Contacts with the ground: detection in clips and streams, footholds, soles."""
