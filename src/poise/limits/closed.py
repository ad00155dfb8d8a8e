"""Closed: a kinematic loop that stays closed.

    rule   T_other^-1 T_frame = transform            to 1e-9 L metres and 1e-9 radians

A body is a tree; a loop in it (a four-bar linkage, a delta robot, two hands on one bar) is closed by a constraint
between two of its frames. With three numbers instead of a transform only the position is fixed, as by a ball joint.
Source: Featherstone, Rigid Body Dynamics Algorithms, 2008, chapter 8.
"""

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from poise.errors import InvalidValue
from poise.kinematics.parts import find_rigid_parts
from poise.limits.limit import CLOSE, Limit, LimitRows, LoopRow
from poise.model import Closure, Model
from poise.spatial import Transform

__all__ = ["CLOSE", "Closed", "add_closures"]


@dataclass(frozen=True)
class Closed(Limit):
    """Keep two frames at a fixed relative pose.

    Attributes:
        frame: The first frame.
        other: The second frame.
        transform: Pose of the first frame relative to the second: a Transform or 4x4 matrix; or three numbers [m] for
            its position alone. By default the two coincide.
        point: A point of the first frame, in its own coordinates [m]; by default its origin.
    """

    frame: str
    other: str
    transform: Any = None
    _: KW_ONLY
    point: Any = None

    def __post_init__(self) -> None:
        loop = Closure.make(self.frame, self.other, self.transform, self.point, "Closed")
        self.settle(f"closed {self.frame} {self.other}", transform=loop.transform, point=loop.point)

    def rows(self, model: Model, moves: NDArray[np.bool_]) -> LimitRows:
        """Return the loop; it does not depend on `moves`."""
        return LimitRows(loops=(self.row(model),))

    def row(self, model: Model) -> LoopRow:
        """Return the loop in the form that the kernels use."""
        frame, other = model.frame(self.frame).name, model.frame(self.other).name
        parts = find_rigid_parts(model)
        if parts[frame] == parts[other]:
            raise InvalidValue(f"Closed: {frame!r} and {other!r} are on the same rigid part, so there is no loop.")
        turns = isinstance(self.transform, Transform)
        rotation = self.transform.rotation.matrix if turns else np.eye(3)
        position = self.transform.translation if turns else np.array(self.transform)
        return LoopRow(
            frame,
            other,
            np.array(self.point),
            np.concatenate([np.ravel(rotation), position]),
            turns,
        )


def add_closures(model: Model, limits: Sequence[Limit]) -> tuple[Limit, ...]:
    """Return the limits and the model's own closures, without those that a limit replaces or that cannot move."""
    parts, given = find_rigid_parts(model) if model.closures else {}, {limit.name for limit in limits}
    own = (
        Closed(c.frame, c.other, c.transform, point=c.point) for c in model.closures if parts[c.frame] != parts[c.other]
    )
    return (*limits, *(limit for limit in own if limit.name not in given))
