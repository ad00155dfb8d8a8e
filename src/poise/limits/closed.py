"""Closed: a kinematic loop that stays closed.

    rule   T_other^-1 T_frame = transform            to 1e-9 L metres and 1e-9 radians

A body is a tree; a loop in it (a four-bar linkage, a delta robot, two hands on one bar) is closed by a constraint
between two of its frames. With three numbers instead of a transform only the position is fixed, as by a ball joint.
Source: Featherstone, Rigid Body Dynamics Algorithms, 2008, chapter 8.
"""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from poise.errors import InvalidValue, ShapeMismatch
from poise.kinematics.parts import find_rigid_parts
from poise.kinematics.regions import read_position
from poise.limits.limit import CLOSE, Limit, LimitRows, LoopRow
from poise.model import Model
from poise.model.joints.joint import get_name
from poise.spatial import Transform, as_transform

__all__ = ["CLOSE", "Closed"]


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
        if get_name(self.frame) == get_name(self.other):
            raise InvalidValue(f"Closed: frame and other are both {get_name(self.frame)!r}; a loop needs two frames.")
        self.settle(
            f"closed {self.frame} {self.other}",
            transform=read_transform(self.transform),
            point=None if self.point is None else read_position(self.point, "Closed: point"),
        )

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
            np.zeros(3) if self.point is None else np.array(self.point),
            np.concatenate([np.ravel(rotation), position]),
            turns,
        )


def read_transform(transform: Any) -> Transform | tuple[float, float, float]:
    """Return one transform, or a point."""
    if transform is None:
        return Transform.identity()
    if not isinstance(transform, Transform) and np.shape(transform) == (3,):
        return read_position(transform, "Closed: transform")
    found = as_transform(transform, "Closed: transform")
    if found.translation.shape != (3,):
        raise ShapeMismatch(f"Closed: transform must be one transform, not {found.translation.shape[:-1]} of them.")
    read_position(found.translation, "Closed: transform")
    return found
