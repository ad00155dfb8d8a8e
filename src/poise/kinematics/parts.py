"""Rigid parts, groups of frames that never move relative to each other, and points on them."""

import numpy as np

from poise.arrays import Floats, Triple
from poise.model import Model

__all__ = ["Place", "find_place", "find_rigid_parts", "list_child_parts", "pick_frame"]

Place = tuple[str, Triple]  # a frame, and a point in its axes [m]


def find_place(model: Model, point: tuple[str, Triple | Floats], q: Floats | None = None) -> Floats:
    """Return the position of a point of a frame, in the rest pose unless q is given [m]."""
    T = model.fk(model.rest if q is None else q, point[0])
    out: Floats = T[:3, :3] @ np.array(point[1]) + T[:3, 3]
    return out


def pick_frame(model: Model, frame: str, T: Floats) -> Floats:
    """Return the transform of a frame, listed or not, from those of all listed frames, (frames, 4, 4)."""
    found = model.frame(frame)
    if found.listed:
        return np.asarray(T[model.frames.index(found.name)])
    return np.asarray(T[model.frames.index(str(found.parent))] @ found.offset.matrix)


def find_rigid_parts(model: Model) -> dict[str | None, str | None]:
    """Map each frame to the root of its rigid part: the child frame of the closest moving joint above it, or None."""
    out: dict[str | None, str | None] = {None: None}
    for name in (model.layout.frames[i] for i in model.layout.order):
        frame = model.frame(name)
        moving = frame.joint is not None and model.joint(frame.joint).kind != "fixed"
        out[name] = name if moving else out[frame.parent]
    return out


def list_child_parts(model: Model, root: str | None) -> set[str]:
    """List the roots of the rigid parts that one joint connects to the part of a root; None is the fixed world."""
    parts = find_rigid_parts(model)
    return {own for own in parts.values() if own is not None and parts[model.frame(own).parent] == root}
