"""Newton's last steps on the model itself, for poses that a closed form has brought there but for rounding."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from poise.goals.goal import GoalRows
    from poise.model import Model
    from poise.solvers.solver import Solver

__all__ = ["polish_poses"]

Floats = NDArray[np.float64]
ROUNDS = 3
EXACT = 1e-11  # [m, rad] what is left of a pose that a closed form finds without rounded axes


def polish_poses(solver: Solver, q: Floats, moving: Sequence[int]) -> tuple[Floats, Floats]:
    """Return the poses (k, nq) of a solver's one Reach brought to its transform, inside the ranges; what is left (k,).

    q <- q - J^+ r, with r the position error and the rotation vector of the rotation error. Steps larger than 0.1 are
    no polish and are not taken.
    """
    model = solver.model
    (name,) = solver.row_names
    rows = solver.goals[name].rows(model)
    left = find_residuals(model, rows, q)
    columns: list[int] = []
    for _ in range(ROUNDS):
        if np.abs(left).max(initial=0.0) < EXACT:
            break
        columns = columns or [v for v in range(model.nv) if velocity_number(model, v) in set(moving)]
        J = model.jacobian(q, str(rows.frame), point=rows.point)[:, :, columns]
        step = np.zeros((len(q), model.nv))
        step[:, columns] = -(np.linalg.pinv(J, rcond=1e-9) @ left[:, :, None])[:, :, 0]
        step[np.abs(step).max(axis=1) > 0.1] = 0.0
        q = model.integrate(q, step)
        left = find_residuals(model, rows, q)
    limited = model.clamp(q)
    near = np.abs(limited - q).max(axis=1, initial=0.0) < 1e-7
    return np.where(near[:, None], limited, q), np.abs(left).max(axis=1, initial=0.0)


def find_residuals(model: Model, rows: GoalRows, q: Floats) -> Floats:
    """Return the position error and the rotation vector of the rotation error of each pose, (k, 6)."""
    R, p = rows.target[:9].reshape(3, 3), rows.target[9:12]
    T = model.fk(q, str(rows.frame))
    turn = T[:, :3, :3] @ R.T
    bend = (turn[:, [2, 0, 1], [1, 2, 0]] - turn[:, [1, 2, 0], [2, 0, 1]]) * 0.5
    away = 0.5 * (np.trace(turn, axis1=1, axis2=2) - 1.0) < 0.0  # turned by more than a quarter: no last digits
    bend[away] = 1.0
    return np.concatenate([T[:, :3, 3] + T[:, :3, :3] @ rows.point - p, bend], axis=1)


def velocity_number(model: object, v: int) -> int:
    """Return the number of q that a velocity changes; -1 for those of quaternions."""
    for joint in model.joints:  # type: ignore[attr-defined]
        if joint.nv and joint.v.start <= v < joint.v.stop:
            return int(joint.q.start + v - joint.v.start) if joint.nq == joint.nv else -1
    return -1
