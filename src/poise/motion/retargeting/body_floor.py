"""The whole body above the floor: motions that lie, crawl, roll or kneel.

A part of the target may be thicker than the source's, so its free motion goes through the floor at height 0. Then

1. the hips are lifted, smoothly, by the depth of the deepest part,
2. the motion is solved again, with the support points of the parts near the floor as a limit.

Soles get a few millimetres of slack, because they have exact rules of their own. Motions whose parts, except the feet,
stay above the floor are not changed.
"""

from __future__ import annotations

import numpy as np

from poise.arrays import Floats
from poise.kinematics import Motion
from poise.kinematics.regions import HalfSpace
from poise.limits import Limit
from poise.limits.support_points import PointClearance
from poise.motion.contact.body_heights import SOLE_SLACK, list_near, measure_heights

__all__ = ["NEAR_FLOOR_M", "find_lift", "make_floor_limits", "measure_depth", "spread_peaks"]

# lengths are for a body of 1.75 m
LEAST_DEPTH_M = 1.2e-2  # of a part that makes the whole body keep above the floor; swinging shins dip by less
NEAR_FLOOR_M = 0.06  # parts that come nearer to the floor in a frame are kept above it
LIFT_S = 0.1  # half the time over which a lift begins and ends


def find_lift(free: Motion, size: float) -> Floats | None:
    """Return the height by which each frame is lifted until no part is below the floor, (frames,) [m].

    It is None if no part, except the feet, is below the floor. A single deep frame, such as the T-pose that many
    recordings begin with, is lifted by itself.
    """
    found = measure_heights(free)
    if found is None or float(found.depths.max()) < LEAST_DEPTH_M * size:
        return None
    depths = np.maximum(found.depths, 0.0)
    padded = np.pad(depths, 1, mode="edge")
    usual = np.median(np.stack([padded[:-2], depths, padded[2:]]), axis=0)
    usual[[0, -1]] = np.minimum(depths[[0, -1]], depths[[min(1, len(depths) - 1), max(len(depths) - 2, 0)]])
    return np.maximum(spread_peaks(usual, max(1, round(LIFT_S * free.fps))), depths)


def measure_depth(motion: Motion) -> float:
    """Return the largest depth of a part, except the feet, below the floor [m]; at least 0."""
    found = measure_heights(motion)
    return 0.0 if found is None else max(0.0, float(found.depths.max()))


def spread_peaks(heights: Floats, radius: int) -> Floats:
    """Return a smooth curve that is nowhere lower: the largest value within `radius` frames, averaged over as many."""
    radius = min(radius, len(heights))  # at very high frame rates
    wide = np.pad(heights, 2 * radius, mode="edge")
    top = np.lib.stride_tricks.sliding_window_view(wide, 2 * radius + 1).max(axis=1)
    weights = np.hanning(2 * radius + 3)[1:-1]
    out: Floats = np.convolve(top, weights / weights.sum(), mode="valid")
    return out


def make_floor_limits(lifted: Motion, size: float, slack: float = SOLE_SLACK) -> tuple[Limit, ...]:
    """Return the limit that keeps the parts near the floor above it; empty if there are none.

    `slack` is the depth at which the limit of a foot begins, relative to the body's length.
    """
    points = tuple(list_near(lifted, NEAR_FLOOR_M * size, slack))
    world = [HalfSpace((0.0, 0.0, 0.0), lifted.model.up_direction)]
    return (PointClearance(pairs=(), world=world, points=points, name="floor"),) if points else ()
