"""Bone names of known tools, and their roles."""
