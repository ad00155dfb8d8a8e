"""Regions of the world that are given by many points: convex meshes and point clouds. Metres, world coordinates.

The structure in which the kernels search the points is built once, with the region, and all solvers share it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from poise.arrays import Floats, Triple
from poise.errors import InvalidValue, ShapeMismatch
from poise.model.geometry.convex_hull import ConvexHull, find_hull
from poise.model.geometry.solids import (
    LARGEST,
    make_triple,
    read_length,
    read_name,
    read_transform,
    settle,
)
from poise.native import core
from poise.spatial import Transform
from poise.spatial.arrays import read_reals

__all__ = ["ConvexMesh", "PointCloud", "PointRegion"]


@dataclass(frozen=True, slots=True, init=False, eq=False, repr=False)
class PointRegion:
    """A region with many points.

    Attributes:
        name: Its name in `why()` and in batches.
        center: The middle of its box, with the axes of the world.
        half: Half the size of that box.
        native: Its points relative to `center`, as the kernels read them.
    """

    name: str
    center: Triple = field(init=False, compare=False)
    half: Triple = field(init=False, compare=False)
    native: core.Obstacle = field(init=False, compare=False)

    @property
    def arguments(self) -> tuple[Any, ...]:
        """The arguments that create it, without its name."""
        raise NotImplementedError

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, type(self)):
            return NotImplemented
        pairs = zip(self.arguments, other.arguments, strict=True)
        return self.name == other.name and all(np.array_equal(a, b) for a, b in pairs)

    def __hash__(self) -> int:
        return hash((self.name, *(np.asarray(each).tobytes() for each in self.arguments)))


@dataclass(frozen=True, slots=True, init=False, eq=False, repr=False)
class ConvexMesh(PointRegion):
    """The convex hull of vertices; a mesh need not be closed or convex, as only its vertices count.

    Vertices in a plane are a polygon without thickness.

    Attributes:
        vertices: The corners of the hull, (n, 3), read-only.
        faces: Its triangles, (m, 3) rows of corners, seen from outside counter-clockwise, read-only.
        name: Its name in `why()` and in batches.
    """

    vertices: Floats
    faces: NDArray[np.int64] = field(compare=False)
    hull: ConvexHull = field(init=False, compare=False)

    def __init__(
        self, vertices: ArrayLike, faces: ArrayLike | None = None, *, name: str = "", transform: Transform | None = None
    ) -> None:
        given = read_points(vertices, "ConvexMesh: vertices", transform)
        if faces is not None:
            given = given[read_faces(faces, len(given))]
        self._settle_hull(find_hull(given), read_name(name, "ConvexMesh"))

    def _settle_hull(self, hull: ConvexHull, name: str) -> None:
        hull.corners.setflags(write=False)
        hull.faces.setflags(write=False)
        center, half = find_box(hull.corners)
        native = core.Obstacle.make_hull(list_face_numbers(hull, center), hull.solid)
        settle(self, vertices=hull.corners, faces=hull.faces, name=name, hull=hull)
        settle(self, center=center, half=half, native=native)

    @classmethod
    def restore(cls, hull: ConvexHull, name: str) -> ConvexMesh:
        """Return the region of a hull that is known."""
        mesh = object.__new__(cls)
        mesh._settle_hull(hull, name)
        return mesh

    def __reduce__(self) -> tuple[Any, ...]:
        return self.restore, (self.hull, self.name)

    @property
    def arguments(self) -> tuple[Any, ...]:
        """The arguments that create it, without its name."""
        return (self.vertices,)

    def __repr__(self) -> str:
        return f"<ConvexMesh: {len(self.vertices)} vertices, {len(self.faces)} faces>"


@dataclass(frozen=True, slots=True, init=False, eq=False, repr=False)
class PointCloud(PointRegion):
    """All points within `radius` of one of the given points, such as those of a depth camera.

    Attributes:
        points: The points, (n, 3), read-only.
        radius: The radius of the ball around each.
        name: Its name in `why()` and in batches.
    """

    points: Floats
    radius: float

    def __init__(self, points: ArrayLike, radius: float, *, name: str = "", transform: Transform | None = None) -> None:
        found = read_points(points, "PointCloud: points", transform)
        found.setflags(write=False)
        size = read_length(radius, "PointCloud: radius")
        center, half = find_box(found, size)
        settle(self, points=found, radius=size, name=read_name(name, "PointCloud"))
        settle(self, center=center, half=half, native=core.Obstacle(found - np.array(center), size))

    @property
    def arguments(self) -> tuple[Any, ...]:
        """The arguments that create it, without its name."""
        return self.points, self.radius

    def __reduce__(self) -> tuple[Any, ...]:
        return partial(PointCloud, self.points, self.radius, name=self.name), ()

    def __repr__(self) -> str:
        return f"<PointCloud: {len(self.points)} points of radius {self.radius:g}>"


def read_points(values: Any, what: str, transform: Any) -> Floats:
    """Return points (n, 3), one or more, where a transform puts them.

    Raises:
        ShapeMismatch: The array is not (n, 3).
        InvalidValue: There are no points, or some are NaN, infinite or too large.
    """
    place = read_transform(transform, what.partition(":")[0]).transform
    points, name = read_reals(values, what), what.partition(": ")[2]
    if not points.size:
        raise InvalidValue(f"{what} is empty; give one point or more, or leave the region out.")
    if points.ndim != 2 or points.shape[1] != 3:
        raise ShapeMismatch(f"{what} has shape {points.shape}; it must be (n, 3).")
    good = np.asarray((np.abs(points) < LARGEST).all(axis=1))
    if not good.all():
        text = f"{what} has {len(good) - np.count_nonzero(good)} rows that are not finite, or beyond {LARGEST:g}"
        drop = f"drop them with {name}[np.isfinite({name}).all(axis=1)]"
        raise InvalidValue(f"{text}, the first at {int(np.argmin(good))}: {drop}.")
    return (points if place is None else np.asarray(place.apply(points))) + 0.0


def read_faces(faces: Any, count: int) -> NDArray[np.int64]:
    """Return the vertices that faces use, sorted.

    Raises:
        InvalidValue: A face has no such vertex, or there are no faces.
    """
    used = np.unique(read_reals(faces, "ConvexMesh: faces"))
    if not len(used) or used[0] < 0 or used[-1] >= count or (used % 1.0 != 0.0).any():
        raise InvalidValue(f"ConvexMesh: faces must be rows of the {count} vertices, from 0 to {count - 1}.")
    return used.astype(np.int64)


def find_box(points: Floats, radius: float = 0.0) -> tuple[Triple, Triple]:
    """Return the centre and half sizes of the box of points with a radius."""
    low, high = points.min(axis=0), points.max(axis=0)
    center = make_triple(0.5 * low + 0.5 * high)
    return center, make_triple(np.maximum(high - center, center - low) + radius)


def list_face_numbers(hull: ConvexHull, center: Triple) -> Floats:
    """Return the faces of a hull relative to a point, (m, 17), as described in `native/kernels/limits/obstacles.h`."""
    corners = hull.corners[hull.faces] - np.array(center)
    middles = corners.mean(axis=1)
    radii = np.linalg.norm(corners - middles[:, None], axis=2).max(axis=1) * (1.0 + 1e-9)
    planes = hull.planes - np.column_stack([np.zeros((len(hull.planes), 3)), hull.planes[:, :3] @ np.array(center)])
    return np.column_stack([planes, middles, radii, corners.reshape(-1, 9)])
