"""Limits other than joint ranges that an answer touches: cones, clearances, coupled ranges, closed loops."""

import math
from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from poise.diagnosis.linear import Linearisation, find_limit_tables
from poise.limits import Clearance
from poise.limits.cone import find_cones
from poise.limits.limit import Limit, LoopRow, name_limits
from poise.native import core
from poise.solvers.limit_tables import Rule
from poise.solvers.solution import Solution

__all__ = ["BranchCollisions", "TouchedLimit", "find_collisions", "find_touched"]

TOUCHES = 1e-6  # rad, or relative to L: the largest gap of a limit that counts as touched


@dataclass(frozen=True, slots=True)
class TouchedLimit:
    """A limit that a pose touches; `ActiveLimit` documents the fields."""

    kind: str
    limit: str
    index: int
    value: float
    joint: str = ""
    part: str = ""
    side: str = "upper"
    between: tuple[str, ...] = ()
    end: float = field(default=0.0, repr=False)
    unit: float = field(default=1.0, repr=False)
    about: str = field(default="", repr=False)


@dataclass(frozen=True, slots=True)
class BranchCollisions:
    """The collisions of the poses that reach a goal.

    Attributes:
        contacts: The deepest contact of each branch in its least deep pose; the least deep branch first.
        poses: The number of poses tested.
        spacing: The distance of two tested values of a free joint [rad, m]; 0 without a free joint.
    """

    contacts: tuple[TouchedLimit, ...]
    poses: int
    spacing: float


def find_collisions(solution: Solution) -> BranchCollisions:
    """Return the collisions of all branches of the only goal; without any if its chain has no closed form."""
    solver, tables = solution.copy_solver(), find_limit_tables(solution)
    solver.problem.complete_proofs()
    poses, branches, spacing = core.list_branches(solver.problem)
    limits = [limit for limit in solver.options.limits if isinstance(limit, Clearance)]
    depths = np.max([limit.distance - limit.measure_gap(solution.model, poses) for limit in limits], axis=0)
    contacts = []
    for branch in sorted(set(branches)):
        own = np.flatnonzero(np.asarray(branches) == branch)
        gaps = solver.problem.gaps(poses[own[np.argmin(depths[own])]])[0]
        index = int(np.argmin(gaps))
        contacts.append(place_limit(solution, tables.rows[index], index, float(gaps[index])))
    contacts.sort(key=lambda contact: contact.end - contact.value)
    return BranchCollisions(tuple(contacts), len(poses), float(spacing))


def find_touched(solution: Solution, at: Linearisation) -> Iterator[TouchedLimit]:
    """Yield the limits that the answer touches, and every closed loop."""
    tables = find_limit_tables(solution)
    for index in np.flatnonzero(at.gaps <= TOUCHES).tolist():
        yield place_limit(solution, tables.rows[index], index, float(at.gaps[index]))
    for k, (name, loop) in enumerate(tables.loops.items()):
        yield TouchedLimit("closed", name, k, measure_loop(solution, loop))


def place_limit(solution: Solution, rule: Rule, index: int, gap: float) -> TouchedLimit:
    """Return a limit with its current value: the end of its range minus the kernels' gap."""
    row = rule.row
    value = row.end + gap * row.unit if row.side == "lower" else row.end - gap * row.unit
    if row.part == "swing":  # for an elliptic cone it depends on the direction of the swing
        value = measure_swing(solution, name_limits(solution.solver.options.limits), row.joint)
    names = (row.joint, row.part, row.side, row.between)
    return TouchedLimit(rule.kind, rule.limit, index, value, *names, row.end, row.unit, row.about)


def measure_swing(solution: Solution, limits: dict[str, Limit], name: str) -> float:
    """Return the swing angle of a ball joint's axis [rad]."""
    axis = np.asarray(find_cones(solution.model, limits.values())[name].axis)
    w, *vector = solution.q[solution.model.joint(name).q].tolist()
    along = float(axis @ vector)
    return 2.0 * math.atan2(float(np.linalg.norm(vector - along * axis)), math.hypot(w, along))


def measure_loop(solution: Solution, loop: LoopRow) -> float:
    """Return the opening of a closed loop [m]."""
    T_frame, T_other = (solution.model.fk(solution.q, frame) for frame in (loop.frame, loop.other))
    place = T_other[:3, :3] @ loop.target[9:12] + T_other[:3, 3]
    return float(np.linalg.norm(place - T_frame[:3, :3] @ loop.point - T_frame[:3, 3]))
