"""Active limits of an answer, and their Lagrange multipliers.

At the answer, no level can improve without violating a limit or degrading the levels above it. With r the weighted
residuals of a level, J their Jacobian, n_i the direction in which limit i closes, and A the rows of higher levels:

    2 J^T r = sum_i mu_i n_i + A^T lambda,   mu_i >= 0

mu_i is the limit's multiplier: the decrease of the level's best cost per radian (metre) that the limit is moved out. A
limit that restricts several levels has the multiplier of the first. With joint ranges alone, n_i is a unit vector and
mu_i a component of the gradient.
Source: Nocedal and Wright, Numerical Optimization, 2006, section 12.8 (Lagrange multipliers and sensitivity).
"""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from poise.arrays import Floats
from poise.diagnosis.linear import Linearisation, linearise, solve_nonnegative, span_rows
from poise.diagnosis.misses import is_missed
from poise.diagnosis.touched_limits import TouchedLimit, find_touched
from poise.limits.limit import CLOSE
from poise.model import Joint
from poise.solvers.report.findings import ActiveLimit
from poise.solvers.solution import Solution
from poise.solvers.table import may_move

__all__ = ["describe_limit", "find_active_limits", "find_broken_limits"]

AT_BOUND = 1e-12  # rad, or relative to L: a joint this near to the end of its range counts as at its end
NOTHING = 1e-9  # relative to the longest possible gradient: a converged search leaves less


def find_active_limits(solution: Solution) -> tuple[ActiveLimit, ...]:
    """Return the limits that the answer touches, strongest first, then those that exempt joints exceed."""
    at = linearise(solution)
    ranges = find_ranges(solution)
    others = [describe_limit(rule) for rule in find_touched(solution, at)]
    weighed = weigh(solution, at, [limit for limit in (*ranges, *others) if not limit.exempt])
    found = (*merge_limits(weighed), *(limit for limit in ranges if limit.exempt))
    return tuple(sorted(found, key=lambda limit: (limit.exempt, -limit.multiplier)))


def find_ranges(solution: Solution) -> list[ActiveLimit]:
    """Return the joint ranges that the answer touches or exceeds."""
    options = solution.solver.options
    held = may_move(solution.model, options.joints) & (options.limit_handling != "off")
    return [limit for joint in solution.model.joints for limit in find_joint_limits(solution, joint, held)]


def find_broken_limits(solution: Solution) -> Iterator[ActiveLimit]:
    """Yield the limits that the answer violates, excluding joints that may not move; one per kind, name and side."""
    at = linearise(solution)
    beyond = [limit for limit in find_ranges(solution) if not limit.exempt and is_beyond(solution, limit)]
    others = [describe_limit(rule) for rule in find_touched(solution, at)]
    open_loop = 2.0 * CLOSE * solution.model.length
    broken = [x for x in others if (x.value > open_loop if x.kind == "closed" else at.gaps[x.rule] < 0.0)]
    yield from {(x.kind, x.name, x.side): x for x in (*beyond, *broken)}.values()


def is_beyond(solution: Solution, limit: ActiveLimit) -> bool:
    """Return whether a joint is outside its range, not only at its end."""
    low, high = solution.model.lower[limit.velocity], solution.model.upper[limit.velocity]
    return bool(limit.value < low if limit.side == "lower" else limit.value > high)


def find_joint_limits(solution: Solution, joint: Joint, held: NDArray[np.bool_]) -> Iterator[ActiveLimit]:
    """Yield the active limits of one joint, without their multipliers."""
    if joint.nv == 0 or joint.quaternion:
        return
    model = solution.model
    for k, value in enumerate(solution.q[joint.q].tolist()):
        v = joint.v.start + k
        low, high = float(model.lower[v]), float(model.upper[v])
        for side, beyond in (("lower", low - value), ("upper", value - high)):
            if beyond >= -AT_BOUND * (model.length if model.slides[v] else 1.0) if held[v] else beyond > 0:
                end = low if side == "lower" else high
                yield ActiveLimit(joint.name, side, value, 0.0, joint.coordinates[k].name, not held[v], v, end=end)


def describe_limit(rule: TouchedLimit) -> ActiveLimit:
    """Return a limit other than a joint range, without its multiplier."""
    return ActiveLimit(
        rule.joint,
        rule.side,
        rule.value,
        0.0,
        rule.part,
        kind=rule.kind,
        limit=rule.limit,
        between=rule.between,
        rule=rule.index,
        end=rule.end,
        unit=rule.unit,
        about=rule.about,
    )


# ------------------------------------------------------------------------------------------------ multipliers


def weigh(solution: Solution, at: Linearisation, limits: list[ActiveLimit]) -> list[ActiveLimit]:
    """Return the limits with their multipliers, from the first level that each one restricts."""
    out = list(limits)
    inequalities = [k for k, limit in enumerate(limits) if limit.kind != "closed"]
    rows = [find_closing_direction(at, limits[k]) for k in inequalities]
    closing = np.reshape(rows, (len(rows), at.J.shape[1]))  # no column if no joint in joints= moves a goal
    for level, goals in enumerate(at.levels):
        pull = 2.0 * at.pull(goals)
        size = 2.0 * at.bound_pull(goals)
        if size == 0.0 or not any(is_missed(solution, name) for name in goals):
            continue  # no goal of this level is missed
        above = span_rows(at.stack_above(level))
        left, walls = pull - above @ (above.T @ pull), closing - (closing @ above) @ above.T
        strength = solve_nonnegative(walls.T, left)
        priority = int(solution.solver.goals[goals[0]].priority)
        for k, mu in zip(inequalities, strength.tolist(), strict=True):
            if out[k].multiplier == 0.0 and mu > NOTHING * size:
                out[k] = replace(out[k], multiplier=mu, level=priority)
        weigh_loops(solution, at, out, pull - closing.T @ strength, priority)
    return out


def weigh_loops(solution: Solution, at: Linearisation, out: list[ActiveLimit], pull: Floats, priority: int) -> None:
    """Set the multipliers of closed loops: their share of the gradient."""
    if not at.loops:
        return
    force = np.linalg.lstsq(at.closed.T, pull, rcond=1e-9)[0]
    for k, limit in enumerate(out):
        if limit.kind != "closed":
            continue
        strength = float(np.linalg.norm(force[at.loops[limit.rule]])) / solution.model.length
        if limit.multiplier == 0.0 and strength > NOTHING:
            out[k] = replace(limit, multiplier=strength, level=priority)


def find_closing_direction(at: Linearisation, limit: ActiveLimit) -> Floats:
    """Return the change of a limit's gap towards closing, in its own unit, per unit of each velocity."""
    if limit.kind == "range":
        return np.where(at.velocities == limit.velocity, 1.0 if limit.side == "upper" else -1.0, 0.0)
    return np.asarray(-limit.unit * at.normals[limit.rule])


def merge_limits(limits: list[ActiveLimit]) -> list[ActiveLimit]:
    """Merge limits of one name and side by adding their multipliers, since a body part often has several capsules."""
    out: dict[tuple[str, str, str], ActiveLimit] = {}
    for limit in limits:
        key = (limit.kind, limit.name, limit.side)
        if key not in out:
            out[key] = limit
            continue
        one = max(out[key], limit, key=lambda x: x.multiplier)
        levels = [x.level for x in (out[key], limit) if x.level >= 0]
        out[key] = replace(one, multiplier=out[key].multiplier + limit.multiplier, level=min(levels, default=-1))
    return list(out.values())
