"""Limits in the kernels' words: capsules, rules between them, cones, coupled sums, loops; and what is about time."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from poise.errors import InvalidValue
from poise.goals.goal import POSE, POSITION
from poise.limits.cone import cones
from poise.limits.limit import Limit
from poise.model import Model
from poise.model.joint import BallRange
from poise.native import core

if TYPE_CHECKING:
    from poise.limits import Clearance, Closed, Coupled
    from poise.limits.coupled import CoupledRow

__all__ = ["RuleTables", "refuse_timed", "rule_tables", "timed", "unit_of_sum"]

Op = core.LimitOp
CONE_RULES = ("swing", "twist", "twist", "angle")
OPEN = core.OPEN
TIMED = ("Speed", "Acceleration")  # kinds of limits that are about time
EXACT = 5e-13  # rounding that a sum of joints may have


@dataclass(slots=True)
class RuleTables:
    """What `native.core.Solver` reads, and what each of its limits is called, in its order.

    Attributes:
        cones: (first of q, first of v, 14 numbers) for each ball joint with a range.
        capsules: (frame, 7 numbers): both ends and the radius.
        rules: (op, first, second, numbers, distance).
        coupled: (terms, sign, bound), terms being (q index, v index, factor); in the unit of each sum.
        loops: Rows of closed loops, as goals that stand above all others.
        names: The limit's name and what of it, for each number that must not be negative.
    """

    cones: list[tuple[int, int, list[float]]] = field(default_factory=list)
    capsules: list[tuple[int, list[float]]] = field(default_factory=list)
    rules: list[tuple[int, int, int, list[float], float]] = field(default_factory=list)
    coupled: list[tuple[list[tuple[int, int, float]], float, float]] = field(default_factory=list)
    loops: list[dict[str, Any]] = field(default_factory=list)
    names: list[tuple[str, str]] = field(default_factory=list)

    @property
    def any(self) -> bool:
        """Whether there is anything beside joint ranges."""
        return bool(self.names or self.loops)

    def native(self) -> dict[str, Any]:
        """The tables by the names that the kernels know."""
        return {"cones": self.cones, "capsules": self.capsules, "rules": self.rules, "coupled": self.coupled}


def timed(limits: Iterable[Limit]) -> tuple[str, ...]:
    """Kinds of the limits that are about time."""
    return tuple(type(limit).__name__ for limit in limits if type(limit).__name__ in TIMED)


def refuse_timed(kinds: tuple[str, ...]) -> None:
    """Limits about time have no meaning in a solve that runs to its end."""
    if kinds:
        raise InvalidValue(
            f"{kinds[0]} is about time: it holds in solver.step(q, dt, ...), and has no meaning in solve."
        )


def rule_tables(model: Model, limits: Mapping[str, Limit], moves: NDArray[np.bool_]) -> RuleTables:
    """All limits but those about time. `moves`: which velocities may change."""
    out = RuleTables()
    add_cones(out, model, limits.values(), moves)
    if not limits:
        return out
    from poise.limits import Clearance, Closed, Coupled

    names: list[tuple[str, str]] = []
    for name, limit in limits.items():
        if isinstance(limit, Clearance):
            names += add_clearance(out, model, name, limit)
    out.names += names
    for name, limit in limits.items():
        if isinstance(limit, Coupled):
            add_coupled(out, model, name, limit)
        elif isinstance(limit, Closed):
            out.loops.append(loop_table(model, name, limit))
    return out


def add_cones(out: RuleTables, model: Model, limits: Iterable[Limit], moves: NDArray[np.bool_]) -> None:
    """Ranges of ball joints that may move."""
    for name, cone in cones(model, limits).items():
        joint = model.joint(name)
        if not moves[joint.v].any():
            continue
        numbers = cone_numbers(cone)
        out.cones.append((joint.q.start, joint.v.start, numbers))
        held = (min(numbers[9:11]) < OPEN, numbers[11] > -OPEN, numbers[12] < OPEN, numbers[13] < OPEN)
        out.names += [(name, what) for what, has in zip(CONE_RULES, held, strict=True) if has]


def cone_numbers(cone: BallRange) -> list[float]:
    """Axis, two directions across it, swing (2), twist (2), angle; x and y are across z."""
    axis = np.asarray(cone.axis, dtype=np.float64)
    flat = np.array([1.0, 0.0, 0.0]) if abs(axis[0]) < 0.9 else np.array([0.0, 1.0, 0.0])
    first = flat - axis * (flat @ axis)
    first /= np.linalg.norm(first)
    swing = (OPEN, OPEN) if cone.swing is None else np.broadcast_to(cone.swing, (2,)).tolist()
    twist = (-OPEN, OPEN) if cone.twist is None else wide_enough(*cone.twist)
    angle = OPEN if cone.angle is None else cone.angle
    return [*axis.tolist(), *first.tolist(), *np.cross(axis, first).tolist(), *swing, *twist, angle]


def wide_enough(low: float, high: float) -> tuple[float, float]:
    """A range with the rounding that an angle has, where it would else be a single number."""
    slack = max(EXACT - (high - low) / 2, 0.0)
    return low - slack, high + slack


def add_clearance(out: RuleTables, model: Model, name: str, limit: Clearance) -> list[tuple[str, str]]:
    """Pairs of capsules, and capsules with what is in the world; returns their names."""
    from poise.limits.clearance import clearance_table

    table = clearance_table(model, limit)
    start = len(out.capsules)
    for frame, a, b, radius in zip(table["frames"], table["a"], table["b"], table["radius"], strict=True):
        out.capsules.append((int(frame), [*a.tolist(), *b.tolist(), float(radius)]))
    names = []
    parts = table["names"]
    for i, j in table["pairs"].tolist():
        out.rules.append((Op.PAIR, start + i, start + j, [], limit.distance))
        names.append((name, f"{parts[i]} and {parts[j]}"))
    for i in np.flatnonzero(table["moves"]).tolist():
        for op, second, numbers, what in world_rules(table):
            out.rules.append((op, start + i, second, numbers, limit.distance))
            names.append((name, f"{parts[i]} and {what}"))
    return names


def world_rules(table: Mapping[str, Any]) -> Iterator[tuple[int, int, list[float], str]]:
    """The rules that one capsule has with the world: op, which end, numbers, what it is."""
    for plane in table["halfspaces"].tolist():  # solid where n . x <= d
        for end in (0, 1):
            yield Op.PLANE, end, plane, "a half-space"
    for ball in table["spheres"].tolist():
        yield Op.SEGMENT, 0, [*ball[:3], *ball[:3], ball[3]], "a sphere"
    for box in table["boxes"].tolist():
        yield Op.BOX, 0, box, "a box"
    for capsule in table["capsules"].tolist():
        yield Op.SEGMENT, 0, capsule, "a capsule"


def add_coupled(out: RuleTables, model: Model, name: str, limit: Coupled) -> None:
    """One rule for each end of the range."""
    row = limit.row(model)
    unit = unit_of_sum(model, row)
    terms = list(zip(row.q_index.tolist(), row.v_index.tolist(), (row.coefficients / unit).tolist(), strict=True))
    slack = EXACT * (unit + abs(row.lower)) if row.lower == row.upper else 0.0
    for sign, bound, side in ((1.0, row.lower - slack, "lower"), (-1.0, row.upper + slack, "upper")):
        if np.isfinite(bound):
            out.coupled.append((terms, sign, bound / unit))
            out.names.append((name, side))


def unit_of_sum(model: Model, row: CoupledRow) -> float:
    """What a sum of coordinates is measured in: about what it changes by per radian, or per L of a slide.

    A power of two, so that nothing is rounded. No less than a sixteenth of its bounds, or rounding would be more than
    the hair's breadth that a pose keeps from them.
    """
    each = np.abs(row.coefficients) * np.where(~model.slides[row.v_index], 1.0, model.length)
    bounds = [abs(bound) / 16.0 for bound in (row.lower, row.upper) if np.isfinite(bound)]
    size = max(float(each.max(initial=0.0)), *bounds)
    return math.ldexp(1.0, round(math.log2(size))) if size > 0 else 1.0


def loop_table(model: Model, name: str, limit: Closed) -> dict[str, Any]:
    """A closed loop as the rows of a goal between two frames."""
    from poise.limits.closed import CLOSE

    row = limit.row(model)
    weight = np.array([1.0, 1.0, 1.0, *([1.0] * 3 if row.turns else [0.0] * 3)])
    zeros = np.zeros(3)

    def refuse(_: Any) -> Any:
        raise InvalidValue(f"limit {name!r} has no target of its own; make another solver.")

    return {
        "name": f"limit {name}",
        "op": POSE if row.turns else POSITION,
        "frame": row.frame,
        "base": row.other,
        "point": row.point,
        "point2": zeros,
        "axis": zeros,
        "axis2": zeros,
        "weight": weight,
        "tolerance": np.array([CLOSE * model.length, CLOSE]),
        "target": row.target,
        "exact": 0,
        "local": 0,
        "ranged": 0,
        "size": 6 if row.turns else 3,
        "points": [],
        "level": -1,
        "convert": refuse,
        "residual": None,
        "jacobian": None,
    }
