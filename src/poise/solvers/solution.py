"""Solution: what came out, and how good it is. Light to make; what is seldom asked for is computed when asked."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from poise.errors import GoalsMissed
from poise.kinematics import Pose
from poise.solvers.status import Status

if TYPE_CHECKING:
    from poise.model import Model
    from poise.solvers.history import History
    from poise.solvers.solver import Solver

__all__ = ["Solution"]

_OUTCOMES = (Status.STALLED, Status.REACHED, Status.STALLED, Status.OUT_OF_STEPS, Status.OUT_OF_TIME)


class Solution:
    """The answer of a solve.

    Attributes:
        q: The best configuration, always there and always inside the limits.
        status: How the solve ended.
        reached: Whether every goal is within its tolerance.
        steps: Steps taken, over all searches.
        searches: Searches made; more than one means that it restarted from a seed.
        seconds: How long it took inside the kernels.
    """

    __slots__ = ("_errors", "_raw", "_solver", "history", "q", "reached", "searches", "seconds", "status", "steps")

    q: NDArray[np.float64]
    status: Status
    reached: bool
    steps: int
    searches: int
    seconds: float
    history: History | None

    def __init__(self, solver: Solver, raw: tuple[Any, ...], history: History | None = None) -> None:
        self.q, self._errors, outcome, self.steps, self.searches, _, self.seconds, late, unreachable = raw
        self._solver = solver
        self.history = history
        self.reached = outcome == 1
        if self.reached:
            self.status = Status.REACHED
        elif unreachable:
            self.status = Status.UNREACHABLE
        else:
            self.status = Status.OUT_OF_TIME if late else _OUTCOMES[outcome]

    @property
    def model(self) -> Model:
        """The body."""
        return self._solver.model

    @property
    def pose(self) -> Pose:
        """The best pose."""
        return Pose(self._solver.model, self.q)

    @property
    def errors(self) -> dict[str, tuple[float, float]]:
        """What is left of each goal: (metres, radians) by name."""
        return {name: (float(e[0]), float(e[1])) for name, e in zip(self._solver.row_names, self._errors, strict=True)}

    def raise_if_missed(self) -> Solution:
        """The solution itself if every goal was reached.

        Raises:
            GoalsMissed: Some were not; the message is the table and the reason.
        """
        if not self.reached:
            raise GoalsMissed(f"{self}\n{self.why()}")
        return self

    def why(self) -> str:
        """Why goals were missed, in words and numbers, and what to relax first."""
        from poise.solvers.explain import explain

        return explain(self)

    def __repr__(self) -> str:
        return f"<Solution: {self.status}, {self.steps} steps, {self.searches} searches>"

    def __str__(self) -> str:
        from poise.solvers.show import table

        return table(self)

    def _repr_html_(self) -> str:
        from poise.solvers.show import html

        return html(self)
