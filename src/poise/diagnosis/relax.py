"""Relaxations: the same problem with one condition relaxed, solved again from the answer.

A relaxation is reported only if solving with it reached every remaining goal.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from poise.errors import PoiseError
from poise.goals import Goal, Reach, Rest
from poise.limits.limit import Limit, name_limits
from poise.native import core
from poise.native.answer import read_errors
from poise.solvers.limit_tables import find_timed
from poise.solvers.options import Options
from poise.solvers.proofs import prove
from poise.solvers.report.attainable import count_sizes
from poise.solvers.report.explanation import WayOutKind
from poise.solvers.report.findings import ActiveLimit
from poise.solvers.solution import Solution
from poise.solvers.status import Status
from poise.solvers.table import make_native_table, order_goals

__all__ = [
    "Relaxation",
    "Trials",
    "find_helpful",
    "has_used_steps",
    "is_local",
    "propose",
    "propose_effort",
    "without_goal",
]

Key = tuple[WayOutKind, tuple[str, ...], tuple[tuple[str, str, str, int], ...]]

FEW_SEARCHES = 10  # after the first, in a trial
FEWER_SEARCHES = 0  # for strict levels
MANY_SEARCHES = 60
MORE_STEPS = 2000
ALL_TRIALS = 12
SHORT_STEPS = 60  # in a trial with strict levels
MOST_LIMITS = 3  # tried one at a time
MOST_GOALS = 4  # dropped one at a time


@dataclass(frozen=True, slots=True, eq=False)
class RelaxedAnswer:
    """The result of a relaxed problem.

    Attributes:
        q: The configuration.
        reached: Whether every remaining goal is within its tolerance.
        errors: The remaining error of each goal [m, rad].
    """

    q: NDArray[np.float64]
    reached: bool
    errors: dict[str, tuple[float, float]]


@dataclass(frozen=True, slots=True, eq=False)
class Relaxation:
    """One relaxation of a problem.

    Attributes:
        kind: The kind of the relaxation.
        about: Names of the goals concerned.
        limits: The limits that are dropped.
        goals: The goals that replace the solver's own; None for the same.
        options: The options that replace the solver's own, including limits other than joint ranges.
    """

    kind: WayOutKind
    about: tuple[str, ...] = ()
    limits: tuple[ActiveLimit, ...] = ()
    goals: tuple[tuple[str, Goal], ...] | None = None
    options: tuple[tuple[str, Any], ...] = ()

    @property
    def ranges(self) -> tuple[ActiveLimit, ...]:
        """The joint ranges among the limits."""
        return tuple(limit for limit in self.limits if limit.kind == "range")

    @property
    def key(self) -> Key:
        """The key of this relaxation among those of the same problem."""
        return (
            self.kind,
            self.about,
            tuple((limit.kind, limit.name, limit.side, limit.velocity) for limit in self.limits),
        )


class Trials:
    """Relaxed problems, each solved once, at most ALL_TRIALS."""

    def __init__(self, solution: Solution) -> None:
        self.solution = solution
        self.found: dict[Key, RelaxedAnswer | None] = {}
        self.left = ALL_TRIALS

    def answer(self, relaxation: Relaxation) -> RelaxedAnswer | None:
        """Return the answer to a relaxed problem; None if the method rejects it, or no trials are left."""
        if relaxation.key not in self.found:
            self.found[relaxation.key] = try_relaxation(self.solution, relaxation) if self.left > 0 else None
            self.left -= 1
        return self.found[relaxation.key]

    def find_errors(self, relaxation: Relaxation) -> dict[str, tuple[float, float]] | None:
        """Return the remaining errors of the relaxed problem, by goal."""
        found = self.answer(relaxation)
        return None if found is None else found.errors


def find_helpful(trials: Trials, candidates: Iterable[Relaxation]) -> Iterator[tuple[Relaxation, NDArray[np.float64]]]:
    """Yield relaxations that reach every remaining goal, each with its answer; skip those that a proof excludes."""
    for relaxation in candidates:
        if is_ruled_out(trials.solution, relaxation):
            continue
        found = trials.answer(relaxation)
        if found is not None and found.reached:
            yield relaxation, found.q


def is_ruled_out(solution: Solution, relaxation: Relaxation) -> bool:
    """Return whether a proof still holds under a relaxation, which therefore cannot help."""
    if solution.proof is None or any(option != "limits" for option, _ in relaxation.options):
        return False
    rows = solution.list_rows()
    if relaxation.goals is not None:
        own = solution.solver.goals
        changed = {name: goal for name, goal in relaxation.goals if name in rows and goal is not own[name]}
        kept = [name for name, _ in relaxation.goals if name in rows]
        rows = {name: changed[name].rows(solution.model) if name in changed else rows[name] for name in kept}
    solver = solution.solver
    proof = prove(solver.model, solver.goals, solver.options, rows, solution.q, limited=not relaxation.ranges)
    return proof is not None


def is_local(solution: Solution) -> bool:
    """Return whether the solve never leaves its branch: continuous mode and time steps. Its trials may leave it."""
    return solution.solver.options.mode == "continuous" or solution.velocity is not None


def has_used_steps(solution: Solution) -> bool:
    """Return whether the steps ran out; a call in continuous mode may end because it has moved as far as it may."""
    used = solution.steps >= solution.solver.options.max_steps
    return solution.status is Status.OUT_OF_STEPS and (used or not is_local(solution))


def try_relaxation(solution: Solution, relaxation: Relaxation) -> RelaxedAnswer | None:
    """Return the answer to the relaxed problem; None if the method rejects it."""
    solver = solution.solver
    goals = solver.goals if relaxation.goals is None else dict(relaxation.goals)
    if is_strict(solution):  # a posture comes after all levels, and does not change their result
        goals = {name: goal for name, goal in goals.items() if not isinstance(goal, Rest)}
    few = FEWER_SEARCHES if is_strict(solution) else FEW_SEARCHES
    mode = "nearest" if is_local(solution) else solver.options.mode
    steps = min(solver.options.max_steps, SHORT_STEPS) if is_strict(solution) else solver.options.max_steps
    changes: dict[str, Any] = {"record": False, "time_limit": None, "restarts": few, "mode": mode, "max_steps": steps}
    options = replace(solver.options, **{**changes, **dict(relaxation.options)})
    try:
        native = prepare_relaxed(solution, relaxation, goals, options)
    except PoiseError:
        return None
    if options.method.refuse(partial(count_sizes, solver.model, native)) is not None:
        return None
    same = {name: target for name, target in solution.targets.items() if goals.get(name) is solver.goals[name]}
    raw = native.solve(solver.model.rest if mode == "repeatable" else solution.q, same)
    names = order_goals(goals)
    errors = read_errors(raw)
    left = errors[len(errors) - len(names) :]
    return RelaxedAnswer(
        raw[0], raw[2] == 1, {name: (float(e[0]), float(e[1])) for name, e in zip(names, left, strict=True)}
    )


def prepare_relaxed(solution: Solution, relaxation: Relaxation, goals: Mapping[str, Goal], options: Options) -> Any:
    """Return the native solver of the relaxed problem."""
    table = make_native_table(solution.model, goals, options)
    for problem in (table, table["first"]):
        if problem is None or not relaxation.ranges:
            continue
        for limit in relaxation.ranges:
            problem[limit.side][limit.velocity] = -np.inf if limit.side == "lower" else np.inf
        problem["reachable"], problem["prove"], problem["branches"] = [], None, None
    return core.Solver(solution.model.native_body, table)


def propose(solution: Solution, limits: Sequence[ActiveLimit], order: Sequence[str]) -> Iterator[Relaxation]:
    """Yield relaxations to try, the most natural first. `order` lists the goals that may be dropped."""
    yield from propose_effort(solution)
    yield from propose_ranges([limit for limit in limits if limit.kind == "range"])
    yield from propose_limits(solution, limits)
    if len({limit.limit or limit.name for limit in limits}) > 1:
        yield relax_all_limits(solution, limits)
    if solution.solver.options.joints is not None:
        yield Relaxation(WayOutKind.ALL_JOINTS, options=(("joints", None),))
    yield from propose_goals(solution, order)


def propose_effort(solution: Solution) -> Iterator[Relaxation]:
    """Yield more time, steps or searches if they ran out."""
    if solution.status is Status.UNREACHABLE:
        return
    options = solution.solver.options
    if is_local(solution):
        yield Relaxation(WayOutKind.FRESH_SOLVE)
    if solution.status is Status.OUT_OF_TIME:
        if not is_local(solution):
            yield Relaxation(WayOutKind.MORE_TIME)
        return
    if options.max_steps < MORE_STEPS and has_used_steps(solution):
        yield Relaxation(WayOutKind.MORE_STEPS, options=(("max_steps", MORE_STEPS),))
    if is_local(solution) or is_strict(solution):
        return
    if solution.searches < MANY_SEARCHES:
        yield Relaxation(WayOutKind.MORE_SEARCHES, options=(("restarts", MANY_SEARCHES),))
    else:
        other = options.seed + 1
        yield Relaxation(WayOutKind.OTHER_SEED, options=(("seed", other), ("restarts", MANY_SEARCHES)))


def is_strict(solution: Solution) -> bool:
    """Return whether levels or limits are solved in strict order, with few searches."""
    goals = solution.solver.goals
    levels = {int(goals[name].priority) for name in solution.solver.row_names}
    limits = solution.solver.options.limits
    return len(levels) > 1 or len(limits) > len(find_timed(limits))


def propose_ranges(limits: Sequence[ActiveLimit]) -> Iterator[Relaxation]:
    """Yield the strongest joint ranges, one at a time."""
    for limit in limits[:MOST_LIMITS]:
        yield Relaxation(WayOutKind.WITHOUT_RANGE, limits=(limit,))


def propose_limits(solution: Solution, limits: Sequence[ActiveLimit]) -> Iterator[Relaxation]:
    """Yield the limits other than joint ranges, one at a time, strongest first."""
    for name in list(dict.fromkeys(limit.limit for limit in limits if limit.limit))[:MOST_LIMITS]:
        own = tuple(limit for limit in limits if limit.limit == name)
        yield Relaxation(WayOutKind.WITHOUT_LIMIT, limits=own, options=(("limits", leave_out(solution, [name])),))


def leave_out(solution: Solution, names: Sequence[str]) -> tuple[Limit, ...]:
    """Return the solver's limits without those named."""
    held = name_limits(solution.solver.options.limits)
    return tuple(replace(limit, name=name) for name, limit in held.items() if name not in names)


