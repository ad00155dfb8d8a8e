"""The goals, joints and bodies that a method supports. Unsupported ones raise an error."""

from collections.abc import Callable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from poise.errors import InvalidValue
from poise.goals import Goal
from poise.goals.goal import GoalRows
from poise.limits import Limit
from poise.methods import Method, find_method, names
from poise.model import Model
from poise.model.joints.joint import Joint

__all__ = ["check_serves", "find_joints_above", "name_kind"]


def name_kind(rows: GoalRows) -> str:
    """Name the kind of a goal as methods list it: "position", "pose", "look" ..."""
    return rows.op.name.lower()


def check_serves(
    method: Method,
    model: Model,
    goals: Mapping[str, Goal],
    rows: Mapping[str, GoalRows],
    moves: NDArray[np.bool_],
    limits: Sequence[Limit] = (),
) -> None:
    """Raise InvalidValue if the method does not support a goal, a joint above its frame, a limit, or the body."""
    for name in goals:
        kind = name_kind(rows[name]) if name in rows else "posture"
        if kind not in method.goal_kinds:
            article = "an" if kind[0] in "aeiou" else "a"
            what = f"goal {name!r} is {article} {kind} goal, which method {method.name!r} does not support"
            raise make_refusal(what, lambda other, kind=kind: kind in other.goal_kinds)  # type: ignore[misc]
    levels = {int(goal.priority) for name, goal in goals.items() if name in rows}
    if len(levels) > 1 and not method.levels:
        what = f"method {method.name!r} supports goals of one priority only (weight=100 holds a pin)"
        raise make_refusal(what, lambda other: other.levels)
    beyond = [type(limit).__name__ for limit in limits if not limit.timed]
    unserved = [] if method.levels else [kind for kind in beyond if kind not in method.limit_kinds]
    if unserved:
        cones = "cones" if "Cone" in method.limit_kinds else "the model's own cones"
        what = f"method {method.name!r} keeps joint ranges and {cones}, not {unserved[0]}"
        raise make_refusal(what, lambda other: other.levels or set(beyond) <= other.limit_kinds)
    some = method.joint_kinds is not Method.joint_kinds  # a method that supports every kind needs no check
    for row in rows.values() if some else ():
        for joint in find_joints_above(model, row, moves):
            kind = "mimic" if joint.mimic and joint.kind != "uniform_scale" else joint.kind
            if kind not in method.joint_kinds:
                what = f"joint {joint.name!r} is {kind}, which method {method.name!r} does not support"
                raise make_refusal(what, lambda other, kind=kind: kind in other.joint_kinds)  # type: ignore[misc]
    frames = [row.frame for row in rows.values() if row.frame is not None]
    reason = method.refuse_body(model, frames, moves)
    if reason is not None:
        raise InvalidValue(reason)


def make_refusal(what: str, serves: Callable[[Method], bool]) -> InvalidValue:
    """Return the error, with the names of the methods that support the request."""
    able = [name for name in names() if serves(find_method(name))]
    if not able:
        return InvalidValue(f"{what}; no method does yet.")
    return InvalidValue(f"{what}; {', '.join(able)} {'does' if len(able) == 1 else 'do'}.")


def find_joints_above(model: Model, rows: GoalRows, moves: NDArray[np.bool_]) -> list[Joint]:
    """Return the movable joints that move a goal's frame or the frame of its target, and the scales above them."""
    found: dict[str, Joint] = {}
    for frame in (rows.frame, rows.base):
        above = [] if frame is None else model.joints_above(frame)
        found |= {joint.name: joint for joint in above if moves[joint.v].any() or joint.kind == "uniform_scale"}
    return list(found.values())
