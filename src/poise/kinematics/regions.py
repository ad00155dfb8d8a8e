"""Regions of the world that parts of the body stay inside or avoid. Metres, world coordinates.

A region is the set of points inside it, including its surface. A `Box`, `Sphere`, `Capsule` or `Cylinder` is the
solid that may also be part of a body (`poise.model`), placed in the world; a `ConvexMesh` or a `PointCloud` is given by
its points.
"""

from dataclasses import InitVar, dataclass, field
from operator import mul
from typing import Any

import numpy as np

from poise.arrays import Triple
from poise.kinematics.point_regions import ConvexMesh, PointCloud
from poise.model.geometry.solids import (
    LARGEST,
    Box,
    Capsule,
    Cylinder,
    Sphere,
    make_triple,
    read_length,
    read_name,
    read_position,
    read_transform,
    set_signature,
    settle,
)
from poise.model.spec import read_unit

__all__ = [
    "LARGEST",
    "Ball",
    "Box",
    "Capsule",
    "ConvexMesh",
    "Cylinder",
    "HalfSpace",
    "PointCloud",
    "Region",
    "Sphere",
    "Triple",
    "make_triple",
    "read_length",
    "read_position",
]

Ball = Sphere


@dataclass(frozen=True, slots=True)
class HalfSpace:
    """All points behind a plane: ``normal . (x - point) <= 0``. The normal points out of it.

    The ground of a world with y up is ``HalfSpace((0, 0, 0), (0, 1, 0))``: everything below y = 0. `name` appears in
    `why()`; `transform` is applied last.
    """

    point: Any
    normal: Any
    name: str = field(default="", repr=False, kw_only=True)
    transform: InitVar[Any] = field(default=None, kw_only=True)

    def __post_init__(self, transform: Any) -> None:
        place = read_transform(transform, "HalfSpace")
        unit, turn = read_unit(self.normal, "HalfSpace: normal"), place.turn(None)
        settle(self, point=place(read_position(self.point, "HalfSpace: point")))
        settle(self, normal=make_triple(unit if turn is None else np.asarray(turn.apply(unit))))
        settle(self, name=read_name(self.name, "HalfSpace"))

    @property
    def offset(self) -> float:
        """The offset d in ``normal . x <= d`` [m]."""
        return float(sum(map(mul, self.normal, self.point)))


set_signature(HalfSpace, point="ArrayLike", normal="ArrayLike")
Region = HalfSpace | Sphere | Box | Capsule | Cylinder | ConvexMesh | PointCloud
