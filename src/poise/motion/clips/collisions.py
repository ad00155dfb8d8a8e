"""Self-collisions of a clip: penetration depths per frame.

A body with collision shapes is measured by their convex hulls (`poise.limits.convex_parts`), any other by the capsules
of `Clearance`.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from poise.arrays import Floats
from poise.kinematics import Motion
from poise.limits.capsules import body_capsules, capsule_distances
from poise.limits.convex_parts import ConvexParts, find_convex_parts
from poise.limits.pairs import choose_pairs

__all__ = ["Collisions", "find_collisions"]

BLOCK_FRAMES = 256  # frames whose capsules are placed at once


@dataclass(frozen=True, eq=False)
class Collisions:
    """The self-collisions of a clip.

    Attributes:
        depths: The depth of the deepest collision in each frame, (frames,) [m]; 0 or negative without one.
        parts: The frames of the deepest pair in the clip.
    """

    depths: Floats
    parts: tuple[str, str]

    @property
    def deepest(self) -> float:
        """The depth of the deepest self-collision in the clip [m]."""
        return float(self.depths.max())

    @property
    def inside(self) -> NDArray[np.bool_]:
        """The flags of frames with a self-collision, (frames,)."""
        found: NDArray[np.bool_] = self.depths > 0.0
        return found


def find_collisions(clip: Motion) -> Collisions | None:
    """Find the self-collisions of a clip, or None if the body has no size.

    Pairs are parts that are not neighbours and do not touch in the rest pose, as in `Clearance(pairs="auto")`.
    """
    model = clip.model
    solids = find_convex_parts(model)
    if solids is not None and len(clip):
        return find_hull_collisions(clip, solids)
    capsules = body_capsules(model)
    pairs = choose_pairs(model, capsules, 0.0) if capsules else np.zeros((0, 2), dtype=np.int64)
    if not len(pairs) or not len(clip):
        return None
    depths, which = np.empty(len(clip)), np.empty(len(clip), dtype=np.int64)
    for first in range(0, len(clip), BLOCK_FRAMES):
        block = slice(first, first + BLOCK_FRAMES)
        gaps = capsule_distances(model, capsules, pairs, clip.q[block])
        depths[block], which[block] = -gaps.min(axis=1), gaps.argmin(axis=1)
    deepest = pairs[which[int(np.argmax(depths))]]
    return Collisions(depths * model.metres_per_unit, (capsules[deepest[0]].frame, capsules[deepest[1]].frame))


def find_hull_collisions(clip: Motion, solids: ConvexParts) -> Collisions:
    """Find the self-collisions of a clip by the convex hulls of its shapes."""
    found, depths = solids.measure(clip.q, 0.0, steady=False), np.zeros(len(clip))
    np.maximum.at(depths, found.pose, found.depth)
    deepest = solids.pairs[found.pair[int(np.argmax(found.depth))] if len(found.pair) else 0]
    return Collisions(
        depths * clip.model.metres_per_unit, (solids.solids[deepest[0]].frame, solids.solids[deepest[1]].frame)
    )
