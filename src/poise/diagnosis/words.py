"""Goals and limits in plain words: missed goals with their errors, and active limits."""

import math

import numpy as np

from poise.arrays import Floats
from poise.diagnosis.hull import measure_excess
from poise.diagnosis.misses import read_tolerances
from poise.goals.goal import ALIGN, ANGLE, ANGULAR, BALANCE, COM, CUSTOM, DISTANCE, LOOK, PLANES, GoalRows
from poise.solvers.report.findings import ActiveLimit
from poise.solvers.report.show import choose_unit, say_length
from poise.solvers.solution import Solution

__all__ = [
    "is_angle",
    "say_angle",
    "say_count",
    "say_error",
    "say_limit",
    "say_missed_by",
    "say_needed_tolerance",
    "say_vector",
]


SIGNS = ("+x", "-x", "+y", "-y", "+z", "-z")


# ------------------------------------------------------------------------------------------------ goals

NTH = {"angle1": "first ", "angle2": "second "}  # the rotations of a universal joint


def say_error(solution: Solution, name: str, *, allowed: bool = False) -> str:
    """Return a goal's errors in words; with `allowed`, only those beyond the tolerance."""
    return say_errors(solution, name, solution.errors[name], allowed=allowed)


def say_errors(solution: Solution, name: str, errors: tuple[float, float], *, allowed: bool = False) -> str:
    """Return given errors of a goal in words."""
    (metres, radians), bounds = errors, read_tolerances(solution, name)
    row = solution.list_rows()[name]
    out = []
    if row.op not in ANGULAR and not (allowed and metres <= bounds[0]):
        # a custom residual has the user's own unit
        text = f"{metres:.3g}" if row.op == CUSTOM else say_size(solution, metres)
        most = f"{bounds[0]:.3g}" if row.op == CUSTOM else say_size(solution, bounds[0])
        out.append(text + (f" (allowed: {most})" if allowed else ""))
    if (row.weight[3:] > 0).any() and not (allowed and radians <= bounds[1]):
        out.append(say_angle(radians) + (f" (allowed: {bounds[1]:.3g} rad)" if allowed else ""))
    return " and ".join(out)


def say_needed_tolerance(solution: Solution, name: str) -> str:
    """Return the tolerance that would accept a missed goal: its excessive errors, rounded up."""
    (metres, radians), bounds = solution.errors[name], read_tolerances(solution, name)
    own_unit = solution.list_rows()[name].op == CUSTOM  # a custom residual has the user's own unit
    out = []
    if metres > bounds[0]:
        unit, size = ("", 1.0) if own_unit else choose_unit(metres, solution.model.units)
        out.append(f"{round_up(metres, size)} {unit}".rstrip())
    if radians > bounds[1]:
        degrees = round_up(math.degrees(radians))
        out.append(f"{round_up(radians)} rad ({degrees} deg)")
    return " and ".join(out)


def round_up(value: float, unit: float = 1.0) -> str:
    """Return the first three digits of a positive value in its unit, rounded up."""
    step = 10.0 ** (math.floor(math.log10(value / unit)) - 2)
    count = math.ceil(value / unit / step * (1 - 1e-12))
    text = f"{count * step:.3g}"
    while float(text) * unit < value:
        count += 1
        text = f"{count * step:.3g}"
    return text


def say_missed_by(solution: Solution, name: str) -> str:
    """Return the statement that a goal is missed, with its errors."""
    row, by = solution.list_rows()[name], say_error(solution, name, allowed=True)
    what = {
        BALANCE: say_balance,
        COM: lambda *_: "the centre of mass is {by} away from its target",
        DISTANCE: say_distance,
        ANGLE: say_angle_goal,
        LOOK: lambda *_: "its gaze is off by {by}",
        ALIGN: lambda *_: "its axis is off by {by}",
        PLANES: lambda *_: "it is {by} outside its region",
    }.get(row.op)
    if what is None:
        return f"{name!r} is missed by {by}"
    return f"{name!r} is missed: {what(solution, row).format(by=by)}"


def say_balance(solution: Solution, row: GoalRows) -> str:
    """Return the position of the centre of mass relative to the support, in words."""
    away, margin = measure_excess(solution, row), float(row.target[12])
    inside = f" or its margin of {say_size(solution, margin)}" if margin else ""
    return f"the centre of mass is {{by}} outside the support{inside}, towards {say_direction(away)}"


