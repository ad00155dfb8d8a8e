"""Angle: keep the angle between two axes at a value, or within a range.

    residual  r = theta_wanted - theta,  theta = angle(R_a axis_a, R_b axis_b)       radians, one row
    theta_wanted is the value in [low, high] closest to theta: r is zero inside the range

theta = atan2(|a x b|, a . b), from 0 to pi: acos would lose half its digits at both ends. The row's Jacobian is the
unit vector along b x a, applied to the rotation of frame a minus that of b; for parallel axes, any perpendicular unit
vector. To make two axes parallel, Align is smoother. Source: the gradient of an angle.
"""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from poise.errors import InvalidValue
from poise.goals.direction import read_axis
from poise.goals.distance import pack_span
from poise.goals.goal import ANGLE, TURNED, Goal, GoalRows, read_one_weight
from poise.goals.range import Range, read_range
from poise.model import Model
from poise.model.joints.joint import get_name

__all__ = ["Angle"]


@dataclass(frozen=True, eq=False)
class Angle(Goal, words=TURNED):
    """Keep an axis of one frame at an angle to an axis of another, or to a direction in the world.

    Attributes:
        frame_a: The first frame.
        axis_a: Its axis: a letter such as "z" or "-y", or three numbers.
        frame_b: The second frame; None for the world.
        axis_b: Its axis, likewise.
        angle: A number from 0 to pi [rad], a Range, or (low, high).
    """

    frame_a: str
    axis_a: Any
    frame_b: str | None
    axis_b: Any
    angle: Any

    default_name = "angle"

    def __post_init__(self) -> None:
        self.check_common()
        object.__setattr__(self, "axis_a", read_axis(self.axis_a, "Angle: axis_a"))
        object.__setattr__(self, "axis_b", read_axis(self.axis_b, "Angle: axis_b"))
        object.__setattr__(self, "angle", read_angle(self.angle))
        if self.frame_b is not None and get_name(self.frame_b) == get_name(self.frame_a):
            raise InvalidValue(f"Angle: both axes are of frame {self.frame_a!r}; the angle between them cannot change.")
        read_one_weight(self.weight, 3, "Angle")

    @property
    def frame(self) -> str:
        """The frame that gives the goal its default name."""
        return self.frame_a

    def rows(self, model: Model) -> GoalRows:
        """Return the goal for the kernels; see `Goal.rows`."""
        return GoalRows(
            op=ANGLE,
            frame=self.frame_a,
            base=self.frame_b,
            weight=read_one_weight(self.weight, 3, "Angle"),
            target=self._convert(self.angle),
            convert=self._convert,
            axis=np.array(self.axis_a),
            axis2=np.array(self.axis_b),
            ranged=True,
            size=1,
        )

    def _convert(self, angle: Any) -> NDArray[np.float64]:
        return pack_span(None, read_angle(angle))


def read_angle(angle: Any) -> Range:
    """Return a range of angles [rad]."""
    return read_range(angle, "Angle: angle", 0.0, math.pi)
