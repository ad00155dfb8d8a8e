"""Paths of arms: which branch to take at each waypoint."""
