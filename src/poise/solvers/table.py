"""Compile a model, goals and options into the kernels' tables; check the input once."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from poise.errors import InvalidValue, ShapeMismatch
from poise.goals import Goal, Rest
from poise.goals.goal import ANGULAR, GoalRows
from poise.limits.limit import CLOSE, Limit, name_limits
from poise.model import Frame, Model
from poise.model.joints.joint import get_name
from poise.model.memo import keep_with_model
from poise.reach.bounds import find_other_ranges, find_reachable_ranges
from poise.reach.closed_forms import make_branch_table, make_closed_tables, make_sampled_table
from poise.reach.distinct import find_periods
from poise.solvers.capability import check_serves
from poise.solvers.limit_tables import LimitTables, gather_limits, make_loop_goal
from poise.solvers.options import CONTINUOUS_SPAN, LIMIT_HANDLING, MODES, Options

__all__ = ["make_native_table", "name_goals", "order_goals"]


def name_goals(goals: Iterable[Goal]) -> dict[str, Goal]:
    """Return the goals by name: their own name, or the frame's, or frame.kind, numbered if taken."""
    if not isinstance(goals, Iterable) or isinstance(goals, str):
        frame = goals if isinstance(goals, str) else "hand_l"
        raise InvalidValue(f"goals must be a goal or a list, such as Reach({frame!r}, (x, y, z)), not {goals!r}.")
    given = list(goals)
    named: dict[str, Goal] = {}
    for goal in given:
        if not isinstance(goal, Goal):
            apart = " Limits are given apart: limits=[...]." if isinstance(goal, Limit) else ""
            raise InvalidValue(f"goals must be a list of goals such as Reach(frame, (x, y, z)), not {goal!r}.{apart}")
        if goal.name is not None and goal.name in named:
            raise InvalidValue(f"two goals are called {goal.name!r}; rename one.")
        if goal.name is not None:
            named[goal.name] = goal
    ordered: dict[str, Goal] = {}
    for goal in given:
        name = find_free_name(goal, {**named, **ordered}) if goal.name is None else goal.name
        ordered[name] = goal
    return ordered


def find_free_name(goal: Goal, taken: Mapping[str, Goal]) -> str:
    """Return the first default name that is not taken."""
    frame = getattr(goal, "frame", None)
    choices = [goal.default_name] if frame is None else [get_name(frame), f"{frame}.{goal.default_name}"]
    number = 2
    while True:
        for choice in choices:
            if choice not in taken:
                return choice
        choices = [f"{choices[-1].rsplit('#', 1)[0]}#{number}"]
        number += 1


def order_goals(goals: Mapping[str, Goal]) -> tuple[str, ...]:
    """Return the names of the goals that have rows, highest priority first."""
    with_rows = [name for name, goal in goals.items() if not isinstance(goal, Rest)]
    return tuple(sorted(with_rows, key=lambda name: int(goals[name].priority)))


def make_native_table(model: Model, goals: Mapping[str, Goal], options: Options) -> dict[str, Any]:
    """Return the arrays that `native.core.Solver` is made of."""
    options.check()
    rows = {name: goals[name].rows(model) for name in order_goals(goals)}
    rests = [goal for goal in goals.values() if isinstance(goal, Rest)]
    if not rows:
        raise InvalidValue("give at least one goal that a frame can reach, such as Reach(frame, target).")
    moves = find_body_table(model, options.joints, options.stiffness)["moves"]
    tables = gather_limits(model, name_limits(options.limits), moves)
    check_serves(options.method, model, goals, rows, moves, options.limits)
    asked = make_goal_tables(model, goals, rows, options.method.scale_free)
    levels = len({goal["level"] for goal in asked})
    check_handling(options, levels)
    if options.limit_handling == "off":
        tables = LimitTables()
    # other methods and kinds of limit handling clamp the model's cones and add the posture as a term of the step
    inside = options.method.levels and options.limit_handling in ("active", "off")
    strict = inside and (levels > 1 or tables.any or bool(rests))
    out = make_problem_table(model, asked, rows, rests, tables, options)
    out["strict"] = int(strict)
    if strict and not (tables.rows and tables.loops):  # limits are kept from a pose that is found without them
        first = [goal for goal in out["goals"] if goal["level"] == out["goals"][0]["level"]]
        alone = {goal["name"]: rows[goal["name"]] for goal in first if goal["name"] in rows}
        out["first"] = make_problem_table(model, first, alone, [], LimitTables(), options, tables.any)
    return out


