"""The largest speed of hinges: a change of branch, or a push of a limit, takes a few frames instead of one."""

from collections.abc import Sequence

import numpy as np

from poise.arrays import Floats
from poise.kinematics import Motion
from poise.model import Joint, Model
from poise.motion.retargeting.bones import HINGES

__all__ = ["FASTEST_LEG_RAD_S", "FASTEST_RAD_S", "find_leader", "limit_speed"]

FASTEST_RAD_S = 14.0  # motors of humanoids turn by 8 to 30 rad/s
FASTEST_LEG_RAD_S = 30.0  # of a galloping dog, and of the fastest motors of legs


def find_leader(model: Model, joint: Joint) -> Joint:
    """Return the joint that a mimic joint follows, or itself."""
    while joint.mimic:
        joint = model.joint(joint.mimic.joint)
    return joint


def limit_speed(motion: Motion, joints: Sequence[Joint], fastest: float = FASTEST_RAD_S) -> Motion:
    """Return the motion with the speed of the given hinges limited to `fastest` [rad/s].

    A motion that is faster in most of its frames stays as it is: it is meant to be fast.
    """
    q, most = np.array(motion.q), fastest / motion.fps
    columns = np.array([joint.q.start for joint in joints if joint.kind in HINGES], dtype=np.int64)
    steps = np.abs(np.diff(q[:, columns], axis=0))
    if not steps.size or np.median(steps.max(axis=1)) > most:
        return motion
    for column in columns[steps.max(axis=0) > most]:
        q[:, column] = limit_path(q[:, column], most)
    return Motion(motion.model, q, motion.fps)


def limit_path(path: Floats, most: float) -> Floats:
    """Return the path with steps of at most `most` nearest to a path by its largest difference.

    It is halfway between the highest such path that is nowhere above the given one and the lowest that is nowhere below
    it.
    """
    return 0.5 * (find_floor(path, most) - find_floor(-path, most))


def find_floor(path: Floats, most: float) -> Floats:
    """Return the highest path nowhere above `path` with steps of at most `most`."""
    ramp = most * np.arange(len(path))
    ahead = np.minimum.accumulate(path - ramp) + ramp
    floor: Floats = np.minimum(ahead, np.minimum.accumulate((path + ramp)[::-1])[::-1] - ramp)
    return floor
