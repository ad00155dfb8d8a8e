"""Checks of the arguments: shapes, finite numbers, rotations and unit axes, with errors that name the argument."""

import math
from typing import Any

import numpy as np

from poise.arrays import Floats
from poise.errors import InvalidValue, ShapeMismatch

__all__ = ["read_array", "read_axis", "read_bounds", "read_positive", "read_rotation", "read_transform"]

IDENTITY = np.eye(3)
ROUNDING = 1e-6  # largest deviation from a rotation, or of the length of an axis from 1


def read_array(values: Any, what: str, *shape: int | None) -> Floats:
    """Return finite float64 numbers of a shape, in which None is any length.

    Raises:
        ShapeMismatch: the shape is another one, or `values` are not numbers.
        InvalidValue: a number is not finite.
    """
    array = read_shape(values, what, *shape)
    if not math.isfinite(np.vdot(array, array)) and not np.isfinite(array).all():  # the first test is the faster one
        raise InvalidValue(f"{what} holds a number that is not finite.")
    return array


def read_shape(values: Any, what: str, *shape: int | None) -> Floats:
    """Return float64 numbers of a shape, which may be infinite or NaN."""
    try:
        array = np.asarray(values, dtype=float)
    except (TypeError, ValueError):
        raise ShapeMismatch(f"{what} is {values!r}; give numbers of shape {_write_shape(shape)}.") from None
    if array.shape == shape:
        return array
    if array.ndim != len(shape) or any(size not in (None, n) for size, n in zip(shape, array.shape, strict=True)):
        raise ShapeMismatch(f"{what} has shape {array.shape}; it must be {_write_shape(shape)}.")
    return array


def _write_shape(shape: tuple[int | None, ...]) -> str:
    return f"({', '.join('n' if size is None else str(size) for size in shape)}{',' * (len(shape) == 1)})"


def read_axis(values: Any, what: str) -> Floats:
    """Return a unit vector (3,)."""
    axis = read_array(values, what, 3)
    if abs(float(axis @ axis) - 1.0) > 2.0 * ROUNDING:
        raise InvalidValue(f"{what} has length {np.linalg.norm(axis):.6g}; it must be 1. Divide it by its length.")
    return axis


def read_rotation(values: Any, what: str) -> Floats:
    """Return a rotation matrix (3, 3)."""
    rotation = read_array(values, what, 3, 3)
    off = rotation.T @ rotation - IDENTITY
    if np.vdot(off, off) > ROUNDING**2 or np.linalg.det(rotation) < 0.0:
        raise InvalidValue(f"{what} is not a rotation: its columns must be orthogonal, of length 1, and right-handed.")
    return rotation


def read_transform(values: Any, what: str) -> Floats:
    """Return a rigid transform (4, 4)."""
    transform = read_array(values, what, 4, 4)
    read_rotation(transform[:3, :3], f"the rotation of {what}")
    if transform[3].tolist() != [0.0, 0.0, 0.0, 1.0]:
        raise InvalidValue(f"{what} has the last row {transform[3].tolist()}; it must be 0, 0, 0, 1.")
    return transform


def read_positive(value: Any, what: str) -> float:
    """Return a finite number above zero."""
    number = float(read_array(value, what))
    if not number > 0.0:
        raise InvalidValue(f"{what} is {number:g}; it must be positive.")
    return number


def read_bounds(lower: Any, upper: Any, count: int | None) -> tuple[Floats, Floats]:
    """Return the ends of the ranges of joints, which may be infinite."""
    low = read_shape(lower, "lower", count)
    high = read_shape(upper, "upper", len(low))
    if not (low <= high).all():
        raise InvalidValue("a lower end is not a number, or above its upper end; swap lower and upper.")
    return low, high
