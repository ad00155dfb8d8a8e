"""Axes of trunks and heads in their own frames: left, up, ahead. They say how a part is turned in any body."""

from __future__ import annotations

from collections.abc import Mapping as Names

import numpy as np

from poise.arrays import Floats
from poise.model import Model
from poise.motion.retargeting.bones import find_axes, find_bone_start, find_limb_start, find_middle, place_of

__all__ = ["find_head_axes", "has_one_piece", "list_tops"]

ONE_PIECE_SHARE = 0.6  # of the trunk's length: a chest that is longer is all of it


def find_head_axes(model: Model, names: Names[str, str]) -> Floats | None:
    """Return the axes of the head in its frame: those of the chest, because the trunk of a rest pose is straight."""
    part = "chest" if "chest" in names else "pelvis"
    axes = find_axes(model, names, part)
    if axes is None or "head" not in names:
        return None
    turn = model.fk(model.rest, names["head"])[:3, :3].T @ model.fk(model.rest, names[part])[:3, :3]
    return np.array(turn @ axes)


def list_tops(model: Model, names: Names[str, str]) -> list[str]:
    """List the frames in whose middle the trunk ends: where clavicles leave the chest, else arms."""
    if "clavicle_l" in names and "clavicle_r" in names:
        return [find_limb_start(model, names["chest"], names[f"clavicle_{side}"]) for side in "lr"]
    return [find_bone_start(model, names, f"shoulder_{side}") for side in "lr"]


def has_one_piece(model: Model, names: Names[str, str]) -> bool:
    """Tell whether the trunk above the hips is one piece that turns at the waist, as robots have it."""
    if "shoulder_l" not in names or "shoulder_r" not in names:
        return False
    top = 0.5 * sum(place_of(model, frame) for frame in list_tops(model, names))
    T = model.fk(model.rest, names["pelvis"])
    base = T[:3, :3] @ find_middle(model, names) + T[:3, 3]
    whole = float(np.linalg.norm(top - base))
    return whole > 0.0 and float(np.linalg.norm(top - place_of(model, names["chest"]))) > ONE_PIECE_SHARE * whole
