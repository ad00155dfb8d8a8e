"""Inside: keep a point of a frame in a region of the world.

    Box         r = R_box^T (p_nearest - p)        metres (in units of L), three rows: the closest point of the box
    Ball        r = min(radius - d, 0)             one row; d = |p - center|
    HalfSpace   r = min(d_k - n_k . p, 0)          one row each; several of them form a convex region

Inside, the rows and their Jacobians are zero. Source: the projection onto convex sets, Boyd and Vandenberghe, Convex
Optimization, 2004, section 8.1.
"""

from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from poise.errors import InvalidValue
from poise.goals.direction import place_on_frame, read_point
from poise.goals.distance import pack_span
from poise.goals.goal import DISTANCE, PLANES, POSITION, Goal, GoalRows, pack_target, read_one_weight
from poise.goals.range import Range
from poise.kinematics.regions import Ball, Box, HalfSpace
from poise.model import Model

__all__ = ["Inside"]


@dataclass(frozen=True, eq=False)
class Inside(Goal):
    """Keep a frame, or a point of it, in a region.

    Attributes:
        frame: The frame to move.
        region: A Box, a Ball, a HalfSpace (the side opposite to its normal), or a list of HalfSpaces.
        point: A point of the frame, in its own coordinates [m]; by default its origin.
    """

    frame: str
    region: Any
    _: KW_ONLY
    point: Any = None

    default_name = "inside"

    def __post_init__(self) -> None:
        self.check_common()
        object.__setattr__(self, "region", read_region(self.region))
        object.__setattr__(self, "point", read_point(self.point, "Inside: point"))
        read_one_weight(self.weight, 0, "Inside")

    def rows(self, model: Model) -> GoalRows:
        """Return the goal for the kernels; see `Goal.rows`."""
        box = isinstance(self.region, Box)
        return GoalRows(
            op=POSITION if box else DISTANCE if isinstance(self.region, Ball) else PLANES,
            frame=self.frame,
            point=place_on_frame(self.point),
            weight=read_one_weight(self.weight, slice(0, 3) if box else 0, "Inside"),
            target=self._convert(self.region),
            convert=self._convert,
            local=box,
            ranged=box or isinstance(self.region, Ball),
            size=len(self.region) if isinstance(self.region, tuple) else 3 if box else 1,
        )

    def _convert(self, region: Any) -> NDArray[np.float64]:
        found = read_region(region)
        if describe_region(found) != describe_region(self.region):
            raise InvalidValue(
                f"goal on {self.frame!r}: it was made for {describe_region(self.region)}; "
                f"the new region must be one too, not {describe_region(found)}."
            )
        return pack_region(found)


def read_region(region: Any) -> Box | Ball | tuple[HalfSpace, ...]:
    """Return a region as a box, a ball, or half-spaces."""
    if isinstance(region, (Box, Ball)):
        return region
    if isinstance(region, HalfSpace):
        return (region,)
    given = tuple(region) if isinstance(region, (list, tuple)) else ()
    if not given or not all(isinstance(part, HalfSpace) for part in given):
        raise InvalidValue(f"Inside: region is {region!r}; give a Box, a Ball, a HalfSpace or a list of HalfSpaces.")
    return given


def describe_region(region: Box | Ball | tuple[HalfSpace, ...]) -> str:
    """Describe the kind of a region."""
    return (
        f"{len(region)} HalfSpaces" if isinstance(region, tuple) else "a Box" if isinstance(region, Box) else "a Ball"
    )


def pack_region(region: Box | Ball | tuple[HalfSpace, ...]) -> NDArray[np.float64]:
    """Return the packed target of a region."""
    if isinstance(region, Box):
        half = np.concatenate([np.array(region.size) / 2, np.zeros(3)])
        return np.concatenate([pack_target(region.matrix, region.center), -half, half])
    if isinstance(region, Ball):
        return pack_span(np.array(region.center), Range(0.0, region.radius))
    planes = [np.append(np.array(part.normal), part.offset) for part in region]
    return np.concatenate([pack_target(None, None), *planes])
