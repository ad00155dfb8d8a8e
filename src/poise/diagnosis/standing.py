"""Limits beyond the joint ranges that an answer stands at: cones, clearances, coupled sums, closed loops, by name."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from poise.diagnosis.linear import Linearisation
from poise.limits import Clearance, Closed, Cone, Coupled
from poise.limits.cone import cones
from poise.limits.limit import Limit, name_limits
from poise.solvers.rules import CONE_RULES, OPEN, RuleTables, rule_tables, unit_of_sum
from poise.solvers.solution import Solution
from poise.solvers.table import may_move

__all__ = ["Standing", "standing_rules", "unit_of"]

TOUCHES = 1e-6  # radians, or of L: what is left of a limit that a pose stands at


@dataclass(frozen=True, slots=True)
class Standing:
    """One of those limits; see `ActiveLimit` for what its parts are."""

    kind: str
    limit: str
    index: int
    value: float
    joint: str = ""
    part: str = ""
    side: str = "upper"
    between: tuple[str, ...] = ()


def standing_rules(solution: Solution, at: Linearisation) -> Iterator[Standing]:
    """Those that the answer stands at, and every closed loop."""
    options = solution._solver._options
    if options.limit_handling == "off":
        return
    limits = name_limits(options.limits)
    tables = rule_tables(solution.model, limits, may_move(solution.model, options.joints))
    near = np.flatnonzero(at.gaps <= TOUCHES)
    if len(near):
        rules = list(all_rules(solution, limits, tables))
        for index in near.tolist():
            yield valued(solution, limits, rules[index], index, float(at.gaps[index]))
    errors = loop_errors(solution)
    for k, loop in enumerate(tables.loops):
        yield Standing("closed", str(loop["name"]).removeprefix("limit "), k, float(errors[k]))


def all_rules(solution: Solution, limits: dict[str, Limit], tables: RuleTables) -> Iterator[Standing]:
    """Every number that must not be negative, in the kernels' order, with the end of its range as its value."""
    for q_index, _, numbers in tables.cones:
        joint = next(joint for joint in solution.model.joints if joint.nv and joint.q.start == q_index)
        own = [name for name, limit in limits.items() if isinstance(limit, Cone) and limit.joint == joint.name]
        ends = (min(numbers[9:11]), numbers[11], numbers[12], numbers[13])
        for part, side, end in zip(CONE_RULES, ("upper", "lower", "upper", "upper"), ends, strict=True):
            if abs(end) < OPEN:
                yield Standing("cone", own[-1] if own else "", 0, end, joint.name, part, side)
    for name, what in tables.names[cone_count(tables) :]:
        limit = limits[name]
        if isinstance(limit, Clearance):
            one, _, other = what.partition(" and ")
            yield Standing("clearance", name, 0, limit.distance, side="lower", between=(one, other))
        elif isinstance(limit, Coupled):
            yield Standing("coupled", name, 0, limit.lower if what == "lower" else limit.upper, side=what)


def cone_count(tables: RuleTables) -> int:
    """How many of the names are about cones."""
    ends = [(min(n[9:11]), n[11], n[12], n[13]) for _, _, n in tables.cones]
    return sum(abs(end) < OPEN for four in ends for end in four)


def valued(solution: Solution, limits: dict[str, Limit], rule: Standing, index: int, gap: float) -> Standing:
    """The rule with where the pose is instead of the end of its range."""
    left = gap * unit_of(solution, limits, rule.kind, rule.limit)
    value = rule.value + left if rule.side == "lower" else rule.value - left
    if rule.part == "swing":  # of an elliptic cone it depends on where the joint is swung to
        value = swing_of(solution, limits, rule.joint)
    return Standing(rule.kind, rule.limit, index, value, rule.joint, rule.part, rule.side, rule.between)


def unit_of(solution: Solution, limits: dict[str, Limit], kind: str, name: str) -> float:
    """What the kernels measure a limit's gap in: metres or radians per unit."""
    limit = limits.get(name)
    if isinstance(limit, Coupled):
        return unit_of_sum(solution.model, limit.row(solution.model))
    return float(solution.model.length) if kind == "clearance" else 1.0


def swing_of(solution: Solution, limits: dict[str, Limit], name: str) -> float:
    """How far a ball joint swings its axis [rad]."""
    axis = np.asarray(cones(solution.model, limits.values())[name].axis)
    w, *vector = solution.q[solution.model.joint(name).q].tolist()
    along = float(axis @ vector)
    return 2.0 * math.atan2(float(np.linalg.norm(vector - along * axis)), math.hypot(w, along))


def loop_errors(solution: Solution) -> list[float]:
    """How far each closed loop is open [m]."""
    out = []
    for limit in name_limits(solution._solver._options.limits).values():
        if isinstance(limit, Closed):
            row = limit.row(solution.model)
            frames = solution.model.frames
            T_frame, T_other = (solution.model.fk(solution.q, frames[k]) for k in (row.frame, row.other))
            place = T_other[:3, :3] @ row.target[9:12] + T_other[:3, 3]
            out.append(float(np.linalg.norm(place - T_frame[:3, :3] @ row.point - T_frame[:3, 3])))
    return out
