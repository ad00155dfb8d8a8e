"""Solution: the result of a solve. Light to make; most fields are computed on access."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from poise.errors import GoalsMissed
from poise.hooks import Hook
from poise.kinematics import Pose
from poise.native import core
from poise.native.answer import Answer
from poise.solvers.status import Status

if TYPE_CHECKING:
    from poise.goals.goal import GoalRows
    from poise.model import Model
    from poise.reach.proof import Proof
    from poise.solvers.report.explanation import Explanation
    from poise.solvers.report.findings import ActiveLimit, Conditioning, Redundancy
    from poise.solvers.report.history import History
    from poise.solvers.solver import Solver

__all__ = ["Solution"]

_REACHED = core.Outcome.REACHED
_OUTCOMES: dict[int, Status] = {
    core.Outcome.STALLED: Status.STALLED,
    core.Outcome.OUT_OF_STEPS: Status.OUT_OF_STEPS,
    core.Outcome.STOPPED: Status.OUT_OF_TIME,
}


class _Unknown:
    """The value of a field that is not computed yet; the class itself, so that it survives a pickle."""


_UNKNOWN: Any = _Unknown


class Diagnosis(Protocol):
    """The functions of `poise.diagnosis` that a solution calls."""

    def find_active_limits(self, solution: Solution) -> tuple[ActiveLimit, ...]:
        """Return the limits that the pose touches."""

    def find_conditioning(self, solution: Solution) -> Conditioning:
        """Return how well the body can move from the pose."""

    def find_redundancy(self, solution: Solution) -> Redundancy:
        """Return how many freedoms there are for how many demands."""

    def explain(self, solution: Solution) -> Explanation:
        """Return why goals were missed, and what would help."""


DIAGNOSIS = Hook[Diagnosis]()


class Solution:
    """The answer of a solve.

    Attributes:
        q: The best configuration, always there, and inside the limits (unless limit_handling is "off"; joints that
            `joints=` excludes stay where they are).
        reached: Whether every goal is within its tolerance.
        history: Every evaluated pose, with record=True; else None.
        velocity: Of `Solver.step`: the velocity that led here, (nv,); else None.
        time_step: Of `Solver.step`: its length [s].
    """

    __slots__ = ("_answer", "_proof", "_solver", "_targets", "history", "q", "reached", "time_step", "velocity")

    q: NDArray[np.float64]
    reached: bool
    history: History | None
    velocity: NDArray[np.float64] | None
    time_step: float
    _answer: Answer
    _proof: Proof | None
    _solver: Solver
    _targets: Mapping[str, Any]

    def __init__(self, solver: Solver, answer: Answer, history: History | None = None) -> None:
        self._answer = answer
        self._solver = solver
        self._targets = solver.targets
        self.q = answer[0]
        self.reached = reached = answer[2] == _REACHED
        self._proof = None if reached else _UNKNOWN
        self.history = history
        self.velocity = None

    def accept(self) -> Solution:
        """Return this solution as reached: every goal that counts is within its tolerance."""
        accepted = copy.copy(self)
        accepted.reached, accepted._proof = True, None
        return accepted

    @property
    def solver(self) -> Solver:
        """The solver that found it, with its goals and options."""
        return self._solver

    @property
    def targets(self) -> Mapping[str, Any]:
        """The targets that replaced the goals' own, by goal name."""
        return self._targets

    @property
    def answer(self) -> Answer:
        """The answer of the kernels."""
        return self._answer

    @property
    def steps(self) -> int:
        """Steps taken, over all searches."""
        return self.answer[3]

    @property
    def searches(self) -> int:
        """Searches made; more than one means that it restarted from a seed."""
        return self.answer[4]

    @property
    def seconds(self) -> float:
        """How long its searches took, and what was done between them."""
        return self.answer[6]

    @property
    def _outcome(self) -> Status:
        """How the kernels' search ended."""
        if self.reached:
            return Status.REACHED
        if self.answer.unreachable:
            return Status.UNREACHABLE
        return Status.OUT_OF_TIME if self.answer.late else _OUTCOMES.get(self.answer.outcome, Status.STALLED)

    @property
    def status(self) -> Status:
        """How the solve ended; UNREACHABLE only where that is proved."""
        return self._outcome if self.proof is None else Status.UNREACHABLE

    @property
    def proof(self) -> Proof | None:
        """The distance that proves that no pose inside the limits reaches the goals; None where nothing is proved."""
        if self._proof is _UNKNOWN:
            from poise.solvers.proofs import prove

            solver = self.solver
            self._proof = prove(solver.model, solver.goals, solver.options, self.list_rows(), self.q)
        return self._proof

    @property
    def model(self) -> Model:
        """The body."""
        return self.solver.model

    @property
    def pose(self) -> Pose:
        """The best pose."""
        return Pose(self.solver.model, self.q)

    @property
    def errors(self) -> dict[str, tuple[float, float]]:
        """What is left of each goal: (metres, radians) by name."""
        errors = self.answer.errors.tolist()
        names = self.solver.row_names
        return {name: (e[0], e[1]) for name, e in zip(names, errors[len(errors) - len(names) :], strict=True)}

    @property
    def active_limits(self) -> tuple[ActiveLimit, ...]:
        """Limits that the pose touches, strongest first; then those that joints not in `joints=` lie beyond."""
        return DIAGNOSIS.get().find_active_limits(self)

    @property
    def multipliers(self) -> dict[str, float]:
        """How strongly each active limit holds the goals back: fall of the cost per radian or metre of more range."""
        return {limit.name: limit.multiplier for limit in self.active_limits if not limit.exempt}

    @property
    def conditioning(self) -> Conditioning:
        """Singular values of the goals' Jacobian at the pose, and the direction in which it can move least."""
        return DIAGNOSIS.get().find_conditioning(self)

    @property
    def redundancy(self) -> Redundancy:
        """How many freedoms the moving joints have for the demands of the goals; `print` shows it in words."""
        return DIAGNOSIS.get().find_redundancy(self)

    @property
    def explanation(self) -> Explanation:
        """Why goals were missed and what would help, as data; computed on each access, always the same."""
        return DIAGNOSIS.get().explain(self)

    def raise_if_missed(self) -> Solution:
        """Return the solution itself if every goal was reached, else raise GoalsMissed.

        Raises:
            GoalsMissed: Some were not; the message is the table and the reason.
        """
        if not self.reached:
            raise GoalsMissed(f"{self}\n{self.why()}")
        return self

    def why(self) -> str:
        """Return why goals were missed, in words and numbers, and what to relax first: the text of `explanation`."""
        return str(self.explanation)

    def plain_values(self) -> dict[str, Any]:
        """Return everything in numbers, text and lists, as `poise.save(solution, "answer.json")` writes it."""
        from poise.solvers.report.show import plain_values

        return plain_values(self)

    def list_rows(self) -> dict[str, GoalRows]:
        """Return the goals as rows for the kernels, with the targets of this call."""
        rows = {name: self.solver.goals[name].rows(self.model) for name in self.solver.row_names}
        return {
            name: replace(row, target=row.convert(self.targets[name])) if name in self.targets else row
            for name, row in rows.items()
        }

    def copy_solver(self) -> Solver:
        """Return a solver of the same problem and targets without a time limit, for questions about this solution."""
        twin = self.solver.with_targets(self.solver.targets, time_limit=None)
        twin.problem.restart(self.q, self.targets)
        return twin

    def __repr__(self) -> str:
        return f"<Solution: {self.status}, {self.steps} steps, {self.searches} searches>"

    def __str__(self) -> str:
        from poise.solvers.report.show import write_table

        return write_table(self)

    def _repr_html_(self) -> str:
        from poise.solvers.report.show import write_html

        return write_html(self)
