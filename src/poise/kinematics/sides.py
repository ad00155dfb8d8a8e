"""Left and right of a body: which frame, and which joint, is on the other side of which.

Sides are told by names (`poise.names`): hand_l and hand_r, LeftArm and RightArm. What has no other side is its own.
"""

from __future__ import annotations

from poise.model import Model
from poise.names import find_other_side

__all__ = ["find_partner_joint", "pair_frames"]


def pair_frames(model: Model) -> dict[str, str]:
    """Return for every frame the frame on the other side; a frame in the middle is its own."""
    return {name: find_other_side(name, model.frames) or name for name in model.frames}


def find_partner_joint(model: Model, joint: str) -> str:
    """Return the joint on the other side: that of the other side's frame, or else the joint itself."""
    frame = model.joint(joint).frame
    return model.frame(find_other_side(frame, model.frames) or frame).joint or joint
