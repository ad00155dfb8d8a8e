"""Noise of recordings: jitter and drift of the points on which a body may stand.

Jitter is white noise of standard deviation s per axis. Third differences of it have the deviation sqrt(20) s, those of
smooth motion are small; the 20th percentile of their norms over sqrt(20) is close to s, because many feet stand. If the
noise is faster than a slow foot, paths are replaced by their running medians, which keep the frames at which a foot
begins to move.

Drift is a velocity e(t) of the whole body: slow noise of the root, or a root that travels farther than the feet step
(foot skate). Standing feet move with it, so e(t) is the velocity of the slowest point near the floor, and the running
median of that over 0.14 s. It is ignored where it exceeds 0.3 m/s and 0.3 of the speed of the body: that is a slide. If
one foot stands still while the other one slides, the body does not drift.
"""

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

from poise.arrays import Floats

__all__ = ["measure_drift", "measure_jitter", "remove_jitter"]

Flags = NDArray[np.bool_]
JITTER_PERCENTILE = 20.0  # of the norm of three normal numbers: close to their standard deviation
FAST_JITTER_M_S = 0.05  # on a body of 1.75 m: slower jitter does not disturb the speeds of contacts
STEADY_JITTER_M_S = 0.04  # speed of the jitter that remains
LONGEST_MEDIAN_S = 0.2
DRIFT_SPEED_M_S, DRIFT_SHARE = 0.3, 0.3  # largest drift: on a body of 1.75 m, and relative to the speed of the body
DRIFT_MEDIAN_S = 0.07  # half the time over which drift is a median
VELOCITY_S = 1 / 60  # half the time over which a velocity is measured
BODY_S = 0.5  # half the time over which the velocity of the body is a mean: a step or two


def measure_jitter(paths: Floats) -> float:
    """Return the standard deviation per axis of white noise in paths, (points, frames, 3) [m]."""
    changes = np.linalg.norm(np.diff(paths, 3, axis=1), axis=2)
    return float(np.percentile(changes, JITTER_PERCENTILE)) / np.sqrt(20.0) if changes.size else 0.0


def remove_jitter(paths: Floats, fps: float, size: float) -> Floats:
    """Return paths, (points, frames, 3) [m], without jitter; the same paths if it is slow."""
    jitter = measure_jitter(paths) * fps / size
    if np.sqrt(6.0) * jitter < FAST_JITTER_M_S:  # the speed of two frames in three axes
        return paths
    # the slope of a line through n frames with noise s has the deviation s sqrt(12 / n^3) per axis and frame
    needed = int(np.ceil((36.0 * (jitter / STEADY_JITTER_M_S) ** 2) ** (1.0 / 3.0)))
    radius = max(1, min(needed, round(LONGEST_MEDIAN_S * fps)) // 2)
    return np.stack([take_median(path, radius) for path in paths])


def measure_drift(paths: Floats, near: Flags, fps: float, size: float) -> Floats:
    """Return the displacement of a body by its drift since the first frame, (frames, 3) [m].

    Args:
        paths: The paths of points that may stand, (points, frames, 3) [m].
        near: The frames in which each point is near the floor, (points, frames).
        fps: The frame rate.
        size: The size of the body relative to a person.
    """
    velocities = measure_velocities(paths, fps)
    speeds = np.where(near, np.linalg.norm(velocities, axis=2), np.inf)
    slowest, frames = speeds.argmin(axis=0), np.arange(paths.shape[1])
    body = np.linalg.norm(take_mean(velocities.mean(axis=0), round(BODY_S * fps)), axis=1)
    drifts = speeds[slowest, frames] < DRIFT_SPEED_M_S * size + DRIFT_SHARE * body
    if not drifts.any():
        return np.zeros_like(paths[0])
    known = frames[drifts]
    found = velocities[slowest[known], known]
    velocity = np.stack([np.interp(frames, known, found[:, axis]) for axis in range(3)], axis=1)
    out: Floats = np.cumsum(take_median(velocity, round(DRIFT_MEDIAN_S * fps)), axis=0) / fps
    return out


def measure_velocities(paths: Floats, fps: float) -> Floats:
    """Return the velocities of paths, (points, frames, 3) [m/s], over 1/30 s."""
    frames, radius = np.arange(paths.shape[1]), max(1, round(VELOCITY_S * fps))
    first, last = np.maximum(frames - radius, 0), np.minimum(frames + radius, frames[-1])
    out: Floats = (paths[:, last] - paths[:, first]) * (fps / np.maximum(last - first, 1))[None, :, None]
    return out


def take_median(path: Floats, radius: int) -> Floats:
    """Return the running median of a path, (frames, 3), over `radius` frames to each side."""
    if radius < 1 or len(path) < 2:
        return path
    wide = np.pad(path, ((radius, radius), (0, 0)), mode="reflect")
    out: Floats = np.median(sliding_window_view(wide, 2 * radius + 1, axis=0), axis=-1)
    return out


def take_mean(path: Floats, radius: int) -> Floats:
    """Return the running mean of a path, (frames, 3), over `radius` frames to each side."""
    sums = np.cumsum(np.pad(path, ((radius + 1, radius), (0, 0)), mode="edge"), axis=0)
    out: Floats = (sums[2 * radius + 1 :] - sums[: len(path)]) / (2 * radius + 1)
    return out
