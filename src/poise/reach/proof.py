"""Proof: a distance bound that shows that no pose inside the limits reaches the goals.

Three kinds of distance are bounded (see bounds.py): from a fixed centre to a goal's point; from that centre to the last
pivot, which a full transform goal fixes; and between the points of two goals. A target beyond a bound by more than the
tolerances and rounding is out of reach.
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

ROUNDING = 1e-9  # relative to the lengths involved

Tolerances = Mapping[str, tuple[float, float]]  # of each goal [m, rad]


@dataclass(frozen=True, slots=True, eq=False)
class Proof:
    """A distance that the goals require and the body cannot have.

    Attributes:
        kind: "point", "pivot" or "pair".
        goals: Names of the one or two goals concerned.
        distance: The required distance [m].
        nearest: The smallest possible distance [m].
        farthest: The largest possible distance [m].
        slack: The margin for tolerances and rounding [m].
        center: The centre of the distance, in the world or the goal's base frame; None for a pair.
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
        """The distance beyond the bound [m]."""
        return max(self.distance - self.farthest, self.nearest - self.distance)

    @property
    def holds(self) -> bool:
        """Whether the distance is out of reach."""
        return self.excess > self.slack


def find_proof(model: Model, rows: Mapping[str, GoalRows], tolerances: Tolerances, freedom: Freedom) -> Proof | None:
    """Return the proof with the largest excess, or None if nothing is proved."""
    proofs = [proof for proof in list_bounds(model, rows, tolerances, freedom) if proof.holds]
    return max(proofs, key=lambda proof: proof.excess, default=None)


def list_bounds(
    model: Model, rows: Mapping[str, GoalRows], tolerances: Tolerances, freedom: Freedom
) -> Iterator[Proof]:
    """Yield every bounded distance."""
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
    """Yield the distances of a goal's point and of its last pivot from a centre."""
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
