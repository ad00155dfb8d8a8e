"""A solid on a grid of cubic cells, from the triangles of its surface.

A cell is outside, on the surface, or inside: outside is every cell that can be reached from far away without crossing
a cell of the surface. A surface with holes is therefore closed as long as they are narrower than a cell.
"""

from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from poise.arrays import Floats
from poise.errors import InvalidValue

__all__ = ["HALF_DIAGONAL", "SolidGrid", "estimate_pieces", "find_highest", "split_triangles"]

Flags = NDArray[np.bool_]
Number = TypeVar("Number", bound=np.generic)

HALF_DIAGONAL = np.sqrt(3.0) / 2.0  # of a cell, in edges
ROUNDING = 1e-6  # in edges
MOST_CELLS = 8_000_000
MOST_TRIANGLES = 2_500_000


class SolidGrid:
    """A solid on a grid.

    Args:
        corners: The triangles of its surface, (n, 3, 3) [m].
        edge: The edge of a cell [m].
        margin: Distance from the surface to the border of the grid [m].

    Attributes:
        triangles: The triangles of the outer surface, split until no side is longer than a cell, (m, 3, 3) [m].
        edge: The edge of a cell [m].
        origin: The centre of cell (0, 0, 0) [m].
        outside: Whether each cell can be reached from far away.
        inside: Whether each cell and its neighbours are all in the solid.

    Raises:
        InvalidValue: The grid would have too many cells.
    """

    def __init__(self, corners: Floats, edge: float, margin: float = 0.0) -> None:
        low, high = corners.min(axis=(0, 1)) - margin, corners.max(axis=(0, 1)) + margin
        shape = np.ceil((high - low) / edge) + 3
        if shape.prod() > MOST_CELLS:
            raise InvalidValue(f"a grid of {edge:.3g} m has {shape.prod():.2g} cells; at most {MOST_CELLS:.0e}.")
        self.edge, self.origin = edge, low - (0.5 + ROUNDING) * edge  # the first and the last layer are outside
        triangles = split_triangles(corners, edge)
        low_cells, high_cells = self.find_cells(triangles.min(axis=1)), self.find_cells(triangles.max(axis=1))
        cells = [(low_cells, high_cells)[k][:, axis] for axis in range(3) for k in range(2)]
        touched = [(cells[x], cells[2 + y], cells[4 + z]) for x, y, z in np.ndindex(2, 2, 2)]  # two cells per axis
        walls = np.zeros(shape.astype(np.int64), np.bool_)
        for each in touched:
            walls[each] = True
        self.outside = flood(walls)
        near = find_highest(self.outside)
        self.inside = ~near
        self.triangles = triangles[np.logical_or.reduce([near[each] for each in touched])]

    def find_cells(self, points: Floats) -> NDArray[np.int64]:
        """Return the cell of each point, (n, 3)."""
        return np.asarray(np.floor((points - self.origin) / self.edge + 0.5), dtype=np.int64)

    def find_inside(self, points: Floats) -> Flags:
        """Return whether each point is in a cell inside, (n,)."""
        cells = np.clip(self.find_cells(points), 0, np.array(self.inside.shape) - 1)  # the border is outside
        return np.asarray(self.inside[tuple(cells.T)])

    def find_centers(self, cells: Flags) -> Floats:
        """Return the centres of the marked cells, (n, 3) [m]."""
        return np.asarray(self.origin + self.edge * np.argwhere(cells))

    def measure_distances(self, marked: Flags) -> Floats:
        """Return the distance of the centre of each cell from that of the nearest marked cell [m]."""
        return np.asarray(self.edge * np.sqrt(transform_distances(marked)))


