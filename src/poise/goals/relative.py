"""Relative: keep a frame at a pose that is fixed to another frame.

    residual  r = [p_target - p;  log(R_target R^T)],  T_target = T_other transform      metres (in units of L), radians
    Jacobian  the rows of Reach, minus those of the other frame at the same point

It is Reach with `relative_to`: a hand on the other hand, both hands on a wheel, a closed loop.
Source: Rabbani, A recipe to cook Jacobian, section 3.3; the difference of two frames' Jacobians, Featherstone, Rigid
Body Dynamics Algorithms, 2008, chapter 8 (closed loops).
"""

from dataclasses import KW_ONLY, dataclass
from typing import Any

from poise.goals.direction import read_point
from poise.goals.goal import Goal, GoalRows
from poise.goals.reach import WEIGHT, Reach, read_target
from poise.model import Model

__all__ = ["Relative"]


@dataclass(frozen=True, eq=False)
class Relative(Goal, words={"weight": WEIGHT}):
    """Keep a frame at a pose relative to another frame.

    Attributes:
        frame: The frame to move; the other frame may move too.
        other: The frame in which `transform` is given.
        transform: The target pose, relative to the other frame: a Transform, a 4x4 matrix, or three numbers [m].
        point: A point of the frame, in its own coordinates [m]; by default its origin.
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
        """Return the goal for the kernels; see `Goal.rows`."""
        return self.reach().rows(model)
