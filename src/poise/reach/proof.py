"""Proof: a reason why no pose inside the limits can reach the goals, in numbers.

Three kinds of distance are bounded (see bounds.py): of a goal's point from a centre that cannot move; of the last
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

from poise.goals.goal import GoalRows
from poise.reach.bounds import Freedom, find_pair_range, find_pivot_range, find_reachable_range, fixes_the_frame

if TYPE_CHECKING:
    from poise.model import Model
    from poise.reach.distances import Interval

__all__ = ["Proof", "find_proof"]

ROUNDING = 1e-9  # of the lengths involved

Tolerances = Mapping[str, tuple[float, float]]  # of each goal: metres, radians


@dataclass(frozen=True, slots=True, eq=False)
class Proof:
    """A distance that the goals require and the body cannot have.

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
        """Whether the distance is out of reach."""
        return self.excess > self.slack


def find_proof(model: Model, rows: Mapping[str, GoalRows], tolerances: Tolerances, freedom: Freedom) -> Proof | None:
    """Return the proof with the largest excess; None where nothing is proved."""
    proofs = [proof for proof in list_bounds(model, rows, tolerances, freedom) if proof.holds]
    return max(proofs, key=lambda proof: proof.excess, default=None)


def list_bounds(
    model: Model, rows: Mapping[str, GoalRows], tolerances: Tolerances, freedom: Freedom
) -> Iterator[Proof]:
    """Yield every distance that is bounded."""
    for name, row in rows.items():
        yield from bound_goal(model, name, row, tolerances[name], freedom)
    for one, other in combinations(rows, 2):
        found = find_pair_range(model, rows[one], rows[other], freedom)
        if found:
            apart = rows[one].target[9:12] - rows[other].target[9:12]
            slack = tolerances[one][0] + tolerances[other][0]
            yield make_proof(model, "pair", (one, other), apart, found, slack, None)


def bound_goal(
    model: Model, name: str, row: GoalRows, tolerance: tuple[float, float], freedom: Freedom
) -> Iterator[Proof]:
    """Yield distances of a goal's point and of its last pivot from a centre."""
    metres, radians = tolerance
    found = find_reachable_range(model, row, freedom)
    if found:
        yield make_proof(model, "point", (name,), row.target[9:12] - found[0], found[1], metres, found[0])
    pivot = find_pivot_range(model, row, freedom) if fixes_the_frame(row) else None
    if pivot:
        local, center, interval = pivot
        wanted = row.target[9:12] + row.target[:9].reshape(3, 3) @ (local - row.point)
        slack = metres + radians * float(np.linalg.norm(local - row.point))
        yield make_proof(model, "pivot", (name,), wanted - center, interval, slack, center)


def make_proof(
    model: Model,
    kind: str,
    goals: tuple[str, ...],
    apart: NDArray[np.float64],
    interval: Interval,
    slack: float,
    center: NDArray[np.float64] | None,
) -> Proof:
    """Return the proof, with a margin for rounding."""
    distance = float(np.linalg.norm(apart))
    room = slack + ROUNDING * (model.length + distance)
    return Proof(kind, goals, distance, interval.near, interval.far, room, center)