def say_distance(solution: Solution, row: GoalRows) -> str:
    """Return the actual and the required distance of two frames, in words."""
    assert row.frame is not None
    one = find_place(solution, row.frame, row.point)
    other = row.target[9:12] if row.base is None else find_place(solution, row.base, row.point2)
    apart, low, high = float(np.linalg.norm(one - other)), float(row.target[12]), float(row.target[18])
    wanted = say_size(solution, low) if low == high else f"{say_size(solution, low)} to {say_size(solution, high)}"
    if math.isinf(high):
        wanted = f"at least {say_size(solution, low)}"
    return f"the two points are {say_size(solution, apart)} apart and should be {wanted}, which is off by {{by}}"


def say_angle_goal(_: Solution, row: GoalRows) -> str:
    """Return the target of an angle goal, in words."""
    low, high = float(row.target[12]), float(row.target[18])
    wanted = say_angle(low) if low == high else f"from {say_angle(low)} to {say_angle(high)}"
    return f"the angle should be {wanted} and is off by {{by}}"


def find_place(solution: Solution, frame: str, point: Floats) -> Floats:
    """Return a point of a frame in the world."""
    T = solution.model.fk(solution.q, frame)
    return np.asarray(T[:3, :3] @ point + T[:3, 3])


# ------------------------------------------------------------------------------------------------ limits


def say_limit(solution: Solution, limit: ActiveLimit) -> str:
    """Return an active limit in words."""
    if limit.kind == "range":
        turn = say_part(solution, limit)
        return f"{limit.joint!r}{turn} is at its {limit.side} limit, {say_joint_value(solution, limit, limit.value)}"
    if limit.kind == "cone":
        verb = {"swing": "swung", "twist": "twisted"}.get(limit.part, "turned")
        return f"{limit.joint!r} is {verb} to the limit of its cone, {say_angle(limit.value)}"
    if limit.kind == "clearance":
        one, other = (what if what.startswith("a ") else repr(what) for what in limit.between)
        if limit.end:
            return f"{one} is as close to {other} as {limit.limit!r} allows, {say_size(solution, limit.end)}"
        return f"{one} touches {other}, and {limit.limit!r} keeps them apart"
    if limit.kind == "closed":
        return f"{limit.limit!r} has to stay closed"
    if limit.kind == "floor":
        return f"{limit.between[0]!r} stands on the floor"
    end = "lowest" if limit.side == "lower" else "highest"
    return f"{name_value(limit)} is at the {end} value that {limit.limit!r} allows, {limit.value:.4g}"


def say_part(solution: Solution, limit: ActiveLimit) -> str:
    """Return the coordinate of a joint with several, in words; otherwise empty."""
    if not limit.part:
        return ""
    kind, part = solution.model.joint(limit.joint).kind, limit.part
    if kind == "euler":
        return f" (its rotation about {part[1]}{', the second one' if len(part) > 2 else ''})"
    if part in ("x", "y", "z"):
        return f" (its translation along {part})"
    return f" (its {NTH.get(part, '')}rotation)" if solution.model.turns[limit.velocity] else f" (its {part})"


def name_value(limit: ActiveLimit) -> str:
    """Return the name of the value that a limit bounds, such as the sum of a coupled range."""
    return limit.about or f"the value of {limit.limit!r}"


def say_joint_value(solution: Solution, limit: ActiveLimit, value: float) -> str:
    """Return a joint's value with its unit."""
    if is_angle(solution, limit):
        return say_angle(value)
    if not solution.model.slides[limit.velocity]:
        return f"{value:.4g} times its length"
    return f"{value:.4g} {choose_unit(1.0, solution.model.units)[0]}"


def is_angle(solution: Solution, limit: ActiveLimit) -> bool:
    """Return whether the coordinate of a joint range is an angle."""
    return bool(solution.model.turns[limit.velocity])


# ------------------------------------------------------------------------------------------------ numbers


def say_size(solution: Solution, length: float, digits: int = 3) -> str:
    """Return a length with the length unit of the body."""
    return say_length(length, digits, solution.model.units)


def say_angle(radians: float) -> str:
    """Return an angle in radians and degrees; angles below 1e-12 are shown as 0."""
    return "0 rad" if abs(radians) < 1e-12 else f"{radians:.3g} rad ({math.degrees(radians):.3g} deg)"


def say_vector(v: Floats) -> str:
    """Return a vector with few digits."""
    x, y, z = np.round(v, 3) + 0.0
    return f"({x:g}, {y:g}, {z:g})"


def say_direction(v: Floats) -> str:
    """Return the name of a world axis if the direction is close to one, otherwise its numbers."""
    size = float(np.linalg.norm(v))
    if size == 0.0:
        return "no side"
    unit = v / size
    k = int(np.abs(unit).argmax())
    return SIGNS[2 * k + (unit[k] < 0)] if abs(unit[k]) > 0.94 else say_vector(unit)


def say_count(n: int, one: str, many: str) -> str:
    """Return a number with its noun in the right form."""
    return f"{n} {one if n == 1 else many}"
