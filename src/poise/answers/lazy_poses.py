"""Poses: a list of solutions, each created on first access.

A listed pose is known to reach. Its errors, its cost and its active limits are computed on first access.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import repeat
from typing import TYPE_CHECKING, Any, cast, overload

from poise.solvers.solution import Solution, make_solution

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from poise.native import core
    from poise.native.answer import Answer
    from poise.solvers.solver import Solver

__all__ = ["ListedSolution", "PoseQuery", "Poses"]


class Poses(Sequence[Solution]):
    """Solutions created on first access.

    Attributes:
        q: The poses, (k, nq).
        solver: The solver of poses that are known to reach; if None, each pose is solved on access.
    """

    def __init__(
        self,
        solve: Callable[[NDArray[np.float64]], Solution],
        q: NDArray[np.float64],
        solver: Solver | None = None,
    ) -> None:
        self.q = q
        self.solver = solver
        self.solve = solve
        self._made: dict[int, Solution] = {}

    @overload
    def __getitem__(self, index: int) -> Solution: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[Solution, ...]: ...
    def __getitem__(self, index: int | slice) -> Solution | tuple[Solution, ...]:
        if isinstance(index, slice):
            return tuple(self[i] for i in range(len(self.q))[index])
        i = range(len(self.q))[index]
        found = self._made.get(i)
        if found is None:
            found = self.solve(self.q[i]) if self.solver is None else ListedSolution(self.q[i].copy(), self, i)
            self._made[i] = found
        return found

    def __iter__(self) -> Iterator[Solution]:
        if self.solver is None:
            return super().__iter__()
        if len(self._made) < len(self.q):
            listed = enumerate(map(ListedSolution, self.q.copy(), repeat(self), range(len(self.q))))
            self._made = dict(listed) | self._made
        return map(self._made.__getitem__, range(len(self.q)))  # whatever the order of access was

    def __len__(self) -> int:
        return len(self.q)


@dataclass(frozen=True, eq=False, slots=True)
class PoseQuery:
    """All poses of a transform: the solver and its key, the target, the start.

    `again` is a function with its arguments that repeats the query.
    """

    solver: Solver
    key: Hashable
    target: NDArray[np.float64]
    start: NDArray[np.float64]
    again: tuple[Callable[..., Any], tuple[Any, ...]]

    def solve(self, q: NDArray[np.float64]) -> Solution:
        """Return the solution at an answer's pose."""
        answer = self.solver.use_problem(self.key, lambda native: native.solve(q, self.target))
        return make_solution(self.solver, answer, self.solver.targets)

    def pose(self, found: core.PoseList) -> Poses:
        """Return poses as solutions."""
        return Poses(self.solve, found.q, self.solver if found.settled else None)


class ListedSolution(Solution):
    """A solution with a pose that is known to reach; the other fields are computed on first access."""

    __slots__ = ("_at", "_poses")

    reached = True
    history = None
    velocity = None
    _proof = None

    def __init__(self, q: NDArray[np.float64], poses: Poses, at: int) -> None:
        self.q = q
        self._poses = poses
        self._at = at

    @property
    def solver(self) -> Solver:
        """The solver that listed the pose."""
        return cast("Solver", self._poses.solver)

    @property
    def targets(self) -> Mapping[str, Any]:
        """The targets given to the solver, by goal name; they replace those of the goals."""
        return self.solver.targets

    @property
    def answer(self) -> Answer:
        """The answer of the kernels, solved on first access."""
        if not hasattr(self, "_answer"):
            self._answer = self._poses.solve(self._poses.q[self._at]).answer
        return self._answer

    def __reduce__(self) -> tuple[Callable[..., Solution], tuple[Any, ...]]:
        return remake, (self.solver, self.answer, self.q)


def remake(solver: Solver, answer: Answer, q: NDArray[np.float64]) -> Solution:
    """Restore a listed solution from a pickle."""
    whole = make_solution(solver, answer, solver.targets)
    whole.q = q
    return whole
