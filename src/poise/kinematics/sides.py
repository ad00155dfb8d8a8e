"""Left and right of a body: which frame, and which joint, is on the other side of which.

Sides are told by names (`poise.names`), hand_l and hand_r, LeftArm and RightArm; and by roles, where names do not tell:
what carries the left hand is the other side of what carries the right one. What has no other side is its own.
"""

from __future__ import annotations

from collections.abc import Iterator

from poise.model import Model
from poise.model.memo import MemoSlot
from poise.names import find_other_side, swap_side

__all__ = ["find_partner_joint", "pair_frames"]

PAIRS = MemoSlot[dict[str, str]]("frames and those on the other side")


def pair_frames(model: Model) -> dict[str, str]:
    """Return for every frame the frame on the other side; a frame in the middle is its own."""
    return model.memo.get(PAIRS, lambda: search_pairs(model)).copy()


def search_pairs(model: Model) -> dict[str, str]:
    """Pair the frames by name; those whose names have no side by role."""
    pairs = {name: find_other_side(name, model.frames) or name for name in model.frames}
    for one, other in pair_by_roles(model):
        if pairs[one] == one and pairs[other] == other and one != other:
            pairs[one], pairs[other] = other, one
    return pairs


def pair_by_roles(model: Model) -> Iterator[tuple[str, str]]:
    """Yield the frames that carry a role on the left with those that carry it on the right, up to where both meet."""
    for role, frame in model.roles.items():
        other = model.roles.get(swap_side(role), frame)
        if other != frame and role < swap_side(role):
            left, right = model.ancestors(frame), model.ancestors(other)
            meet = next((name for name in left if name in right), None)
            ends = (len(left), len(right)) if meet is None else (left.index(meet), right.index(meet))
            if ends[0] == ends[1]:
                yield from zip(left[: ends[0]], right[: ends[1]], strict=True)


def find_partner_joint(model: Model, joint: str) -> str:
    """Return the joint on the other side: that of the other side's frame, or else the joint itself."""
    return model.frame(pair_frames(model)[model.joint(joint).frame]).joint or joint
