"""Guesses as starts: where searches from spread seeds have missed, and where several answers are asked for.

A goal for a whole transform on a chain without a closed form of its own has guesses of where its poses may be
(reach/guesses.py). They are starts as good as any seed, and for six turns far better: of what random arms reach, one
transform in a hundred is missed by all seeds and found from a root. Nothing is proved by them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from poise.goals.goal import GoalRows
from poise.model import Model
from poise.model.chain import placement
from poise.native import core
from poise.native.answer import make_answer
from poise.reach.closed import ClosedGoal, close_goal
from poise.reach.guesses import Guesses, find_guesses
from poise.solvers.clock import Clock
from poise.solvers.history import History
from poise.solvers.options import Options
from poise.solvers.proving import find_freedom
from poise.solvers.solution import Solution
from poise.solvers.status import Status

if TYPE_CHECKING:
    from poise.solvers.solver import Solver

__all__ = ["goes_further", "guess_goals", "list_starts", "prepare_guesses", "search_further"]

Floats = NDArray[np.float64]
MISSED = (Status.STALLED, Status.OUT_OF_STEPS)


def goes_further(options: Options) -> bool:
    """Whether a solve that misses may begin elsewhere than at its start."""
    restarts = options.method.restarts if options.restarts == "auto" else options.restarts
    return int(restarts) > 0 and options.mode != "continuous"


def guess_goals(
    model: Model, options: Options, rows: Mapping[str, GoalRows], start: Floats
) -> tuple[str, Guesses] | None:
    """Return the first goal that has guesses, by its name, and them; joints that may not move stand as in the start."""
    freedom = find_freedom(model, options, start, True)
    for name, row in rows.items():
        closed = close_goal(model, row, freedom)
        family = closed.family if isinstance(closed, ClosedGoal) else closed
        guesses = None if family is None else find_guesses(model, family, tuple(row.point.tolist()), freedom)
        if guesses is not None:
            return name, guesses
    return None


def prepare_guesses(solver: Solver) -> None:
    """Make what guesses need before a clock runs; joints that may not move stand at rest."""
    model, options = solver.model, solver._options
    if options.time_limit is None or not goes_further(options):
        return
    rows = {name: solver.goals[name].rows(model) for name in solver.row_names}
    guessed = guess_goals(model, options, rows, np.asarray(model.rest))
    if guessed is not None:
        guessed[1].prepare()


def list_starts(model: Model, guesses: Guesses, target: Floats, start: Floats) -> Floats:
    """Return poses (k, nq) from which a search may reach, the nearest to the start first.

    Args:
        model: The body.
        guesses: Of the goal.
        target: What it asks for, as the kernels have it.
        start: Where the solve begins.
    """
    _, values = guesses.find(placement(target[:9].reshape(3, 3), target[9:12])[None])
    q = guesses.bring_inside(model, guesses.read(values, start))
    return np.asarray(q[np.abs(q - start).max(axis=1, initial=0.0).argsort(kind="stable")])


def search_further(solver: Solver, missed: Solution, start: Any) -> Solution:
    """Return what a search from a guess reaches; where none does, what was missed, and all that it took to know.

    Args:
        solver: Of the problem.
        missed: What its own searches came to.
        start: Where they began.
    """
    options, native = solver._options, solver._native
    asks = goes_further(options) and missed._outcome in MISSED
    clock = Clock(solver._limit, missed.seconds)
    if not asks or not isinstance(native, (core.Solver, type(None))):
        return missed
    begin, rows = np.array(getattr(start, "q", start), dtype=np.float64), missed._list_rows()
    guessed = guess_goals(solver.model, options, rows, begin)
    if guessed is None:
        return missed
    ends: list[Solution] = []
    single = solver._with_options(replace(options, mode="nearest", restarts=0))
    for q in () if clock.late else list_starts(solver.model, guessed[1], rows[guessed[0]].target, begin):
        if clock.late:
            break
        single._heed(clock.left)
        ends.append(single.solve(q, missed._targets))
        if ends[-1].reached:
            break
    return join_searches(solver, missed, ends, clock)


def join_searches(solver: Solver, missed: Solution, ends: Sequence[Solution], clock: Clock) -> Solution:
    """Return one solution of a search that missed and of those after it, of which the last may have reached."""
    reached = bool(ends) and ends[-1].reached
    best = ends[-1]._answer if reached else missed._answer
    searches = missed.searches + len(ends)
    answer = make_answer(
        best.q,
        best.errors,
        best.outcome,
        missed.steps + sum(end.steps for end in ends),
        clock.seconds,
        searches=searches,
        winner=searches if reached else best.winner,
        late=clock.late and not reached,
    )
    out = Solution(solver, answer, join_histories(missed, ends))
    out._targets = missed._targets
    return out


def join_histories(missed: Solution, ends: Sequence[Solution]) -> History | None:
    """Return what happened in all searches; None where nothing was recorded."""
    for number, end in enumerate(ends):
        if missed.history is not None and end.history is not None:
            missed.history.append(end.history, missed.searches + number)
    return missed.history
