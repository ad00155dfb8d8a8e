"""Problems that stand ready: what `poise.solve` prepared for a model before, and needs new targets only.

A problem is known by all that the kernels read of it but the targets: frames, points, weights, tolerances, postures and
options. A model keeps the last few of its own; whoever takes one has it alone until it is put back, so threads never
share one.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from poise.goals import Goal, Rest
from poise.goals.goal import ANGULAR, GoalRows
from poise.model import Model
from poise.native import core
from poise.solvers.options import Options

__all__ = ["identify", "join_targets", "put_back", "read_options", "take"]

MOST_READY = 16  # problems that one model keeps
_make_options = lru_cache(maxsize=64, typed=True)(Options.make)


def read_options(given: dict[str, Any]) -> tuple[Options, bool]:
    """Return checked options, and whether they are the very ones that the same arguments gave before."""
    try:
        return _make_options(**given), True
    except TypeError:  # an argument that cannot be a key, such as an array; or one that is wrong, and is told so now
        return Options.make(**given), False


def identify(
    model: Model, goals: Mapping[str, Goal], rows: Sequence[tuple[str, GoalRows]], options: Options
) -> Hashable | None:
    """Return what tells a problem from all others of its model; None for one that is not kept.

    Rows that call Python belong to one problem alone, and so do limits and a record.
    """
    if options.limits or options.record or any(row.residual is not None for _, row in rows):
        return None
    if any(isinstance(goal, Rest) and goal.curved for goal in goals.values()):
        return None
    parts = [
        (name, goals[name].priority, *goals[name].tolerances(model, row.op in ANGULAR), *describe(row))
        for name, row in rows
    ]
    rests = [
        (rest.power, rest.gain(model).tobytes(), rest.find_wanted(model).tobytes())
        for rest in goals.values()
        if isinstance(rest, Rest)
    ]
    key = (id(options), *parts, *rests)  # the options live as long as what is kept under it
    try:
        hash(key)
    except TypeError:  # a frame's name that is no name; preparing refuses it
        return None
    return key


def describe(row: GoalRows) -> tuple[Any, ...]:
    """Return all that the kernels read of a goal, less its target."""
    return (
        int(row.op),
        row.frame,
        row.base,
        row.point.tobytes(),
        row.weight.tobytes(),
        row.exact,
        row.point2.tobytes(),
        row.axis.tobytes(),
        row.axis2.tobytes(),
        row.local,
        row.ranged,
        row.size,
        len(row.target),
        *((frame, point.tobytes()) for frame, point in row.points),
    )


def join_targets(rows: Sequence[tuple[str, GoalRows]]) -> NDArray[np.float64]:
    """Return the targets of all goals as the kernels hold them, one after the other."""
    return rows[0][1].target if len(rows) == 1 else np.concatenate([row.target for _, row in rows])


def take(model: Model, key: Hashable) -> core.Solver | None:
    """Take the problem of that key; None where there is none, or another thread has it."""
    found = model._facts.setdefault("ready", {}).pop(key, None)
    return None if found is None else found[1]


def put_back(model: Model, key: Hashable, options: Options, native: core.Solver) -> None:
    """Keep a problem for the next one who asks for it."""
    shelf = model._facts["ready"]
    if len(shelf) >= MOST_READY:
        shelf.clear()
    shelf[key] = options, native
