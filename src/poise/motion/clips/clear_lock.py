"""Self-clearance of a clip at little cost: the lock keeps apart the pairs that come near each other without it.

The result is measured with all pairs. If another pair is too close, it joins the others, and the clip is locked again.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from poise.kinematics import Motion
from poise.limits import Clearance, Limit
from poise.limits.near_pairs import find_near_pairs, is_of_itself, reduce_pairs
from poise.motion.clips.result import Track

__all__ = ["lock_clear"]

NEAR_SHARE = 0.02  # of the body's length: gap below which a pair is kept apart
ROUNDS = 3
TOUCH_M = 1e-6  # a smaller overlap is a rounding error


def lock_clear(free: Motion, limits: Sequence[Limit], lock: Callable[[tuple[Limit, ...]], Track]) -> Track:
    """Return the clip of `lock`, called with the limits reduced to the pairs of parts that come near each other.

    Args:
        free: The clip before the lock.
        limits: The limits.
        lock: Locks the clip with given limits.
    """
    model, own = free.model, [limit for limit in limits if isinstance(limit, Clearance) and is_of_itself(limit)]
    others = tuple(limit for limit in limits if not is_of_itself(limit))
    pairs: list[set[tuple[int, int]]] = [set() for _ in own]
    motion = free
    for _ in range(ROUNDS):
        for limit, known in zip(own, pairs, strict=True):
            known.update(
                (int(i), int(j)) for i, j in find_near_pairs(model, limit, motion.q, NEAR_SHARE * model.length)
            )
        near = [reduce_pairs(limit, known) for limit, known in zip(own, pairs, strict=True) if known]
        track = lock((*others, *near))
        motion = track.motion
        if all(float(np.min(limit.measure_gap(model, motion.q))) > limit.distance - TOUCH_M for limit in own):
            break
    return replace(track, limits=tuple(limits))
