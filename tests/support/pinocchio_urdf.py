"""One URDF read by Pinocchio and by Poise, and the distances between their links.

Pinocchio reads followers as independent joints by default: they get our followers' values, so that our mimics are
checked too. It writes continuous joints as cosine and sine, and quaternions xyzw.
"""

from pathlib import Path
from typing import Any

import numpy as np
import pinocchio as pin
from numpy.typing import NDArray

import poise


def robots() -> list[Path]:
    """Return every URDF of the package example-robot-data; empty if it is not installed."""
    root = Path(pin.__file__).parents[4] / "share" / "example-robot-data" / "robots"
    return sorted(root.rglob("*.urdf"))


def refuses(path: Path) -> bool:
    """Return whether Pinocchio rejects the file."""
    try:
        pin.buildModelFromUrdf(str(path))
    except ValueError:
        return True
    return False


def worst_difference(model: poise.Model, path: Path, poses: int = 5) -> float:
    """Return the largest difference of an entry of a link's transform, over random poses and the rest pose."""
    theirs = pin.buildModelFromUrdf(str(path))
    data = theirs.createData()
    rng = np.random.default_rng(5)
    worst = 0.0
    for q in [model.rest, *(model.random(rng) for _ in range(poses))]:
        pin.framesForwardKinematics(theirs, data, q_there(theirs, model, q))
        for name in model.frames:
            there = data.oMf[theirs.getFrameId(name, pin.FrameType.BODY)].homogeneous
            worst = max(worst, float(np.abs(model.fk(q, name) - there).max()))
    return worst


def q_there(theirs: Any, model: poise.Model, q: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return our configuration in Pinocchio's coordinates."""
    out = pin.neutral(theirs)
    for joint in model.joints:
        if joint.kind == "fixed":
            continue
        their = theirs.joints[theirs.getJointId(joint.name)]
        value = q[joint.q]
        if joint.mimic:
            value = joint.mimic.ratio * value + joint.mimic.offset
        if joint.kind == "free":
            value = np.concatenate([value[:3], value[4:], value[3:4]])
        elif joint.kind == "planar":
            value = np.array([value[0], value[1], np.cos(value[2]), np.sin(value[2])])
        elif their.nq == 2:
            value = np.array([np.cos(value[0]), np.sin(value[0])])
        out[their.idx_q : their.idx_q + their.nq] = value
    return np.asarray(out)
