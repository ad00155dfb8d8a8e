"""Reflections in a plane, as 4x4 matrices."""

import numpy as np

from poise.arrays import Floats

__all__ = ["find_foot", "find_normal", "make_reflection", "round_whole"]


def make_reflection(normal: Floats, point: Floats) -> Floats:
    """Return the reflection in a plane, (4, 4)."""
    out = np.eye(4)
    out[:3, :3] -= 2.0 * np.outer(normal, normal)
    out[:3, 3] = 2.0 * float(normal @ point) * normal
    return out


def find_normal(plane: Floats) -> Floats:
    """Return the normal of a reflection's plane."""
    outer = 0.5 * (np.eye(3) - plane[:3, :3])
    column = outer[:, int(np.argmax(np.diag(outer)))]
    out: Floats = column / np.linalg.norm(column)
    return out


def find_foot(plane: Floats) -> Floats:
    """Return the point of a reflection's plane closest to the origin."""
    out: Floats = 0.5 * plane[:3, 3]
    return out


def round_whole(S: Floats) -> Floats:
    """Return S with entries close to -1, 0 or 1 rounded, so that images of images are exact."""
    whole = np.round(S)
    return np.where(np.abs(S - whole) < 1e-12, whole, S)
