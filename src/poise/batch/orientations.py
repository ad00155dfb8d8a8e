"""The orientations of a map: directions spread evenly over the sphere, and rotations about each."""

from math import pi
from typing import Any

import numpy as np

from poise.arguments import check_whole, is_whole
from poise.arrays import Floats
from poise.batch.solution import copy_to_host
from poise.errors import InvalidValue, ShapeMismatch
from poise.spatial.arrays import read_reals
from poise.spatial.directions import spread_directions

__all__ = ["MOST_DIRECTIONS", "orient", "read_directions"]

MOST_DIRECTIONS = 1 << 20


def orient(directions: Floats, turns: int, axis: Floats) -> Floats:
    """Return rotations (directions x turns, 3, 3) that align the axis with each direction, with turns about it."""
    if not len(directions):
        return np.zeros((0, 3, 3))
    own, there = complete_axes(axis[None])[0], complete_axes(directions)
    angles = 2.0 * pi * np.arange(turns) / turns
    about = np.zeros((turns, 3, 3))
    about[:, 0, 0] = about[:, 1, 1] = np.cos(angles)
    about[:, 1, 0], about[:, 0, 1], about[:, 2, 2] = np.sin(angles), -np.sin(angles), 1.0
    R: Floats = there[:, None] @ about @ own.T
    return R.reshape(-1, 3, 3)


def complete_axes(z: Floats) -> Floats:
    """Return rotations (n, 3, 3) whose third column is a unit vector (n, 3): Duff et al., JCGT 6(1), 2017."""
    sign = np.where(z[:, 2] < 0.0, -1.0, 1.0)
    a = -1.0 / (sign + z[:, 2])
    b = z[:, 0] * z[:, 1] * a
    x = np.stack([1.0 + sign * z[:, 0] ** 2 * a, sign * b, -sign * z[:, 0]], axis=1)
    y = np.stack([b, sign + z[:, 1] ** 2 * a, -z[:, 1]], axis=1)
    return np.stack([x, y, z], axis=2)


def read_directions(given: Any) -> Floats:
    """Return unit directions, or raise InvalidValue."""
    if is_whole(given):
        return spread_directions(check_whole(given, "directions", 0, MOST_DIRECTIONS))
    rows = np.atleast_2d(read_reals(copy_to_host(given), "directions"))
    if rows.ndim != 2 or rows.shape[1] != 3:
        raise ShapeMismatch(f"directions has shape {rows.shape}; it must be a number, or directions (n, 3).")
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    if not np.isfinite(rows).all() or not (lengths > 0.0).all():
        raise InvalidValue("directions has a row that is not a direction: zero, or not finite.")
    return np.asarray(rows / lengths)
