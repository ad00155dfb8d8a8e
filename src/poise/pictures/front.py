"""The front of a body, so that its first picture shows its face."""

import math

import numpy as np

from poise.arrays import Floats
from poise.model import Model
from poise.pictures.body.stick import Camera

__all__ = ["find_front", "find_turn", "stand_before"]


PAIRS = ("shoulder", "hip")


def find_front(model: Model) -> Floats:
    """Return the forward direction of a body, a horizontal unit vector, found from its shoulders and hips.

    Forward is left x up. A body without left and right faces the usual direction of files: z if y is up, x if z is up.
    A body that was loaded with a clip is measured in the clip's first frame.
    """
    up = model.up_direction
    pairs = [(f"{name}_l", f"{name}_r") for name in PAIRS if f"{name}_l" in model.roles and f"{name}_r" in model.roles]
    q = np.array(model.rest if model.example_poses is None else model.example_poses[0])
    across = np.zeros(3)
    for left, right in pairs:
        apart = model.fk(q, model.roles[left])[:3, 3] - model.fk(q, model.roles[right])[:3, 3]
        across += apart / max(float(np.linalg.norm(apart)), 1e-12)
    ahead = np.cross(across, up)
    long = float(np.linalg.norm(ahead))
    return np.asarray(ahead / long) if pairs and long > 0.3 else np.roll(up, 1)


def find_turn(model: Model) -> float:
    """Return the rotation of a body's front about the up axis, from the usual direction [rad]."""
    x, y, _ = Camera(up=model.up).turn_upright(find_front(model))
    turn = math.atan2(float(y), float(x))
    return turn if abs(turn) > 1e-9 else 0.0


def stand_before(model: Model) -> Camera:
    """Return a camera that sees a body from the front, slightly above and to one side."""
    plain = Camera(up=model.up)
    return Camera(plain.azimuth + find_turn(model), plain.elevation, model.up)
