"""Align: keep an axis of a frame along a direction.

    residual  r = rotation vector that takes a to d       radians, world axes
              a = R axis,  d = the direction
    |r| is the angle between the two; if they are opposite, r is a half turn about an axis perpendicular to them.

The frame is free to spin about the direction. Examples: a level tray, an upright umbrella, a pole vector for an elbow
or a knee.
Source: Zhao and Badler, Inverse kinematics positioning using nonlinear programming for highly articulated figures,
ACM TOG 13(4), 1994 (orientation goals given by directions).
"""

from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from poise.goals.direction import read_axis
from poise.goals.goal import ALIGN, TURNED, Goal, GoalRows, pack_target, read_one_weight
from poise.model import Model

__all__ = ["Align"]


@dataclass(frozen=True, eq=False)
class Align(Goal, words=TURNED):
    """Keep an axis of a frame along a direction.

    Attributes:
        frame: The frame to rotate.
        axis: Its axis: a letter such as "y" or "-z", or three numbers.
        direction: The target direction of the axis: a letter, or three numbers of any nonzero length.
        relative_to: The frame in whose axes the direction is given; by default the world.
    """

    frame: str
    axis: Any
    direction: Any
    _: KW_ONLY
    relative_to: str | None = None

    default_name = "align"

    def __post_init__(self) -> None:
        self.check_common()
        object.__setattr__(self, "axis", read_axis(self.axis, "Align: axis"))
        object.__setattr__(self, "direction", read_axis(self.direction, "Align: direction"))
        read_one_weight(self.weight, 3, "Align")

    def rows(self, model: Model) -> GoalRows:
        """Return the goal for the kernels; see `Goal.rows`."""
        return GoalRows(
            op=ALIGN,
            frame=self.frame,
            base=self.relative_to,
            weight=read_one_weight(self.weight, slice(3, 6), "Align"),
            target=self._convert(self.direction),
            convert=self._convert,
            axis=np.array(self.axis),
            size=3,
        )

    def _convert(self, direction: Any) -> NDArray[np.float64]:
        return pack_target(None, read_axis(direction, "Align: direction"))
