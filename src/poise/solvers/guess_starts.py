"""Starts from guessed poses, for solves that missed from all seeds, and for several answers.

A full transform goal on a chain without a closed form has approximate poses (reach/guesses.py). They are good starts,
and for six revolute joints much better than seeds: of the reachable transforms of random arms, all seeds miss one in a
hundred that a root finds. Guesses prove nothing.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from poise.arrays import Floats
from poise.goals.goal import GoalRows
from poise.model import Model
from poise.model.chain import placement
from poise.reach.closed_forms import ClosedGoal, find_closed_form
from poise.reach.guesses import Guesses, find_guesses
from poise.solvers.options import Options
from poise.solvers.proofs import find_freedom
from poise.solvers.status import Status

__all__ = ["MISSED", "goes_further", "guess_goals", "list_starts", "prepare_guesses"]

MISSED = (Status.STALLED, Status.OUT_OF_STEPS)


def goes_further(options: Options) -> bool:
    """Return whether a missed solve may restart from other poses."""
    restarts = options.method.restarts if options.restarts == "auto" else options.restarts
    return int(restarts) > 0 and options.mode != "continuous"


def guess_goals(
    model: Model, options: Options, rows: Mapping[str, GoalRows], start: Floats
) -> tuple[str, Guesses] | None:
    """Return the name and the guesses of the first goal that has any. Joints that may not move stay as in `start`."""
    freedom = find_freedom(model, options, start, True)
    for name, row in rows.items():
        closed = find_closed_form(model, row, freedom)
        family = closed.family if isinstance(closed, ClosedGoal) else closed
        guesses = None if family is None else find_guesses(model, family, tuple(row.point.tolist()), freedom)
        if guesses is not None:
            return name, guesses
    return None


def prepare_guesses(model: Model, options: Options, rows: Mapping[str, GoalRows]) -> None:
    """Prepare the guesses before the clock starts, with joints that may not move at rest."""
    guessed = guess_goals(model, options, rows, np.asarray(model.rest))
    if guessed is not None:
        guessed[1].prepare()


def list_starts(model: Model, guesses: Guesses, target: Floats, start: Floats) -> Floats:
    """Return poses (k, nq) to search from, the nearest to the start first.

    Args:
        model: The body.
        guesses: The guesses of the goal.
        target: The goal's target, as the kernels store it.
        start: The start of the solve.
    """
    _, values = guesses.find(placement(target[:9].reshape(3, 3), target[9:12])[None])
    q = guesses.bring_inside(model, guesses.read(values, start))
    return np.asarray(q[np.abs(q - start).max(axis=1, initial=0.0).argsort(kind="stable")])
