"""HeightMap: terrain as a grid of heights. Metres, world coordinates.

Between the points of the grid the height is interpolated linearly along both axes. With u, v the coordinates of a point
in its cell, from 0 to 1:

    h = (1 - u) (1 - v) h00 + u (1 - v) h01 + (1 - u) v h10 + u v h11
    gap = (z - h) / sqrt(1 + |grad h|^2)          to first order; exact above a plane
"""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from poise.arrays import Floats
from poise.errors import InvalidValue, ShapeMismatch
from poise.model.geometry.solids import read_name, read_position, read_transform, settle
from poise.spatial import Rotation, Transform
from poise.spatial.arrays import read_reals

__all__ = ["HeightMap"]

QUARTER_TURN = Rotation.from_vector((-0.5 * np.pi, 0.0, 0.0))  # takes z to y, and y to -z


@dataclass(frozen=True, eq=False, repr=False, slots=True, init=False)
class HeightMap:
    """Terrain: all points below a grid of heights. Outside of the grid there is nothing.

    Columns of the grid follow one another along x and rows along y, or along -z in a world with y up.

    Attributes:
        heights: The heights above `center`, (rows, columns) [m].
        spacing: The distance between neighbouring columns, and between neighbouring rows [m].
        placement: The pose of the middle of the grid, with z up.
        name: Its name in `why()`.

    Args:
        heights: The heights, at least two rows and two columns [m].
        spacing: The distance of neighbouring points [m]: one number, or one between columns and one between rows.
        center: The middle of the grid, at height 0 of the map [m]; by default the origin.
        up: The up axis of the world, "z" or "y".
        name: Its name in `why()`.
        transform: Applied last.

    Raises:
        InvalidValue: A height is not a finite number, or a spacing is not positive.
        ShapeMismatch: The heights are not a grid.
    """

    heights: Floats
    spacing: tuple[float, float]
    placement: Transform
    name: str = field(repr=False)

    def __init__(
        self,
        heights: ArrayLike,
        spacing: float | tuple[float, float],
        *,
        center: ArrayLike = (0.0, 0.0, 0.0),
        up: str = "z",
        name: str = "",
        transform: Transform | None = None,
    ) -> None:
        place = read_transform(transform, "HeightMap")
        if up not in ("y", "z"):
            raise InvalidValue(f"HeightMap: up is {up!r}; it must be 'z' or 'y'. transform= turns it to other axes.")
        turn, middle = place.turn(QUARTER_TURN if up == "y" else None), read_position(center, "HeightMap: center")
        settle(self, heights=read_heights(heights), spacing=read_spacing(spacing))
        settle(self, placement=Transform(turn, place(middle)), name=read_name(name, "HeightMap"))

    @property
    def up(self) -> Floats:
        """Its up direction in the world."""
        return np.array(self.placement.matrix[:3, 2])

    @property
    def size(self) -> tuple[float, float]:
        """Its extent along its columns and rows [m]."""
        rows, columns = self.heights.shape
        return (columns - 1) * self.spacing[0], (rows - 1) * self.spacing[1]

    def measure_heights(self, points: ArrayLike) -> Floats:
        """Return the height of points (..., 3) above the surface, along its up direction [m]; inf outside the grid."""
        return self._look_up(points)[0]

    def measure_gaps(self, points: ArrayLike) -> tuple[Floats, Floats]:
        """Return the gap of points (..., 3), negative below the surface, and its gradient.

        Returns:
            The gaps, (...) [m]; inf outside the grid.
            The gradients, (..., 3): the upward unit normals of the surface below the points.
        """
        above, slope = self._look_up(points)
        normals = np.concatenate([-slope, np.ones((*above.shape, 1))], axis=-1)
        steep = np.linalg.norm(normals, axis=-1)
        return above / steep, normals / steep[..., None] @ self.placement.matrix[:3, :3].T

    def _look_up(self, points: ArrayLike) -> tuple[Floats, Floats]:
        """Return the heights of points above the surface [m], and the slope of the surface along both axes."""
        x = read_reals(points, "points")
        if x.ndim == 0 or x.shape[-1] != 3:
            raise ShapeMismatch(f"points has shape {x.shape}; its last axis must be 3.")
        matrix = self.placement.matrix
        local = (x - matrix[:3, 3]) @ matrix[:3, :3]
        spacing, last = np.array(self.spacing), np.array(self.heights.shape[::-1]) - 1
        at = local[..., :2] / spacing + 0.5 * last
        inside = ((at >= -1e-9) & (at <= last + 1e-9)).all(axis=-1)
        cell = np.clip(np.floor(np.where(inside[..., None], at, 0.0)), 0, last - 1).astype(np.int64)
        u, v = np.moveaxis(np.clip(at - cell, 0.0, 1.0), -1, 0)
        i, j = cell[..., 1], cell[..., 0]
        h00, h01, h10, h11 = (self.heights[i + di, j + dj] for di in (0, 1) for dj in (0, 1))
        along = (1.0 - v) * (h01 - h00) + v * (h11 - h10), (1.0 - u) * (h10 - h00) + u * (h11 - h01)
        surface = (1.0 - v) * (h00 + u * (h01 - h00)) + v * (h10 + u * (h11 - h10))
        return np.where(inside, local[..., 2] - surface, np.inf), np.stack(along, axis=-1) / spacing

    def __repr__(self) -> str:
        rows, columns = self.heights.shape
        x, y = self.spacing
        return f"HeightMap({rows} x {columns}, spacing {x:g}{'' if x == y else f' and {y:g}'} m)"


def read_heights(heights: ArrayLike) -> Floats:
    """Return a read-only copy of a grid of finite heights."""
    found = np.array(read_reals(heights, "HeightMap: heights"))
    if found.ndim != 2 or min(found.shape) < 2:
        raise ShapeMismatch(f"HeightMap: heights has shape {found.shape}; it must have two or more rows and columns.")
    if not np.isfinite(found).all():
        i, j = np.argwhere(~np.isfinite(found))[0]
        raise InvalidValue(
            f"HeightMap: heights[{i}, {j}] is {found[i, j]}; every height must be a finite number. Fill unknown ones."
        )
    found.setflags(write=False)
    return found


def read_spacing(spacing: Any) -> tuple[float, float]:
    """Return the distances of neighbouring columns and rows [m]."""
    found = read_reals(spacing, "HeightMap: spacing")
    if found.shape not in ((), (2,)) or not (np.isfinite(found).all() and (found > 0.0).all()):
        raise InvalidValue(
            f"HeightMap: spacing is {spacing!r}; it must be a positive number of metres, or two of them."
        )
    x, y = np.broadcast_to(found, (2,)).tolist()
    return x, y
