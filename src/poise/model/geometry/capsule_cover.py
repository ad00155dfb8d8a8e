"""Capsules that contain a solid, and a bound on how far they stand out of it.

One capsule contains all corners of the surface, and therefore the solid. While a capsule stands out too far, its part
of the solid is cut in two. Triangles have short sides, and each half has all corners up to that far behind the cut: so
it has all triangles across the cut, and each half of the solid is inside the convex hull of its corners.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from poise.arrays import Floats
from poise.model.geometry.solid_grid import HALF_DIAGONAL, SolidGrid, split_triangles
from poise.model.geometry.triangles import merge_points
from poise.model.memo import keep_by_content
from poise.native import core
from poise.spatial.directions import place_on_spiral

__all__ = ["CoverCapsule", "cover_with_capsules"]

MOST_CAPSULES = 3
ALLOWED = 0.1  # excess of a capsule over the convex hull of its part that is not cut, relative to the extent
SIDE = 1.0 / 16.0  # longest side of a triangle, relative to the extent
CELL = 1.0 / 32.0  # edge of a cell of the grid on which the excess is measured, relative to the extent
DIRECTIONS = 40
AROUND = place_on_spiral((np.arange(DIRECTIONS) + 0.5) / DIRECTIONS)  # over a half-sphere
TWICE = place_on_spiral((np.arange(2 * DIRECTIONS) + 0.5) / (2 * DIRECTIONS))
NARROWER = (0.25, 0.05)  # widths of the cones in which a direction is refined [rad]
RADII = np.linspace(1.0, 1.5, 16)  # tried for a capsule, relative to the radius of the enclosing cylinder
STEPS = 40  # of the iteration towards the smallest enclosing circle
ROUNDING = 1e-12  # relative


class CoverCapsule(NamedTuple):
    """A capsule: the ends of its segment (3,), and its radius [m]."""

    a: Floats
    b: Floats
    radius: float

    def measure_distances(self, points: Floats) -> Floats:
        """Return the distance of each point from the segment, (n,) [m]."""
        along = self.b - self.a
        share = np.clip((points - self.a) @ along / max(float(along @ along), 1e-300), 0.0, 1.0)
        return np.asarray(np.linalg.norm(points - self.a - share[:, None] * along, axis=1))

    def grow(self, points: Floats) -> CoverCapsule:
        """Return the capsule with the radius that contains all points."""
        return self._replace(radius=float(self.measure_distances(points).max()) * (1.0 + ROUNDING))


class CoverPart(NamedTuple):
    """Corners of triangles (n, 3), a capsule that contains them, and its excess over their convex hull [m]."""

    points: Floats
    capsule: CoverCapsule
    excess: float


@keep_by_content
def cover_with_capsules(corners: Floats) -> tuple[list[CoverCapsule], float]:
    """Return capsules that contain a solid, and a bound of their excess [m].

    Args:
        corners: The triangles of its surface, (n, 3, 3) [m].
    """
    extent = float((corners.max(axis=(0, 1)) - corners.min(axis=(0, 1))).max())
    if extent == 0.0:
        return [CoverCapsule(corners[0, 0], corners[0, 0], 0.0)], 0.0
    triangles = split_triangles(corners, SIDE * extent)
    parts = [enclose(merge_points(triangles.reshape(-1, 3))[0])]
    while len(parts) < MOST_CAPSULES and max(map(get_excess, parts)) > ALLOWED * extent:
        worst = max(range(len(parts)), key=lambda k: parts[k].excess)
        parts[worst : worst + 1] = cut(parts[worst], SIDE * extent)
    capsules = [refine(part) for part in parts]
    return capsules, measure_excess(triangles, capsules, CELL * extent)


def get_excess(part: CoverPart) -> float:
    """Return the excess of a part [m]."""
    return part.excess


def cut(part: CoverPart, side: float) -> list[CoverPart]:
    """Return the two halves of a part, cut along the axis for which they stand out least."""
    tried = []
    for heights in part.points.T:
        middle = 0.5 * (heights.min() + heights.max())
        halves = heights <= middle + side, heights >= middle - side
        tried.append([enclose(part.points[half]) for half in halves])
    return min(tried, key=lambda halves: max(map(get_excess, halves)))


def enclose(points: Floats) -> CoverPart:
    """Return points with a capsule around all of them, the tightest in some directions."""
    directions = np.concatenate([AROUND, np.eye(3), np.linalg.eigh(np.cov(points.T))[1].T])
    capsule, excess, _ = fit_capsule(find_outer(points), directions)
    return CoverPart(points, capsule, excess)


def refine(part: CoverPart) -> CoverCapsule:
    """Return a tighter capsule around all points of a part, in a direction near that of its capsule."""
    outer, best = find_outer(part.points), (part.capsule, part.excess, part.capsule.b - part.capsule.a)
    for width in NARROWER if best[2].any() else ():
        near = best[2] / np.linalg.norm(best[2]) + width * AROUND
        best = min(best, fit_capsule(outer, near), key=lambda found: found[1])
    return best[0].grow(part.points)


def find_outer(points: Floats) -> Floats:
    """Return the farthest points in some directions."""
    heights = TWICE @ points.T
    return np.asarray(points[np.unique([heights.argmax(axis=1), heights.argmin(axis=1)])])


def fit_capsule(points: Floats, directions: Floats) -> tuple[CoverCapsule, float, Floats]:
    """Return the tightest of the capsules around points (n, 3) along directions (m, 3), its excess and direction.

    The excess is that over the convex hull: the largest difference of the support functions h(u) = max u . x.
    """
    units = directions / np.linalg.norm(directions, axis=1, keepdims=True)
    heights = units @ points.T  # (m, n)
    flat = points - heights[..., None] * units[:, None]  # (m, n, 3), across each direction
    centers = find_circles(flat)
    far = np.linalg.norm(flat - centers[:, None], axis=2)
    radii = RADII[:, None] * far.max(axis=1)
    reach = np.sqrt(np.maximum(radii[..., None] ** 2 - far**2, 0.0))  # (k, m, n)
    a, b = (heights + reach).min(axis=2), (heights - reach).max(axis=2)
    a, b = np.minimum(a, 0.5 * (a + b)), np.maximum(b, 0.5 * (a + b))
    around = np.concatenate([AROUND, -AROUND])
    along, aside = around @ units.T, around @ centers.T  # (d, m)
    support = aside + np.maximum(a[:, None] * along, b[:, None] * along) + radii[:, None]
    excess = (support - (points @ around.T).max(axis=0)[:, None]).max(axis=1)  # (k, m)
    k, m = np.unravel_index(excess.argmin(), excess.shape)
    one, other = (centers[m] + height * units[m] for height in (a[k, m], b[k, m]))
    return CoverCapsule(one, other, float(radii[k, m])), float(excess[k, m]), units[m]


def find_circles(points: Floats) -> Floats:
    """Return the centres (m, 3) of nearly smallest circles around the sets of points (m, n, 3).

    Source: M. Badoiu and K. Clarkson, Smaller core-sets for balls, 2003: a step of 1 / k towards the farthest point.
    """
    rows, squares = np.arange(len(points)), (points * points).sum(axis=2)
    centers = 0.5 * (points.min(axis=1) + points.max(axis=1))
    for k in range(2, STEPS):
        farthest = (squares - 2.0 * (points @ centers[..., None])[..., 0]).argmax(axis=1)
        centers = centers + (points[rows, farthest] - centers) / k
    return np.asarray(centers)


def measure_excess(triangles: Floats, capsules: list[CoverCapsule], edge: float) -> float:
    """Return a bound of the distance of the points of capsules from a solid [m], for cells with the given edge.

    It is computed at the centres of cells outside, from the nearest corner of a triangle; those whose distance from the
    cells of the solid shows that they are nearer than others are left out.
    """
    ends = np.array([(c.a, c.b) for c in capsules])
    reach = np.array([c.radius for c in capsules])[:, None, None]
    low, high = triangles.min(axis=(0, 1)), triangles.max(axis=(0, 1))
    over = np.concatenate([low - (ends - reach).min(axis=(0, 1)), (ends + reach).max(axis=(0, 1)) - high])
    grid = SolidGrid(triangles, edge, float(over.max()))
    centers, slack = grid.find_centers(grid.outside), float(HALF_DIAGONAL * edge)
    far = grid.measure_distances(~grid.outside)[grid.outside]
    covered = np.logical_or.reduce([c.measure_distances(centers) <= c.radius + slack for c in capsules])
    tree, farthest = core.Points(triangles[:, 0]), 0.0
    for k in np.flatnonzero(covered)[np.argsort(far[covered])[::-1]]:
        if far[k] + 2.0 * slack <= farthest:
            break
        farthest = max(farthest, float(tree.find(centers[k], 1)[1][0]))
    return farthest + slack
