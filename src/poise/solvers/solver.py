"""Solver: a prepared problem that is reused without allocation per call."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from poise.arguments import check_positive
from poise.errors import InvalidValue, ModelMismatch, ShapeMismatch
from poise.goals import Goal
from poise.goals.goal import GoalRows
from poise.kinematics import Pose
from poise.kinematics.pose import check_model
from poise.model import Model
from poise.model.compare import name_mismatch
from poise.native import core
from poise.native.answer import Answer, make_answer
from poise.solvers import problem_cache
from poise.solvers.clock import Clock
from poise.solvers.drivers import prepare, prepare_limits
from poise.solvers.guess_starts import MISSED, goes_further, guess_goals, is_excluded, list_starts, prepare_guesses
from poise.solvers.limit_tables import find_timed, refuse_timed, replace_world
from poise.solvers.options import Options, SolveOptions, hold_closures, show_options
from poise.solvers.report.attainable import count_sizes
from poise.solvers.report.history import History
from poise.solvers.solution import Solution, make_solution
from poise.solvers.table import may_move, name_goals, order_goals
from poise.solvers.time_step import find_window

if TYPE_CHECKING:
    from typing_extensions import Unpack

__all__ = ["Solver"]

Out = TypeVar("Out")
PROVED_GOALS = 4  # with more goals, the bounds of all pairs take so long that they are postponed until a miss
_ARRAY = np.ndarray


class Solver:
    """A model, goals and options, checked and prepared once.

    Use a solver in one thread at a time; `copy` is cheap.

    Attributes:
        model: The body.
        goals: The goals by name.
        row_names: Names of the goals that have errors (all but postures).

    Args:
        model: The body.
        goals: One goal or several.
        options: The options of `poise.solve`, as keywords:
            `method`, `limits`, `limit_handling`, `joints`, `stiffness`, `max_steps`, `time_limit`, `step_limit`,
            `restarts`, `seed`, `mode`, `record`.
    """

    __slots__ = (
        "_ahead",
        "_awaited",
        "_free",
        "_limit",
        "_native",
        "_options",
        "_single",
        "_start",
        "_targets",
        "_timed",
        "goals",
        "model",
        "row_names",
    )

    @show_options
    def __init__(self, model: Model, goals: Iterable[Goal] | Goal, **options: Unpack[SolveOptions]) -> None:
        self._read(model, goals, Options.read(options, "Solver"))
        self._native = self._prepare()
        few = isinstance(self._native, core.Solver) and len(self.row_names) <= PROVED_GOALS
        if few and goes_further(self._options):
            self._native.complete_proofs(early=False)  # now, not in the first call that misses

    @property
    def options(self) -> Options:
        """The checked options."""
        return self._options

    @property
    def problem(self) -> Any:
        """The prepared problem: a `native.core.Solver`, or the driver of a method that runs in Python."""
        return self._native

    @property
    def targets(self) -> Mapping[str, Any]:
        """The targets given to `solve` so far, by goal name; they replace the targets of the goals."""
        return self._targets

    @property
    def timed(self) -> tuple[str, ...]:
        """The kinds of the limits on speed and acceleration, which `step` keeps."""
        return self._timed

    def _read(self, model: Model, goals: Iterable[Goal] | Goal, options: Options) -> None:
        """Read the problem without preparing it."""
        check_model(model)
        self.model = model
        self.goals = name_goals([goals] if isinstance(goals, Goal) else goals)
        self.row_names = order_goals(self.goals)
        self._options = options = hold_closures(model, options)
        self._limit = options.time_limit
        self._start = model.rest
        self._timed = find_timed(options.limits) if options.limits else ()
        self._free = not self._timed and options.mode != "repeatable"  # whether any q may be the start
        self._ahead: Solver | None = None  # for steps with Acceleration
        self._single: Solver | None = None  # for searches from guesses
        self._targets: Mapping[str, Any] = {}  # targets given to solve, which replace those of the goals
        self._awaited = [name for name, goal in self.goals.items() if getattr(goal, "target", goal) is None]

    def _prepare(self) -> Any:
        """Return the prepared problem."""
        native = prepare(self.model, self.goals, self._options)
        refused = self._options.method.refuse(partial(count_sizes, self.model, native))
        if refused is not None:
            raise InvalidValue(refused)
        if self._limit is not None and isinstance(native, core.Solver) and goes_further(self._options):
            native.complete_proofs(early=False)
            rows = {name: self.goals[name].rows(self.model) for name in self.row_names}
            prepare_guesses(self.model, self._options, rows)
        return native

    @classmethod
    def read_problem(
        cls, model: Model, goals: Iterable[Goal] | Goal, given: dict[str, Any]
    ) -> tuple[Solver, list[tuple[str, GoalRows]], Any]:
        """Return a solver that is not prepared yet, its goals as rows, and its key in the model's cache, or None."""
        self = cls.__new__(cls)
        options, lasting = problem_cache.read_options(given)
        self._read(model, goals, options)
        self._native = None
        rows = [(name, self.goals[name].rows(model)) for name in self.row_names]
        return self, rows, problem_cache.identify(model, self.goals, rows, self._options) if lasting and rows else None

    def use_problem(self, key: Any, call: Callable[[core.Solver], Out]) -> Out:
        """Call a function with the prepared problem of a key from `read_problem`, and cache the problem."""
        native = self._native if key is None else problem_cache.take(self.model, key)
        native = self._prepare() if native is None else native
        try:
            return call(native)
        finally:
            if key is None:
                self._native = native
            else:
                problem_cache.put_back(self.model, key, self._options, native)

    @classmethod
    def solve_once(
        cls, model: Model, goals: Iterable[Goal] | Goal, start: ArrayLike | Pose | None, given: dict[str, Any]
    ) -> Solution:
        """Solve with a new solver, reusing a prepared problem that differs only in its targets."""
        self, rows, key = cls.read_problem(model, goals, given)
        problem_cache.check_awaited(self._awaited, {})
        native = None if key is None else problem_cache.take(model, key)
        if native is None:
            self._native = native = self._prepare()
            solution = self.solve(start)
        else:
            begin = self._read_start(start)
            solution = make_solution(self, native.solve(begin, problem_cache.join_targets(rows)), self._targets)
            solution = solution if solution.reached else self.search_further(solution, begin)[0]
        if key is not None and isinstance(native, core.Solver):
            self._native = None
            problem_cache.put_back(model, key, self._options, native)
        return solution

    def solve(self, start: ArrayLike | Pose | None = None, targets: Mapping[str, Any] | None = None) -> Solution:
        """Solve from `start`, with new targets for some goals if given.

        Args:
            start: A Pose or q (default: the rest pose); it may lie outside the limits. Ignored in mode="repeatable".
            targets: {goal name: new target of the same kind}; a target is kept until it is replaced.
        """
        if type(start) is not _ARRAY or not self._free:
            start = self._read_start(start)
        solution = self.search(start, targets)
        return solution if solution.reached else self.search_further(solution, start)[0]

    def _read_start(self, start: ArrayLike | Pose | None) -> Any:
        """Return the start of a solve; the kernels check arrays."""
        refuse_timed(self._timed)
        if start is None or self._options.mode == "repeatable":
            return self._start
        return self._read_numbers(start, "start") if isinstance(start, (Pose, str)) else start

    def search_further(self, found: Solution, start: Any, count: int = 1) -> tuple[Solution, list[Solution]]:
        """Search from guesses after a miss, or from all guesses for more than one answer, unless excluded.

        Returns the result with the effort of all searches, and the answers of the further ones. `found` is the result
        of the solver's own searches from `start`.
        """
        options, clock, ends = self._options, Clock(self._limit, found.seconds), list[Solution]()
        further = found.reached or ((count > 1 or goes_further(options)) and found._outcome in MISSED)
        if not further or not isinstance(self._native, (core.Solver, type(None))):
            return found, ends
        begin, rows = np.array(getattr(start, "q", start), dtype=np.float64), found.list_rows()
        guessed = guess_goals(self.model, options, rows, begin)
        if guessed is None:
            return found, ends
        (name, guesses), proved = guessed, False
        if not clock.late and not found.reached:
            proved = is_excluded(self.model, self.goals[name], guesses, rows[name].target)
        if not clock.late and not proved:
            self._single = self._single or self.with_options(replace(options, mode="nearest", restarts=0))
            for q in list_starts(self.model, guesses, rows[name].target, begin):
                if clock.late or (count == 1 and ends and ends[-1].reached):
                    break
                self._single._set_time_limit(clock.left)
                ends.append(self._single.solve(q, found.targets))
        return join_searches(self, found, ends, clock, proved), [end for end in ends if end.reached]

    def _set_time_limit(self, seconds: float | None) -> None:
        """Replace the time limit [s] of later calls, with the time left to a call that makes several searches."""
        self._limit = seconds
        self._native.set_time_limit(-1.0 if seconds is None else seconds)

    def step(
        self,
        q: ArrayLike | Pose,
        dt: float,
        targets: Mapping[str, Any] | None = None,
        *,
        velocity: ArrayLike | None = None,
    ) -> Solution:
        """Take one time step towards the goals, within `Speed` and `Acceleration`.

        Args:
            q: The current configuration, a Pose or q.
            dt: The length of the step [s].
            targets: {goal name: new target of the same kind}; a target is kept until it is replaced.
            velocity: The `.velocity` of the previous step, for `Acceleration` (default: zero).

        Returns:
            The Solution, with `.velocity`: q of the solution is `model.integrate(q, velocity * dt)`.
        """
        time = check_positive(dt, "dt", "a positive number of seconds")
        at = self._read_numbers(q, "q") if isinstance(q, Pose) else np.array(q, dtype=np.float64)
        if at.shape != (self.model.nq,):
            raise ShapeMismatch(f"q has shape {at.shape}; it must be ({self.model.nq},), one configuration.")
        if not isinstance(self._native, core.Solver) and not getattr(self._native, "takes_windows", False):
            raise InvalidValue(f"method {self._options.method.name!r} does not support time steps; lm does.")
        ahead = self._look_ahead(at, targets) if "Acceleration" in self._timed else None
        window = find_window(self.model, at, time, velocity, self._options, ahead)
        solution = self.search(self._coast(at, window), targets, window)
        solution.velocity = self.model.difference(at, solution.q) / time
        solution.time_step = time
        return solution

    def _coast(self, q: NDArray[np.float64], window: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return q after one step of the joints that no goal moves and that cannot stop within the step."""
        forced = np.clip(0.0, window[:, 0], window[:, 1])
        if forced.any():
            forced[~may_move(self.model, self._options.joints)] = 0.0
            forced[self._native.rows_jacobian(q)[2]] = 0.0
        return np.asarray(self.model.integrate(q, forced)) if forced.any() else q

    def _look_ahead(self, q: NDArray[np.float64], targets: Mapping[str, Any] | None) -> NDArray[np.float64]:
        """Return the difference from q to the goals, ignoring speed and acceleration."""
        there = self._find_ahead().solve(q, {**self._targets, **(targets or {})})
        return np.asarray(self.model.difference(q, there.q))

    def _find_ahead(self) -> Solver:
        """Return the solver of the same goals without limits on speed and acceleration."""
        if self._ahead is None:
            lasting = tuple(limit for limit in self._options.limits if not limit.timed)
            ahead = replace(self._options, limits=lasting, mode="nearest", restarts=0, record=False)
            self._ahead = self.with_options(ahead)
        return self._ahead

    def _read_numbers(self, pose: Pose | str, what: str) -> NDArray[np.float64]:
        if isinstance(pose, str):
            raise InvalidValue(f"{what} is {pose!r}; type model.random(rng), model.poses[name] or a Pose.")
        if pose.model is not self.model and pose.model != self.model:
            raise ModelMismatch(f"{what} is a pose {name_mismatch(pose.model, self.model)}.")
        return pose.q

    def rest_at(self, q: NDArray[np.float64], gains: NDArray[np.float64]) -> None:
        """Move the posture to `q`, also for the solver that `step` uses to look ahead.

        Args:
            q: The preferred pose, (nq,).
            gains: The cost of deviating from it, for each velocity, (nv,).
        """
        self._native.rest_at(q, gains)
        if "Acceleration" in self._timed:
            self._find_ahead()._native.rest_at(q, gains)

    def linearise(self, q: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.int64]]:
        """Return the goals' weighted Jacobian and residuals at `q`, and the velocity index of each column."""
        J, r, velocities = self._native.rows_jacobian(q)
        return J, r, velocities

    def search(self, start: Any, targets: Mapping[str, Any] | None, window: Any = None) -> Solution:
        """Solve without further searches from guesses.

        Args:
            start: A Pose or q.
            targets: {goal name: new target of the same kind}; a target is kept until it is replaced.
            window: The smallest and largest motion of each velocity from `start`, (nv, 2) (default: the joint ranges).
        """
        native = self._native
        if isinstance(targets, _ARRAY) or (targets and not (type(targets) is dict and type(native) is core.Solver)):
            targets = problem_cache.copy_targets(targets)
        if self._awaited:
            problem_cache.check_awaited(self._awaited, {**self._targets, **(targets or {})})
        answer: Answer = native.solve(start, targets) if window is None else native.solve(start, targets, window)
        if targets:
            own = targets if answer[10] is None else answer[10]  # of a method that runs in Python, or native
            self._targets = own if len(own) == len(self.goals) else {**self._targets, **own}
        return make_solution(self, answer, self._targets, History(self) if self._options.record else None)

    def copy(self) -> Solver:
        """Return another solver of the same problem and targets with its own memory, for another thread."""
        return self.with_targets(self._targets)

    def with_targets(self, targets: Mapping[str, Any], **changes: Any) -> Solver:
        """Return another solver of the same problem with these targets instead of those of the goals.

        Args:
            targets: {goal name: target}.
            changes: Options to change.
        """
        twin = self.with_options(replace(self._options, **changes) if changes else self._options)
        twin._native.restart(self._start, dict(targets))
        twin._targets = dict(targets)
        return twin

    def with_world(self, world: Any, limit: str | None = None) -> Solver:
        """Return a solver of the same problem and targets among other obstacles; nothing else is prepared again.

        Args:
            world: The regions to avoid instead, as in `Clearance`.
            limit: The name of the `Clearance`, if there are several.
        """
        twin = object.__new__(Solver)
        for name in self.__slots__:
            setattr(twin, name, getattr(self, name))
        twin._options, twin._ahead, twin._single = replace_world(self._options, world, limit), None, None
        twin._native = prepare_limits(self._native, self.model, self.goals, twin._options)
        return twin

    def with_options(self, options: Options) -> Solver:
        """Return a solver of the same goals with other options."""
        goals = [replace(goal, name=name) for name, goal in self.goals.items()]
        return Solver(self.model, goals, **options.as_dict())

    def __reduce__(self) -> tuple[Any, ...]:
        return remake, (self.model, self.goals, self._options.as_dict(), dict(self._targets))

    def __repr__(self) -> str:
        return f"<Solver of {self.model.name!r}: {', '.join(self.goals)}>"


def remake(model: Model, goals: Mapping[str, Goal], options: dict[str, Any], targets: dict[str, Any]) -> Solver:
    """Restore a solver from a pickle."""
    named = [replace(goal, name=name) for name, goal in goals.items()]
    return Solver(model, named, **options).with_targets(targets)


def join_searches(
    solver: Solver, found: Solution, ends: Sequence[Solution], clock: Clock, proved: bool = False
) -> Solution:
    """Combine a search with later ones, the first of which that reaches the goals replaces a miss, or with a proof."""
    best, winner = found.answer, found.answer.winner
    won = None if found.reached else next((k for k, end in enumerate(ends) if end.reached), None)
    if won is not None:
        best, winner = ends[won].answer, found.searches + won + 1
    answer = make_answer(
        best.q,
        best.errors,
        best.outcome,
        found.steps + sum(end.steps for end in ends),
        clock.seconds,
        searches=found.searches + len(ends),
        winner=winner,
        late=clock.late and won is None,
        unreachable=proved,
    )
    return make_solution(solver, answer, found.targets, join_histories(found, ends))


def join_histories(missed: Solution, ends: Sequence[Solution]) -> History | None:
    """Return the history of all searches, or None if nothing was recorded."""
    for number, end in enumerate(ends):
        if missed.history is not None and end.history is not None:
            missed.history.append(end.history, missed.searches + number)
    return missed.history
