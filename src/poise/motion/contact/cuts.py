"""Cuts of clips: many recordings begin with one frame of a T-pose somewhere else."""

from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from poise.anatomy import roles as find_roles
from poise.arrays import Floats
from poise.kinematics import Motion
from poise.motion.contact.soles import measure_size

__all__ = ["find_cuts", "find_jumps", "part_at_cuts"]

# on a body of 1.75 m: parts that move so much farther in one frame, in the mean, and so much faster, are cut
CUT_M, CUT_SPEED_M_S = 0.15, 5.0


def find_cuts(motion: Motion) -> list[int]:
    """List the frames at which a motion is cut: its parts move much farther than one frame before and after."""
    if len(motion) < 3:
        return []
    parts = list(dict.fromkeys(find_roles(motion.model).values())) or list(motion.model.frames)
    places = np.asarray(motion.model.fk(motion.q, parts))[:, :, :3, 3]
    steps = np.linalg.norm(np.diff(places, axis=0), axis=2).mean(axis=1)
    around = np.maximum(np.append(0.0, steps[:-1]), np.append(steps[1:], 0.0))
    least = max(CUT_M, CUT_SPEED_M_S / motion.fps) * measure_size(motion)
    return [int(t) + 1 for t in np.flatnonzero(steps - around > least)]


def find_jumps(paths: Floats, cuts: Sequence[int]) -> Floats:
    """Return the displacements that make paths, (points, frames, 3), continuous at cuts: the last shot stays."""
    out = np.zeros_like(paths)
    for cut in cuts:
        out[:, :cut] += (paths[:, cut] - paths[:, cut - 1])[:, None]
    return out


def part_at_cuts(intervals: Sequence[tuple[int, int]], cuts: Sequence[int], shortest: int) -> list[tuple[int, int]]:
    """Part intervals (first, one past the last) at cuts, without parts that are shorter than `shortest`."""
    out = list[tuple[int, int]]()
    for start, end in intervals:
        inner = [cut for cut in cuts if start < cut < end]
        out += [(a, b) for a, b in pairwise([start, *inner, end]) if not inner or b - a >= shortest]
    return out
