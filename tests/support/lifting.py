"""A box that a humanoid lifts with both hands."""

import numpy as np

import poise
from poise.goals import Balance, Goal, Grasp

FRAMES = 24
SIZE = (0.36, 0.24, 0.26)


def lift(low: float = 0.5, high: float = 1.2, ahead: float = 0.42, frames: int = FRAMES) -> np.ndarray:
    """Return a path from low to high in front of the body."""
    s = np.linspace(0.0, 1.0, frames)
    T = np.tile(np.eye(4), (frames, 1, 1))
    T[:, 1, 3] = low + (high - low) * s * s * (3 - 2 * s)
    T[:, 2, 3] = ahead
    return T


def list_grasps(box: poise.Object) -> list[Goal]:
    """List the goals of the two hands and the feet."""
    return [Grasp("hand_l", box), Grasp("hand_r", box), Balance(["foot_l", "foot_r"])]
