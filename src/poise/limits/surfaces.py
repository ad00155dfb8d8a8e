"""The rows of a clearance as arrays, which the kernels expand; a row by itself is made when `why()` names it."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

from poise.kinematics.point_regions import PointRegion
from poise.kinematics.regions import (
    Ball,
    Box,
    Capsule,
    ConvexMesh,
    Cylinder,
    HalfSpace,
    PointCloud,
    Region,
)
from poise.limits.limit import LimitRow, RowTable
from poise.limits.skeleton import BodyCapsule
from poise.native import core

__all__ = ["KINDS", "BodySurfaces", "SurfaceRows", "make_region_rows", "order_regions"]

Op = core.LimitOp
BOX, PLANE, SEGMENT, CYLINDER, OBSTACLE = (
    float(op.value) for op in (Op.BOX, Op.PLANE, Op.SEGMENT, Op.CYLINDER, Op.OBSTACLE)
)
AXES = (1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0)
WIDTH = 17  # numbers of a region: its operation, and up to 16 of its own
KINDS: dict[type, str] = {
    HalfSpace: "a half-space",
    Ball: "a sphere",
    Box: "a box",
    Capsule: "a capsule",
    Cylinder: "a cylinder",
    ConvexMesh: "a convex mesh",
    PointCloud: "a point cloud",
}


@dataclass(frozen=True, eq=False, slots=True)
class BodySurfaces:
    """The capsules of a body that a clearance is about.

    Attributes:
        capsules: The capsules.
        frames: Index of each capsule's frame, (n,).
        ends: Both ends of its segment in that frame, (n, 6).
        radius: Its radius, (n,).
        moves: Whether it can move relative to the world, (n,).
        pairs: Indices of the capsules to keep apart, (m, 2).
    """

    capsules: tuple[BodyCapsule, ...]
    frames: NDArray[np.float64]
    ends: NDArray[np.float64]
    radius: NDArray[np.float64]
    moves: NDArray[np.float64]
    pairs: NDArray[np.float64]


@dataclass(frozen=True, eq=False, slots=True)
class SurfaceRows(RowTable):
    """The rows of a clearance: pairs of capsules, then every region of the world for each moving capsule.

    A half-space has two rows, one for each end of a capsule.

    Attributes:
        body: The capsules.
        regions: The regions of the world, half-spaces first.
        numbers: The same regions for the kernels, (k, 17).
        distance: The smallest allowed gap [m].
        length: The body's length [m], the unit of gaps in the kernels.
    """

    body: BodySurfaces
    regions: tuple[Region, ...]
    numbers: NDArray[np.float64]
    distance: float
    length: float

    def make_native(self) -> dict[str, Any]:
        """Return the arrays for the kernels."""
        body = self.body
        return {
            "frames": body.frames,
            "ends": body.ends,
            "radius": body.radius,
            "moves": body.moves,
            "pairs": body.pairs,
            "regions": self.numbers,
            "obstacles": [region.native for region in self.regions if isinstance(region, PointRegion)],
            "distance": self.distance,
        }

    @property
    def planes(self) -> int:
        """The number of half-spaces."""
        return sum(isinstance(region, HalfSpace) for region in self.regions)

    def __len__(self) -> int:
        return len(self.body.pairs) + int(self.body.moves.sum()) * (len(self.regions) + self.planes)

    @overload
    def __getitem__(self, index: int) -> LimitRow: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[LimitRow]: ...
    def __getitem__(self, index: int | slice) -> LimitRow | Sequence[LimitRow]:
        if isinstance(index, slice):
            return [self[i] for i in range(len(self))[index]]
        if not 0 <= index < len(self):
            raise IndexError(index)
        capsules, pairs = self.body.capsules, self.body.pairs
        if index < len(pairs):
            first, second = (capsules[int(k)] for k in pairs[index])
            return self._make_row(Op.PAIR, (), (first, second), second.name or second.frame)
        at, rule = divmod(index - len(pairs), len(self.regions) + self.planes)
        capsule = capsules[int(np.flatnonzero(self.body.moves)[at])]
        end = rule % 2 if rule < 2 * self.planes else 0
        region = rule // 2 if rule < 2 * self.planes else rule - self.planes
        op, *numbers = self.numbers[region].tolist()
        return self._make_row(Op(int(op)), tuple(numbers), (capsule,), name_region(self.regions[region]), end)

    def _make_row(
        self, op: core.LimitOp, numbers: tuple[float, ...], parts: tuple[BodyCapsule, ...], what: str, end: int = 0
    ) -> LimitRow:
        between = (parts[0].name or parts[0].frame, what)
        unit, distance = self.length, self.distance
        return LimitRow(op, numbers, distance, parts, end, end=distance, unit=unit, side="lower", between=between)


def name_region(region: Region) -> str:
    """Return the name of a region, or its kind."""
    return getattr(region, "name", "") or KINDS[type(region)]


def order_regions(world: Sequence[Region]) -> tuple[Region, ...]:
    """Return regions in the order of the kernels: half-spaces first, point clouds last, the others by kind."""
    place = {kind: k for k, kind in enumerate(KINDS)}
    return tuple(sorted(world, key=lambda region: place[type(region)]))


def make_region_rows(regions: Sequence[Region]) -> NDArray[np.float64]:
    """Return regions as rows for the kernels, (k, 17): the operation, and the numbers of `kernels/limits/limits.h`."""
    numbers = chain.from_iterable(map(list_numbers, regions))
    rows = np.fromiter(numbers, np.float64, WIDTH * len(regions)).reshape(-1, WIDTH)
    obstacles = [k for k, region in enumerate(regions) if isinstance(region, PointRegion)]
    if obstacles:
        rows[obstacles, WIDTH - 1] = np.arange(len(obstacles))
    return rows


def list_numbers(region: Region) -> list[float]:
    """Return the operation of a region and its numbers."""
    if isinstance(region, Box):
        x, y, z = region.size
        axes = AXES if region.rotation is None else list_axes(*region.rotation.wxyz.tolist())
        return [BOX, *axes, *region.center, 0.5 * x, 0.5 * y, 0.5 * z, 0.0]
    if isinstance(region, HalfSpace):  # solid if n . x <= d
        return [PLANE, *region.normal, region.offset, *[0.0] * 12]
    if isinstance(region, Ball):
        return [SEGMENT, *region.center, *region.center, region.radius, *[0.0] * 9]
    if isinstance(region, Capsule):
        return [SEGMENT, *region.start, *region.end, region.radius, *[0.0] * 9]
    if isinstance(region, PointRegion):  # the last number is its index among them
        return [OBSTACLE, *AXES, *region.center, *region.half, 0.0]
    return [CYLINDER, *list_cylinder(*region.start, *region.end), region.radius, 0.5 * region.length, 0.0, 0.0]


def list_cylinder(ax: float, ay: float, az: float, bx: float, by: float, bz: float) -> tuple[float, ...]:
    """Return the axes of a cylinder between two points along its own z axis, row by row, and its center."""
    x, y, z = bx - ax, by - ay, bz - az
    across = math.hypot(x, y)
    if across > 0.0:
        half = 0.5 * math.atan2(across, z)
        sine = math.sin(half) / across
        axes = list_axes(math.cos(half), -y * sine, x * sine, 0.0)
    else:
        axes = AXES if z >= 0.0 else list_axes(0.0, 1.0, 0.0, 0.0)
    return (*axes, 0.5 * (ax + bx), 0.5 * (ay + by), 0.5 * (az + bz))


def list_axes(w: float, x: float, y: float, z: float) -> tuple[float, ...]:
    """Return the matrix of a quaternion row by row; a call of NumPy takes longer than all regions of a small world."""
    s = 2.0 / (w * w + x * x + y * y + z * z)
    wx, wy, wz, xx, xy, xz = s * w * x, s * w * y, s * w * z, s * x * x, s * x * y, s * x * z
    yy, yz, zz = s * y * y, s * y * z, s * z * z
    return (1.0 - yy - zz, xy - wz, xz + wy, xy + wz, 1.0 - xx - zz, yz - wx, xz - wy, yz + wx, 1.0 - xx - yy)
