"""Newton's last steps on the model itself, for poses that a closed form has brought there but for rounding."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from poise.solvers.solver import Solver

__all__ = ["polish_poses"]

Floats = NDArray[np.float64]
ROUNDS = 3


def polish_poses(solver: Solver, q: Floats, moving: Sequence[int]) -> Floats:
    """Return the poses (k, nq) of a solver's one Reach brought to its transform, inside the ranges.

    q <- q - J^+ r, with r the position error and the rotation vector of the rotation error. Steps larger than 0.1 are
    no polish and are not taken.
    """
    model = solver.model
    (name,) = solver.row_names
    rows = solver.goals[name].rows(model)
    R, p, frame = rows.target[:9].reshape(3, 3), rows.target[9:12], str(rows.frame)
    columns = [v for v in range(model.nv) if velocity_number(model, v) in set(moving)]
    for _ in range(ROUNDS if len(q) else 0):
        T = model.fk(q, frame)
        place = T[:, :3, 3] + T[:, :3, :3] @ rows.point - p
        turn = T[:, :3, :3] @ R.T
        bend = 0.5 * np.stack(
            [turn[:, 2, 1] - turn[:, 1, 2], turn[:, 0, 2] - turn[:, 2, 0], turn[:, 1, 0] - turn[:, 0, 1]], axis=1
        )
        r = np.concatenate([place, bend], axis=1)
        if np.abs(r).max() < 1e-13:
            break
        J = model.jacobian(q, frame, point=rows.point)[:, :, columns]
        step = np.zeros((len(q), model.nv))
        step[:, columns] = -(np.linalg.pinv(J, rcond=1e-9) @ r[:, :, None])[:, :, 0]
        step[np.abs(step).max(axis=1) > 0.1] = 0.0
        q = model.integrate(q, step)
    limited = model.clamp(q)
    near = np.abs(limited - q).max(axis=1, initial=0.0) < 1e-7
    return np.where(near[:, None], limited, q)


def velocity_number(model: object, v: int) -> int:
    """Return the number of q that a velocity changes; -1 for those of quaternions."""
    for joint in model.joints:  # type: ignore[attr-defined]
        if joint.nv and joint.v.start <= v < joint.v.stop:
            return int(joint.q.start + v - joint.v.start) if joint.nq == joint.nv else -1
    return -1
