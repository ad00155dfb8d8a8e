"""Spheres that contain a solid and stand out of it by at most a given error.

A ball around a point c inside the solid stands out by at most r - d(c), with d(c) the distance to the surface: each
line from c to a point of the ball outside crosses the surface at least d(c) from c. A candidate has r = d(c) + error,
and the cover takes, again and again, the candidate that contains most of the elements that are not contained yet.
Elements are the triangles of the surface, split to three quarters of the error, and the cells inside (`SolidGrid`).
Gains are counted on a sample of them, first of the whole solid and then block by block; whether an element is contained
is computed for all of them, next to each ball.

d(c) follows from the distance m to the nearest corner of those triangles: a side is at most s long, the nearest point
of the surface is at most s / sqrt(3) from a corner of its triangle, at right angles to the line from c, and so
d(c)^2 >= m^2 - s^2 / 3. The result therefore contains every triangle and every cell inside, and the error is a bound.

Source of the greedy cover: V. Chvatal, A greedy heuristic for the set-covering problem, 1979.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from poise.arrays import Floats
from poise.model.geometry.solid_grid import HALF_DIAGONAL, SolidGrid, find_highest
from poise.model.geometry.triangles import merge_points
from poise.model.memo import keep_by_content
from poise.native import core

__all__ = ["CELL", "cover_with_spheres"]

Rows = NDArray[np.int64]
Balls = Floats  # (n, 4): their centres, and the distance of each centre from the surface [m]

CELL = 0.75  # edge of a cell and longest side of a triangle, relative to the error
MOST_CANDIDATES = (1_000, 1_200, 300)  # ridges, other cells, corners
STEPS = (0.5, 0.5, 0.25, 0.25, 0.12, 0.12, 0.06, 0.0)  # of a candidate, relative to a cell
CHUNK = 2_000_000  # distances that are computed at once
BOX = 1_024  # pieces
BLOCK = 8_192  # pieces that are covered at once
SAMPLE = 8_192, 4_096  # pieces on which gains are counted: of the whole solid, of a block
FEW = (0.002, 0.01)  # share of the pieces that a sphere must contain, in each round
NEARBY = 3.0  # distance of candidates from the pieces that are left, relative to the error
MOST_NEARBY = 2_000
WALL = 1.2  # spacing of the first spheres of walls without an inside, relative to the error
FINE = 8  # blocks that get all candidates each
ROUNDING = 1e-7  # relative


class Elements:
    """The pieces of a solid that the spheres must contain.

    Args:
        corners: The corners of triangles of the surface, or three times the centre of a cell, (m, 3, 3) [m].
        sizes: The size of each cell around its centre, zero for a triangle, (m,) [m].
    """

    def __init__(self, corners: Floats, sizes: Floats) -> None:
        self.corners, self.sizes = corners, sizes

    @cached_property
    def boxes(self) -> list[tuple[Rows, Floats, Floats]]:
        """The pieces in boxes, with the lowest and highest coordinates of each."""
        boxes = [(rows, self.corners[rows]) for rows in split_rows(self.corners[:, 0], BOX)]
        return [(rows, corners.min(axis=(0, 1)), corners.max(axis=(0, 1))) for rows, corners in boxes]

    def list_reached(self, centers: Floats, radii: Floats) -> Iterator[tuple[Rows, Rows]]:
        """Yield the pieces of each box, and the balls that reach it."""
        for rows, low, high in self.boxes:
            gaps = np.maximum(np.maximum(low - centers, centers - high), 0.0)
            yield rows, np.flatnonzero(sum_squares(gaps) <= radii**2)

    def take(self, rows: Rows) -> Elements:
        """Return some of the pieces."""
        return Elements(self.corners[rows], self.sizes[rows])

    def measure_needs(self, centers: Floats) -> Floats:
        """Return the radius that a ball around each centre needs to contain each piece, (m, k) [m]."""
        squares = measure_squares(self.corners[:, 0], centers)
        for k in (1, 2):
            np.maximum(squares, measure_squares(self.corners[:, k], centers), out=squares)
        return np.asarray(np.sqrt(squares, out=squares) + self.sizes[:, None])


class SphereCover:
    """The cover of one solid so far.

    Attributes:
        grid: The solid.
        error: The largest allowed excess [m].
        whole: All pieces.
        balls: The balls.
        surface: The corners of its triangles, (n, 3) [m].
    """

    def __init__(self, grid: SolidGrid, error: float) -> None:
        self.grid, self.error = grid, error / (1.0 + ROUNDING)
        cells = np.repeat(grid.find_centers(grid.inside)[:, None], 3, axis=1)
        sizes = np.repeat([0.0, HALF_DIAGONAL * grid.edge], [len(grid.triangles), len(cells)])
        self.whole = Elements(np.concatenate([grid.triangles, cells]), sizes)
        near = (grid.triangles[rows].reshape(-1, 3) for rows in split_rows(grid.triangles[:, 0], BOX))
        self.surface = np.concatenate([merge_points(each)[0] for each in near])
        self.tree = core.Points(self.surface)
        self.balls = self.make_balls(np.zeros((0, 3)))

    def make_balls(self, centers: Floats) -> Balls:
        """Return balls around centres; those that are not in a cell inside have no depth."""
        depths, inside = np.zeros(len(centers)), self.grid.find_inside(centers)
        depths[inside] = self.measure_depths(centers[inside])[1]
        return np.column_stack([centers, depths])

    def measure_depths(self, centers: Floats) -> tuple[Floats, Floats]:
        """Return the corner nearest to each centre (k, 3), and a lower bound of its distance from the surface [m]."""
        nearest = self.surface[np.array([self.tree.find(center, 1)[0][0] for center in centers], np.int64)]
        squares = sum_squares(nearest - centers)
        return nearest, np.sqrt(np.maximum(squares - self.grid.edge**2 / 3.0, 0.0))

    def find_missed(self, elements: Elements, balls: Balls) -> Rows:
        """Return the pieces that are in none of the balls."""
        missed, centers, radii = np.ones(len(elements.sizes), np.bool_), balls[:, :3], balls[:, 3] + self.error
        for rows, near in elements.list_reached(centers, radii):
            if len(near):
                needs = elements.take(rows).measure_needs(centers[near])
                missed[rows] = (needs > radii[near]).all(axis=1)
        return np.flatnonzero(missed)

    def choose(self, left: Elements, sample: Elements, candidates: Floats, few: float) -> Elements:
        """Add the candidates that contain more than a share of the sample each, largest gain first.

        Args:
            left: The pieces that are not contained yet.
            sample: Some of them.
            candidates: The centres of balls, (k, 3) [m].
            few: The share.

        Returns:
            The pieces that are not contained then.
        """
        if not len(candidates):
            return left
        balls = self.make_balls(candidates)
        parts = np.array_split(np.arange(len(candidates)), 1 + len(candidates) * len(sample.sizes) // CHUNK)
        radii = balls[:, 3] + self.error
        contains = np.concatenate([sample.measure_needs(candidates[p]) <= radii[p] for p in parts], axis=1)
        gains, rest, order = contains.sum(axis=0, dtype=np.int64), np.ones(len(contains), np.bool_), []
        while gains.max(initial=0) > few * len(contains):  # ends: a gain that is taken becomes zero
            order.append(int(gains.argmax()))
            new = rest & contains[:, order[-1]]
            gains -= contains[new].sum(axis=0, dtype=np.int32)
            rest &= ~new
        return self.add_balls(balls[np.array(order, np.int64)], left)

    def add_balls(self, balls: Balls, left: Elements) -> Elements:
        """Add balls; return the pieces that are not contained then."""
        self.balls = np.concatenate([self.balls, balls])
        return left.take(self.find_missed(left, balls))

    def cover_walls(self, left: Elements) -> Elements:
        """Add balls in a regular pattern on walls that are far from the inside; return the pieces that are left."""
        cells = tuple(self.grid.find_cells(left.corners[:, 0]).T)
        rows = np.flatnonzero(self.grid.measure_distances(self.grid.inside)[cells] > NEARBY * self.error)
        middles = left.corners[rows].mean(axis=1) / (WALL * self.error)
        places = np.floor(middles)
        order = np.lexsort((((middles - places - 0.5) ** 2).sum(axis=1), *places.T))
        first = np.diff(places[order], axis=0, prepend=np.nan).any(axis=1)
        centers = left.corners[rows[order[first]]].mean(axis=1)
        return self.add_balls(np.column_stack([centers, np.zeros(len(centers))]), left)

    def cover_block(self, left: Elements, share: float) -> None:
        """Add balls until all pieces of a block are contained, with a share of the candidates."""
        left = left.take(self.find_missed(left, self.balls))
        for few in (FEW[1], 0.0):
            sample = left.take(draw(len(left.sizes), SAMPLE[1]))
            left = self.choose(left, sample, self.draw_nearby(left, int(MOST_NEARBY * share)), few)
        while len(left.sizes):  # ends: each candidate contains its own piece
            sample = left.take(draw(len(left.sizes), SAMPLE[1]))
            left = self.choose(left, sample, sample.corners[: int(MOST_CANDIDATES[1] * share), 0], 0.0)

    def draw_nearby(self, left: Elements, count: int) -> Floats:
        """Return random points inside the solid, near the pieces along each axis; the seed is fixed."""
        rng, far = np.random.default_rng(0), NEARBY * self.error
        around = left.corners[rng.integers(len(left.sizes), size=count) if len(left.sizes) else [], 0]
        points = around + rng.uniform(-far, far, around.shape)
        return np.concatenate([points[self.grid.find_inside(points)], around[: len(around) // 10]])

    def list_candidates(self) -> Floats:
        """Return centres of balls: cells as far from the surface as their neighbours, other cells, corners."""
        depths = self.grid.measure_distances(~self.grid.inside)
        ridge = self.grid.inside & (depths >= find_highest(depths))
        others = self.grid.find_centers(self.grid.inside & ~ridge)
        kinds = [self.grid.find_centers(ridge), others, self.grid.triangles[:, 0]]
        chosen = zip(kinds, MOST_CANDIDATES, strict=True)
        ridges, *rest = [points[draw(len(points), most)] for points, most in chosen]
        return np.concatenate([self.deepen(ridges), *rest])

    def deepen(self, centers: Floats) -> Floats:
        """Return points moved away from the surface, each by steps that are shorter than its distance from it."""
        best, away, depths = centers, np.zeros_like(centers), np.zeros(len(centers))
        for share in STEPS:
            nearest, found = self.measure_depths(centers)
            deeper = found > depths
            best, depths = np.where(deeper[:, None], centers, best), np.maximum(found, depths)
            away = np.where(deeper[:, None], best - nearest, away)
            length = np.maximum(np.linalg.norm(away, axis=1), 1e-300)
            centers = best + (np.minimum(share * self.grid.edge, 0.9 * depths) / length)[:, None] * away
        return best

    def shrink(self) -> tuple[Floats, Floats, float]:
        """Return the balls, no larger than their pieces need, and their largest excess [m].

        A piece belongs to the ball that stands out least for it. Balls without pieces are left out.
        """
        centers, depths = self.balls[:, :3], self.balls[:, 3]
        radii = np.full(len(centers), -1.0)
        for rows, near in self.whole.list_reached(centers, depths + self.error):
            needs, deep = self.whole.take(rows).measure_needs(centers[near]), depths[near]
            best = np.where(needs <= deep + self.error, needs - deep, np.inf).argmin(axis=1)
            np.maximum.at(radii, near[best], needs[np.arange(len(best)), best])
        used = radii >= 0.0
        radii = np.maximum(radii[used], ROUNDING * self.error) * (1.0 + ROUNDING)
        return centers[used], radii, float((radii - depths[used]).max())


@keep_by_content
def cover_with_spheres(corners: Floats, error: float) -> tuple[Floats, Floats, float]:
    """Return the centres (n, 3) and radii (n,) of spheres that contain a solid, and a bound of their excess [m].

    Args:
        corners: The triangles of its surface, (m, 3, 3) [m].
        error: The largest allowed excess [m].

    Raises:
        InvalidValue: The error is too small for the size of the solid.
    """
    cover = SphereCover(SolidGrid(corners, CELL * error), error)
    whole = cover.whole
    left = cover.choose(whole, whole.take(draw(len(whole.sizes), SAMPLE[0])), cover.list_candidates(), FEW[0])
    left = cover.cover_walls(left)
    blocks = split_rows(left.corners[:, 0], BLOCK)
    for rows in blocks:
        cover.cover_block(left.take(rows), min(1.0, FINE / len(blocks)))
    return cover.shrink()


def draw(count: int, most: int) -> Rows:
    """Return the first `count` rows; at most `most` of them, drawn with a fixed seed."""
    return np.arange(count) if count <= most else np.random.default_rng(0).choice(count, most, replace=False)


def split_rows(points: Floats, most: int) -> list[Rows]:
    """Return the rows of points (n, 3) in groups of nearby ones, at most `most` in each, along a Z-order curve."""
    if not len(points):
        return []
    low = points.min(axis=0)
    width = max(float((points.max(axis=0) - low).max()), 1e-300)
    cells, codes = ((points - low) * (1023.0 / width)).astype(np.int64), np.zeros(len(points), np.int64)
    for bit in range(10):
        for axis in range(3):
            codes |= ((cells[:, axis] >> bit) & 1) << (3 * bit + axis)
    return np.array_split(codes.argsort(kind="stable"), -(-len(points) // most))


def sum_squares(vectors: Floats) -> Floats:
    """Return the squared lengths of vectors (..., 3)."""
    return np.asarray(np.einsum("...i,...i->...", vectors, vectors))


def measure_squares(points: Floats, others: Floats) -> Floats:
    """Return the squared distances of points (k, 3) from others (n, 3), (k, n)."""
    middle = others.mean(axis=0)
    points, others = points - middle, others - middle
    left = np.column_stack([points, sum_squares(points), np.ones(len(points))])
    right = np.column_stack([-2.0 * others, np.ones(len(others)), sum_squares(others)])
    squares = left @ right.T
    return np.asarray(np.maximum(squares, 0.0, out=squares))
