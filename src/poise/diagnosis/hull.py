"""The position of the centre of mass relative to its support polygon.

The kernels (`hull_of` in `native/kernels/goals/balance.h`) compute the edges of the hull and their distances for the
solve. The direction to the centre of mass, which only the text needs, is computed here from the points.
"""

import numpy as np

from poise.arrays import Floats
from poise.goals.goal import GoalRows
from poise.solvers.solution import Solution

__all__ = ["measure_excess"]


def measure_excess(solution: Solution, row: GoalRows) -> Floats:
    """Return the horizontal vector [m] from the support's nearest point (inside: its centre) to the centre of mass."""
    model, up = solution.model, row.target[9:12]
    points = []
    for frame, point in row.points:
        T = model.fk(solution.q, frame)
        points.append(T[:3, :3] @ point + T[:3, 3])
    level = np.eye(3) - np.outer(up, up)
    corners = np.array(points) @ level
    away = corners - np.asarray(model.center_of_mass(solution.q)) @ level  # relative to the centre of mass
    nearest = find_nearest(away)
    return -nearest if np.linalg.norm(nearest) > 1e-12 * model.length else -away.mean(axis=0)


def find_nearest(points: Floats) -> Floats:
    """Return the point of the convex hull of horizontal points nearest to the origin, or the origin if it is inside."""
    best = points[int(np.linalg.norm(points, axis=1).argmin())]
    for i, a in enumerate(points):
        for b in points[i + 1 :]:
            way = b - a
            share = np.clip(-(a @ way) / max(float(way @ way), 1e-300), 0.0, 1.0)
            spot = a + share * way
            if np.linalg.norm(spot) < np.linalg.norm(best):
                best = spot
    # inside: no direction has all points on its far side
    return np.zeros(3) if (points @ best).min() < 0.999 * float(best @ best) else best
