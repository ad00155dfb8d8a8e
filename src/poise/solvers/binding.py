"""What holds an answer where it is: limits that bind, how strongly, and directions in which the body cannot move.

At the answer the cost |r|^2 is stationary but for the limits, r the weighted residuals and J their Jacobian:

    J^T r = mu / 2,   mu_i > 0 at an upper limit that binds, < 0 at a lower one, 0 where joint i is free.

The size of mu_i is the limit's multiplier: what the best cost falls by per radian (metre) that the limit is moved out.
Source: Nocedal and Wright, Numerical Optimization, 2006, section 12.8 (Lagrange multipliers and sensitivity).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from poise.goals.goal import POSE, ROTATION
from poise.model import Joint
from poise.solvers.table import may_move

if TYPE_CHECKING:
    from poise.solvers.solution import Solution

__all__ = ["ActiveLimit", "Conditioning", "Linearisation", "active_limits", "conditioning", "linearise"]

Floats = NDArray[np.float64]

SINGULAR = 1e-3  # of the largest singular value: less is no way to move
PARTS = {"planar": ("x", "y", "angle"), "translation3": ("x", "y", "z"), "universal": ("first", "second")}


@dataclass(frozen=True, slots=True)
class ActiveLimit:
    """A joint at, or beyond, the end of its range.

    Attributes:
        joint: The joint's name.
        side: "lower" or "upper".
        value: Where the joint is [rad, m].
        multiplier: What the cost would fall by per radian (metre) of more room; 0 where the limit only touches.
        part: Which coordinate of a joint with several: a letter, "angle", "first" ...; empty otherwise.
        exempt: Whether it lies outside its range because the solver could not move it, or ranges were off.
        velocity: Its index among the model's velocities.
    """

    joint: str
    side: str
    value: float
    multiplier: float
    part: str = ""
    exempt: bool = False
    velocity: int = -1

    @property
    def name(self) -> str:
        """The joint's name, with the part of a joint that has several."""
        return f"{self.joint}.{self.part}" if self.part else self.joint


@dataclass(frozen=True, slots=True, eq=False)
class Linearisation:
    """Residuals and Jacobian at the answer, weighted, lengths in units of L.

    Attributes:
        J: (rows, velocities of the problem).
        r: (rows,): target minus current.
        velocities: The model's velocity that each column belongs to.
        spans: For each goal, its rows.
    """

    J: Floats
    r: Floats
    velocities: NDArray[np.int64]
    spans: dict[str, slice]


@dataclass(frozen=True, slots=True, eq=False)
class Conditioning:
    """How well the body can move towards the goals from the answer, with the joints that are not at a limit.

    Attributes:
        singular_values: Of the goals' weighted Jacobian (lengths in units of L), descending.
        condition: Largest over smallest; infinite where a direction is lost.
        goal: The goal that the weakest direction is mostly about.
        kind: "move" or "turn".
        direction: That direction, a unit vector.
    """

    singular_values: Floats
    condition: float
    goal: str
    kind: str
    direction: Floats

    @property
    def singular(self) -> bool:
        """Whether a direction is lost, or nearly."""
        return bool(self.condition > 1 / SINGULAR)

    @property
    def text(self) -> str:
        """The weakest direction in words."""
        x, y, z = np.round(self.direction, 2) + 0.0
        verb = "move along" if self.kind == "move" else "turn about"
        how = "cannot" if self.singular else "can least"
        return f"{self.goal!r} {how} {verb} ({x:g}, {y:g}, {z:g})"


def linearise(solution: Solution) -> Linearisation:
    """The problem at the answer, to first order."""
    J, r, velocities = solution._twin()._native.rows_jacobian(solution.q)
    rows = solution._rows()
    spans, first = {}, len(r) - sum(row.size for row in rows.values())  # closed loops come first
    for name, row in rows.items():
        spans[name] = slice(first, first + row.size)
        first = spans[name].stop
    return Linearisation(J, r, np.array(velocities, dtype=np.int64), spans)


