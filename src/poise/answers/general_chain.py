"""solve_all for chains in no family: guesses of where poses may be, each brought to the transform by a search.

The guesses (reach/guesses.py) are roots of a polynomial, for six turns, and the poses of the nearest chain of a family,
for chains that are nearly in one. They are all there are but where two are nearly one, and that nothing is lacking is
not established. So `complete` is False always.

Lengths are compared with the chain's own, so that an arm of any size has the same list. Two poses are one where no
joint differs, or where they are near and the pose between them reaches as well as they do: at a singular pose two
branches meet, and rounding leaves both of them a little apart.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from poise.answers.answers import Answers, BranchArc, Excluded
from poise.answers.lazy_poses import Poses
from poise.arrays import Floats
from poise.goals import Goal
from poise.model import Model
from poise.model.chain import Axis
from poise.model.family import Family
from poise.reach.guesses import Guesses
from poise.solvers.solution import Solution
from poise.solvers.solver import Solver

__all__ = ["GeneralChainQuery", "list_general_answers"]

WANTED, EXACT = 1e-10, 1e-9  # [rad, and of the chain's length] what the search is asked for, and what may be left
AT_THE_END = 1e-8  # [rad] so far outside its range a joint stands at the end of it
SAME = 1e-6  # [rad] poses that differ less are one,
NEAR = 1e-3  # and poses that differ less if the one between them is a pose too
BETWEEN = 10.0 * EXACT  # what may be left of that one
TURN = 2.0 * np.pi


@dataclass(frozen=True, eq=False)
class GeneralChainQuery:
    """One question about a chain in no family."""

    model: Model
    goal: Goal
    joints: Sequence[str] | None
    family: Family
    guesses: Guesses
    T: Floats
    start: Floats
    samples: int

    @property
    def axes(self) -> tuple[Axis, ...]:
        """The axes of the chain."""
        return self.guesses.axes

    @property
    def scale(self) -> Floats:
        """What a unit of each joint's value counts: a radian, or the chain's length."""
        return np.array([1.0 / self.guesses.unit if axis.slides else 1.0 for axis in self.axes])

    # -------------------------------------------------------------------------------------------- poses

    def settle(self, starts: Iterable[Floats], limited: bool, joints: Sequence[str] | None) -> list[Floats]:
        """Return the poses that searches end in; those that do not come to the transform are left out."""
        unit = self.guesses.unit
        goal = replace(self.goal, tolerance=(WANTED * unit, WANTED))
        given: dict[str, Any] = {"joints": joints, "restarts": 0, "limit_handling": "active" if limited else "off"}
        found: list[Floats] = []
        for q in starts:
            end = Solver.solve_once(self.model, goal, q, given)
            metres, radians = next(iter(end.errors.values()))
            if max(metres / unit, radians) <= EXACT:
                found.append(end.q)
        return found

    def sort(self, found: Sequence[Floats]) -> list[Floats]:
        """Return poses once each, the nearest to the start first."""
        q = np.array(found).reshape(-1, self.model.nq)
        values, scale = self.guesses.write(q), self.scale
        begin = self.guesses.write(self.start)
        turns = np.array([not axis.slides for axis in self.axes])
        kept: list[int] = []
        for i in np.abs((values - begin) * scale).max(axis=1, initial=0.0).argsort(kind="stable").tolist():
            d = values[kept] - values[i]
            d = np.where(turns, d - TURN * np.round(d / TURN), d)
            apart = np.abs(d * scale).max(axis=1)
            if not (apart <= SAME).any() and not any(self.meet(values[i], d[k]) for k in np.flatnonzero(apart <= NEAR)):
                kept.append(i)
        return list(q[kept])

    def meet(self, values: Floats, apart: Floats) -> bool:
        """Whether two poses that are near are one: the pose between them reaches as well as they do."""
        return self.measure_miss(self.guesses.read((values + 0.5 * apart)[None], self.start)[0]) <= BETWEEN

    def measure_miss(self, q: Floats) -> float:
        """Return how far a pose is from the transform: radians, or of the chain's length."""
        T = self.model.fk(q, self.family.frame)
        point = np.asarray(self.goal.rows(self.model).point)
        metres = float(np.linalg.norm(T[:3, :3] @ point + T[:3, 3] - self.T[:3, 3]))
        radians = float(np.linalg.norm(T[:3, :3] - self.T[:3, :3]) / np.sqrt(2.0))
        return max(metres / self.guesses.unit, radians)

    def measure_excess(self, q: Floats) -> Floats:
        """Return how far each joint is outside its range [rad or m], negative inside."""
        values = self.guesses.write(q)
        return np.array([max(axis.lower - v, v - axis.upper) for axis, v in zip(self.axes, values, strict=True)])

    def solve(self, q: Floats) -> Solution:
        """Return a pose that is an answer as a solution."""
        return Solver.solve_once(self.model, self.goal, q, {"joints": self.joints, "restarts": 0})

    # -------------------------------------------------------------------------------------------- six joints

    @cached_property
    def branches(self) -> list[Floats]:
        """Every pose that was found, whatever the ranges, the nearest to the start first."""
        _, values = self.guesses.find(self.T[None])
        found = np.array(self.settle(self.guesses.read(values, self.start), False, self.joints))
        return self.sort(list(self.guesses.read(self.guesses.write(found.reshape(-1, self.model.nq)), self.start)))

    def list_branches(self) -> tuple[Poses, bool]:
        """Return the poses inside the ranges; that they are all is not established."""
        at_end = AT_THE_END * np.array([self.guesses.unit if axis.slides else 1.0 for axis in self.axes])
        inside = np.array([q for q in self.branches if (self.measure_excess(q) <= at_end).all()])
        q = self.guesses.bring_inside(self.model, inside.reshape(-1, self.model.nq))
        return Poses(self.solve, q), False

    def exclude(self) -> tuple[Excluded, ...]:
        """Return the poses outside the ranges, the nearest to being inside first."""
        out = []
        for number, q in enumerate(self.branches):
            excess = self.measure_excess(q)
            k = int((excess * self.scale).argmax())
            if excess[k] * self.scale[k] > AT_THE_END:
                out.append(Excluded(number, self.axes[k].joint, float(excess[k]), self.axes[k].slides))
        return tuple(sorted(out, key=lambda one: one.excess))

    # -------------------------------------------------------------------------------------------- seven joints

    @cached_property
    def arcs(self) -> tuple[BranchArc, ...]:
        """The intervals of the free joint, as the nearest chain of the family has them."""
        free = self.guesses.free
        if free is None:
            return ()
        out = []
        for branch, *ends in self.guesses.find_arcs(self.T).tolist():
            low, high = sorted((end - free.bias) / free.gain for end in ends)
            out.append(BranchArc(int(branch), free.joint, low, high, free.slides))
        return tuple(out)

    def list_along(self) -> tuple[Poses, bool]:
        """Return poses along every arc, the nearest to the start first."""
        free = self.guesses.free
        assert free is not None
        found: list[Floats] = []
        for arc in self.arcs:
            nearest = min(max(float(self.start[free.q]), arc.low), arc.high)
            along = arc.low + arc.width * (np.arange(self.samples) + 0.5) / self.samples
            starts = (q for at in [nearest, *along] for q in self.guess_at(at, arc.branch))
            found += self.settle(starts, True, self.joints)
        return Poses(self.solve, np.array(self.sort(found)).reshape(-1, self.model.nq)), False

    def guess_at(self, angle: float, branch: int | None = None) -> list[Floats]:
        """Return guesses at a value of the free joint, inside the ranges."""
        free = self.guesses.free
        assert free is not None
        _, values = self.guesses.find(self.T[None], np.array([free.gain * angle + free.bias]), branch)
        return list(self.guesses.bring_inside(self.model, self.guesses.read(values, self.start)))

    def solve_at(self, angle: float) -> list[Solution]:
        """Return one solution for each branch at a value of the free joint, which stands there."""
        free = self.guesses.free
        if free is None or not free.lower <= free.gain * angle + free.bias <= free.upper:
            return []
        others = [axis.joint for axis in self.axes if axis is not free]
        return [self.solve(q) for q in self.sort(self.settle(self.guess_at(angle), True, others))]


def list_general_answers(question: GeneralChainQuery, again: Any) -> Answers:
    """Return the answers; they are found when they are first looked at."""
    if question.guesses.free is None:
        return Answers(question.family, question.list_branches, tuple, question.exclude, None, again)
    return Answers(question.family, question.list_along, lambda: question.arcs, tuple, question.solve_at, again)
