"""What holds an answer where it is: limits that bind, and how strongly.

At the answer no level can come nearer without breaking a limit or costing the levels above it. With r the weighted
residuals of a level, J their Jacobian, n_i the direction in which limit i closes, and A the rows of what is above:

    2 J^T r = sum_i mu_i n_i + A^T lambda,   mu_i >= 0

mu_i is the limit's multiplier: what the level's best cost falls by per radian (metre) that the limit is moved out. Of a
limit that holds several levels it is that of the first. With joint ranges alone n_i is a unit vector and mu_i a
component of the pull.
Source: Nocedal and Wright, Numerical Optimization, 2006, section 12.8 (Lagrange multipliers and sensitivity).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from poise.limits.limit import CLOSE
from poise.model import Joint
from poise.solvers.linear import Floats, Linearisation, linearise, nonnegative, row_space
from poise.solvers.proof import is_missed
from poise.solvers.standing import Standing, standing_rules
from poise.solvers.table import may_move

if TYPE_CHECKING:
    from poise.solvers.solution import Solution

__all__ = ["ActiveLimit", "active_limits", "broken_limits"]

NOTHING = 1e-12  # of the pull: rounding


@dataclass(frozen=True, slots=True)
class ActiveLimit:
    """A limit that the pose stands at, or a joint beyond the end of its range.

    Attributes:
        joint: The joint's name; empty for a clearance, a coupled range and a closed loop, which are about several.
        side: "lower" or "upper".
        value: Where the joint is, the turn of a cone, or the sum of a coupled range [rad, m]; of a clearance the gap
            between the two surfaces [m]; of a closed loop how far it is open [m].
        multiplier: What the cost would fall by per radian (metre) of more room; 0 where the limit only touches.
        part: Which coordinate of a joint with several, as `joint.coordinates` names it: "rx", "x", "angle" ...;
            "swing", "twist" or "angle" of a cone; empty otherwise.
        exempt: Whether it lies outside its range because the solver could not move it, or ranges were off.
        velocity: Its index among the model's velocities; -1 where it is about several.
        kind: "range", "cone", "clearance", "coupled" or "closed".
        limit: The name of the limit; empty for ranges and the model's own cones.
        between: Of a clearance: the two things that it keeps apart.
        rule: Its index among the rules of its kind in the kernels, -1 for a joint range.
        level: Of the goals that it holds back, the priority that is served first; -1 where it holds nothing back.
        end: The value that it must not pass [rad, m]; of a closed loop 0.
        unit: How many radians or metres the kernels call 1.
        about: What has the value, as a sentence would name it; empty where the limit's own name says it.
    """

    joint: str
    side: str
    value: float
    multiplier: float
    part: str = ""
    exempt: bool = False
    velocity: int = -1
    kind: str = "range"
    limit: str = ""
    between: tuple[str, ...] = ()
    rule: int = -1
    level: int = -1
    end: float = field(default=0.0, repr=False)
    unit: float = field(default=1.0, repr=False)
    about: str = field(default="", repr=False)

    @property
    def name(self) -> str:
        """The joint's name, with the part of a joint that has several; else the limit's, with what it keeps apart."""
        if self.joint:
            return f"{self.joint}.{self.part}" if self.part else self.joint
        return f"{self.limit}: {' and '.join(self.between)}" if self.between else self.limit


def active_limits(solution: Solution) -> tuple[ActiveLimit, ...]:
    """Limits that the answer stands at, the strongest first; then those that exempt joints lie beyond."""
    at = linearise(solution)
    options = solution._solver._options
    held = may_move(solution.model, options.joints) & (options.limit_handling != "off")
    ranges = [limit for joint in solution.model.joints for limit in of_joint(solution, joint, held)]
    rules = [of_rule(rule) for rule in standing_rules(solution, at)]
    weighed = weigh(solution, at, [limit for limit in (*ranges, *rules) if not limit.exempt])
    found = (*merged(weighed), *(limit for limit in ranges if limit.exempt))
    return tuple(sorted(found, key=lambda limit: (limit.exempt, -limit.multiplier)))


def broken_limits(solution: Solution) -> Iterator[ActiveLimit]:
    """Limits that the answer does not keep, joints that may not move aside; one of each kind, name and side."""
    at = linearise(solution)
    options = solution._solver._options
    held = may_move(solution.model, options.joints) & (options.limit_handling != "off")
    ranges = [limit for joint in solution.model.joints for limit in of_joint(solution, joint, held)]
    beyond = [limit for limit in ranges if not limit.exempt and is_beyond(solution, limit)]
    rules = [of_rule(rule) for rule in standing_rules(solution, at)]
    open_loop = 2.0 * CLOSE * solution.model.length
    broken = [x for x in rules if (x.value > open_loop if x.kind == "closed" else at.gaps[x.rule] < 0.0)]
    yield from {(x.kind, x.name, x.side): x for x in (*beyond, *broken)}.values()


def is_beyond(solution: Solution, limit: ActiveLimit) -> bool:
    """Whether a joint is outside its range, not at the end of it."""
    low, high = solution.model.lower[limit.velocity], solution.model.upper[limit.velocity]
    return bool(limit.value < low if limit.side == "lower" else limit.value > high)


def of_joint(solution: Solution, joint: Joint, held: NDArray[np.bool_]) -> Iterator[ActiveLimit]:
    """The active limits of one joint, not weighed yet."""
    if joint.nv == 0 or joint.quaternion:
        return
    model = solution.model
    for k, value in enumerate(solution.q[joint.q].tolist()):
        v = joint.v.start + k
        low, high = float(model.lower[v]), float(model.upper[v])
        for side, beyond in (("lower", low - value), ("upper", value - high)):
            if beyond >= 0 if held[v] else beyond > 0:
                end = low if side == "lower" else high
                yield ActiveLimit(joint.name, side, value, 0.0, joint.coordinates[k].name, not held[v], v, end=end)


def of_rule(rule: Standing) -> ActiveLimit:
    """A limit beyond the joint ranges, not weighed yet."""
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
    """The limits with their multipliers, from the first level that each one holds back."""
    out = list(limits)
    inequalities = [k for k, limit in enumerate(limits) if limit.kind != "closed"]
    rows = [closing_direction(at, limits[k]) for k in inequalities]
    closing = np.reshape(rows, (len(rows), at.J.shape[1]))  # no column where no joint in joints= moves a goal
    for level, goals in enumerate(at.levels):
        pull = 2.0 * at.pull(goals)
        size = float(np.linalg.norm(pull))
        if size == 0.0 or not any(is_missed(solution, name) for name in goals):
            continue  # nothing is held back
        above = row_space(at.above(level))
        left, walls = pull - above @ (above.T @ pull), closing - (closing @ above) @ above.T
        strength = nonnegative(walls.T, left)
        priority = int(solution._solver.goals[goals[0]].priority)
        for k, mu in zip(inequalities, strength.tolist(), strict=True):
            if out[k].multiplier == 0.0 and mu > NOTHING * size:
                out[k] = replace(out[k], multiplier=mu, level=priority)
        weigh_loops(solution, at, out, pull - closing.T @ strength, priority)
    return out


def weigh_loops(solution: Solution, at: Linearisation, out: list[ActiveLimit], pull: Floats, priority: int) -> None:
    """The multipliers of closed loops: the share of the pull that they take up."""
    if not at.loops:
        return
    force = np.linalg.lstsq(at.closed.T, pull, rcond=1e-9)[0]
    for k, limit in enumerate(out):
        if limit.kind != "closed":
            continue
        strength = float(np.linalg.norm(force[at.loops[limit.rule]])) / solution.model.length
        if limit.multiplier == 0.0 and strength > NOTHING:
            out[k] = replace(limit, multiplier=strength, level=priority)


def closing_direction(at: Linearisation, limit: ActiveLimit) -> Floats:
    """How far a limit closes, in its own unit, per unit of each velocity of the problem."""
    if limit.kind == "range":
        return np.where(at.velocities == limit.velocity, 1.0 if limit.side == "upper" else -1.0, 0.0)
    return np.asarray(-limit.unit * at.normals[limit.rule])


def merged(limits: list[ActiveLimit]) -> list[ActiveLimit]:
    """Limits of one name and side as one, as strong as all of them: parts of a body are often several capsules."""
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
