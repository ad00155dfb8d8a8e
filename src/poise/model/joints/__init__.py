"""Joints: their kinds, ranges and kernel primitives."""
