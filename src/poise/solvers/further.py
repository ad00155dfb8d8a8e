"""Searches from guesses: where searches from spread seeds have missed, and where several answers are asked for.

A goal for a whole transform on a chain without a closed form of its own has guesses of where its poses may be
(reach/guesses.py). They are starts as good as any seed, and for six turns far better: of what random arms reach, one
transform in a hundred is missed by all seeds and found from a root. Nothing is proved by them.

A solver stands here for any: it asks this file, so this file does not name it.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from poise.goals.goal import GoalRows
from poise.model.chain import placement
from poise.native import core
from poise.native.answer import make_answer
from poise.reach.closed import ClosedGoal, close_goal
from poise.reach.guesses import Guesses, find_guesses
from poise.solvers.proving import find_freedom
from poise.solvers.solution import Solution
from poise.solvers.status import Status

__all__ = ["Guessed", "guess_goals", "list_starts", "search_further", "searches_further"]

Floats = NDArray[np.float64]
Guessed = tuple[str, Guesses]


def searches_further(solver: Any) -> bool:
    """Whether a solver that misses goes on from guesses: where it may begin elsewhere than at its start."""
    options = solver._options
    restarts = options.method.restarts if options.restarts == "auto" else options.restarts
    return int(restarts) > 0 and options.mode != "continuous" and isinstance(solver._native, core.Solver | None)


def guess_goals(solver: Any, rows: Mapping[str, GoalRows], start: Floats) -> Guessed | None:
    """Return the first goal that has guesses, by its name, and them."""
    freedom = None
    for name, row in rows.items():
        freedom = find_freedom(solver.model, solver._options, start, True) if freedom is None else freedom
        closed = close_goal(solver.model, row, freedom)
        family = closed.family if isinstance(closed, ClosedGoal) else closed
        if family is not None:
            guesses = find_guesses(solver.model, family, tuple(row.point.tolist()), freedom)
            if guesses is not None:
                return name, guesses
    return None


def list_starts(solver: Any, rows: Mapping[str, GoalRows], start: Floats) -> Floats:
    """Return poses (k, nq) from which a search may reach, the nearest to the start first."""
    found = guess_goals(solver, rows, start)
    if found is None:
        return np.zeros((0, solver.model.nq))
    name, guesses = found
    target = rows[name].target
    _, values = guesses.find(placement(target[:9].reshape(3, 3), target[9:12])[None])
    q = np.array([solver.model.clamp(one) for one in guesses.read(values, start)]).reshape(-1, solver.model.nq)
    return np.asarray(q[np.abs(q - start).max(axis=1, initial=0.0).argsort(kind="stable")])


def search_further(solver: Any, missed: Solution, start: Any) -> Solution:
    """Return what a search from a guess reaches; what was missed where none does."""
    begun, options = time.perf_counter(), solver._options
    if missed._outcome not in (Status.STALLED, Status.OUT_OF_STEPS) or missed.history is not None:
        return missed
    starts = list_starts(solver, missed._list_rows(), np.array(getattr(start, "q", start), dtype=np.float64))
    if not len(starts):
        return missed
    single = solver._with_options(replace(options, mode="nearest", restarts=0))
    steps = missed.steps
    for number, q in enumerate(starts):
        if options.time_limit is not None and missed.seconds + time.perf_counter() - begun > options.time_limit:
            break
        end = single.solve(q, missed._targets)
        steps += end.steps
        if end.reached:
            searches, seconds = missed.searches + number + 1, missed.seconds + time.perf_counter() - begun
            answer = make_answer(end.q, end._answer.errors, end._answer.outcome, steps, seconds, searches=searches)
            out = Solution(solver, answer)
            out._targets = missed._targets
            return out
    return missed
