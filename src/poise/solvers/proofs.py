"""Proofs that the goals of a solver are out of reach, from its freedom and tolerances."""

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from poise.goals import Goal
from poise.goals.goal import ANGULAR, GoalRows
from poise.model import Model
from poise.reach.bounds import Freedom
from poise.reach.proof import Proof, find_proof
from poise.solvers.options import Options
from poise.solvers.table import may_move

__all__ = ["find_tolerances", "prove"]


def prove(
    model: Model,
    goals: Mapping[str, Goal],
    options: Options,
    rows: Mapping[str, GoalRows],
    q: NDArray[np.float64],
    *,
    limited: bool = True,
) -> Proof | None:
    """Return the proof with the largest excess that the goals are out of reach, or None if nothing is proved.

    Args:
        model: The body.
        goals: The goals by name, for their tolerances.
        options: The options, for the moving joints and the handling of limits.
        rows: The goals to consider, as rows for the kernels.
        q: The configuration of the joints that may not move.
        limited: Whether joint ranges apply, unless the options switch them off.
    """
    tolerances = {name: find_tolerances(model, goals[name]) for name in rows}
    return find_proof(model, rows, tolerances, find_freedom(model, options, q, limited))


def find_tolerances(model: Model, goal: Goal) -> tuple[float, float]:
    """Return a goal's tolerances [m, rad]."""
    return goal.tolerances(model, goal.rows(model).op in ANGULAR)


def find_freedom(model: Model, options: Options, q: NDArray[np.float64], limited: bool) -> Freedom:
    """Return the freedom of a solver. The other joints keep their values in q."""
    moves = may_move(model, options.joints)
    known = None if moves.all() else keep_still(model, moves, q).tobytes()
    return Freedom(moves.tobytes(), limited and options.limit_handling != "off", known)


def keep_still(model: Model, moves: NDArray[np.bool_], q: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return q of the joints that may not move, and zero for the others: the same for all answers from one start."""
    out = np.zeros(model.nq)
    for joint in model.joints:
        if joint.nv and not moves[joint.v].any():
            out[joint.q] = q[joint.q]
    return out
