"""Where a centre of mass is relative to its support: the shortest way from the hull of the contacts to it.

The kernels (`hull_of` in `native/kernels/goals/balance.h`) know the edges of the hull and how far each is, which is
what a solve needs. Which way the centre of mass lies is asked for in words alone, and found here, from the points
themselves.
"""

from __future__ import annotations

import numpy as np

from poise.arrays import Floats
from poise.goals.goal import GoalRows
from poise.solvers.solution import Solution

__all__ = ["measure_excess"]


def measure_excess(solution: Solution, row: GoalRows) -> Floats:
    """Return the level vector [m] from the support's nearest point (inside: its middle) to the centre of mass."""
    model, up = solution.model, row.target[9:12]
    points = []
    for frame, point in row.points:
        T = model.fk(solution.q, frame)
        points.append(T[:3, :3] @ point + T[:3, 3])
    level = np.eye(3) - np.outer(up, up)
    corners = np.array(points) @ level
    away = corners - np.asarray(model.center_of_mass(solution.q)) @ level  # seen from the centre of mass
    nearest = find_nearest(away)
    return -nearest if np.linalg.norm(nearest) > 1e-12 * model.length else -away.mean(axis=0)


def find_nearest(points: Floats) -> Floats:
    """Return the point of the convex hull of level points that is nearest to the origin; inside, the origin itself."""
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
