"""Solver: a prepared problem, reusable and allocation-free per call."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from poise.errors import InvalidValue, ModelMismatch, ShapeMismatch, UnitWarning
from poise.goals import Goal
from poise.kinematics import Pose
from poise.limits import Limit
from poise.methods import Method
from poise.model import Model
from poise.model.degrees import FEWEST, doubted_start
from poise.native import core
from poise.native.answer import Answer
from poise.solvers.drivers import prepare
from poise.solvers.history import History
from poise.solvers.options import Options, SolveOptions, show_options, whole
from poise.solvers.rules import refuse_timed, timed
from poise.solvers.solution import Solution
from poise.solvers.stepping import check_time_step, window
from poise.solvers.table import in_order, name_goals

if TYPE_CHECKING:
    from typing_extensions import Unpack

__all__ = ["Solver", "solve"]

_ARRAY = np.ndarray


class Solver:
    """A model, goals and options, checked and prepared once.

    A solver is for one thread at a time; `copy` is cheap.

    Attributes:
        model: The body.
        goals: The goals by name.
        row_names: Names of the goals that have errors (all but postures).

    Args:
        model: The body.
        goals: One goal or several.
        options: How to solve; `poise.solve` says what each of them means.
    """

    __slots__ = ("_ahead", "_native", "_options", "_start", "_targets", "_timed", "goals", "model", "row_names")

    @show_options
    def __init__(self, model: Model, goals: Iterable[Goal] | Goal, **options: Unpack[SolveOptions]) -> None:
        if not isinstance(model, Model):
            hint = f"; type: poise.load({model!r})" if isinstance(model, str) else ""
            raise ModelMismatch(f"model must be a poise.Model, not {type(model).__name__}{hint}.")
        self.model = model
        self.goals = name_goals([goals] if isinstance(goals, Goal) else goals)
        self.row_names = in_order(self.goals)
        self._options = Options.read(options, "Solver")
        self._native = prepare(model, self.goals, self._options)
        refused = self._options.method.refuse(*self._native.sizes())
        if refused is not None:
            raise InvalidValue(refused)
        self._start = np.array(model.rest)
        self._timed = timed(self._options.limits)
        self._ahead: Solver | None = None  # for steps with Acceleration
        self._targets: Mapping[str, Any] = {}  # those given to solve, which replace the goals' own

    def solve(self, start: ArrayLike | Pose | None = None, targets: Mapping[str, Any] | None = None) -> Solution:
        """Solves from `start` (the rest pose unless given), with new targets for some goals if given.

        Args:
            start: A Pose or q; may lie outside the limits. Ignored in mode="repeatable".
            targets: Goal name to a new target of the same kind; it stays until replaced.
        """
        if self._timed:
            refuse_timed(self._timed)
        if start is None or self._options.mode == "repeatable":
            start = self._start
        elif type(start) is not np.ndarray and isinstance(start, Pose):
            start = self._numbers(start, "start")
        return self._run(start, targets)

    def step(
        self,
        q: ArrayLike | Pose,
        dt: float,
        targets: Mapping[str, Any] | None = None,
        *,
        velocity: ArrayLike | None = None,
    ) -> Solution:
        """One time step towards the goals: a motion that goes on, within `Speed` and `Acceleration`.

        Args:
            q: Where the body is, a Pose or q.
            dt: How long the step is [s].
            targets: Goal name to a new target of the same kind; it stays until replaced.
            velocity: The `.velocity` of the step before, for `Acceleration`; standing still unless given.

        Returns:
            The Solution, with `.velocity`: q of the solution is `model.integrate(q, velocity * dt)`.
        """
        time = check_time_step(dt)
        at = self._numbers(q, "q") if isinstance(q, Pose) else np.array(q, dtype=np.float64)
        if at.shape != (self.model.nq,):
            raise ShapeMismatch(f"q has shape {at.shape}; it must be ({self.model.nq},), one configuration.")
        if not isinstance(self._native, core.Solver):
            raise InvalidValue(f"method {self._options.method.name!r} has no steps in time; lm does.")
        ahead = self._way_ahead(at, targets) if "Acceleration" in self._timed else None
        solution = self._run(at, targets, window(self.model, at, time, velocity, self._options, ahead))
        solution.velocity = self.model.difference(at, solution.q) / time
        solution._dt = time
        return solution

    def _way_ahead(self, q: NDArray[np.float64], targets: Mapping[str, Any] | None) -> NDArray[np.float64]:
        """The way from q to where the goals want the body, without regard to time."""
        if self._ahead is None:
            lasting = tuple(limit for limit in self._options.limits if not limit.timed)
            ahead = replace(self._options, limits=lasting, mode="nearest", restarts=0, record=False)
            self._ahead = self._with_options(ahead)
        there = self._ahead.solve(q, {**self._targets, **(targets or {})})
        return np.asarray(self.model.difference(q, there.q))

    def _numbers(self, pose: Pose, what: str) -> NDArray[np.float64]:
        if pose.model is not self.model and pose.model != self.model:
            raise ModelMismatch(f"{what} is a pose of model {pose.model.name!r}, not of {self.model.name!r}.")
        return pose.q

    def _run(self, start: Any, targets: Mapping[str, Any] | None, window: Any = None) -> Solution:
        answer: Answer
        if not targets:
            answer = (
                self._native.solve(start, targets) if window is None else self._native.solve(start, targets, window)
            )
        else:
            own = own_copies(targets)
            answer = self._native.solve(start, own) if window is None else self._native.solve(start, own, window)
            self._targets = own if len(own) == len(self.goals) else {**self._targets, **own}
        return Solution(self, answer, History(self) if self._options.record else None)

    def copy(self) -> Solver:
        """Another solver of the same problem and targets with memory of its own, for another thread."""
        return self.with_targets(self._targets)

    def with_targets(self, targets: Mapping[str, Any]) -> Solver:
        """Another solver of the same problem that has these targets in place of the goals' own."""
        twin = self._with_options(self._options)
        twin._native.restart(self._start, dict(targets))
        twin._targets = dict(targets)
        return twin

    def _with_options(self, options: Options) -> Solver:
        """Return a solver of the same goals that solves as these options say."""
        goals = [replace(goal, name=name) for name, goal in self.goals.items()]
        return Solver(self.model, goals, **options.as_dict())

    def __reduce__(self) -> tuple[Any, ...]:
        return remake, (self.model, self.goals, self._options.as_dict(), dict(self._targets))

    def __repr__(self) -> str:
        return f"<Solver of {self.model.name!r}: {', '.join(self.goals)}>"


