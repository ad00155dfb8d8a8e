"""Relative: hold a frame in a place that is fixed to another frame.

    residual  r = [p_target - p;  log(R_target R^T)],  T_target = T_other transform      metres (in units of L), radians
    Jacobian  the rows of Reach, less those of the other frame at the same point

It is Reach with `relative_to`: a hand on the other hand, both hands on a wheel, a loop that closes.
Source: Rabbani, A recipe to cook Jacobian, section 3.3; the difference of two frames' Jacobians, Featherstone, Rigid
Body Dynamics Algorithms, 2008, chapter 8 (closed loops).
"""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any

from poise.goals.direction import read_point
from poise.goals.goal import Goal, GoalRows
from poise.goals.reach import WEIGHT, Reach, read_target
from poise.model import Model

__all__ = ["Relative"]


@dataclass(frozen=True, eq=False)
class Relative(Goal, words={"weight": WEIGHT}):
    """Hold a frame where another frame carries it.

    Attributes:
        frame: The frame to move; the other one may move too.
        other: The frame in which `transform` is given.
        transform: Where the frame shall be, seen from the other: a Transform, a 4x4 matrix, or three numbers [m].
        point: Where on the frame, in its own coordinates; its origin unless given.
    """

    frame: str
    other: str
    transform: Any
    _: KW_ONLY
    point: Any = None

    default_name = "relative"

    def __post_init__(self) -> None:
        self.check_common()
        object.__setattr__(self, "transform", read_target(self.transform))
        object.__setattr__(self, "point", read_point(self.point, "Relative: point"))
        self.reach()

    def reach(self) -> Reach:
        """Return the same goal as a Reach."""
        return Reach(self.frame, self.transform, point=self.point, relative_to=self.other, weight=self.weight)

    def rows(self, model: Model) -> GoalRows:
        """See Goal.rows."""
        return self.reach().rows(model)
