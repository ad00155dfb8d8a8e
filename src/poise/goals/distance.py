"""Distance: keep the distance of two points at a value, or within a range.

    residual  r = d_wanted - d,  d = |p_a - p_b|            metres (in units of L), one row
    d_wanted is the value in [low, high] closest to d: r is zero inside the range

The row's Jacobian is the unit vector from b to a, applied to the motion of a minus that of b; for coincident points,
any unit vector. Source: the gradient of a norm.
"""

import math
from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from poise.errors import InvalidValue
from poise.goals.direction import place_on_frame, read_point
from poise.goals.goal import DISTANCE, Goal, GoalRows, pack_target, read_one_weight
from poise.goals.range import Range, read_range
from poise.kinematics.regions import LARGEST, read_position
from poise.model import Model

__all__ = ["Distance", "pack_span"]


@dataclass(frozen=True, eq=False)
class Distance(Goal):
    """Keep a frame at a distance from another frame, or from a fixed point.

    Attributes:
        frame_a: The first frame.
        frame_b: The second frame; or a fixed point in the world, three numbers [m].
        distance: A number [m], a Range, or (low, high).
        point_a: A point of the first frame, in its own coordinates [m]; by default its origin.
        point_b: A point of the second frame, likewise.
    """

    frame_a: str
    frame_b: Any
    distance: Any
    _: KW_ONLY
    point_a: Any = None
    point_b: Any = None

    default_name = "distance"

    def __post_init__(self) -> None:
        self.check_common()
        object.__setattr__(self, "distance", read_distance(self.distance))
        object.__setattr__(self, "point_a", read_point(self.point_a, "Distance: point_a"))
        object.__setattr__(self, "point_b", read_point(self.point_b, "Distance: point_b"))
        if not isinstance(self.frame_b, str) and not hasattr(self.frame_b, "name"):
            object.__setattr__(self, "frame_b", read_position(self.frame_b, "Distance: frame_b, a place,"))
            if self.point_b is not None:
                raise InvalidValue("Distance: frame_b is a place, so it has no point_b; leave that out.")
        read_one_weight(self.weight, 0, "Distance")

    @property
    def frame(self) -> str:
        """The frame that gives the goal its default name."""
        return self.frame_a

    def rows(self, model: Model) -> GoalRows:
        """Return the goal for the kernels; see `Goal.rows`."""
        fixed = isinstance(self.frame_b, tuple)
        return GoalRows(
            op=DISTANCE,
            frame=self.frame_a,
            base=None if fixed else self.frame_b,
            point=place_on_frame(self.point_a),
            weight=read_one_weight(self.weight, 0, "Distance"),
            target=self._convert(self.distance),
            convert=self._convert,
            point2=place_on_frame(self.point_b),
            ranged=True,
            size=1,
        )

    def _convert(self, distance: Any) -> NDArray[np.float64]:
        fixed = place_on_frame(self.frame_b if isinstance(self.frame_b, tuple) else None)
        return pack_span(fixed, read_distance(distance))


def read_distance(distance: Any) -> Range:
    """Return a range of lengths [m]."""
    return read_range(distance, "Distance: distance", 0.0, math.nextafter(LARGEST, 0.0))


def pack_span(place: NDArray[np.float64] | None, span: Range) -> NDArray[np.float64]:
    """Return the packed target of one row: the range is absolute, in the first entry of each half."""
    low, high = np.zeros(6), np.zeros(6)
    low[0], high[0] = max(0.0, span.ends[0]), span.ends[1]
    return np.concatenate([pack_target(None, place), low, high])
