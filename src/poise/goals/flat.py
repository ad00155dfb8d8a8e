"""Targets of planar bodies: two numbers, and the third coordinate from the plane.

    p = (x, y, c)      c: the coordinate along the plane's normal, constant for the frame in all poses

A body that moves in the xy plane takes targets (x, y), in the xz plane (x, z), in the yz plane (y, z). With
`relative_to` the numbers are coordinates of that frame, which rotates about the same normal.
"""

from typing import Any

import numpy as np

from poise.errors import ShapeMismatch
from poise.model import Model
from poise.model.plane import explain_no_plane, find_normal

__all__ = ["fill_place", "fill_places", "find_third"]


def find_third(model: Model, frame: str, point: Any = None, relative_to: str | None = None) -> tuple[int, float]:
    """Return the index (0, 1, 2) and the value [m] of the coordinate normal to a body's plane, for a point of a frame.

    Raises:
        ShapeMismatch: The body is not planar, or `relative_to` is tilted relative to its plane.
    """
    normal = find_normal(model)
    told = f"goal on {frame!r}: the target has 2 numbers, and"
    if normal is None:
        cause = explain_no_plane(model)
        raise ShapeMismatch(f"{told} {model.name!r} does not move in a plane: {cause}. Give 3 numbers [m].")
    T = model.fk(model.rest, frame)
    place = T[:3, 3] if point is None else T[:3, :3] @ np.asarray(point, dtype=np.float64) + T[:3, 3]
    if relative_to is None:
        return normal, float(place[normal])
    base = model.fk(model.rest, relative_to)
    along = base[normal, :3]  # the plane's normal, in the axes of that frame
    axis = int(np.argmax(np.abs(along)))
    if abs(along[axis]) < 1 - 1e-9:
        raise ShapeMismatch(
            f"{told} {relative_to!r} is tilted against the plane of {model.name!r}. Give 3 numbers [m]."
        )
    return axis, float((base[:3, :3].T @ (place - base[:3, 3]))[axis])


def fill_places(pairs: Any, axis: int, value: float, arrays: Any = np) -> Any:
    """Return pairs (..., 2) with the third coordinate inserted, (..., 3), allocated by the array module `arrays`."""
    out = arrays.empty((*pairs.shape[:-1], 3), dtype=pairs.dtype)
    out[..., axis] = value
    first, second = (k for k in range(3) if k != axis)
    out[..., first], out[..., second] = pairs[..., 0], pairs[..., 1]
    return out


def fill_place(pair: Any, axis: int, value: float) -> Any:
    """Return a position of two numbers or Ranges with the third coordinate inserted."""
    if isinstance(pair, tuple):
        return (*pair[:axis], value, *pair[axis:])
    return fill_places(pair, axis, value)
