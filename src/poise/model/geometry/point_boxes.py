"""Sets of points in boxes, so that only nearby ones are compared."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from poise.arrays import Floats

__all__ = ["PointBoxes", "Rows", "measure_squares", "split_rows", "sum_squares"]

Rows = NDArray[np.int64]

GROUP = 128  # centres whose nearest points are searched together


@dataclass(frozen=True, slots=True, eq=False)
class PointBoxes:
    """Sets of points in boxes.

    Attributes:
        points: The points, (n, k, 3): n sets of k points.
        rows: The sets in each box.
        low: The lowest coordinates of each box, (m, 3).
        high: The highest ones, (m, 3).
    """

    points: Floats
    rows: list[Rows]
    low: Floats
    high: Floats

    @classmethod
    def make(cls, points: Floats, most: int) -> PointBoxes:
        """Return the boxes of sets of points (n, k, 3), at most `most` sets in each."""
        rows = split_rows(points[:, 0], most)
        ends = [(points[each].min(axis=(0, 1)), points[each].max(axis=(0, 1))) for each in rows]
        return cls(points, rows, *np.array(ends).reshape(-1, 2, 3).swapaxes(0, 1))

    def find_reached(self, box: int, centers: Floats, radii: Floats) -> Rows:
        """Return the balls that reach a box."""
        gaps = np.maximum(np.maximum(self.low[box] - centers, centers - self.high[box]), 0.0)
        return np.flatnonzero(sum_squares(gaps) <= radii**2)

    def find_nearest(self, centers: Floats) -> Floats:
        """Return the nearest point to each centre, (m, 3)."""
        out = np.zeros_like(centers)
        for rows in split_rows(centers, GROUP):
            some = centers[rows]
            near, far = self._measure_gaps(some.min(axis=0), some.max(axis=0))
            out[rows] = self._search(some, np.flatnonzero(near <= far.min()))
        return out

    def _measure_gaps(self, low: Floats, high: Floats) -> tuple[Floats, Floats]:
        """Return the squared distances of the boxes from another one: of the nearest points, and of the farthest."""
        below, above = self.low - high, low - self.high
        near = np.maximum(np.maximum(below, above), 0.0)
        return sum_squares(near), sum_squares(np.maximum(high - self.low, self.high - low))

    def _search(self, centers: Floats, boxes: Rows) -> Floats:
        """Return the nearest point of some boxes to each centre, (m, 3)."""
        below, above = self.low[boxes] - centers[:, None], centers[:, None] - self.high[boxes]
        near = sum_squares(np.maximum(np.maximum(below, above), 0.0))  # squared distances of the boxes
        limit = sum_squares(np.minimum(below, above)).min(axis=1)  # of the farthest corner of the nearest box
        out, best = np.zeros_like(centers), np.full(len(centers), np.inf)
        first = near.min(axis=0).argsort()
        for k in first[(near <= limit[:, None]).any(axis=0)[first]]:
            some = np.flatnonzero(near[:, k] <= np.minimum(limit, best))
            if len(some):
                points = self.points[self.rows[boxes[k]]].reshape(-1, 3)
                squares = measure_squares(centers[some], points)
                nearest = squares.argmin(axis=1)
                found = squares[np.arange(len(some)), nearest]
                better = found < best[some]
                out[some[better]], best[some[better]] = points[nearest[better]], found[better]
        return out


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
