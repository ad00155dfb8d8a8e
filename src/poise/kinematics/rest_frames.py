"""Clips that begin with one frame of the rest pose, as many recordings do: a T-pose, then the motion."""

import numpy as np

from poise.kinematics.carriers import find_root
from poise.kinematics.motion import Motion

__all__ = ["LEFT_OUT", "begins_at_rest"]

COMPARED = 6  # frames after the first
JUMP = 4.0  # times the largest step of those frames but one, a fault: the least step from the first frame to them
LEAST_JUMP = 0.02  # the same, relative to L
REST_SHARE, MOST_AWAY = (
    0.6,
    0.1,
)  # of the jump, and relative to L: largest distance of the first frame from the rest pose
LEFT_OUT = "the first frame is the rest pose, not part of the motion, and was left out"


def begins_at_rest(motion: Motion) -> bool:
    """Return whether the first frame of a motion is a rest pose that the motion does not continue.

    Poses are compared by the mean distance of all frames p_t relative to the root: |p_1 - p_0| > 4 |p_t+1 - p_t| for
    the following t, one excepted, and |p_0 - p_rest| < 0.6 |p_1 - p_0| in the axes of the root, which may turn too.
    """
    model, root = motion.model, find_root(motion.model)
    if len(motion) <= COMPARED or root is None:
        return False
    q = np.concatenate([model.rest[None], motion.q[: COMPARED + 1]])
    with np.errstate(over="ignore", invalid="ignore"):
        T, base = model.fk(q), model.fk(q, root.frame)
        places = T[:, :, :3, 3] - base[:, None, :3, 3]
        rest, first = np.einsum("tji,tfj->tfi", base[:2, :3, :3], places[:2])
        jump, *steps = np.linalg.norm(np.diff(places[1:], axis=0), axis=2).mean(axis=1)
        away = np.linalg.norm(first - rest, axis=1).mean()
        leaps = jump > max(JUMP * sorted(steps)[-2], LEAST_JUMP * model.length)
        return bool(leaps and away < min(REST_SHARE * jump, MOST_AWAY * model.length))
