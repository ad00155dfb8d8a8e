"""solve_all for six turns in no family: roots of a polynomial, each brought to the transform by the solver's search.

The roots are found in numbers (reach/general.py): they are all there are but where two are nearly one, and that nothing
is lacking is not established. So `complete` is False always.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from poise.goals import Goal
from poise.model import Model
from poise.model.chain import Axis
from poise.model.family import Family
from poise.reach.bounds import Freedom, recall
from poise.reach.closed import bring_near
from poise.reach.general import GeneralSix
from poise.solvers.answers import Answers, Excluded, Poses
from poise.solvers.solution import Solution
from poise.solvers.solver import Solver

__all__ = ["answer_generally"]

Floats = NDArray[np.float64]
WANTED, EXACT = 1e-10, 1e-9  # [m, rad] what the search is asked for, and what may be left
AT_THE_END = 1e-8  # [rad] so far outside its range a joint stands at the end of it
SAME = 1e-6  # poses that differ less are one


@dataclass(frozen=True, eq=False)
class Generally:
    """One question about six turns in no family."""

    model: Model
    goal: Goal
    joints: Sequence[str] | None
    family: Family
    point: tuple[float, ...]
    freedom: Freedom
    T: Floats
    start: Floats

    @property
    def axes(self) -> tuple[Axis, ...]:
        """The axes of the chain."""
        assert self.family.chain is not None
        return self.family.chain.axes

    def read(self, values: Floats) -> Floats:
        """Return q (k, nq) of joints' values (k, 6): by whole turns inside the range and nearest to the start."""
        q = np.tile(self.start, (len(values), 1))
        for k, axis in enumerate(self.axes):
            near = axis.gain * float(self.start[axis.q]) + axis.bias
            q[:, axis.q] = (bring_near(values[:, k], axis, near) - axis.bias) / axis.gain
        return q

    def write(self, q: Floats) -> Floats:
        """Return the joints' values of q."""
        return np.array([axis.gain * q[axis.q] + axis.bias for axis in self.axes])

    def find_roots(self) -> Floats:
        """Return values of the joints (k, 6) near which a pose may be."""

        def make() -> GeneralSix:
            assert self.family.chain is not None
            zero = self.family.chain.T.copy()
            zero[:3, 3] += zero[:3, :3] @ np.array(self.point)
            return GeneralSix(self.axes, zero)

        six: GeneralSix = recall(self.model, "general", (self.family.frame, self.point, self.freedom), make)
        return six.find(self.T[None])[1]

    @cached_property
    def branches(self) -> list[Floats]:
        """Every pose that was found, whatever the ranges, the nearest to the start first."""
        goal = replace(self.goal, tolerance=(WANTED, WANTED))
        given: dict[str, Any] = {"joints": self.joints, "restarts": 0, "limit_handling": "off"}
        ends = [Solver._solve_once(self.model, goal, q, given) for q in self.read(self.find_roots())]
        exact = [self.write(one.q) for one in ends if max(next(iter(one.errors.values()))) <= EXACT]
        found: list[Floats] = []
        for q in self.read(np.array(exact).reshape(-1, 6)):
            if all(np.abs(q - other).max() > SAME for other in found):
                found.append(q)
        return sorted(found, key=self.measure_way)

    def measure_way(self, q: Floats) -> float:
        """Return how far a pose is from the start: the longest way of a joint."""
        return max(abs(float(q[axis.q] - self.start[axis.q])) for axis in self.axes)

    def measure_excess(self, q: Floats) -> Floats:
        """Return how far each joint is outside its range [rad], negative inside."""
        return np.array([max(axis.lower - v, v - axis.upper) for axis, v in zip(self.axes, self.write(q), strict=True)])

    def list_poses(self) -> tuple[Poses, bool]:
        """Return the poses inside the ranges; that they are all is not established."""
        inside = [self.model.clamp(q) for q in self.branches if self.measure_excess(q).max() <= AT_THE_END]
        return Poses(self.solve, np.array(inside).reshape(-1, self.model.nq)), False

    def exclude(self) -> tuple[Excluded, ...]:
        """Return the poses outside the ranges, the nearest to being inside first."""
        out = []
        for number, q in enumerate(self.branches):
            excess = self.measure_excess(q)
            k = int(excess.argmax())
            if excess[k] > AT_THE_END:
                out.append(Excluded(number, self.axes[k].joint, float(excess[k]), False))
        return tuple(sorted(out, key=lambda one: one.excess))

    def solve(self, q: Floats) -> Solution:
        """Return a pose that is an answer as a solution."""
        return Solver._solve_once(self.model, self.goal, q, {"joints": self.joints, "restarts": 0})


def answer_generally(question: Generally, again: Any) -> Answers:
    """Return the answers; they are found when they are first looked at."""
    return Answers(question.family, question.list_poses, tuple, question.exclude, None, again)
