"""OnLine: keep a point of a frame on a line.

    residual  r = (a . (p_line - p),  b . (p_line - p))      metres (in units of L), two active rows
              a, b perpendicular to the line and to each other
    Jacobian  a and b applied to the linear rows of the frame's world Jacobian at the point

It is Reach along the first two axes of a target whose z axis is the line's direction; the third axis is free.
Source: Zhao and Badler, Inverse kinematics positioning using nonlinear programming for highly articulated figures,
ACM TOG 13(4), 1994 (line goals).
"""

from dataclasses import KW_ONLY, dataclass
from typing import Any

from poise.goals.on_plane import OnAxis

__all__ = ["OnLine"]


@dataclass(frozen=True, eq=False)
class OnLine(OnAxis):
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
    axis = "direction"
    active = slice(0, 2)
