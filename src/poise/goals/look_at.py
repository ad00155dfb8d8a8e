"""LookAt: point an axis of a frame at a position.

    residual  r = rotation vector that takes a to d       radians, world axes
              a = R axis,  d = (p_target - p) / |p_target - p|
    |r| is the angle between the two; if they are opposite, r is a half turn about an axis perpendicular to them.

The Jacobian includes both the rotation of the axis and the motion of the eye, which changes d. If the target coincides
with the eye, the direction is undefined, and r is zero.
Source: Zhao and Badler, Inverse kinematics positioning using nonlinear programming for highly articulated figures,
ACM TOG 13(4), 1994 (aiming-at goals).
"""

from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from poise.goals.direction import place_on_frame, read_axis, read_point
from poise.goals.goal import LOOK, TURNED, Goal, GoalRows, pack_target, read_one_weight
from poise.keywords import refuse_unknown
from poise.kinematics.regions import read_position
from poise.model import Model

__all__ = ["LookAt"]


@dataclass(frozen=True, eq=False)
class LookAt(Goal, words=TURNED):
    """Point an axis of a frame at a position, as for a gaze, a lamp or a camera.

    Attributes:
        frame: The frame that looks.
        target: The position to look at, three numbers [m].
        axis: The frame's axis that points at the target: a letter such as "z" or "-y", or three numbers.
        point: Position of the eye on the frame, in its own coordinates [m]; by default its origin.
        relative_to: The frame in which the target is given, such as a hand to look at; by default the world.
    """

    frame: str
    target: Any
    _: KW_ONLY
    axis: Any = "z"
    point: Any = None
    relative_to: str | None = None

    default_name = "look_at"

    def __post_init__(self) -> None:
        self.check_common()
        object.__setattr__(self, "target", read_position(self.target, "LookAt: target"))
        object.__setattr__(self, "axis", read_axis(self.axis, "LookAt: axis"))
        object.__setattr__(self, "point", read_point(self.point, "LookAt: point"))
        read_one_weight(self.weight, 3, "LookAt")

    def rows(self, model: Model) -> GoalRows:
        """Return the goal for the kernels; see `Goal.rows`."""
        return GoalRows(
            op=LOOK,
            frame=self.frame,
            base=self.relative_to,
            point=place_on_frame(self.point),
            weight=read_one_weight(self.weight, slice(3, 6), "LookAt"),
            target=self._convert(self.target),
            convert=self._convert,
            axis=np.array(self.axis),
            size=3,
        )

    def _convert(self, target: Any) -> NDArray[np.float64]:
        return pack_target(None, read_position(target, "LookAt: target"))


LookAt.__init__ = refuse_unknown(LookAt.__init__)  # type: ignore[method-assign]
