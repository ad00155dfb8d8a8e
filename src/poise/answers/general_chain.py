"""solve_all for chains without a closed form: guesses of the poses, each refined by a search.

The guesses (reach/guesses.py) are the roots of a polynomial for six revolute joints, and the poses of the nearest chain
of a family for chains that nearly belong to one. They miss poses only if two nearly coincide, but completeness is not
proved, so `complete` is False; except for two parallel hinges (reach/two_links.py), whose poses are all known.

Lengths are relative to the chain's own, so that an arm of any size has the same list. Two poses are the same if no
joint differs (reach/distinct.py), or if they are close and the pose between them also reaches: two branches meet at a
singular pose, and rounding leaves them slightly apart.
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
from poise.native import core
from poise.reach.distinct import TURN, measure_apart, remove_turns
from poise.reach.guesses import Guesses
from poise.solvers.solution import Solution
from poise.solvers.solver import Solver

__all__ = ["GeneralChainQuery", "list_general_answers"]

AT_THE_END = 1e-8  # rad, or relative to the chain's length: a joint outside its range by less counts as at its end
NEARLY_SAME = 1e-3  # same units: poses that differ by less are the same if the pose between them also reaches,
BETWEEN = 10.0 * core.EXACT_POSE  # with an error of at most this


@dataclass(frozen=True, eq=False)
class GeneralChainQuery:
    """IK of a chain without a closed form."""

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
    def units(self) -> Floats:
        """The unit of each joint's value: a radian, or the chain's length."""
        return np.array([self.guesses.unit if axis.slides else 1.0 for axis in self.axes])

    # -------------------------------------------------------------------------------------------- poses

    def settle(self, starts: Iterable[Floats], limited: bool, joints: Sequence[str] | None) -> list[Floats]:
        """Return the end poses of searches, excluding those that miss the transform."""
        unit = self.guesses.unit
        goal = replace(self.goal, tolerance=(core.WANTED_POSE * unit, core.WANTED_POSE))
        given: dict[str, Any] = {"joints": joints, "restarts": 0, "limit_handling": "active" if limited else "off"}
        found: list[Floats] = []
        for q in starts:
            end = Solver.solve_once(self.model, goal, q, given)
            metres, radians = next(iter(end.errors.values()))
            if max(metres / unit, radians) <= core.EXACT_POSE:
                found.append(end.q)
        return found

    def sort(self, found: Sequence[Floats]) -> list[Floats]:
        """Return distinct poses, nearest to the start first."""
        q = np.array(found).reshape(-1, self.model.nq)
        values, units = self.guesses.write(q), self.units
        turns = np.array([0.0 if axis.slides else TURN for axis in self.axes])
        kept: list[int] = []
        for i in measure_apart(values - self.guesses.write(self.start), units).argsort(kind="stable").tolist():
            d = remove_turns(values[kept] - values[i], turns)
            apart = measure_apart(d, units)
            close = np.flatnonzero(apart <= NEARLY_SAME)
            if not (apart <= core.SAME_POSE).any() and not any(self.meet(values[i], d[k]) for k in close):
                kept.append(i)
        return list(q[kept])

    def meet(self, values: Floats, apart: Floats) -> bool:
        """Return whether two close poses are the same answer: the pose between them also reaches."""
        return self.measure_miss(self.guesses.read((values + 0.5 * apart)[None], self.start)[0]) <= BETWEEN

    def measure_miss(self, q: Floats) -> float:
        """Return the error of a pose [rad, or relative to the chain's length]."""
        T = self.model.fk(q, self.family.frame)
        point = np.asarray(self.goal.rows(self.model).point)
        metres = float(np.linalg.norm(T[:3, :3] @ point + T[:3, 3] - self.T[:3, 3]))
        radians = float(np.linalg.norm(T[:3, :3] - self.T[:3, :3]) / np.sqrt(2.0))
        return max(metres / self.guesses.unit, radians)

    def measure_excess(self, q: Floats) -> Floats:
        """Return the distance of each joint outside its range [rad or m], negative inside."""
        values = self.guesses.write(q)
        return np.array([max(axis.lower - v, v - axis.upper) for axis, v in zip(self.axes, values, strict=True)])

    def solve(self, q: Floats) -> Solution:
        """Return the solution at an answer's pose."""
        return Solver.solve_once(self.model, self.goal, q, {"joints": self.joints, "restarts": 0})

    # -------------------------------------------------------------------------------------------- six joints

    @cached_property
    def branches(self) -> list[Floats]:
        """Every pose found, ignoring the joint ranges, nearest to the start first."""
        _, values = self.guesses.find(self.T[None])
        found = np.array(self.settle(self.guesses.read(values, self.start), False, self.joints))
        return self.sort(list(self.guesses.read(self.guesses.write(found.reshape(-1, self.model.nq)), self.start)))

    def list_branches(self) -> tuple[Poses, bool]:
        """Return the poses inside the ranges, and whether these are certainly all."""
        excesses = np.array([self.measure_excess(q) for q in self.branches]).reshape(-1, len(self.axes))
        inside = (excesses <= AT_THE_END * self.units).all(axis=1)
        q = self.guesses.bring_inside(self.model, np.array(self.branches).reshape(-1, self.model.nq)[inside])
        clear = len(excesses) == len(self.guesses.find(self.T[None])[0]) and (np.abs(excesses) > AT_THE_END).all()
        return Poses(self.solve, q), bool(clear) and self.guesses.lists_all(self.T)

    def exclude(self) -> tuple[Excluded, ...]:
        """Return the poses outside the ranges, smallest excess first."""
        out = []
        for number, q in enumerate(self.branches):
            excess = self.measure_excess(q)
            k = int((excess / self.units).argmax())
            if excess[k] / self.units[k] > AT_THE_END:
                out.append(Excluded(number, self.axes[k].joint, float(excess[k]), self.axes[k].slides))
        return tuple(sorted(out, key=lambda one: one.excess))

    # -------------------------------------------------------------------------------------------- seven joints

    @cached_property
    def arcs(self) -> tuple[BranchArc, ...]:
        """The intervals of the free joint, from the nearest chain of the family."""
        free = self.guesses.free
        return () if free is None else tuple(BranchArc.read(arc, free) for arc in self.guesses.find_arcs(self.T))

    def list_along(self) -> tuple[Poses, bool]:
        """Return poses along every arc, nearest to the start first, and False since the list may be incomplete."""
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
        """Return one solution for each branch with the free joint fixed at a value."""
        free = self.guesses.free
        if free is None or not free.lower <= free.gain * angle + free.bias <= free.upper:
            return []
        others = [axis.joint for axis in self.axes if axis is not free]
        return [self.solve(q) for q in self.sort(self.settle(self.guess_at(angle), True, others))]


def list_general_answers(query: GeneralChainQuery, again: Any) -> Answers:
    """Return the answers, computed on first access."""
    if query.guesses.free is None:
        return Answers(query.family, query.list_branches, tuple, query.exclude, None, again)
    return Answers(query.family, query.list_along, lambda: query.arcs, tuple, query.solve_at, again)
