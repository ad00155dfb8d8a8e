"""Cone: the range of a ball joint.

    rule   R = R_swing R_twist, twist about `axis`, swing about a direction perpendicular to it
           round cone:     |swing| <= angle
           elliptic cone:  (s_x / a_x)^2 + (s_y / a_y)^2 <= 1,   s the swing's rotation vector
           twist:          low <= twist <= high
           angle:          |log R| <= angle                                              radians

Given values replace those of the model's own cone; the others are kept.
Source: Grassia, Practical parameterization of rotations using the exponential map, 1998, section 5 (swing and twist);
Baerlocher and Boulic, Parametrization and range of motion of the ball-and-socket joint, 2001.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import KW_ONLY, dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from poise.errors import InvalidValue
from poise.limits.limit import ROUNDING, Limit, LimitRow, LimitRows
from poise.model import Joint, Model
from poise.model.degrees import doubt_cone
from poise.model.joints.joint import BallRange
from poise.model.spec import check_cone
from poise.native import core

__all__ = ["Cone", "find_cones", "make_cone_rows"]

OPEN = core.OPEN
PARTS = (("swing", "upper"), ("twist", "lower"), ("twist", "upper"), ("angle", "upper"))  # in the order of the kernels


@dataclass(frozen=True)
class Cone(Limit):
    """Keep a ball joint in a cone.

    Attributes:
        joint: The ball joint.
        swing: Half the opening angle of a round cone; or two angles, about the two directions perpendicular to the axis
            (x and y for axis z), for an elliptic cone [rad].
        twist: Lowest and highest rotation about the axis [rad].
        axis: The axis of twist, in the joint's own frame; by default that of the model's cone, or z.
        angle: Largest total rotation, about any axis [rad].
    """

    joint: str
    _: KW_ONLY
    swing: Any = None
    twist: Any = None
    axis: Any = None
    angle: float | None = None

    def __post_init__(self) -> None:
        where = f"Cone of joint {self.joint!r}"
        if self.swing is None and self.twist is None and self.angle is None:
            raise InvalidValue(f"{where}: it limits nothing; give swing=, twist= or angle= [rad].")
        axis = (0.0, 0.0, 1.0) if self.axis is None else self.axis
        given = BallRange(read_angles(self.swing), read_angles(self.twist), axis, self.angle)
        found = check_cone("ball", given, where)
        for doubt in doubt_cone(given, where):
            raise InvalidValue(doubt)
        assert found is not None
        if found.swing is not None and np.min(found.swing) <= 0.0:
            raise InvalidValue(f"{where}: swing is {self.swing!r}; it must be above zero.")
        self.settle(
            f"cone {self.joint}",
            swing=found.swing,
            twist=found.twist,
            axis=None if self.axis is None else found.axis,
            angle=found.angle,
        )

    def change_cones(self, model: Model, cones: Mapping[str, BallRange]) -> dict[str, BallRange]:
        """Return the range of the joint with this cone applied over earlier ones."""
        name = model.joint(self.joint).name
        return {name: self.range(model, cones.get(name))}

    def range(self, model: Model, base: BallRange | None = None) -> BallRange:
        """Return the joint's range with this cone; omitted values are those of `base`, or the model's own."""
        joint = model.joint(self.joint)
        if joint.kind != "ball":
            raise InvalidValue(f"Cone: joint {joint.name!r} is {joint.kind}; only ball joints have cones.")
        own = base or joint.cone or BallRange()
        given = {key: getattr(self, key) for key in ("swing", "twist", "axis", "angle")}
        return replace(own, **{key: value for key, value in given.items() if value is not None})


def read_angles(values: Any) -> Any:
    """Return two angles as a tuple; one angle is unchanged."""
    return tuple(values) if np.ndim(values) == 1 else values


def find_cones(model: Model, limits: Iterable[Limit] = ()) -> dict[str, BallRange]:
    """Return the range of every ball joint that has one: the model's own, replaced by cones among the limits."""
    found = {joint.name: joint.cone for joint in model.joints if joint.cone is not None}
    for limit in limits:
        found |= limit.change_cones(model, found)
    return found


def make_cone_rows(
    model: Model, limits: Mapping[str, Limit], moves: NDArray[np.bool_]
) -> Iterator[tuple[str, LimitRows]]:
    """Yield the limit name (empty: the model's own) and rows of each ball joint with a range that may move.

    The rules of a cone are chosen here: the kernels compute the rows that they are given.
    """
    found = find_cones(model)
    owners: dict[str, str] = {}
    for name, limit in limits.items():
        changed = limit.change_cones(model, found)
        found |= changed
        owners |= dict.fromkeys(changed, name)
    for joint in map(model.joint, found):
        if moves[joint.v].any():
            yield owners.get(joint.name, ""), LimitRows(tuple(make_joint_rows(joint, found[joint.name])))


def make_joint_rows(joint: Joint, cone: BallRange) -> Iterator[LimitRow]:
    """Yield one row for each bound of the range."""
    numbers = pack_cone(cone)
    given = (joint.q.start, joint.v.start, numbers)
    ends = (min(numbers[9:11]), *numbers[11:14])
    for which, (part, side) in enumerate(PARTS):
        if abs(ends[which]) < OPEN:
            yield LimitRow(
                core.LimitOp.CONE, which=which, cone=given, end=ends[which], side=side, joint=joint.name, part=part
            )


def pack_cone(cone: BallRange) -> tuple[float, ...]:
    """Return axis, two perpendicular directions (x and y for z), swing (2), twist (2), angle [rad]."""
    axis = np.asarray(cone.axis, dtype=np.float64)
    flat = np.array([1.0, 0.0, 0.0]) if abs(axis[0]) < 0.9 else np.array([0.0, 1.0, 0.0])
    first = flat - axis * (flat @ axis)
    first /= np.linalg.norm(first)
    swing = (OPEN, OPEN) if cone.swing is None else np.broadcast_to(cone.swing, (2,)).tolist()
    twist = (-OPEN, OPEN) if cone.twist is None else widen_range(*cone.twist)
    angle = OPEN if cone.angle is None else cone.angle
    return (*axis.tolist(), *first.tolist(), *np.cross(axis, first).tolist(), *swing, *twist, angle)


def widen_range(low: float, high: float) -> tuple[float, float]:
    """Return a range widened to the rounding error of an angle if it is narrower."""
    slack = max(ROUNDING - (high - low) / 2, 0.0)
    return low - slack, high + slack
