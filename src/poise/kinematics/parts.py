"""Rigid parts: groups of frames that never move relative to each other."""

from __future__ import annotations

import numpy as np

from poise.arrays import Floats
from poise.model import Model

__all__ = ["find_rigid_parts", "pick_frame"]


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
