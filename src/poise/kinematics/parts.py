"""Rigid parts: groups of frames that never move relative to each other."""

from __future__ import annotations

from poise.model import Model

__all__ = ["find_rigid_parts"]


def find_rigid_parts(model: Model) -> dict[str | None, str | None]:
    """Map each frame to the root of its rigid part: the child frame of the closest moving joint above it, or None."""
    out: dict[str | None, str | None] = {None: None}
    for name in (model.layout.frames[i] for i in model.layout.order):
        frame = model.frame(name)
        moving = frame.joint is not None and model.joint(frame.joint).kind != "fixed"
        out[name] = name if moving else out[frame.parent]
    return out
