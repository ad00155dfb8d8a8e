"""Left and right of a body: the partners of frames and joints on the other side.

Sides are found from names (`poise.names`), hand_l and hand_r, LeftArm and RightArm; otherwise from roles: the ancestors
of the left hand are the partners of those of the right hand. A frame without a partner is its own.
"""

from collections.abc import Iterator

from poise.model import Model
from poise.model.memo import keep_with_model
from poise.names import find_other_side, swap_side

__all__ = ["find_partner_joint", "pair_frames"]


def pair_frames(model: Model) -> dict[str, str]:
    """Return the frame on the other side of every frame; a frame in the middle maps to itself."""
    return search_pairs(model).copy()


@keep_with_model
def search_pairs(model: Model) -> dict[str, str]:
    """Pair the frames by name, or by role if their names have no side."""
    pairs = {name: find_other_side(name, model.frames) or name for name in model.frames}
    for one, other in pair_by_roles(model):
        if one != other and pairs.get(one) == one and pairs.get(other) == other:  # listed, and in the middle by name
            pairs[one], pairs[other] = other, one
    return pairs


def pair_by_roles(model: Model) -> Iterator[tuple[str, str]]:
    """Yield pairs of ancestors of left and right roles, up to their common ancestor."""
    for role, frame in model.roles.items():
        other = model.roles.get(swap_side(role), frame)
        if other != frame and role < swap_side(role):
            left, right = model.ancestors(frame), model.ancestors(other)
            meet = next((name for name in left if name in right), None)
            ends = (len(left), len(right)) if meet is None else (left.index(meet), right.index(meet))
            if ends[0] == ends[1]:
                yield from zip(left[: ends[0]], right[: ends[1]], strict=True)


def find_partner_joint(model: Model, joint: str) -> str:
    """Return the joint on the other side, or the joint itself if it has no partner."""
    return model.frame(pair_frames(model)[model.joint(joint).frame]).joint or joint
