"""Closure: a kinematic loop of a body, which is a tree, as a constraint between two of its frames."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from poise.errors import InvalidValue, ShapeMismatch
from poise.model.geometry.solids import read_position
from poise.model.joints.joint import get_name
from poise.spatial import Transform, as_transform

__all__ = ["Closure"]

Point = tuple[float, float, float]


@dataclass(frozen=True, slots=True)
class Closure:
    """Two frames at a fixed relative pose; solvers hold it like `poise.limits.Closed`.

    Attributes:
        frame: The first frame.
        other: The second frame.
        transform: Pose of the first frame relative to the second, with the position of `point`; three numbers [m] fix
            only the position, as a ball joint does.
        point: A point of the first frame, in its own coordinates [m].
    """

    frame: str
    other: str
    transform: Transform | Point
    point: Point = (0.0, 0.0, 0.0)

    @classmethod
    def make(cls, frame: Any, other: Any, transform: Any = None, point: Any = None, where: str = "closure") -> Closure:
        """Return the closure; by default the two frames coincide. Raises an error that names the invalid argument."""
        if get_name(frame) == get_name(other):
            raise InvalidValue(f"{where}: frame and other are both {get_name(frame)!r}; a loop needs two frames.")
        origin = (0.0, 0.0, 0.0) if point is None else point
        return cls(
            frame, other, read_relative(transform, f"{where}: transform"), read_position(origin, f"{where}: point")
        )


def read_relative(transform: Any, what: str) -> Transform | Point:
    """Return one transform, or a point."""
    if transform is None:
        return Transform.identity()
    if not isinstance(transform, Transform) and np.shape(transform) == (3,):
        return read_position(transform, what)
    found = as_transform(transform, what)
    if found.translation.shape != (3,):
        raise ShapeMismatch(f"{what} must be one transform, not {found.translation.shape[:-1]} of them.")
    read_position(found.translation, what)
    return found