def active_limits(solution: Solution) -> tuple[ActiveLimit, ...]:
    """Limits that the answer stands at, the strongest first; then those that exempt joints lie beyond."""
    at = linearise(solution)
    pull = np.zeros(solution.model.nv)
    pull[at.velocities] = 2.0 * at.J.T @ at.r
    options = solution._solver._options
    held = may_move(solution.model, options.joints) & (options.limit_handling != "off")
    found = [limit for joint in solution.model.joints for limit in of_joint(solution, joint, pull, held)]
    return tuple(sorted(found, key=lambda limit: (limit.exempt, -limit.multiplier)))


def of_joint(solution: Solution, joint: Joint, pull: Floats, held: NDArray[np.bool_]) -> Iterator[ActiveLimit]:
    """The active limits of one joint."""
    if joint.nv == 0 or joint.nq != joint.nv:
        return
    model = solution.model
    for k, value in enumerate(solution.q[joint.q].tolist()):
        v = joint.v.start + k
        low, high = float(model.lower[v]), float(model.upper[v])
        part = parts_of(joint)[k]
        for side, beyond, force in (("lower", low - value, -pull[v]), ("upper", value - high, pull[v])):
            if held[v] and beyond >= 0:
                yield ActiveLimit(joint.name, side, value, max(0.0, float(force)), part, False, v)
            elif not held[v] and beyond > 0:
                yield ActiveLimit(joint.name, side, value, 0.0, part, True, v)


def parts_of(joint: Joint) -> tuple[str, ...]:
    """Names of a joint's coordinates; the second of two turns about the same letter is numbered."""
    if joint.nv == 1:
        return ("",)
    letters = joint.order
    return PARTS.get(joint.kind) or tuple(a + "2" * (a in letters[:k]) for k, a in enumerate(letters))


def free_columns(solution: Solution, at: Linearisation) -> NDArray[np.bool_]:
    """Columns of the joints that no limit holds back."""
    stuck = {limit.velocity for limit in active_limits(solution) if limit.multiplier > 0}
    return np.array([int(v) not in stuck for v in at.velocities], dtype=bool)


def conditioning(solution: Solution) -> Conditioning:
    """Singular values and the weakest direction at the answer, over joints that can move and rows that count."""
    at = linearise(solution)
    weight = np.concatenate([row_weights(row.op, row.weight) for row in solution._rows().values()])
    J = at.J[:, free_columns(solution, at)] * (weight > 0)[:, None]
    rows = int((weight > 0).sum())
    if rows == 0 or J.shape[1] == 0:
        return Conditioning(np.zeros(rows), np.inf, "", "", np.zeros(3))
    u, values, _ = np.linalg.svd(J, full_matrices=True)
    values = np.pad(values, (0, max(0, rows - len(values))))[:rows]
    # the last of the counting rows' directions: those without a weight have none and come after
    counts = [k for k in range(u.shape[1]) if float((u[:, k] ** 2) @ (weight > 0)) > 0.5]
    weakest = u[:, counts[min(rows, len(counts)) - 1]]
    name, part, kind = dominant(solution, at, weakest)
    least = float(values[-1])
    condition = float(values[0]) / least if least > 0 else np.inf
    return Conditioning(values, condition, name, kind, part / np.linalg.norm(part))


def row_weights(op: int, weight: Floats) -> Floats:
    """The weights of a goal's rows."""
    return weight if op == POSE else weight[3:] if op == ROTATION else weight[:3]


def dominant(solution: Solution, at: Linearisation, direction: Floats) -> tuple[str, Floats, str]:
    """The goal, and its three rows, that a direction among all rows is mostly about."""
    best: tuple[str, Floats, str] = ("", np.zeros(3), "")
    for name, row in solution._rows().items():
        part = direction[at.spans[name]]
        for first in range(0, len(part), 3):
            here = part[first : first + 3]
            if np.linalg.norm(here) > np.linalg.norm(best[1]):
                turns = row.op == ROTATION or first == 3
                best = (name, here, "turn" if turns else "move")
    return best
