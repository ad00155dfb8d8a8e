"""The IK answers of waypoints: joint values of every branch, at values of the free joint.

A closed form gives them directly. A chain with guesses only (six revolute joints of any kind, or nearly a chain with a
closed form) is solved from each guess: those that converge are the answers, and there may be others.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from poise.arrays import Floats
from poise.batch import BatchSolver
from poise.goals.goal import GoalRows
from poise.goals.reach import Reach
from poise.model import Model
from poise.model.chain import Axis, placement
from poise.reach.bounds import Freedom
from poise.reach.chain_poses import ChainPoses, find_poses
from poise.reach.closed_forms import ClosedGoal, bring_near, read_values

__all__ = ["Waypoints", "find_waypoints"]

NEAREST_VALUES = 9  # of the free joint, along each arc between the values
MOST_ARC_CELLS = 4000  # cells of the search for arcs between the values
SAME_ANSWER = 1e-3  # rad or m: closer answers are one answer


class Waypoints(Protocol):
    """A lister of the IK answers of waypoints."""

    @property
    def axes(self) -> tuple[Axis, ...]:
        """The axes of the chain, in the order of the joint values."""

    @property
    def free(self) -> int | None:
        """The index of the free joint's value; None for six joints."""

    @property
    def values(self) -> int:
        """The number of values of the free joint at which answers are listed."""

    def list_answers(self, T: Floats, values: Sequence[Floats]) -> list[Floats]:
        """Return the answers of each transform, (k, n), at its values of the free joint."""


def find_waypoints(model: Model, goal: Reach, rows: GoalRows, begin: Floats) -> Waypoints | None:
    """Return the lister of a goal's answers, or None if the chain has no closed form and no guesses."""
    freedom = Freedom(np.ones(model.nv, dtype=bool).tobytes(), True)
    found = find_poses(model, rows, freedom)
    if isinstance(found, ChainPoses):
        return SampledWaypoints(found, rows, BatchSolver(model, goal, restarts=0), begin)
    return ClosedFormWaypoints(found, rows, begin) if isinstance(found, ClosedGoal) else None


@dataclass(frozen=True, slots=True, eq=False)
class ClosedFormWaypoints:
    """Waypoints of a chain with a closed form."""

    closed: ClosedGoal
    rows: GoalRows
    begin: Floats
    values: int = 64

    @property
    def axes(self) -> tuple[Axis, ...]:
        """See Waypoints."""
        return self.closed.axes

    @property
    def free(self) -> int | None:
        """See Waypoints."""
        return self.closed.free

    def list_answers(self, T: Floats, values: Sequence[Floats]) -> list[Floats]:
        """See Waypoints."""
        out = [self._list(one, at) for one, at in zip(T, values, strict=True)]
        inside = bring_inside(self.axes, np.concatenate(out), self.begin)
        return np.split(inside, np.cumsum([len(answers) for answers in out])[:-1])

    def _list(self, T: Floats, at: Floats) -> Floats:
        target = np.asarray(self.rows.convert(T), dtype=np.float64)
        R, p, near = target[:9].copy(), target[9:12].copy(), read_values(self.axes, self.begin)
        found = self.closed.form.near(R, p, at, True, near)
        if not len(found) and self.free is not None:
            arcs = self.closed.form.whole_arcs(R, p, 1e-4, MOST_ARC_CELLS)[0].arcs
            between = np.unique([np.linspace(arc.low, arc.high, NEAREST_VALUES) for arc in arcs])
            found = self.closed.form.near(R, p, between, True, near)
        return np.asarray(found["joints"][:, : len(self.axes)])


@dataclass(frozen=True, slots=True, eq=False)
class SampledWaypoints:
    """Waypoints of a chain with guesses."""

    guesses: ChainPoses
    rows: GoalRows
    solver: BatchSolver
    begin: Floats
    values: int = 16  # fewer than with a closed form, because each value needs a search

    @property
    def axes(self) -> tuple[Axis, ...]:
        """See Waypoints."""
        return self.guesses.axes

    @property
    def free(self) -> int | None:
        """See Waypoints."""
        return None if self.guesses.free is None else self.axes.index(self.guesses.free)

    def list_answers(self, T: Floats, values: Sequence[Floats]) -> list[Floats]:
        """See Waypoints."""
        which, found = self._find(T, values)
        answer = self.solver.solve(T[which], self.guesses.read(found, self.begin))
        reached = np.asarray(answer.reached)
        inside = bring_inside(self.axes, read_values(self.axes, answer.q[reached]), self.begin)
        return [drop_alike(inside[which[reached] == t]) for t in range(len(T))]

    def _find(self, T: Floats, values: Sequence[Floats]) -> tuple[NDArray[np.intp], Floats]:
        targets = [np.asarray(self.rows.convert(one), dtype=np.float64) for one in T]
        asked = np.array([placement(target[:9].reshape(3, 3), target[9:12]) for target in targets])
        if self.free is None:
            return self.guesses.find(asked)
        found = [self.guesses.find(one[None], at.copy())[1] for one, at in zip(asked, values, strict=True)]
        return np.repeat(np.arange(len(T)), [len(one) for one in found]), np.concatenate(found)


def bring_inside(axes: Sequence[Axis], values: Floats, begin: Floats) -> Floats:
    """Return joint values shifted by whole turns into their ranges, near the start of the path."""
    near = read_values(axes, begin)
    columns = [v if axis.slides else bring_near(v, axis, at) for v, axis, at in zip(values.T, axes, near, strict=True)]
    return np.stack(columns, axis=1)


def drop_alike(values: Floats) -> Floats:
    """Return the answers without duplicates of earlier ones."""
    kept: list[Floats] = []
    for one in values:
        if all(np.abs(one - other).max() > SAME_ANSWER for other in kept):
            kept.append(one)
    return np.array(kept).reshape(-1, values.shape[1])
