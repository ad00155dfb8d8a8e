"""Paths of arms: branch selection along waypoints."""
