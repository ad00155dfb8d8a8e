"""Poses: the solutions of a list, which are made when they are looked at.

Of a listed pose it is known that it reaches. How many metres and radians are left, what it cost, which limits it
touches: that is asked of the solver when somebody asks for it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import repeat
from typing import TYPE_CHECKING, Any, overload

from poise.solvers.solution import Solution

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from poise.native.answer import Answer
    from poise.solvers.solver import Solver

__all__ = ["Listed", "Poses"]


class Poses(Sequence[Solution]):
    """Solutions that are made when they are looked at.

    Attributes:
        q: (k, nq), the poses.
        solver: Of poses that are known to reach, the solver that judged them; None: each is asked for at once.
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
        self._made: list[Any] | None = None

    @overload
    def __getitem__(self, index: int) -> Solution: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[Solution, ...]: ...
    def __getitem__(self, index: int | slice) -> Solution | tuple[Solution, ...]:
        if isinstance(index, slice):
            return tuple(self[i] for i in range(len(self.q))[index])
        i, made = range(len(self.q))[index], self._make()
        found: Solution | None = made[i]
        if found is None:
            found = made[i] = self.solve(self.q[i])
        return found

    def __iter__(self) -> Iterator[Solution]:
        return super().__iter__() if self.solver is None else iter(self._make())

    def __len__(self) -> int:
        return len(self.q)

    def _make(self) -> list[Any]:
        """Return the solutions; those that are not known to reach are None until each is asked for."""
        if self._made is None and self.solver is None:
            self._made = [None] * len(self.q)
        elif self._made is None:
            self._made = list(map(Listed, self.q.copy(), repeat(self), range(len(self.q))))
        return self._made


class Listed(Solution):
    """A solution whose pose is known, and known to reach; all else is empty until it is asked for."""

    __slots__ = ("_at", "_poses")

    _at: int
    _poses: Poses

    def __init__(self, q: NDArray[np.float64], poses: Poses, at: int) -> None:
        self.q = q
        self._poses = poses
        self._at = at

    def __getattr__(self, name: str) -> Any:
        """Fill in what is empty, and return it."""
        if name not in FILLED:
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}", name=name, obj=self)
        poses = self._poses
        if name == "_answer":
            found: Any = poses.solve(poses.q[self._at])._answer
        elif name == "_targets":
            found = self._solver._targets
        else:
            found = {"reached": True, "_solver": poses.solver}.get(name)
        setattr(self, name, found)
        return found

    def __reduce__(self) -> tuple[Callable[..., Solution], tuple[Any, ...]]:
        return remake, (self._solver, self._answer, self.q)


def remake(solver: Solver, answer: Answer, q: NDArray[np.float64]) -> Solution:
    """Return a listed solution from its pickle."""
    whole = Solution(solver, answer)
    whole.q = q
    return whole


FILLED = frozenset(("_answer", "_proof", "_solver", "_targets", "history", "reached", "velocity"))
