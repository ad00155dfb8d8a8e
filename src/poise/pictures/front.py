"""Which way a body looks: its first picture shows its face, whichever way its file has turned it."""

from __future__ import annotations

import math

import numpy as np

from poise.arrays import Floats
from poise.model import Model
from poise.pictures.body.stick import Camera

__all__ = ["find_front", "find_turn", "stand_before"]


PAIRS = ("shoulder", "hip")


def find_front(model: Model) -> Floats:
    """Return the way a body looks, level and of length one: across its shoulders and hips, where it has such.

    Left is beside up and forward, so forward is left x up. A body without sides looks as such files have it: along z
    where y is up, along x where z is. A body that was read with a clip is taken as the clip begins.
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
    """Return by how much a body is turned about its upward axis from the way such bodies look [rad]."""
    x, y, _ = Camera(up=model.up).turn_upright(find_front(model))
    turn = math.atan2(float(y), float(x))
    return turn if abs(turn) > 1e-9 else 0.0


def stand_before(model: Model) -> Camera:
    """Return the camera that sees a body from its front, slightly above and to one side."""
    plain = Camera(up=model.up)
    return Camera(plain.azimuth + find_turn(model), plain.elevation, model.up)
