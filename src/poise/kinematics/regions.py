"""Regions of the world: what a part of the body shall stay in, or keep away from. Metres, world coordinates.

A region is the set of points inside it, its surface included. They are not fixed to the body; the solids that are, see
`poise.model.shapes`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from poise.errors import InvalidValue, ShapeMismatch
from poise.model.spec import check_not_negative, unit, vector
from poise.spatial import as_rotation

__all__ = ["Ball", "Box", "Capsule", "HalfSpace", "Region", "Sphere"]

Triple = tuple[float, float, float]
LARGEST = 1e100  # metres; the square of more may overflow


@dataclass(frozen=True, slots=True)
class HalfSpace:
    """All points behind a plane: ``normal . (x - point) <= 0``. The normal points out of it.

    The ground of a world with y up is ``HalfSpace((0, 0, 0), (0, 1, 0))``: everything below y = 0.
    """

    point: Any
    normal: Any

    def __post_init__(self) -> None:
        settle(self, point=place(self.point, "HalfSpace: point"))
        settle(self, normal=triple(unit(self.normal, "HalfSpace: normal")))

    @property
    def offset(self) -> float:
        """d in ``normal . x <= d`` [m]."""
        return float(np.dot(self.normal, self.point))


@dataclass(frozen=True, slots=True)
class Ball:
    """All points within `radius` of `center`. `Sphere` is another name of it."""

    center: Any
    radius: float

    def __post_init__(self) -> None:
        settle(self, center=place(self.center, "Ball: center"))
        settle(self, radius=length(self.radius, "Ball: radius"))


Sphere = Ball


@dataclass(frozen=True, slots=True)
class Box:
    """A box around `center`; `size` is its full extent along its own x, y and z, which `rotation` turns."""

    center: Any
    size: Any
    rotation: Any = None

    def __post_init__(self) -> None:
        settle(self, center=place(self.center, "Box: center"))
        size = place(self.size, "Box: size")
        if min(size) < 0.0:
            raise InvalidValue(f"Box: size is {size}; every number must be zero or more.")
        settle(self, size=size)
        if self.rotation is not None:
            turn = as_rotation(self.rotation, "Box: rotation")
            if turn.wxyz.shape != (4,):
                raise ShapeMismatch(f"Box: rotation must be one rotation, not {turn.wxyz.shape[:-1]} of them.")
            settle(self, rotation=turn)

    @property
    def matrix(self) -> NDArray[np.float64]:
        """Its axes in the world, as the columns of a 3x3."""
        return np.eye(3) if self.rotation is None else np.array(self.rotation.matrix)


@dataclass(frozen=True, slots=True)
class Capsule:
    """All points within `radius` of the segment from `start` to `end`."""

    start: Any
    end: Any
    radius: float

    def __post_init__(self) -> None:
        settle(self, start=place(self.start, "Capsule: start"))
        settle(self, end=place(self.end, "Capsule: end"))
        settle(self, radius=length(self.radius, "Capsule: radius"))


Region = HalfSpace | Ball | Box | Capsule


def triple(values: NDArray[np.float64]) -> Triple:
    """Three numbers as a tuple, which has == and a hash; no zero has a sign."""
    x, y, z = (values + 0.0).tolist()
    return x, y, z


def place(values: ArrayLike, what: str) -> Triple:
    """Three finite lengths."""
    found = vector(values, 3, what)
    if not (np.abs(found) < LARGEST).all():
        raise InvalidValue(f"{what} is {found.tolist()}; every number must be below {LARGEST:g}.")
    return triple(found)


def length(value: Any, what: str) -> float:
    """A finite length, zero or more."""
    found = check_not_negative(value, what)
    if found >= LARGEST:
        raise InvalidValue(f"{what} is {found}; it must be below {LARGEST:g}.")
    return found


def settle(region: Any, **values: Any) -> None:
    """Writes checked values into a frozen object that is being made."""
    for name, value in values.items():
        object.__setattr__(region, name, value)
