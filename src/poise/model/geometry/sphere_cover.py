"""Spheres that contain a solid and stand out of it by at most a given error.

A ball around a point c inside the solid stands out by at most r - d(c), with d(c) the distance to the surface: each
line from c to a point of the ball outside crosses the surface at least d(c) from c. A candidate has r = d(c) + error,
and the cover takes, again and again, the candidate that contains most of the elements that are not contained yet.
Elements are the triangles of the surface, split to three quarters of the error, and the cells inside (`SolidGrid`).

d(c) follows from the distance m to the nearest corner of those triangles: a side is at most s long, the nearest point
of the surface is at most s / sqrt(3) from a corner of its triangle, at right angles to the line from c, and so
d(c)^2 >= m^2 - s^2 / 3. The result therefore contains every triangle and every cell inside, and the error is a bound.

Source of the greedy cover: V. Chvatal, A greedy heuristic for the set-covering problem, 1979.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from poise.arrays import Floats
from poise.model.geometry.solid_grid import HALF_DIAGONAL, Flags, SolidGrid
from poise.model.geometry.triangles import merge_points
from poise.model.memo import keep_by_content

__all__ = ["CELL", "cover_with_spheres"]

CELL = 0.75  # edge of a cell and longest side of a triangle, relative to the error
MOST_CANDIDATES = (1_000, 1_200, 300)  # ridges, other cells, corners
STEPS = (0.5, 0.5, 0.25, 0.25, 0.12, 0.12, 0.06, 0.0)  # of a candidate, relative to a cell
CHUNK = 4_000_000  # distances that are computed at once
FEW = (0.002, 0.01)  # share of the pieces that a sphere must contain, in each round
NEARBY = 3.0  # distance of candidates from the pieces that are left, relative to the error
MOST_NEARBY = 2_000
ROUNDING = 1e-7  # relative


@dataclass(frozen=True, slots=True, eq=False)
class Elements:
    """The pieces of a solid that the spheres must contain.

    Attributes:
        points: The corners of the triangles of the surface, then the centres of the cells inside, (n, 3) [m].
        pieces: Rows of `points`: three for a triangle, the same one three times for a cell, (m, 3).
        sizes: The size of a cell around each point, zero for a corner, (n,) [m].
        side: The longest side of a triangle [m].
    """

    points: Floats
    pieces: NDArray[np.int64]
    sizes: Floats
    side: float

    @classmethod
    def make(cls, grid: SolidGrid) -> Elements:
        """Return the elements of a solid."""
        corners, rows = merge_points(grid.triangles.reshape(-1, 3))
        cells = grid.find_centers(grid.inside)
        own = np.repeat(np.arange(len(cells))[:, None] + len(corners), 3, axis=1)
        sizes = np.repeat([0.0, HALF_DIAGONAL * grid.edge], [len(corners), len(cells)])
        return cls(np.concatenate([corners, cells]), np.concatenate([rows.reshape(-1, 3), own]), sizes, grid.edge)

    def measure_needs(self, centers: Floats) -> Floats:
        """Return the radius that a ball around each centre needs to contain each point, (k, n) [m]."""
        squares = (centers**2).sum(axis=1)[:, None] + (self.points**2).sum(axis=1) - 2.0 * centers @ self.points.T
        return np.asarray(np.sqrt(np.maximum(squares, 0.0)) + self.sizes)

    def measure_depths(self, needs: Floats) -> Floats:
        """Return a lower bound of the distance of each centre from the surface, (k,) [m]."""
        nearest = needs[:, self.sizes == 0.0].min(axis=1)
        return np.asarray(np.sqrt(np.maximum(nearest**2 - self.side**2 / 3.0, 0.0)))

    def find_contained(self, needs: Floats, radii: Floats) -> Flags:
        """Return whether the ball of each centre contains each piece, (m, k)."""
        inside = (needs <= radii[:, None]).T
        return np.asarray(inside[self.pieces[:, 0]] & inside[self.pieces[:, 1]] & inside[self.pieces[:, 2]])

    def take(self, rows: NDArray[np.int64]) -> Elements:
        """Return some of the pieces, with all points."""
        return Elements(self.points, self.pieces[rows], self.sizes, self.side)


@keep_by_content
def cover_with_spheres(corners: Floats, error: float) -> tuple[Floats, Floats, float]:
    """Return the centres (n, 3) and radii (n,) of spheres that contain a solid, and a bound of their excess [m].

    Args:
        corners: The triangles of its surface, (m, 3, 3) [m].
        error: The largest allowed excess [m].

    Raises:
        InvalidValue: The error is too small for the size of the solid.
    """
    grid = SolidGrid(corners, CELL * error)
    whole = Elements.make(grid)
    centers, left, candidates = np.zeros((0, 3)), whole, list_candidates(grid, whole)
    for few in (*FEW, 0.0):
        chosen, missed = choose_greedily(left, candidates, error, few * len(left.pieces))
        centers, left = np.concatenate([centers, chosen]), left.take(missed)
        candidates = draw_nearby(grid, left, NEARBY * error)
    while len(left.pieces):  # ends: each candidate contains its own piece
        candidates = left.points[draw(left.pieces[:, 0], MOST_CANDIDATES[1])]
        chosen, missed = choose_greedily(left, candidates, error, 0.0)
        centers, left = np.concatenate([centers, chosen]), left.take(missed)
    return shrink(whole, centers, error)


def draw_nearby(grid: SolidGrid, elements: Elements, far: float) -> Floats:
    """Return random points inside the solid, within `far` [m] of the pieces along each axis; the seed is fixed."""
    rng = np.random.default_rng(0)
    rows = rng.choice(elements.pieces[:, 0], MOST_NEARBY) if len(elements.pieces) else np.zeros(0, np.int64)
    points = elements.points[rows] + rng.uniform(-far, far, (len(rows), 3))
    cells = grid.find_cells(points)
    within = ((cells >= 0) & (cells < grid.inside.shape)).all(axis=1)
    points, cells = points[within], cells[within]
    return np.concatenate([points[grid.inside[tuple(cells.T)]], elements.points[rows[: len(rows) // 10]]])


def list_candidates(grid: SolidGrid, elements: Elements) -> Floats:
    """Return centres of balls: cells as far from the surface as their neighbours, other cells, corners of triangles."""
    depths = grid.measure_distances(~grid.inside)
    ridge = grid.inside & (depths >= find_highest(depths))
    kinds = [grid.find_centers(ridge), grid.find_centers(grid.inside & ~ridge), elements.points[elements.sizes == 0.0]]
    chosen = zip(kinds, MOST_CANDIDATES, strict=True)
    ridges, *others = [points[draw(np.arange(len(points)), most)] for points, most in chosen]
    return np.concatenate([deepen(elements, ridges), *others])


def deepen(elements: Elements, centers: Floats) -> Floats:
    """Return points moved away from the surface, each by steps that are shorter than its distance from it."""
    corners = elements.points[elements.sizes == 0.0]
    best, depths = centers, np.zeros(len(centers))
    for share in STEPS:
        needs = elements.measure_needs(centers)
        found = elements.measure_depths(needs)
        best, depths = np.where((found > depths)[:, None], centers, best), np.maximum(found, depths)
        away = best - corners[needs[:, : len(corners)].argmin(axis=1)]
        length = np.maximum(np.linalg.norm(away, axis=1), 1e-300)
        centers = best + (np.minimum(share * elements.side, 0.9 * depths) / length)[:, None] * away
    return best


def draw(rows: NDArray[np.int64], most: int) -> NDArray[np.int64]:
    """Return the rows; at most `most` of them, drawn with a fixed seed."""
    return rows if len(rows) <= most else np.random.default_rng(0).choice(rows, most, replace=False)


def find_highest(values: Floats) -> Floats:
    """Return the largest value among each cell and its 26 neighbours."""
    out = values.copy()
    for axis in range(3):
        across = np.moveaxis(out, axis, 0)
        start = across.copy()
        np.maximum(across[1:], start[:-1], out=across[1:])
        np.maximum(across[:-1], start[1:], out=across[:-1])
    return out


def choose_greedily(
    elements: Elements, candidates: Floats, error: float, few: float
) -> tuple[Floats, NDArray[np.int64]]:
    """Return candidates that contain more than `few` new pieces each, largest gain first; and the other pieces."""
    if not len(candidates):
        return candidates, np.arange(len(elements.pieces))
    parts = np.array_split(candidates, 1 + len(candidates) * len(elements.points) // CHUNK)
    contains = np.concatenate([find_contents(elements, part, error) for part in parts], axis=1)
    gains, left, order = contains.sum(axis=0, dtype=np.int64), np.ones(len(contains), np.bool_), []
    while gains.max() > few:  # ends: a gain that is taken becomes zero
        order.append(int(gains.argmax()))
        new = left & contains[:, order[-1]]
        gains -= contains[new].sum(axis=0, dtype=np.int32)
        left &= ~new
    return candidates[order], np.flatnonzero(left)


def find_contents(elements: Elements, centers: Floats, error: float) -> Flags:
    """Return whether the largest allowed ball around each centre contains each piece, (m, k)."""
    needs = elements.measure_needs(centers)
    return elements.find_contained(needs, elements.measure_depths(needs) + error)


def shrink(elements: Elements, centers: Floats, error: float) -> tuple[Floats, Floats, float]:
    """Return the balls, no larger than their pieces need, and their largest excess [m].

    A piece belongs to the ball that stands out least for it. Balls without pieces are left out.
    """
    needs = elements.measure_needs(centers)
    depths = elements.measure_depths(needs)
    piece_needs = needs[:, elements.pieces].max(axis=2)
    excess = np.where(piece_needs <= (depths + error)[:, None], piece_needs - depths[:, None], np.inf)
    best = excess.argmin(axis=0)
    radii = np.zeros(len(centers))
    np.maximum.at(radii, best, piece_needs[best, np.arange(len(best))])
    used = radii > 0.0
    radii = radii[used] * (1.0 + ROUNDING)
    return centers[used], radii, float((radii - depths[used]).max())
