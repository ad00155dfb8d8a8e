"""Goals and limits in words that need no robotics: what is missed and by how much, and what holds the body back."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from poise.diagnosis.hull import hull_excess
from poise.diagnosis.missed import tolerance
from poise.goals.goal import ALIGN, ANGLE, ANGULAR, BALANCE, COM, CUSTOM, DISTANCE, LOOK, PLANES, GoalRows
from poise.solvers.findings import ActiveLimit
from poise.solvers.show import length_text, unit_of
from poise.solvers.solution import Solution

__all__ = [
    "accepting_text",
    "angle_text",
    "count",
    "error_text",
    "limit_text",
    "listed",
    "missed_text",
    "turns",
    "vector_text",
]

Floats = NDArray[np.float64]

SIGNS = ("+x", "-x", "+y", "-y", "+z", "-z")


# ------------------------------------------------------------------------------------------------ goals

NTH = {"angle1": "first ", "angle2": "second "}  # the turns of a universal joint


def error_text(solution: Solution, name: str, *, allowed: bool = False) -> str:
    """A goal's errors; with what is allowed, only those that are too large."""
    return errors_text(solution, name, solution.errors[name], allowed=allowed)


def errors_text(solution: Solution, name: str, errors: tuple[float, float], *, allowed: bool = False) -> str:
    """Errors of a goal that it might have."""
    (metres, radians), bounds = errors, tolerance(solution, name)
    row = solution._rows()[name]
    out = []
    if row.op not in ANGULAR and not (allowed and metres <= bounds[0]):
        text = f"{metres:.3g}" if row.op == CUSTOM else length_text(metres)  # a user's own number has a user's unit
        most = f"{bounds[0]:.3g}" if row.op == CUSTOM else length_text(bounds[0])
        out.append(text + (f" (allowed: {most})" if allowed else ""))
    if (row.weight[3:] > 0).any() and not (allowed and radians <= bounds[1]):
        out.append(angle_text(radians) + (f" (allowed: {bounds[1]:.3g} rad)" if allowed else ""))
    return " and ".join(out)


def accepting_text(solution: Solution, name: str) -> str:
    """The tolerance that would accept a missed goal as it stands: its errors that are too large, rounded up."""
    (metres, radians), bounds = solution.errors[name], tolerance(solution, name)
    own_unit = solution._rows()[name].op == CUSTOM  # a user's own number has a user's unit
    out = []
    if metres > bounds[0]:
        unit, size = ("", 1.0) if own_unit else unit_of(metres)
        out.append(f"{rounded_up(metres, size)} {unit}".rstrip())
    if radians > bounds[1]:
        degrees = rounded_up(math.degrees(radians))
        out.append(f"{rounded_up(radians)} rad ({degrees} deg)")
    return " and ".join(out)


def rounded_up(value: float, unit: float = 1.0, digits: int = 3) -> str:
    """Digits that are not less than a positive value, read back in its unit."""
    step = 10.0 ** (math.floor(math.log10(value / unit)) - digits + 1)
    count = math.ceil(value / unit / step * (1 - 1e-12))
    text = f"{count * step:.{digits}g}"
    while float(text) * unit < value:
        count += 1
        text = f"{count * step:.{digits}g}"
    return text


def missed_text(solution: Solution, name: str) -> str:
    """That a goal is missed, and by how much."""
    row, by = solution._rows()[name], error_text(solution, name, allowed=True)
    what = {
        BALANCE: balance_text,
        COM: lambda *_: "the centre of mass is {by} from where it should be",
        DISTANCE: distance_text,
        ANGLE: angle_goal_text,
        LOOK: lambda *_: "it looks {by} past what it should look at",
        ALIGN: lambda *_: "its axis leans {by} away from where it should point",
        PLANES: lambda *_: "it is {by} outside",
    }.get(row.op)
    if what is None:
        return f"{name!r} is missed by {by}"
    return f"{name!r} is missed: {what(solution, row).format(by=by)}"


def balance_text(solution: Solution, row: GoalRows) -> str:
    """Where the centre of mass is beside the support."""
    away, margin = hull_excess(solution, row), float(row.target[12])
    inside = f", or less than the {length_text(margin)} inside it that are asked for" if margin else ""
    return f"the centre of mass is {{by}} outside the support{inside}, towards {direction_text(away)}"


