"""Proof: a reason why no pose inside the limits can serve the goals, in numbers.

Three kinds of distance are bounded (see reach.py): of a goal's point from a centre that cannot move; of the last
pivot from that centre, where a goal asks for a whole transform and so says where this pivot must be; and of two
goals' points from each other. A target beyond a bound by more than the tolerances and rounding is out of reach.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from poise.goals.goal import ANGULAR, GoalRows
from poise.solvers.reach import Freedom, fixes_the_frame, pair_range, pivot_range, reachable_range
from poise.solvers.table import may_move

if TYPE_CHECKING:
    from poise.model import Model
    from poise.solvers.distances import Interval
    from poise.solvers.solution import Solution
    from poise.solvers.solver import Solver

__all__ = ["Proof", "find_proof", "is_missed", "prove", "tolerance"]

ROUNDING = 1e-9  # of the lengths involved


@dataclass(frozen=True, slots=True, eq=False)
class Proof:
    """A distance that the goals ask for and the body cannot have.

    Attributes:
        kind: "point", "pivot" or "pair". goals: Names of the goals that it is about, one or two. distance: What they
            ask for [m]. nearest: The least that can be [m]. farthest: The most that can be [m]. slack: What
            tolerances and rounding allow beyond that [m]. center: Where the distance is measured from, in the world
            or the frame that the goal is relative to; None for a pair.
    """

    kind: str
    goals: tuple[str, ...]
    distance: float
    nearest: float
    farthest: float
    slack: float
    center: NDArray[np.float64] | None

    @property
    def excess(self) -> float:
        """How far beyond the bound it is [m]."""
        return max(self.distance - self.farthest, self.nearest - self.distance)

    @property
    def holds(self) -> bool:
        """Whether it proves anything."""
        return self.excess > self.slack


def find_proof(solution: Solution, *, limited: bool = True) -> Proof | None:
    """The proof with the largest excess; None where there is none. `limited`: inside the joint ranges."""
    return prove(solution._solver, solution._rows(), solution.q, limited=limited)


def prove(
    solver: Solver, rows: Mapping[str, GoalRows], q: NDArray[np.float64], *, limited: bool = True
) -> Proof | None:
    """What `find_proof` says of a solver's goals; joints that it may not move stand as q has them."""
    proofs = [proof for proof in candidates(solver, rows, freedom_of(solver, q, limited)) if proof.holds]
    return max(proofs, key=lambda proof: proof.excess, default=None)


def candidates(solver: Solver, rows: Mapping[str, GoalRows], freedom: Freedom) -> Iterator[Proof]:
    """Every distance that is bounded."""
    for name, row in rows.items():
        yield from of_one_goal(solver, name, row, freedom)
    for one, other in combinations(rows, 2):
        found = pair_range(solver.model, rows[one], rows[other], freedom)
        if found:
            apart = rows[one].target[9:12] - rows[other].target[9:12]
            slack = tolerance_of(solver, one)[0] + tolerance_of(solver, other)[0]
            yield measured(solver, "pair", (one, other), apart, found, slack, None)


def of_one_goal(solver: Solver, name: str, row: GoalRows, freedom: Freedom) -> Iterator[Proof]:
    """Distances of a goal's point and of its last pivot from a centre."""
    metres, radians = tolerance_of(solver, name)
    found = reachable_range(solver.model, row, freedom)
    if found:
        yield measured(solver, "point", (name,), row.target[9:12] - found[0], found[1], metres, found[0])
    pivot = pivot_range(solver.model, row, freedom) if fixes_the_frame(row) else None
    if pivot:
        local, center, interval = pivot
        wanted = row.target[9:12] + row.target[:9].reshape(3, 3) @ (local - row.point)
        slack = metres + radians * float(np.linalg.norm(local - row.point))
        yield measured(solver, "pivot", (name,), wanted - center, interval, slack, center)


def measured(
    solver: Solver,
    kind: str,
    goals: tuple[str, ...],
    apart: NDArray[np.float64],
    interval: Interval,
    slack: float,
    center: NDArray[np.float64] | None,
) -> Proof:
    """The proof, with room for rounding."""
    distance = float(np.linalg.norm(apart))
    room = slack + ROUNDING * (solver.model.length + distance)
    return Proof(kind, goals, distance, interval.near, interval.far, room, center)


def tolerance(solution: Solution, name: str) -> tuple[float, float]:
    """A goal's tolerances: metres, radians."""
    return tolerance_of(solution._solver, name)


def tolerance_of(solver: Solver, name: str) -> tuple[float, float]:
    """The tolerances of a solver's goal: metres, radians."""
    goal = solver.goals[name]
    return goal.tolerances(solver.model, goal.rows(solver.model).op in ANGULAR)


def is_missed(solution: Solution, name: str) -> bool:
    """Whether a goal is outside its tolerance."""
    metres, radians = solution.errors[name]
    allowed = tolerance(solution, name)
    return metres > allowed[0] or radians > allowed[1]


def freedom_of(solver: Solver, q: NDArray[np.float64], limited: bool) -> Freedom:
    """What the solver is allowed to move; joints that it is not stand as q has them."""
    options = solver._options
    moves = may_move(solver.model, options.joints)
    known = None if moves.all() else still(solver.model, moves, q).tobytes()
    return Freedom(moves.tobytes(), limited and options.limit_handling != "off", known)


def still(model: Model, moves: NDArray[np.bool_], q: NDArray[np.float64]) -> NDArray[np.float64]:
    """q of the joints that may not move, zero for the others: alike for all answers from one start."""
    out = np.zeros(model.nq)
    for joint in model.joints:
        if joint.nv and not moves[joint.v].any():
            out[joint.q] = q[joint.q]
    return out
