"""What would have helped: the same problem with one thing relaxed, solved again from the answer.

Nothing is guessed: a relaxation is named only if solving with it reached every goal that is left.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from poise.errors import PoiseError
from poise.goals import Reach
from poise.native import core
from poise.solvers.binding import ActiveLimit
from poise.solvers.status import Status
from poise.solvers.table import Options, native_table

if TYPE_CHECKING:
    from poise.goals import Goal
    from poise.solvers.solution import Solution

__all__ = ["Relaxation", "helpful"]

FEW_SEARCHES = 10  # after the first, in a trial
MANY_SEARCHES = 60
MORE_STEPS = 2000
MOST_LIMITS = 3  # tried one at a time
MOST_GOALS = 4  # left out one at a time


@dataclass(frozen=True, slots=True)
class Relaxation:
    """One thing to relax.

    Attributes:
        text: What it is, to follow "it would be reached ...".
        limits: Limits that do not hold.
        goals: The goals instead of the solver's own; None: the same.
        options: Options instead of the solver's own.
    """

    text: str
    limits: tuple[ActiveLimit, ...] = ()
    goals: tuple[tuple[str, Goal], ...] | None = None
    options: tuple[tuple[str, Any], ...] = ()


def helpful(solution: Solution, limits: Sequence[ActiveLimit]) -> Iterator[tuple[Relaxation, NDArray[np.float64]]]:
    """Relaxations under which every goal left is reached, the least intrusive first, each with its answer."""
    for relaxation in candidates(solution, limits):
        q = trial(solution, relaxation)
        if q is not None:
            yield relaxation, q


def trial(solution: Solution, relaxation: Relaxation) -> NDArray[np.float64] | None:
    """The answer to the relaxed problem if it reaches every goal; None otherwise, or where the method refuses it."""
    solver = solution._solver
    goals = solver.goals if relaxation.goals is None else dict(relaxation.goals)
    changes: dict[str, Any] = {"record": False, "time_limit": None, "restarts": FEW_SEARCHES, "mode": "nearest"}
    options = replace(solver._options, **{**changes, **dict(relaxation.options)})
    try:
        native = prepared(solution, relaxation, goals, options)
    except PoiseError:
        return None
    if options.method.refuse(*native.sizes()) is not None:
        return None
    same = {name: target for name, target in solution._targets.items() if goals.get(name) is solver.goals[name]}
    raw = native.solve(solution.q, same)
    answer: NDArray[np.float64] = raw[0]
    return answer if raw[2] == 1 else None


def prepared(solution: Solution, relaxation: Relaxation, goals: Mapping[str, Goal], options: Options) -> Any:
    """The relaxed problem for the kernels."""
    table = native_table(solution.model, goals, options)
    for limit in relaxation.limits:
        table[limit.side][limit.velocity] = -np.inf if limit.side == "lower" else np.inf
    if relaxation.limits:
        table["reachable"] = []
    return core.Solver(solution.model._body, table)


def candidates(solution: Solution, limits: Sequence[ActiveLimit]) -> Iterator[Relaxation]:
    """What may be worth relaxing, in the order in which a person would."""
    yield from of_effort(solution)
    yield from of_limits(limits)
    if solution._solver._options.joints is not None:
        yield Relaxation("if all joints could move", options=(("joints", None),))
    yield from of_goals(solution)


def of_effort(solution: Solution) -> Iterator[Relaxation]:
    """More time, more steps, more searches, where they were short."""
    if solution.status is Status.UNREACHABLE:
        return
    options = solution._solver._options
    if solution.status is Status.OUT_OF_TIME:
        yield Relaxation("with more time")
        return
    if options.mode == "continuous":
        yield Relaxation('in mode="nearest", which may leave this branch')
    if options.max_steps < MORE_STEPS and solution.status is Status.OUT_OF_STEPS:
        yield Relaxation(f"with max_steps={MORE_STEPS}", options=(("max_steps", MORE_STEPS),))
    if solution.searches < MANY_SEARCHES and options.mode != "continuous":
        yield Relaxation(f"with restarts={MANY_SEARCHES}", options=(("restarts", MANY_SEARCHES),))


def of_limits(limits: Sequence[ActiveLimit]) -> Iterator[Relaxation]:
    """The strongest limits one by one, then all that bind."""
    for limit in limits[:MOST_LIMITS]:
        yield Relaxation(f"without the {limit.side} limit of {limit.name!r}", limits=(limit,))
    if len(limits) > 1:
        names = ", ".join(repr(limit.name) for limit in limits)
        yield Relaxation(f"without the limits of {names}", limits=tuple(limits))


def of_goals(solution: Solution) -> Iterator[Relaxation]:
    """The rotation of a transform, then whole goals, one by one; the missed ones last."""
    goals, rows = solution._solver.goals, solution._solver.row_names
    for name in rows:
        goal = goals[name]
        if isinstance(goal, Reach) and goal.with_rotation:
            place = solution._rows()[name].target[9:]
            softer = replace(goal, target=place, weight=np.asarray(goal.weight).ravel()[0])
            changed = tuple((key, softer if key == name else held) for key, held in goals.items())
            yield Relaxation(f"if {name!r} asked for the position alone", goals=changed)
    if 1 < len(rows) <= MOST_GOALS:
        for name in rows:
            rest = tuple((key, held) for key, held in goals.items() if key != name)
            yield Relaxation(f"without the goal {name!r}", goals=rest)