def make_limit_table(model: Model, options: Options) -> dict[str, Any]:
    """Return the arrays of the limits alone."""
    moves = find_body_table(model, options.joints, options.stiffness)["moves"]
    return gather_limits(model, name_limits(options.limits), moves).make_native(model)


def check_handling(options: Options, levels: int) -> None:
    """Raise InvalidValue if the limits or the priorities do not allow the chosen limit_handling."""
    handling = options.limit_handling
    held = [limit for limit in options.limits if not limit.timed]
    if held and handling != "active":
        raise InvalidValue(
            f"limits= needs limit_handling='active', not {handling!r}: limits like {held[0].name!r} are kept inside "
            "the solve."
        )
    if levels > 1 and handling not in ("active", "off"):
        raise InvalidValue(f"goals of several priorities need limit_handling='active' or 'off', not {handling!r}.")


def make_problem_table(
    model: Model,
    asked: Sequence[dict[str, Any]],
    rows: Mapping[str, GoalRows],
    rests: Sequence[Rest],
    tables: LimitTables,
    options: Options,
    sampled: bool = False,
) -> dict[str, Any]:
    """Return one problem's arrays; a strict problem may contain another one of its first level."""
    gain, wanted, power = combine_postures(model, rests)
    body = find_body_table(model, options.joints, options.stiffness)
    limited = options.limit_handling != "off"
    shape = (model, tuple(rows.values()), body["moves"], limited)
    ranges = [[b[0], -1.0, *b[1:4], 0.0, 0.0, 0.0, *b[4:]] for b in find_reachable_ranges(*shape)]
    return {
        "goals": [*make_loop_tables(model, tables), *asked],
        "may_move": body["may_move"],
        "lower": np.array(model.lower),
        "upper": np.array(model.upper),
        "weight": body["proportions"] if options.method.scale_free else body["weight"],
        "turns": body["turns"],
        "period": body["period"],
        "posture_gain": gain,
        "posture_wanted": wanted,
        "posture_power": power,
        "reachable": shift_goals(len(tables.loops), ranges),
        "prove": lambda: (
            shift_goals(len(tables.loops), find_other_ranges(*shape)),
            shift_forms(len(tables.loops), *shape),
            make_sampled_table(*shape) if sampled else None,
        ),
        "branches": make_branch_table(*shape) if begins_at_branch(options, tables) else None,
        "settings": list_settings(model, options, find_lightest(asked)),
        "strict": 0,
        "first": None,
        **tables.make_native(model),
    }


def begins_at_branch(options: Options, tables: LimitTables) -> bool:
    """Return whether only the answer of a solve counts, not its way there, so that it may begin at a branch."""
    if options.mode == "continuous" or options.step_limit is not None or tables.loops:
        return False
    restarts = options.method.restarts if options.restarts == "auto" else int(options.restarts)
    return restarts > 0 and options.method.name == "lm" and options.limit_handling in ("active", "off")


def shift_forms(loops: int, *shape: Any) -> list[dict[str, Any]]:
    """Return the closed forms with goal indices shifted past the closed loops."""
    return [{**form, "goal": form["goal"] + loops} for form in make_closed_tables(*shape)]


def shift_goals(loops: int, ranges: Iterable[list[float]]) -> list[list[float]]:
    """Return the bounds with goal indices shifted past the closed loops."""
    return [[goal + loops, other + loops if other >= 0 else -1, *rest] for goal, other, *rest in ranges]


def find_body_table(model: Model, joints: Sequence[str] | None, stiff: Any) -> dict[str, NDArray[Any]]:
    """Return the part of the table that depends only on the body; cached unless joints or stiffness are given."""
    return recall_body_table(model) if joints is None and stiff is None else make_body_table(model, joints, stiff)


@keep_with_model
def recall_body_table(model: Model) -> dict[str, NDArray[Any]]:
    """Return the cached table of a body without options."""
    table = make_body_table(model, None, None)
    for array in table.values():
        array.setflags(write=False)
    return table


def make_body_table(model: Model, joints: Sequence[str] | None, stiff: Any) -> dict[str, NDArray[Any]]:
    """Return the movable velocities, the rotations, and the weights: as they are, and relative to the smallest."""
    moves = may_move(model, joints)
    weight = 1.0 + read_stiffness(model, stiff)
    return {
        "moves": moves,
        "may_move": moves.astype(np.float64),
        "weight": weight,
        "proportions": weight / find_least(weight, moves),
        "turns": np.where(model.slides, 0.0, 1.0),
        "period": find_periods(model),
    }


