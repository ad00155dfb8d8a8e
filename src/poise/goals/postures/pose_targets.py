"""PoseTargets: the points of a body that goals place, and their target positions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from poise.arrays import Floats
from poise.goals.goal import POSE, POSITION, GoalRows

__all__ = ["NOTHING", "PoseTargets", "is_place"]

Points = tuple[tuple[str, tuple[float, float, float]], ...]


class PoseTargets(NamedTuple):
    """The points that goals place, and their targets.

    Attributes:
        points: Frames, and points on them.
        places: Their targets in the world, (points, 3) [m].
    """

    points: Points
    places: Floats

    @classmethod
    def read(cls, rows: Sequence[GoalRows]) -> PoseTargets:
        """Return the initial targets of the goals."""
        asked = [row for row in rows if is_place(row)]
        points = tuple((str(row.frame), tuple(float(x) for x in row.point)) for row in asked)
        return cls(points, np.array([row.target[9:12] for row in asked]).reshape(-1, 3))  # type: ignore[arg-type]


def is_place(row: GoalRows) -> bool:
    """Return whether a goal places a point in the world."""
    return row.op in (POSITION, POSE) and row.base is None and bool((row.weight[:3] > 0).any())


NOTHING = PoseTargets((), np.zeros((0, 3)))