def distance_text(solution: Solution, row: GoalRows) -> str:
    """How far apart, and what was wanted."""
    assert row.frame is not None
    one = place(solution, row.frame, row.point)
    other = row.target[9:12] if row.base is None else place(solution, row.base, row.point2)
    apart, low, high = float(np.linalg.norm(one - other)), float(row.target[12]), float(row.target[18])
    wanted = length_text(low) if low == high else f"{length_text(low)} to {length_text(high)}"
    if math.isinf(high):
        wanted = f"at least {length_text(low)}"
    return f"the two points are {length_text(apart)} apart and should be {wanted}, which is off by {{by}}"


def angle_goal_text(_: Solution, row: GoalRows) -> str:
    """What the angle should be."""
    low, high = float(row.target[12]), float(row.target[18])
    wanted = angle_text(low) if low == high else f"from {angle_text(low)} to {angle_text(high)}"
    return f"the angle should be {wanted} and is off by {{by}}"


def place(solution: Solution, frame: str, point: Floats) -> Floats:
    """A point of a frame in the world."""
    T = solution.model.fk(solution.q, frame)
    return np.asarray(T[:3, :3] @ point + T[:3, 3])


# ------------------------------------------------------------------------------------------------ limits


def limit_text(solution: Solution, limit: ActiveLimit) -> str:
    """A limit that the body stands at."""
    if limit.kind == "range":
        turn = part_text(solution, limit)
        return f"{limit.joint!r}{turn} is at its {limit.side} limit, {value_text(solution, limit, limit.value)}"
    if limit.kind == "cone":
        verb = {"swing": "swung", "twist": "twisted"}.get(limit.part, "turned")
        return f"{limit.joint!r} is {verb} as far as its cone lets it, {angle_text(limit.value)}"
    if limit.kind == "clearance":
        one, other = (what if what.startswith("a ") else repr(what) for what in limit.between)
        if limit.end:
            return f"{one} is as close to {other} as {limit.limit!r} allows, {length_text(limit.end)}"
        return f"{one} touches {other}, and {limit.limit!r} keeps them apart"
    if limit.kind == "closed":
        return f"{limit.limit!r} has to stay closed"
    if limit.kind == "floor":
        return f"{limit.between[0]!r} stands on the floor"
    end = "lowest" if limit.side == "lower" else "highest"
    return f"{value_name(limit)} is at the {end} value that {limit.limit!r} allows, {limit.value:.4g}"


def part_text(solution: Solution, limit: ActiveLimit) -> str:
    """Which coordinate of a joint with several, in words."""
    if not limit.part:
        return ""
    kind, part = solution.model.joint(limit.joint).kind, limit.part
    if kind == "euler":
        return f" (its turn about {part[1]}{', the second one' if len(part) > 2 else ''})"
    if part in ("x", "y", "z"):
        return f" (its way along {part})"
    return f" (its {NTH.get(part, '')}turn)" if not solution.model.slides[limit.velocity] else f" (its {part})"


def value_name(limit: ActiveLimit) -> str:
    """Name what has the value that a limit bounds: the sum of a coupled range, as it would be written by hand."""
    return limit.about or f"the value of {limit.limit!r}"


def value_text(solution: Solution, limit: ActiveLimit, value: float) -> str:
    """A joint's value with its unit."""
    return angle_text(value) if turns(solution, limit) else f"{value:.4g} m"


def turns(solution: Solution, limit: ActiveLimit) -> bool:
    """Whether the coordinate of a joint range is an angle."""
    return not solution.model.slides[limit.velocity]


# ------------------------------------------------------------------------------------------------ numbers


def angle_text(radians: float) -> str:
    """An angle in radians and degrees; below 1e-12 it is rounding, and 0."""
    return "0 rad" if abs(radians) < 1e-12 else f"{radians:.3g} rad ({math.degrees(radians):.3g} deg)"


def vector_text(v: Floats) -> str:
    """Three numbers, short."""
    x, y, z = np.round(v, 3) + 0.0
    return f"({x:g}, {y:g}, {z:g})"


def direction_text(v: Floats) -> str:
    """An axis of the world where it is nearly one, else the direction in numbers."""
    size = float(np.linalg.norm(v))
    if size == 0.0:
        return "no side"
    unit = v / size
    k = int(np.abs(unit).argmax())
    return SIGNS[2 * k + (unit[k] < 0)] if abs(unit[k]) > 0.94 else vector_text(unit)


def count(n: int, one: str, many: str) -> str:
    """How many, in words that agree."""
    return f"{n} {one if n == 1 else many}"


def listed(names: list[str]) -> str:
    """'a', 'b' and 'c'."""
    shown = [repr(name) for name in names]
    return shown[0] if len(shown) == 1 else f"{', '.join(shown[:-1])} and {shown[-1]}"