def make_goal_tables(
    model: Model, goals: Mapping[str, Goal], rows: Mapping[str, GoalRows], scale_free: bool
) -> list[dict[str, Any]]:
    """Return the tables of all goals in order, with weights relative to the largest of their level."""
    units: dict[int, float] = {}
    for name, row in rows.items():
        level = int(goals[name].priority)
        units[level] = max(units.get(level, 0.0), *row.weight.tolist())
    out = []
    for name, row in rows.items():
        goal = goals[name]
        level, tolerance = int(goal.priority), np.array(goal.tolerances(model, row.op in ANGULAR))
        unit = units[level] or 1.0 if scale_free else 1.0
        loose = goal.is_loose(model, row.op in ANGULAR)
        out.append({**make_goal_table(model, name, row, tolerance, level, unit), "loose": int(loose)})
    return out


def make_loop_tables(model: Model, tables: LimitTables) -> list[dict[str, Any]]:
    """Return the tables of all closed loops: goals on a level above all others."""
    tolerance = np.array([CLOSE * model.length, CLOSE])
    return [
        make_goal_table(model, f"limit {name}", make_loop_goal(name, loop), tolerance, -1)
        for name, loop in tables.loops.items()
    ]


def find_least(weights: NDArray[np.float64], moves: NDArray[np.bool_]) -> float:
    """Return the smallest weight of a moving joint, so that a common stiffness of all joints changes nothing."""
    return float(weights[moves].min()) if moves.any() else 1.0


def make_goal_table(
    model: Model, name: str, rows: GoalRows, tolerance: NDArray[np.float64], level: int, unit: float = 1.0
) -> dict[str, Any]:
    """Return the table of one goal, with weights relative to `unit`."""
    return {
        "name": name,
        "op": rows.op,
        "frame": find_frame_index(model, rows.frame),
        "base": find_frame_index(model, rows.base),
        "point": rows.point,
        "point2": rows.point2,
        "axis": rows.axis,
        "axis2": rows.axis2,
        "weight": rows.weight / unit,
        "tolerance": tolerance,
        "target": rows.target,
        "loose": 0,
        "exact": int(rows.exact),
        "local": int(rows.local),
        "ranged": int(rows.ranged),
        "size": rows.size,
        "points": [(find_frame_index(model, frame), point) for frame, point in rows.points],
        "level": level,
        "convert": rows.convert,
        "residual": rows.residual,
        "jacobian": rows.jacobian,
    }


def find_frame_index(model: Model, frame: str | None) -> int:
    """Return the index of a frame in model.frames, or -1 for None. Raises NameNotFound with the closest names."""
    return -1 if frame is None else model.layout.frames.index(model.frame(frame).name)


LIGHT_DAMPING = 1e-2  # the damping at the goal, relative to the square of the smallest weight


def find_lightest(asked: Sequence[Mapping[str, Any]]) -> float:
    """Return the smallest positive weight, relative to the largest; 1 for several levels, which find their own."""
    counted = [float(x) for goal in asked for x in np.ravel(goal["weight"]) if x > 0]
    return min(counted, default=1.0) if len({goal["level"] for goal in asked}) == 1 else 1.0


def list_settings(model: Model, options: Options, least_weight: float = 1.0) -> dict[str, Any]:
    """Return the options and method settings as numbers.

    The damping at the goal is far below the square of the smallest weight: a goal with 1e-6 of another's weight
    contributes 1e-12 to the matrix, and would otherwise be damped away.
    """
    continuous = options.mode == "continuous"
    reach = options.step_limit if options.step_limit is not None and not continuous else options.method.longest_step
    span = options.step_limit if options.step_limit is not None else CONTINUOUS_SPAN
    restarts = options.method.restarts if options.restarts == "auto" else int(options.restarts)
    own = options.method.settings()
    if options.method.scale_free:
        own["damping_floor"] = min(own["damping_floor"], LIGHT_DAMPING * least_weight**2)
    return {
        **own,
        "method": options.method.code,
        "limits": LIMIT_HANDLING[options.limit_handling],
        "reach": reach,
        "span": span,
        "max_steps": options.max_steps,
        "stall_steps": options.method.stall_steps,
        "stall_ratio": 1.0 - min(own["gain"], 1.0) * (1.0 - options.method.stall_ratio),  # of the share asked for
        "mode": MODES[options.mode],
        "searches": 1 + restarts,
        "counted": int(options.restarts != "auto"),
        "seed": options.seed,
        "time_limit": -1.0 if options.time_limit is None else options.time_limit,
        "polish": int(options.method.polish),
        "scale": model.length,
        "extra": 0,
        "record": int(options.record),
    }


