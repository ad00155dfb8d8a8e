"""The drives of MuJoCo's joints: damping, friction, armature, and the largest effort of their actuators."""

from typing import Any

import numpy as np

from poise.arrays import Floats

__all__ = ["read_drive"]

JOINT_TRANSMISSIONS = (0, 1)  # mjtTrn: joint, and joint in the axes of its parent
FIXED_GAIN, NO_BIAS = 0, 0  # mjtGain and mjtBias of a motor


def read_drive(m: Any, j: int) -> dict[str, float]:
    """Return the numbers of `Dynamics` that a compiled joint has."""
    k = int(m.jnt_dofadr[j])
    out = {"damping": m.dof_damping[k], "friction": m.dof_frictionloss[k], "armature": m.dof_armature[k]}
    own = np.abs(m.jnt_actfrcrange[j]).max() if m.jnt_actfrclimited[j] else np.inf
    effort = min(float(own), sum_efforts(m, j))
    return {key: max(float(value), 0.0) for key, value in out.items()} | ({"effort": effort} if effort > 0.0 else {})


def sum_efforts(m: Any, j: int) -> float:
    """Return the largest effort of all actuators of a joint together; infinite without one, or if one is unbounded."""
    driven = np.isin(m.actuator_trntype, JOINT_TRANSMISSIONS) & (m.actuator_trnid[:, 0] == j)
    if not driven.any():
        return np.inf
    return float((find_forces(m)[driven] * np.linalg.norm(m.actuator_gear[driven], axis=1)).sum())


def find_forces(m: Any) -> Floats:
    """Return the largest force of each actuator: its own limit, or that of a motor's control."""
    limited = np.where(m.actuator_forcelimited, np.abs(m.actuator_forcerange).max(axis=1), np.inf)
    motor = (m.actuator_gaintype == FIXED_GAIN) & (m.actuator_biastype == NO_BIAS) & m.actuator_ctrllimited
    control = np.abs(m.actuator_gainprm[:, 0]) * np.abs(m.actuator_ctrlrange).max(axis=1)
    return np.asarray(np.minimum(limited, np.where(motor, control, np.inf)))
