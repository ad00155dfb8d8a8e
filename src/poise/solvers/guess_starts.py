"""Starts from the poses of a chain, and proofs that it has none, for solves that missed from all seeds.

A full transform goal has poses or guesses of them (reach/chain_poses.py) if its chain has no closed form, or one that
depends on joints that may not move. They are good starts, and for six revolute joints much better than seeds: of the
reachable transforms of random arms, all seeds miss one in a hundred that a root finds.
"""

from collections.abc import Mapping

import numpy as np

from poise.arrays import Floats
from poise.goals import Goal
from poise.goals.goal import GoalRows
from poise.model import Model
from poise.reach.chain_poses import ChainPoses, find_poses
from poise.solvers.options import Options
from poise.solvers.proofs import find_freedom, find_tolerances
from poise.solvers.status import Status

__all__ = ["MISSED", "goes_further", "guess_goals", "is_excluded", "list_starts", "prepare_guesses"]

MISSED = (Status.STALLED, Status.OUT_OF_STEPS)


def goes_further(options: Options) -> bool:
    """Return whether a missed solve may restart from other poses."""
    restarts = options.method.restarts if options.restarts == "auto" else options.restarts
    return int(restarts) > 0 and options.mode != "continuous"


def guess_goals(
    model: Model, options: Options, rows: Mapping[str, GoalRows], start: Floats
) -> tuple[str, ChainPoses] | None:
    """Return the name and the guesses of the first goal that has any. Joints that may not move stay as in `start`."""
    freedom = find_freedom(model, options, start, True)
    for name, row in rows.items():
        found = find_poses(model, row, freedom, held=True)
        if isinstance(found, ChainPoses):
            return name, found
    return None


def prepare_guesses(model: Model, options: Options, rows: Mapping[str, GoalRows]) -> None:
    """Prepare the guesses before the clock starts, with joints that may not move at rest."""
    guessed = guess_goals(model, options, rows, np.asarray(model.rest))
    if guessed is not None:
        guessed[1].prepare()


def list_starts(model: Model, guesses: ChainPoses, target: Floats, start: Floats) -> Floats:
    """Return poses (k, nq) to search from, the nearest to the start first, for a target as the kernels store it."""
    _, values = guesses.find(guesses.place(target))
    q = guesses.read(values, start)
    own = [axis.q for axis in guesses.axes if np.isfinite(axis.lower) or np.isfinite(axis.upper)]
    q[:, own] = model.clamp(q)[:, own]
    return np.asarray(q[np.abs(q - start).max(axis=1, initial=0.0).argsort(kind="stable")])


def is_excluded(model: Model, goal: Goal, guesses: ChainPoses, target: Floats) -> bool:
    """Return whether the goal is proved to have no pose within its tolerances at a target."""
    return bool(guesses.exclude(guesses.place(target), find_tolerances(model, goal))[0])
