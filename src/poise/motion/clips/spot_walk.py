"""Clips on the spot, such as walk cycles for games: the standing foot slides back, and the body stays in place.

    v_t = -(horizontal velocity of the sole point near the floor that moves most like the median of all of them)

It is interpolated while no foot stands. The path is the integral of v, averaged over 0.2 s: standing feet then stay in
place, and `lock` can hold them.
"""

import numpy as np

from poise.arrays import Floats
from poise.errors import InvalidValue
from poise.kinematics import Motion
from poise.kinematics.carriers import find_root
from poise.motion.contact.soles import find_soles, measure_size

__all__ = ["add_path", "measure_spot_speed"]

LEAST_SPEED = 0.25  # m/s of a person: slower feet shuffle
MOST_TRAVEL = 0.3  # of the path: largest distance that the body itself travels
MOST_SPREAD = 0.5  # of the mean speed: mean deviation of the standing foot's velocity
AVERAGED = 0.2  # s
STANDING_RISE = 0.05  # m of a person, above the usual low of the soles: higher points do not stand


def measure_spot_speed(clip: Motion) -> float:
    """Return the speed of a walk or run on the spot, in units of the body a second; 0 for any other clip."""
    try:
        wanted = measure_velocities(clip)
    except InvalidValue:  # no known feet
        return 0.0
    mean = wanted.mean(axis=0)
    speed = float(np.linalg.norm(mean))
    root = find_root(clip.model)
    if root is None or speed < LEAST_SPEED * measure_size(clip):
        return 0.0
    travel = np.linalg.norm(np.ptp(clip.positions(root.frame) @ project_level(clip), axis=0))
    spread = np.linalg.norm(wanted - mean, axis=1).mean()
    steady = travel < MOST_TRAVEL * speed * len(clip) / clip.fps and spread < MOST_SPREAD * speed
    return speed if steady else 0.0


def add_path(clip: Motion) -> Motion:
    """Return a walk or run on the spot with the path over the ground that keeps its standing feet in place.

    Raises:
        InvalidValue: The clip is not on the spot.
    """
    root = find_root(clip.model)
    if root is None or not measure_spot_speed(clip):
        raise InvalidValue("the clip does not walk or run on the spot: its standing feet do not slide steadily back.")
    steps = measure_velocities(clip) / clip.fps
    path = np.concatenate([np.zeros((1, 3)), np.cumsum(0.5 * (steps[1:] + steps[:-1]), axis=0)])
    q = np.array(clip.q)
    q[:, root.slide.q.start : root.slide.q.start + 3] += path @ root.base[:3, :3]
    return Motion(clip.model, q, clip.fps)


def project_level(clip: Motion) -> Floats:
    """Return the projection onto the ground, (3, 3)."""
    up = clip.model.up_direction
    return np.asarray(np.eye(3) - np.outer(up, up))


def measure_velocities(clip: Motion) -> Floats:
    """Return the velocity that the body needs for its standing foot to stay in place, (frames, 3), averaged."""
    soles = find_soles(clip.model)
    if len(clip) < 3:
        return np.zeros((max(len(clip), 1), 3))
    heights = np.stack([clip.positions(sole.frame, sole.point) for sole in soles]) @ clip.model.up_direction
    speeds = np.stack([clip.velocities(sole.frame, sole.point) for sole in soles]) @ project_level(clip)
    floor, size = float(np.percentile(heights.min(axis=0), 10.0)), measure_size(clip)
    near = heights < floor + STANDING_RISE * size
    usual = np.median(-speeds[near], axis=0)
    off = np.where(near, np.linalg.norm(-speeds - usual, axis=2), np.inf)
    best, least = off.argmin(axis=0), off.min(axis=0)
    stands = np.flatnonzero(least < max(MOST_SPREAD * float(np.linalg.norm(usual)), LEAST_SPEED * size))
    if not len(stands):
        return np.zeros((len(clip), 3))
    standing = -speeds[best[stands], stands]
    standing = np.stack([np.interp(np.arange(len(clip)), stands, column) for column in standing.T], axis=1)
    half = round(0.5 * AVERAGED * clip.fps)
    padded = np.pad(standing, ((half, half), (0, 0)), mode="edge")
    return np.stack([padded[t : t + 2 * half + 1].mean(axis=0) for t in range(len(clip))])