def remake(model: Model, goals: Mapping[str, Goal], options: dict[str, Any], targets: dict[str, Any]) -> Solver:
    """A solver from its pickle."""
    named = [replace(goal, name=name) for name, goal in goals.items()]
    return Solver(model, named, **options).with_targets(targets)


def check_start(model: Model, start: Any, *, stacklevel: int = 3) -> None:
    """Refuses a goal in the place of a start; warns of a start that looks like degrees."""
    if isinstance(start, Goal) or (isinstance(start, (list, tuple)) and any(isinstance(x, Goal) for x in start)):
        raise InvalidValue(
            f"start is a goal, {type(start).__name__}; put all goals in one list: solve(model, [goal, goal, ...])."
        )
    if isinstance(start, (list, tuple, np.ndarray)) and isinstance(model, Model):
        rows = numbers_or_none(start, model.nq)
        far = [] if rows is None else rows[(np.abs(rows) > FEWEST).any(axis=1)][:1]
        for doubt in (doubt for row in far for doubt in doubted_start(model.joints, row)):
            warnings.warn(doubt, UnitWarning, stacklevel=stacklevel)


def numbers_or_none(start: Any, width: int) -> NDArray[Any] | None:
    """Rows of numbers; None where it is something else, which is refused in its place."""
    try:
        found = np.asarray(start)
    except ValueError:
        return None
    plain = found.dtype.kind in "iuf" and found.ndim and found.shape[-1] == width and width
    return found.reshape(-1, width) if plain else None


