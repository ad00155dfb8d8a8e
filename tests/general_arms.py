"""Arms of six or seven turns whose axes are drawn at random, so that no family has them; a gripper behind the tool."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

import poise

Floats = NDArray[np.float64]

SIX = [f"j{k}" for k in range(6)]
HARD = {1: (6, 61, 87, 132), 3: (9,)}  # by arm: rows of `draw_transforms` that searches from all seeds miss


def draw_general(seed: int, *, turns: int = 6, reach: float = 3.0, gripper: bool = False) -> poise.Model:
    """Return an arm with a frame "tool"; the gripper is a joint behind it, which does not move it.

    Args:
        seed: Of the axes.
        turns: How many.
        reach: How far each turns, to both sides [rad].
        gripper: Whether it has one.
    """
    rng = np.random.default_rng(seed)
    builder, parent = poise.ModelBuilder("general"), None
    for k in range(turns):
        axis = rng.normal(size=3)
        offset = poise.Transform(translation=0.2 * rng.normal(size=3))
        builder.add_joint(f"j{k}", parent, "revolute", offset=offset, axis=axis, lower=-reach, upper=reach)
        parent = f"j{k}"
    builder.add_frame("tool", parent, poise.Transform(translation=(0.1, 0.05, 0.2)))
    if gripper:
        builder.add_joint("gripper", parent, "revolute", axis=(1, 0, 0), lower=-0.5, upper=0.5)
    return builder.build()


def draw_transforms(seed: int, count: int = 150) -> Floats:
    """Return transforms (count, 4, 4) that the arm of six turns reaches."""
    model = draw_general(seed)
    return model.fk(model.random(np.random.default_rng(seed), count), "tool")


def draw_hard(seed: int) -> Floats:
    """Return those that are missed by searches from all seeds, and reached from a guess."""
    return draw_transforms(seed)[list(HARD[seed])]
