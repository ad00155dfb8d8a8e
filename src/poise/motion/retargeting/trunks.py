"""Axes of trunks and heads in their own frames: left, up, forward. They define a part's orientation in any body."""

from collections.abc import Mapping as Names

import numpy as np

from poise.arrays import Floats
from poise.model import Model
from poise.motion.retargeting.bones import find_axes, find_bone_start, find_limb_start, find_middle, place_of

__all__ = ["find_head_axes", "has_one_piece", "list_tops"]

ONE_PIECE_SHARE = 0.6  # share of the trunk's length: a longer chest is the whole trunk


def find_head_axes(model: Model, names: Names[str, str]) -> Floats | None:
    """Return the axes of the head in its frame: those of the chest, because the trunk is straight in the rest pose."""
    part = "chest" if "chest" in names else "pelvis"
    axes = find_axes(model, names, part)
    if axes is None or "head" not in names:
        return None
    turn = model.fk(model.rest, names["head"])[:3, :3].T @ model.fk(model.rest, names[part])[:3, :3]
    return np.array(turn @ axes)


def list_tops(model: Model, names: Names[str, str]) -> list[str]:
    """List the two frames whose midpoint is the top of the trunk: the starts of the clavicles or of the arms."""
    if "clavicle_l" in names and "clavicle_r" in names:
        return [find_limb_start(model, names["chest"], names[f"clavicle_{side}"]) for side in "lr"]
    return [find_bone_start(model, names, f"shoulder_{side}") for side in "lr"]


def has_one_piece(model: Model, names: Names[str, str]) -> bool:
    """Return whether the trunk above the hips is one piece that turns at the waist, as in many robots."""
    if "shoulder_l" not in names or "shoulder_r" not in names:
        return False
    top = 0.5 * sum(place_of(model, frame) for frame in list_tops(model, names))
    T = model.fk(model.rest, names["pelvis"])
    base = T[:3, :3] @ find_middle(model, names) + T[:3, 3]
    whole = float(np.linalg.norm(top - base))
    return whole > 0.0 and float(np.linalg.norm(top - place_of(model, names["chest"]))) > ONE_PIECE_SHARE * whole