def own_copies(targets: Mapping[str, Any]) -> dict[str, Any]:
    """The targets, arrays copied: a caller may change its own while a solution still refers to them."""
    if type(targets) is not dict and not isinstance(targets, Mapping):
        raise InvalidValue(f"targets must be {{goal name: target}}, not {targets!r}.")
    own = dict(targets)
    for name, x in own.items():
        if type(x) is _ARRAY:
            own[name] = x.copy()
    return own


@overload
def solve(
    model: Model,
    goals: Iterable[Goal] | Goal,
    start: ArrayLike | Pose | None = None,
    *,
    solutions: None = None,
    **options: Unpack[SolveOptions],
) -> Solution: ...


@overload
def solve(
    model: Model,
    goals: Iterable[Goal] | Goal,
    start: ArrayLike | Pose | None = None,
    *,
    solutions: int,
    **options: Unpack[SolveOptions],
) -> list[Solution]: ...


def solve(
    model: Model,
    goals: Iterable[Goal] | Goal,
    start: ArrayLike | Pose | None = None,
    *,
    method: str | Method = "auto",
    limits: Sequence[Limit] | Limit = (),
    limit_handling: str = "active",
    joints: Sequence[str] | None = None,
    stiffness: Any = None,
    max_steps: int = 200,
    time_limit: float | None = None,
    step_limit: float | None = None,
    restarts: int | str = "auto",
    seed: int = 0,
    mode: str = "nearest",
    record: bool = False,
    solutions: int | None = None,
) -> Solution | list[Solution]:
    """Finds a pose that serves the goals, keeps the joint ranges, and says why where it cannot.

    Args:
        model: The body.
        goals: One goal or several.
        start: Where to start, a Pose or q; the rest pose unless given. May lie outside the limits.
        method: A name from `poise.methods.names()`, or a method with settings.
        limits: More rules that are never broken.
        limit_handling: "active" (inside the solve), "freeze", "penalty", "clamp" or "off".
        joints: The only joints that may move (all but locked ones unless given); the others keep every bit.
        stiffness: {joint: value}, an array of nv, one number, or "auto" (from bone lengths); the larger, the
            less a joint moves in a step.
        max_steps: Most steps in one search.
        time_limit: Most seconds; the best pose so far is returned.
        step_limit: Most radians (times L: metres) in one step; in one call where mode is "continuous".
        restarts: How many more searches from spread seeds after a failed one; "auto" lets the method decide.
        seed: Chooses other seeds.
        mode: "nearest" (from start), "repeatable" (history-free, from the rest pose) or "continuous" (no jumps: at most
            0.2 rad a call, or `step_limit`).
        record: Keep every step in `solution.history`.
        solutions: Asks for up to so many distinct answers: poses that differ by more than 0.1 rad (0.1 L) in a joint.

    Returns:
        The Solution; print it, or ask it `why()`. With `solutions` a list of them, nearest to the start first;
        where none is reached, the one that came nearest to its goals.
    """
    check_start(model, start)
    solver = Solver(
        model,
        goals,
        method=method,
        limits=limits,
        limit_handling=limit_handling,
        joints=joints,
        stiffness=stiffness,
        max_steps=max_steps,
        time_limit=time_limit,
        step_limit=step_limit,
        restarts=restarts,
        seed=seed,
        mode=mode,
        record=record,
    )
    if solutions is not None:
        whole("solutions", solutions, 1)
        from poise.solvers.several import Explorer

        return Explorer(solver).find(start, None, solutions).solutions
    return solver.solve(start)
