"""Move starts outside the joint ranges inside, for the drivers in Python.

The kernels differ: they move only joints that no goal depends on at once, and the others step by step during the
search, with the bound of a call as a window of each step.
"""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from poise.model import Model
from poise.solvers.options import CONTINUOUS_SPAN, Options
from poise.solvers.table import may_move

__all__ = ["bring_inside", "is_inside", "list_plain"]


def bring_inside(model: Model, start: ArrayLike, options: Options) -> NDArray[np.float64]:
    """Return the start with all movable joints inside their ranges; in continuous mode within the bound of a call."""
    q = np.array(start, dtype=np.float64)
    if options.limit_handling == "off":
        return q
    span = np.full(model.nv, np.inf)
    if options.mode == "continuous":
        most = CONTINUOUS_SPAN if options.step_limit is None else options.step_limit
        span = np.where(~model.slides, most, most * model.length) * (1 - 1e-12)  # a margin for rounding
    for at, v in list_ranged(model, options):
        inside = np.clip(q[at], model.lower[v], model.upper[v])
        q[at] = np.clip(inside, q[at] - span[v], q[at] + span[v])
    return q


def is_inside(model: Model, q: NDArray[np.float64], options: Options) -> bool:
    """Return whether every movable joint is inside its range."""
    if options.limit_handling == "off":
        return True
    return all(model.lower[v] <= q[at] <= model.upper[v] for at, v in list_ranged(model, options))


def list_ranged(model: Model, options: Options) -> list[tuple[int, int]]:
    """Return (index in q, index in v) of every movable coordinate that is not part of a quaternion."""
    moves = may_move(model, options.joints)
    return [(at, v) for at, v in list_plain(model) if moves[v]]


def list_plain(model: Model) -> list[tuple[int, int]]:
    """Return (index in q, index in v) of every coordinate that is not part of a quaternion."""
    return [(j.q.start + k, j.v.start + k) for j in model.joints for k in range(len(j.coordinates))]
