"""Bone names of known tools and the roles they play."""
