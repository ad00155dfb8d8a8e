"""OnPlane: keep a point of a frame on a plane.

    residual  r = n . (p_plane - p)          metres (in units of L), one active row
    Jacobian  n applied to the linear rows of the frame's world Jacobian at the point

It is Reach along the third axis of a target whose z axis is the normal; the other two axes are free.
Source: Zhao and Badler, Inverse kinematics positioning using nonlinear programming for highly articulated figures,
ACM TOG 13(4), 1994 (plane goals).
"""

from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from poise.arrays import Triple
from poise.errors import InvalidValue
from poise.goals.direction import place_on_frame, read_axis, read_point
from poise.goals.goal import POSITION, Goal, GoalRows, pack_target, read_one_weight
from poise.kinematics.regions import read_position
from poise.model import Model
from poise.spatial import Rotation

__all__ = ["OnAxis", "OnPlane", "pack_axis"]


class OnAxis(Goal):
    """A goal on a point relative to an axis of a target: `axis` is its field, and `active` the rows that count."""

    axis: ClassVar[str]
    active: ClassVar[int | slice]
    frame: str
    point: Any
    at: Any
    relative_to: str | None

    def __post_init__(self) -> None:
        self.check_common()
        what, axis = type(self).__name__, self.axis
        object.__setattr__(self, "point", read_position(self.point, f"{what}: point"))
        object.__setattr__(self, axis, read_axis(getattr(self, axis), f"{what}: {axis}"))
        object.__setattr__(self, "at", read_point(self.at, f"{what}: at"))
        read_one_weight(self.weight, 0, what)

    def rows(self, model: Model) -> GoalRows:
        """Return the goal for the kernels; see `Goal.rows`."""
        return GoalRows(
            op=POSITION,
            frame=self.frame,
            base=self.relative_to,
            point=place_on_frame(self.at),
            weight=read_one_weight(self.weight, self.active, type(self).__name__),
            target=pack_axis(self.point, getattr(self, self.axis)),
            convert=self._convert,
            local=True,
            size=3,
        )

    def _convert(self, target: Any) -> NDArray[np.float64]:
        return pack_axis(*read_pair(target, getattr(self, self.axis), type(self).__name__, self.axis))


@dataclass(frozen=True, eq=False)
class OnPlane(OnAxis):
    """Keep a frame, or a point of it, on a plane.

    Attributes:
        frame: The frame to move.
        point: A point on the plane, three numbers [m].
        normal: The plane's normal, of either sign: a letter such as "y", or three numbers.
        at: A point of the frame, in its own coordinates [m]; by default its origin.
        relative_to: The frame in which the plane is given; by default the world.
    """

    frame: str
    point: Any
    normal: Any
    _: KW_ONLY
    at: Any = None
    relative_to: str | None = None

    default_name = "on_plane"
    axis = "normal"
    active = 2


def pack_axis(point: Triple, axis: Triple) -> NDArray[np.float64]:
    """Return the packed target of a position whose third axis points along `axis`."""
    return pack_target(Rotation.between((0.0, 0.0, 1.0), axis).matrix, point)


def read_pair(target: Any, axis: Triple, what: str, second: str) -> tuple[Triple, Triple]:
    """Return a new target: a point, with the axis unchanged, or (point, axis)."""
    given = tuple(target) if isinstance(target, (tuple, list, np.ndarray)) else ()
    if len(given) == 3 and all(np.ndim(part) == 0 and not isinstance(part, str) for part in given):
        return read_position(target, f"{what}: point"), axis
    if len(given) != 2:
        raise InvalidValue(f"{what}: a new target is a point, or (point, {second}), not {target!r}.")
    return read_position(target[0], f"{what}: point"), read_axis(target[1], f"{what}: {second}")
