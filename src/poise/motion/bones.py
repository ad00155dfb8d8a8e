"""The bones of a body, told by its rest pose: where its legs begin, which way its trunk looks, how long its legs are.

A robot's hip may be three joints in one place, and its chest a box without a neck. So bones run from where a limb
leaves the trunk, and trunks have axes of their own: x to the left, y up, z ahead, from the limbs that they carry.
"""

from __future__ import annotations

from collections.abc import Mapping as Names

import numpy as np
from numpy.typing import NDArray

from poise.model import Model

__all__ = ["BONES", "find_axes", "find_bone", "find_bone_start", "find_middle", "measure_legs", "place_of"]

Floats = NDArray[np.float64]
BONES = (("hip", "knee"), ("knee", "ankle"), ("shoulder", "elbow"), ("elbow", "wrist"))
SHORT = 1e-3  # of L: a bone that is shorter tells no direction


def place_of(model: Model, frame: str) -> Floats:
    """Return where a frame is in the rest pose."""
    return np.array(model.fk(model.rest, frame)[:3, 3])


def find_limb_start(model: Model, trunk: str, frame: str) -> str:
    """Return the first frame of a limb beyond the trunk: where its bone begins, whatever joints follow there."""
    above = model.ancestors(frame)
    if trunk not in above:
        return frame
    at = above.index(trunk)
    return above[at - 1] if at > 0 else frame


def find_middle(model: Model, names: Names[str, str]) -> Floats:
    """Return the middle of the hips in the pelvis' own axes."""
    starts = [find_limb_start(model, names["pelvis"], names[f"hip_{side}"]) for side in "lr"]
    T = model.fk(model.rest, names["pelvis"])
    middle: Floats = T[:3, :3].T @ (0.5 * (place_of(model, starts[0]) + place_of(model, starts[1])) - T[:3, 3])
    return middle


def find_axes(model: Model, names: Names[str, str], part: str) -> Floats | None:
    """Return the axes of the pelvis or the chest in its own frame, (3, 3): left, up, ahead; None if nothing tells."""
    limbs = "hip" if part == "pelvis" else "clavicle" if "clavicle_l" in names else "shoulder"
    if part not in names or f"{limbs}_l" not in names:
        return None
    left, right = (place_of(model, find_limb_start(model, names[part], names[f"{limbs}_{s}"])) for s in "lr")
    above = names.get("spine_1" if part == "pelvis" else "neck")
    here = 0.5 * (left + right) if part == "pelvis" else place_of(model, names[part])
    top = 0.5 * (left + right) if above is None else place_of(model, above)
    up = top - here
    if np.linalg.norm(up) < SHORT * model.length and "chest" in names:
        up = place_of(model, names["chest"]) - place_of(model, names["pelvis"])
    x = (left - right) / np.linalg.norm(left - right)
    y = up - (up @ x) * x
    y /= np.linalg.norm(y)
    axes: Floats = model.fk(model.rest, names[part])[:3, :3].T @ np.stack([x, y, np.cross(x, y)], axis=1)
    return axes


def find_bone_start(model: Model, names: Names[str, str], root: str) -> str:
    """Return the frame at which a bone begins: of an upper arm or a thigh, where the limb leaves what carries it."""
    part, _, side = root.rpartition("_")
    carriers = {"hip": ("pelvis",), "shoulder": (f"clavicle_{side}", "chest", "pelvis")}.get(part, ())
    for carrier in carriers:
        if carrier in names:
            return find_limb_start(model, names[carrier], names[root])
    return names[root]


def find_bone(model: Model, names: Names[str, str], root: str, end: str) -> Floats | None:
    """Return the direction of a bone in the frame of its root, in the rest pose; None where it has no length."""
    along = place_of(model, names[end]) - place_of(model, find_bone_start(model, names, root))
    length = np.linalg.norm(along)
    if length < SHORT * model.length:
        return None
    bone: Floats = model.fk(model.rest, names[root])[:3, :3].T @ (along / length)
    return bone


def measure_legs(model: Model, names: Names[str, str]) -> float:
    """Return how long the legs are, from where they leave the pelvis to the ankles [m]: the mean of both."""
    total = 0.0
    for side in "lr":
        start = find_limb_start(model, names["pelvis"], names[f"hip_{side}"])
        places = [place_of(model, frame) for frame in (start, names[f"knee_{side}"], names[f"ankle_{side}"])]
        total += float(np.linalg.norm(np.diff(places, axis=0), axis=1).sum())
    return 0.5 * total
