"""Crossing the line of a pole: the elbow, or the knee, does not swing round in a frame."""

from __future__ import annotations

import numpy as np
import pytest

import poise

Place = tuple[float, float, float]
ARM: list[Place] = [(0.0, -1.0, 0.2), (0.3, -0.2, 1.0), (1.0, -0.2, 0.4), (0.3, 1.0, 0.3), (0.5, -0.6, 0.6)]
LEG: list[Place] = [(0.0, -1.0, 0.1), (0.1, -1.0, 0.6), (0.2, -0.6, 1.0)]
CASES = [("arm_l", line, far) for line in ARM for far in (0.35, 0.5)] + [("leg_l", line, 0.7) for line in LEG]
PARTS = {"arm_l": ("hand_l", "shoulder_l", "elbow_l"), "leg_l": ("foot_l", "hip_l", "knee_l")}


def largest_swing(limb: str, pole: Place, centre: Place, side: Place) -> float:
    """How far the limb's middle moves in a frame at most, when its end goes 0.5 m across in 100 frames [m]."""
    model = poise.load("humanoid")
    handle, root, middle = PARTS[limb]
    rig = poise.Rig(model)
    for foot in {"foot_l", "foot_r"} - {handle}:
        rig.pin(foot)
    rig.pole(limb, pole)
    first = model.fk(model.rest, root)[:3, 3] + centre + 0.25 * np.array(side)
    for _ in range(80):
        rig.drag(handle, first)
    path = first - np.linspace(0.0, 0.5, 100)[:, None] * np.array(side)
    at = np.array([rig.drag(handle, place).position(middle) for place in path])
    return float(np.linalg.norm(np.diff(at, axis=0), axis=1).max())


@pytest.mark.parametrize(("limb", "line", "far"), CASES)
def test_nothing_swings_round(limb: str, line: Place, far: float) -> None:
    along = np.array(line) / np.linalg.norm(line)
    rng = np.random.default_rng(1)
    for sign in (1.0, -1.0):
        side = np.cross(along, rng.normal(size=3))
        side /= np.linalg.norm(side)
        for beside in (0.0, 0.015):
            centre = far * along + beside * np.cross(along, side)
            swing = largest_swing(limb, tuple(sign * along), tuple(centre), tuple(side))
            assert swing < 0.07, f"{swing:.3f} m in a frame in which the end moved 5 mm"
