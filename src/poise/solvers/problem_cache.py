"""The cache of prepared problems: `poise.solve` reuses one that differs only in its targets.

The key of a problem contains everything but the targets: frames, points, weights, tolerances, postures and options.
A model keeps its last few problems. A caller takes one out and puts it back, so threads never share one.
"""

from collections.abc import Hashable, Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from poise.errors import InvalidValue
from poise.goals import Goal, Rest
from poise.goals.goal import ANGULAR, GoalRows
from poise.model import Model
from poise.model.memo import MemoTable
from poise.native import core
from poise.solvers.options import Options

__all__ = ["check_awaited", "copy_targets", "identify", "join_targets", "put_back", "read_options", "take"]

MOST_READY = 16  # problems cached per model
READY = MemoTable[Hashable, tuple[Options, core.Solver]]("prepared problems", MOST_READY)
_make_options = lru_cache(maxsize=64, typed=True)(Options.make)


def read_options(given: dict[str, Any]) -> tuple[Options, bool]:
    """Return the checked options, and whether equal arguments return the same object again."""
    try:
        return _make_options(**given), True
    except TypeError:  # an argument that is not hashable, such as an array; or an invalid one, which raises now
        return Options.make(**given), False


def identify(
    model: Model, goals: Mapping[str, Goal], rows: Sequence[tuple[str, GoalRows]], options: Options
) -> Hashable | None:
    """Return the key of a problem in its model's cache, or None if it is not cached.

    Problems with limits, curved postures, residuals in Python or a record are not cached.
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
    key = (id(options), *parts, *rests)  # the cache keeps the options alive
    try:
        hash(key)
    except TypeError:  # an invalid frame name; preparing rejects it
        return None
    return key


def describe(row: GoalRows) -> tuple[Any, ...]:
    """Return everything about a goal but its target, as part of the key."""
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
    """Return the targets of all goals in one array."""
    return rows[0][1].target if len(rows) == 1 else np.concatenate([row.target for _, row in rows])


def take(model: Model, key: Hashable) -> core.Solver | None:
    """Take the problem of a key out of the cache; None if it is not cached, or in use by another thread."""
    found = model.memo.entries(READY).pop(key, None)
    return None if found is None else found[1]


def put_back(model: Model, key: Hashable, options: Options, native: core.Solver) -> None:
    """Put a problem into the cache."""
    model.memo.put(READY, key, (options, native))


def check_awaited(awaited: Iterable[str], targets: Mapping[str, Any]) -> None:
    """Raise `InvalidValue` if a goal without a target has not been given one."""
    for name in awaited:
        if name not in targets:
            call = f"solver.solve(start, {{{name!r}: (x, y, z)}})"
            raise InvalidValue(f"goal {name!r} has no target; type Reach({name!r}, (x, y, z)), or {call}.")


def copy_targets(targets: Mapping[str, Any]) -> dict[str, Any]:
    """Return the targets with copies of their arrays, which callers may change later."""
    if not isinstance(targets, Mapping):
        raise InvalidValue(f"targets must be {{goal name: target}}, such as {{'hand_l': (x, y, z)}}, not {targets!r}.")
    return core.copy_targets(dict(targets))
