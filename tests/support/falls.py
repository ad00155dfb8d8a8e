"""A generated fall: a body tips over backwards and lies on the floor, or in it."""

from functools import lru_cache

import numpy as np

import poise
from poise import Motion

__all__ = ["fall"]


@lru_cache
def fall(frames: int = 40, depth: float = 0.05) -> Motion:
    """Return a fall from standing to lying of the built-in humanoid; at the end a joint is `depth` deep [m]."""
    model = poise.load("humanoid")
    q, share = np.tile(model.rest, (frames, 1)), np.clip(np.linspace(-0.5, 1.5, frames), 0.0, 1.0)
    q[:, 3], q[:, 4] = np.cos(0.25 * np.pi * share), -np.sin(0.25 * np.pi * share)
    lowest = (model.fk(q)[:, :, :3, 3] @ model.up_direction).min(axis=1)
    q[:, 1] -= lowest - lowest[0] + depth * share
    return Motion(model, q, 30.0)
