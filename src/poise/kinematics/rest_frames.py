"""Clips that begin with one frame of the rest pose, as many recordings do: a T-pose, then the motion."""

from __future__ import annotations

import numpy as np

from poise.kinematics.carriers import find_root
from poise.kinematics.motion import Motion

__all__ = ["COMPARED", "begins_at_rest"]

COMPARED = 6  # frames after the first
JUMP = 4.0  # times the largest step of those frames: the least step from the first frame to them
LEAST_JUMP = 0.02  # the same, relative to L
REST_SHARE = 0.6  # of the jump: largest distance of the first frame from the rest pose


def begins_at_rest(motion: Motion) -> bool:
    """Return whether the first frame of a motion is a rest pose that the motion does not continue.

    Poses are compared by the mean distance of all frames p_t relative to the root: the first is a rest pose if
    |p_1 - p_0| > 4 |p_t+1 - p_t| for the following t, and |p_0 - p_rest| < 0.6 |p_1 - p_0|.
    """
    model, root = motion.model, find_root(motion.model)
    if len(motion) <= COMPARED or root is None:
        return False
    q = np.concatenate([model.rest[None], motion.q[: COMPARED + 1]])
    T, base = model.fk(q), model.fk(q, root.frame)
    places = np.einsum("tji,tfj->tfi", base[:, :3, :3], T[:, :, :3, 3] - base[:, None, :3, 3])
    away, jump, *steps = np.linalg.norm(np.diff(places, axis=0), axis=2).mean(axis=1)
    return bool(jump > max(JUMP * max(steps), LEAST_JUMP * model.length) and away < REST_SHARE * jump)