def estimate_pieces(corners: Floats, longest: float) -> float:
    """Return about how many triangles `split_triangles` makes of the given ones."""
    length = np.linalg.norm(corners - np.roll(corners, -1, axis=1), axis=2).max(axis=1)
    area = np.linalg.norm(np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0]), axis=1)
    height = area / np.maximum(length, 1e-300)
    return float(np.where(length <= longest, 1.0, 4.0 * np.ceil(length / longest) * np.ceil(height / longest)).sum())


def split_triangles(corners: Floats, longest: float) -> Floats:
    """Return the triangles, each split at the middle of its longest side until no side is longer than `longest`."""
    done = []
    rest = np.asarray(corners, np.float64)
    while len(rest):
        sides = np.linalg.norm(rest - np.roll(rest, -1, axis=1), axis=2)  # side k is from corner k to the next
        small = sides.max(axis=1) <= longest
        done.append(rest[small])
        rest, first = rest[~small], sides[~small].argmax(axis=1)
        if 2 * len(rest) + sum(map(len, done)) > MOST_TRIANGLES:
            raise InvalidValue(f"splitting its triangles to {longest:.3g} m gives more than {MOST_TRIANGLES:.0e}.")
        row = np.arange(len(rest))
        a, b, c = (rest[row, (first + k) % 3] for k in range(3))
        middle = 0.5 * (a + b)
        rest = np.concatenate([np.stack([a, middle, c], axis=1), np.stack([middle, b, c], axis=1)])
    return np.concatenate(done) if done else rest


def find_highest(values: NDArray[Number]) -> NDArray[Number]:
    """Return the largest value among each cell and its 26 neighbours; of flags, whether one is set."""
    out = values.copy()
    for axis in range(3):
        across = np.moveaxis(out, axis, 0)
        start = across.copy()
        np.maximum(across[1:], start[:-1], out=across[1:])
        np.maximum(across[:-1], start[1:], out=across[:-1])
    return out


def flood(walls: Flags) -> Flags:
    """Return the cells that can be reached from the border without entering a wall."""
    out = np.zeros_like(walls)
    for axis in range(3):
        np.moveaxis(out, axis, 0)[[0, -1]] = True
    out &= ~walls
    count = -1
    while count != (count := int(out.sum())):  # ends: the number of cells that are reached grows
        for axis in range(3):
            spread(np.moveaxis(out, axis, -1), np.moveaxis(walls, axis, -1))
    return out


def spread(reached: Flags, walls: Flags) -> None:
    """Mark every run of cells along the last axis that has no wall and a reached cell, in place."""
    runs = walls.cumsum(axis=-1)
    runs += (np.arange(runs[..., 0].size) * (runs.shape[-1] + 1)).reshape(runs.shape[:-1])[..., None]
    marked = np.zeros(int(runs.max()) + 1, np.bool_)
    marked[runs[reached]] = True
    reached |= marked[runs] & ~walls


def transform_distances(marked: Flags) -> NDArray[np.float32]:
    """Return the squared distance of each cell from the nearest marked one, in cells, one axis after the other.

    Source: P. Felzenszwalb and D. Huttenlocher, Distance transforms of sampled functions, 2012.
    """
    squares = scan_distances(marked) ** 2
    for axis in (1, 0):
        found = np.moveaxis(squares, axis, 0)
        start = found.copy()
        for k in range(1, len(found)):
            if k * k >= found.max():
                break
            step = np.float32(k * k)
            np.minimum(found[k:], start[:-k] + step, out=found[k:])
            np.minimum(found[:-k], start[k:] + step, out=found[:-k])
    return squares


def scan_distances(marked: Flags) -> NDArray[np.float32]:
    """Return the distance of each cell from the nearest marked one along the last axis, in cells."""
    at = np.arange(marked.shape[-1], dtype=np.float32)
    before = np.maximum.accumulate(np.where(marked, at, -np.inf), axis=-1)
    after = np.minimum.accumulate(np.where(marked, at, np.inf)[..., ::-1], axis=-1)[..., ::-1]
    return np.minimum(at - before, after - at, dtype=np.float32)
