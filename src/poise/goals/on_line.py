"""OnLine: keep a point of a frame on a line.

    residual  r = (a . (p_line - p),  b . (p_line - p))      metres (in units of L), two active rows
              a, b perpendicular to the line and to each other
    Jacobian  a and b applied to the linear rows of the frame's world Jacobian at the point

It is Reach along the first two axes of a target whose z axis is the line's direction; the third axis is free.
Source: Zhao and Badler, Inverse kinematics positioning using nonlinear programming for highly articulated figures,
ACM TOG 13(4), 1994 (line goals).
"""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any

from numpy import float64
from numpy.typing import NDArray

from poise.goals.direction import place_on_frame, read_axis, read_point
from poise.goals.goal import POSITION, Goal, GoalRows, read_one_weight
from poise.goals.on_plane import pack_axis, read_pair
from poise.kinematics.regions import read_position
from poise.model import Model

__all__ = ["OnLine"]


@dataclass(frozen=True, eq=False)
class OnLine(Goal):
    """Keep a frame, or a point of it, on a line.

    Attributes:
        frame: The frame to move.
        point: A point on the line, three numbers [m].
        direction: Direction of the line, of either sign: a letter such as "y", or three numbers.
        at: A point of the frame, in its own coordinates [m]; by default its origin.
        relative_to: The frame in which the line is given; by default the world.
    """

    frame: str
    point: Any
    direction: Any
    _: KW_ONLY
    at: Any = None
    relative_to: str | None = None

    default_name = "on_line"

    def __post_init__(self) -> None:
        self.check_common()
        object.__setattr__(self, "point", read_position(self.point, "OnLine: point"))
        object.__setattr__(self, "direction", read_axis(self.direction, "OnLine: direction"))
        object.__setattr__(self, "at", read_point(self.at, "OnLine: at"))
        read_one_weight(self.weight, 0, "OnLine")

    def rows(self, model: Model) -> GoalRows:
        """Return the goal for the kernels; see `Goal.rows`."""
        return GoalRows(
            op=POSITION,
            frame=self.frame,
            base=self.relative_to,
            point=place_on_frame(self.at),
            weight=read_one_weight(self.weight, slice(0, 2), "OnLine"),
            target=pack_axis(self.point, self.direction),
            exact=False,
            convert=self._convert,
            local=True,
            size=3,
        )

    def _convert(self, target: Any) -> NDArray[float64]:
        return pack_axis(*read_pair(target, self.direction, "OnLine", "direction"))
