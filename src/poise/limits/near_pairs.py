"""Clearances of a clip: only the pairs of capsules that come near each other in it.

A body with meshes has thousands of pairs, and most of them never meet. A pair of frames is left out if the balls around
their capsules stay further apart than a margin in every pose, and then a pair of capsules if its gap does.
"""

from collections.abc import Set
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from poise.arrays import Floats
from poise.limits.capsules import capsule_distances
from poise.limits.clearance import Clearance
from poise.limits.limit import Limit
from poise.limits.surfaces import BodySurfaces
from poise.model import Model

__all__ = ["NearClearance", "find_near_pairs", "is_of_itself", "keeps_parts_apart", "reduce_pairs"]

BLOCK_POSES = 256  # poses whose capsules are placed at once


@dataclass(frozen=True)
class NearClearance(Clearance):
    """A clearance that is reduced to some of its pairs of capsules.

    Attributes:
        near: The indices of the capsules of each pair.
    """

    near: tuple[tuple[int, int], ...] = ()

    def index_pairs(self, model: Model) -> NDArray[np.int64]:
        """Return the indices of the capsules to keep apart, (m, 2)."""
        return np.array(self.near, dtype=np.int64).reshape(-1, 2)


def is_of_itself(limit: Limit) -> bool:
    """Return whether a limit only keeps parts of the body apart."""
    return type(limit) is Clearance and not limit.world


def keeps_parts_apart(limit: Limit) -> bool:
    """Return whether a limit keeps parts of the body apart, alone or in addition to a world."""
    return isinstance(limit, Clearance) and bool(limit.pairs)


def find_near_pairs(model: Model, clearance: Clearance, q: Floats, margin: float) -> NDArray[np.int64]:
    """Return the pairs of a clearance with a gap below its distance plus `margin` [m] in one of the poses (n, nq)."""
    body, capsules = clearance.find_body(model), clearance.capsules(model)
    pairs, reach = body.pairs.astype(np.int64), clearance.distance + margin
    frames, link = np.unique(body.frames.astype(np.int64), return_inverse=True)
    balls = [cover_link(body, link == k) for k in range(len(frames))]
    middle, radius = np.array([ball[:3] for ball in balls]), np.array([ball[3] for ball in balls])
    of = np.sort(link[pairs], axis=1)
    links, which = np.unique(of, axis=0, return_inverse=True)
    near = np.zeros(len(pairs), dtype=bool)
    for first in range(0, len(q), BLOCK_POSES):
        block = q[first : first + BLOCK_POSES]
        T = model.fk(block)[:, frames]
        x = np.einsum("fnij,nj->fni", T[:, :, :3, :3], middle) + T[:, :, :3, 3]
        apart = x[:, links[:, 0]] - x[:, links[:, 1]]
        most = radius[links[:, 0]] + radius[links[:, 1]] + reach
        close = ((apart * apart).sum(axis=-1) < most * most).any(axis=0)
        maybe = np.flatnonzero(close[which.ravel()] & ~near)
        if len(maybe):
            near[maybe] = (capsule_distances(model, capsules, pairs[maybe], block) < reach).any(axis=0)
    return pairs[near]


def reduce_pairs(limit: Clearance, near: Set[tuple[int, int]]) -> NearClearance:
    """Return a clearance with some of its pairs of capsules."""
    return NearClearance(
        pairs=limit.pairs, distance=limit.distance, held=limit.held, name=limit.name, near=tuple(sorted(near))
    )


def cover_link(body: BodySurfaces, own: NDArray[np.bool_]) -> Floats:
    """Return the middle and radius of a ball around some capsules of one frame, (4,) [m]."""
    ends, radius = body.ends[own].reshape(-1, 3), np.repeat(body.radius[own], 2)
    middle = 0.5 * (ends.min(axis=0) + ends.max(axis=0))
    return np.append(middle, (np.linalg.norm(ends - middle, axis=1) + radius).max())