def relax_all_limits(solution: Solution, limits: Sequence[ActiveLimit]) -> Relaxation:
    """Return the relaxation of all active limits at once."""
    named = [limit.limit for limit in limits if limit.limit]
    options = (("limits", leave_out(solution, named)),) if named else ()
    return Relaxation(WayOutKind.WITHOUT_LIMITS, limits=tuple(limits), options=options)


def propose_goals(solution: Solution, order: Sequence[str]) -> Iterator[Relaxation]:
    """Yield transform goals without their rotation, then problems without one goal, one at a time."""
    goals, rows = solution.solver.goals, solution.solver.row_names
    for name in rows:
        goal = goals[name]
        row = solution.list_rows()[name]
        asked = row.weight[:3]  # along each axis
        if isinstance(goal, Reach) and goal.with_rotation and asked.any() and len(rows) <= MOST_GOALS:
            softer = replace(goal, target=row.target[9:12], weight=tuple(asked.tolist()))
            changed = tuple((key, softer if key == name else held) for key, held in goals.items())
            yield Relaxation(WayOutKind.POSITION_ALONE, (name,), goals=changed)
    if len(rows) > 1:
        for name in order[:MOST_GOALS]:
            yield without_goal(solution, name)


def without_goal(solution: Solution, name: str) -> Relaxation:
    """Return the same problem without one goal."""
    rest = tuple((key, goal) for key, goal in solution.solver.goals.items() if key != name)
    return Relaxation(WayOutKind.WITHOUT_GOAL, (name,), goals=rest)