def may_move(model: Model, joints: Sequence[str] | None) -> NDArray[np.bool_]:
    """Return which degrees of freedom may change: those of the named joints, or of all joints that are not locked."""
    if joints is None:
        joints = [joint.name for joint in model.joints if joint.nv and not joint.locked]
    if isinstance(joints, str):
        raise InvalidValue(f"joints must be a list of joint names, not {joints!r}; write joints=[{joints!r}].")
    out = np.zeros(model.nv, dtype=bool)
    for name in joints:
        joint = model.joint(name)
        if joint.mimic:
            raise InvalidValue(f"joint {joint.name!r} follows {joint.mimic.joint!r}; name that one in joints.")
        out[joint.v] = True
    return out


def read_stiffness(model: Model, given: Any) -> NDArray[np.float64]:
    """Return the stiffness of every degree of freedom: the given one, or the model's own."""
    out = np.array(model.stiffness)
    if isinstance(given, Mapping):
        for name, value in given.items():
            out[model.joint(name).v] = value
    elif isinstance(given, str):
        if given != "auto":
            raise InvalidValue(f"stiffness is {given!r}; give 'auto', {{joint: value}}, one number, or an array.")
        out = find_stiffness(model)
    elif given is not None:
        values = np.asarray(given, dtype=np.float64)
        if values.shape not in ((), (model.nv,)):
            raise ShapeMismatch(f"stiffness has shape {values.shape}; it must be ({model.nv},), a number, or a dict.")
        out = np.array(np.broadcast_to(values, (model.nv,)))
    if not np.isfinite(out).all() or (out < 0).any():
        raise InvalidValue("stiffness must be finite and not negative.")
    return out


def find_stiffness(model: Model) -> NDArray[np.float64]:
    """Return stiffness from bone lengths: a joint that swings a longer part of the body is stiffer (Welman 1993).

    A joint's swing is the longest path from it to a leaf [m]; stiffness = (swing / mean swing)^2, so that equal steps
    sweep about equal lengths.
    """
    swing: dict[str | None, float] = {}
    for name in reversed([model.layout.frames[i] for i in model.layout.order if i < len(model.frames)]):
        frame = model.frame(name)
        reach = swing.get(name, 0.0) + measure_bone(model, frame)
        swing[frame.parent] = max(swing.get(frame.parent, 0.0), reach)
    out = np.zeros(model.nv)
    for joint in model.joints:
        if joint.nv:
            out[joint.v] = swing.get(joint.frame, 0.0)
    mean = float(out.mean()) if len(out) else 0.0
    squared: NDArray[np.float64] = (out / mean) ** 2 if mean > 0 else out
    return squared


def measure_bone(model: Model, frame: Frame) -> float:
    """Return the length from a frame's parent to the frame: the offset plus locked slides and stretches [m]."""
    length = float(np.linalg.norm(frame.offset.translation))
    joint = None if frame.joint is None else model.joint(frame.joint)
    if joint is not None and joint.length:
        return length + joint.length * float(joint.rest[0])
    if joint is None or not joint.locked or joint.kind not in ("prismatic", "translation3"):
        return length
    return length + float(np.linalg.norm(joint.rest))


def combine_postures(
    model: Model, rests: Sequence[Rest]
) -> tuple[NDArray[np.float64] | None, NDArray[np.float64] | None, int]:
    """Return the gains, configuration and power of all postures combined: their weighted mean, with the largest gain 1.

    The posture has a lower priority than all goals, so only the ratios of its gains matter.
    """
    if not rests:
        return None, None, 2
    power = max(int(rest.power) for rest in rests)
    if power > 2 and len(rests) > 1:
        raise InvalidValue("several postures work together only with power=2; keep one of them, or give it power=2.")
    gains = [rest.gain(model) for rest in rests]
    total = np.sum(gains, axis=0)
    if total.max(initial=0.0) <= 0:
        return None, None, 2
    wanted = rests[0].find_wanted(model)
    share = gains[0].copy()
    for rest, gain in zip(rests[1:], gains[1:], strict=True):
        share = share + gain
        part = np.divide(gain, share, out=np.zeros_like(gain), where=share > 0)
        wanted = model.integrate(wanted, part * model.difference(wanted, rest.find_wanted(model)))
    return total / total.max(), wanted, power
