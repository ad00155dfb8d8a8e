"""Solution: the result of a solve. Most fields are computed on access."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NoReturn, Protocol

import numpy as np
from numpy.typing import NDArray

from poise.errors import GoalsMissed, name_not_found
from poise.hooks import Hook
from poise.keywords import NotHere
from poise.kinematics import Pose
from poise.native import core
from poise.native.answer import Answer, read_errors
from poise.solvers.status import Status

if TYPE_CHECKING:
    from poise.goals.goal import GoalRows
    from poise.model import Model
    from poise.reach.proof import Proof
    from poise.solvers.report.explanation import Explanation
    from poise.solvers.report.findings import ActiveLimit, Conditioning, Redundancy
    from poise.solvers.report.history import History
    from poise.solvers.solver import Solver

__all__ = ["Solution", "make_solution"]

_REACHED = int(core.Outcome.REACHED)
_OUTCOMES: dict[int, Status] = {
    core.Outcome.STALLED: Status.STALLED,
    core.Outcome.OUT_OF_STEPS: Status.OUT_OF_STEPS,
    core.Outcome.STOPPED: Status.OUT_OF_TIME,
}


class _Unknown:
    """Marks a field that is not computed yet; a class, so that it survives pickling."""


_UNKNOWN: Any = _Unknown


class Diagnosis(Protocol):
    """The functions of `poise.diagnosis` that a solution calls."""

    def find_active_limits(self, solution: Solution) -> tuple[ActiveLimit, ...]:
        """Return the limits that the pose touches."""

    def find_conditioning(self, solution: Solution) -> Conditioning:
        """Return the conditioning of the Jacobian at the pose."""

    def find_redundancy(self, solution: Solution) -> Redundancy:
        """Return the degrees of freedom compared with the equations of the goals."""

    def explain(self, solution: Solution) -> Explanation:
        """Return the reasons for missed goals, and possible remedies."""


DIAGNOSIS = Hook[Diagnosis]()


class Errors(dict[str, tuple[float, float]]):
    """The errors of goals by name; an unknown name is answered with the names that exist."""

    def __missing__(self, name: str) -> NoReturn:
        raise name_not_found("goal", name, self)


class Solution:
    """The result of a solve.

    Attributes:
        q: The best configuration, inside the limits (unless limit_handling is "off"; joints that `joints=` excludes do
            not move).
        reached: Whether every goal is within its tolerance.
        history: Every evaluated pose with record=True, otherwise None.
        velocity: The velocity of a `Solver.step`, (nv,), otherwise None.
        time_step: The length of a `Solver.step` [s].
    """

    __slots__ = ("_answer", "_proof", "_solver", "_targets", "history", "q", "reached", "time_step", "velocity")

    success, error = NotHere("solution.reached"), NotHere("solution.errors[goal], as (metres, radians)")
    x = joints = joint_angles = angles = qpos = NotHere("solution.q, or solution.pose")
    save, plot = NotHere("poise.save(solution, path)"), NotHere("poise.plot(solution), or poise.show(solution, path)")
    q: NDArray[np.float64]
    reached: bool
    history: History | None
    velocity: NDArray[np.float64] | None
    time_step: float
    _answer: Answer
    _proof: Proof | None
    _solver: Solver
    _targets: Mapping[str, Any]

    def accept(self) -> Solution:
        """Return this solution marked as reached."""
        accepted = copy.copy(self)
        accepted.reached, accepted._proof = True, None
        return accepted

    @property
    def solver(self) -> Solver:
        """The solver that found the solution, with its goals and options."""
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
        """Number of searches; more than one if the solve restarted from seeds."""
        return self.answer[4]

    @property
    def seconds(self) -> float:
        """The time of the searches and the work between them [s]."""
        return self.answer[6]

    @property
    def _outcome(self) -> Status:
        """The result of the kernels' search."""
        if self.reached:
            return Status.REACHED
        if self.answer.unreachable:
            return Status.UNREACHABLE
        if self.answer.colliding:
            return Status.IN_COLLISION
        return Status.OUT_OF_TIME if self.answer.late else _OUTCOMES.get(self.answer.outcome, Status.STALLED)

    @property
    def status(self) -> Status:
        """The result of the solve; UNREACHABLE only if proved."""
        return self._outcome if self.proof is None else Status.UNREACHABLE

    @property
    def proof(self) -> Proof | None:
        """The distance that proves that no pose inside the limits reaches the goals, or None if nothing is proved."""
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
        """The remaining error of each goal by name: (metres, radians)."""
        errors = read_errors(self.answer).tolist()
        names = self.solver.row_names
        return Errors({name: (e[0], e[1]) for name, e in zip(names, errors[len(errors) - len(names) :], strict=True)})

    @property
    def active_limits(self) -> tuple[ActiveLimit, ...]:
        """Limits that the pose touches, strongest first, then limits exceeded by joints not in `joints=`."""
        return DIAGNOSIS.get().find_active_limits(self)

    @property
    def multipliers(self) -> dict[str, float]:
        """How strongly each active limit restricts the goals: cost decrease per radian or metre of more range."""
        return {limit.name: limit.multiplier for limit in self.active_limits if not limit.exempt}

    @property
    def conditioning(self) -> Conditioning:
        """Singular values of the goals' Jacobian at the pose, and the direction of least mobility."""
        return DIAGNOSIS.get().find_conditioning(self)

    @property
    def redundancy(self) -> Redundancy:
        """The degrees of freedom of the moving joints compared with the equations of the goals."""
        return DIAGNOSIS.get().find_redundancy(self)

    @property
    def explanation(self) -> Explanation:
        """The reasons for missed goals and possible remedies, as data; computed on each access."""
        return DIAGNOSIS.get().explain(self)

    def raise_if_missed(self) -> Solution:
        """Return the solution itself if every goal was reached, otherwise raise GoalsMissed.

        Raises:
            GoalsMissed: A goal was missed; the message contains the table and the reason.
        """
        if not self.reached:
            raise GoalsMissed(f"{self}\n{self.why()}")
        return self

    def why(self) -> str:
        """Return the reasons for missed goals, and the limit or goal to relax first: the text of `explanation`."""
        return str(self.explanation)

    def plain_values(self) -> dict[str, Any]:
        """Return all fields as numbers, text and lists, as `poise.save(solution, "answer.json")` writes them."""
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
        """Return a solver of the same problem and targets without a time limit, to examine this solution."""
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


_new = object.__new__


def make_solution(
    solver: Solver, answer: Answer, targets: Mapping[str, Any], history: History | None = None
) -> Solution:
    """Return the solution of an answer with the targets that replaced the goals' own; faster than a constructor."""
    out = _new(Solution)
    out._answer = answer
    out._solver = solver
    out._targets = targets
    out.q = answer[0]
    out.reached = reached = answer[2] == _REACHED
    out._proof = None if reached else _UNKNOWN
    out.history = history
    out.velocity = None
    return out
