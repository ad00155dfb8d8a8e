"""Parts of a body that are near each other in the frames of a clip, and the frames and goals around them."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from poise.arrays import Floats
from poise.limits.convex_parts import ConvexParts, Overlaps, Ways
from poise.motion.clips.whole_clip import ClipGoal

Flags = NDArray[np.bool_]

__all__ = ["DEEP_M", "MISSED_M", "NEAR_M", "Flags", "bound_shot", "cut_goals", "flag_around", "measure_near"]

# lengths are for a body of 1.75 m
DEEP_M = 3e-3  # depth of a collision that is corrected
MISSED_M = 3e-3  # distance of a hand from where it touches that is corrected
NEAR_M = 0.01  # gap of parts that must not collide after the correction either


def measure_near(
    parts: ConvexParts,
    q: Floats,
    frames: Flags,
    margin: float,
    ways: Ways | None = None,
    cuts: Sequence[int] = (),
) -> Overlaps:
    """Return the pairs with a gap below `margin` [m] in the flagged frames.

    `ways` are the preferred directions by group and frame. Directions before and after gaps and cuts are unrelated.
    """
    at = np.flatnonzero(frames)
    index = {int(t): i for i, t in enumerate(at)}
    before = {(group, index[t]): way for (group, t), way in (ways or {}).items() if t in index}
    times = at + np.searchsorted(cuts, at, side="right")
    found = parts.measure(q[at], margin, before, times=times)
    return found.replace(pose=at[found.pose])


def bound_shot(t: int, frames: range, cuts: Sequence[int]) -> range:
    """Return those of some frames between the cuts before and after frame `t`."""
    k = int(np.searchsorted(cuts, t, side="right"))
    first, end = (cuts[k - 1] if k else 0), (cuts[k] if k < len(cuts) else frames.stop)
    return range(max(first, frames.start), min(end, frames.stop))


def flag_around(frames: int, deep: NDArray[np.intp], reach: int, cuts: Sequence[int] = ()) -> Flags:
    """Flag the frames within `reach` frames of the given ones that no cut separates from them."""
    out = np.zeros(frames, dtype=bool)
    for t in np.unique(deep).tolist():
        shot = bound_shot(t, range(frames), cuts)
        out[max(t - reach, shot.start) : min(t + reach + 1, shot.stop)] = True
    return out


def cut_goals(goals: Sequence[ClipGoal], at: slice, share: Floats | None = None) -> list[ClipGoal]:
    """Return the goals of some frames, with a share of their weights, (frames,)."""
    return [
        replace(
            each,
            targets=None if each.targets is None else each.targets[at],
            weights=(each.weights if share is None else share * each.weights)[at],
        )
        for each in goals
        if each.weights[at].any()
    ]
