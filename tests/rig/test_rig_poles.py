"""Crossing the line of a pole: the elbow, or the knee, does not swing round in a frame."""

from __future__ import annotations

import numpy as np
import pytest

import poise
from tiers import mostly_slow

Place = tuple[float, float, float]
ARM: list[Place] = [(0.0, -1.0, 0.2), (0.3, -0.2, 1.0), (1.0, -0.2, 0.4), (0.3, 1.0, 0.3), (0.5, -0.6, 0.6)]
LEG: list[Place] = [(0.0, -1.0, 0.1), (0.1, -1.0, 0.6), (0.2, -0.6, 1.0)]
CASES = [("arm_l", line, far) for line in ARM for far in (0.35, 0.5)] + [("leg_l", line, 0.7) for line in LEG]
PARTS = {"arm_l": ("hand_l", "shoulder_l", "elbow_l"), "leg_l": ("foot_l", "hip_l", "knee_l")}


NEAR = 0.35  # sine of the angle between a limb and its pole's line: within it the plane of the pole fades
TIMES = 6.0  # as far as its end moves, the middle of a limb does near the line


def swings(limb: str, pole: Place, centre: Place, side: Place, step: float) -> tuple[float, float]:
    """How far the limb's middle moves in a frame at most, near the pole's line and elsewhere, when its end goes across.

    The end goes 0.5 m in frames of `step`; all in metres.
    """
    model = poise.load("humanoid")
    handle, root, middle = PARTS[limb]
    rig = poise.Rig(model, floor=None)  # some of the ways lead below it
    for foot in {"foot_l", "foot_r"} - {handle}:
        rig.pin(foot)
    rig.pole(limb, pole)
    first = model.fk(model.rest, root)[:3, 3] + centre + 0.25 * np.array(side)
    for _ in range(80):
        rig.drag(handle, first)
    path = first - np.arange(0.0, 0.5, step)[:, None] * np.array(side)
    seen = [rig.drag(handle, place) for place in path]
    at = np.array([pose.position(middle) for pose in seen])
    lines = np.array([pose.position(handle) - pose.position(root) for pose in seen])
    sine = np.linalg.norm(np.cross(pole, lines), axis=1) / np.linalg.norm(lines, axis=1)
    near, moved = sine[1:] < NEAR, np.linalg.norm(np.diff(at, axis=0), axis=1)
    return float(moved[near].max(initial=0.0)), float(moved[~near].max(initial=0.0))


def check_crossing(limb: str, line: Place, far: float, step: float) -> None:
    """Both ends of the pole's line, crossed and passed by."""
    along = np.array(line) / np.linalg.norm(line)
    rng = np.random.default_rng(1)
    for sign in (1.0, -1.0):
        side = np.cross(along, rng.normal(size=3))
        side /= np.linalg.norm(side)
        for beside in (0.0, 0.015):
            centre = far * along + beside * np.cross(along, side)
            near, away = swings(limb, tuple(sign * along), tuple(centre), tuple(side), step)
            assert near < TIMES * step, f"{near:.4f} m near the line, in a frame in which the end moved {step} m"
            assert away < 0.07, f"{away:.3f} m in a frame in which the end moved {step} m"


@pytest.mark.slow
@pytest.mark.parametrize(("limb", "line", "far"), CASES)
def test_nothing_swings_round(limb: str, line: Place, far: float) -> None:
    check_crossing(limb, line, far, 0.005)


@pytest.mark.parametrize("step", mostly_slow([0.02, 0.001], 1))
@pytest.mark.parametrize(("limb", "line", "far"), [CASES[0], CASES[8], CASES[11]])
def test_what_moves_near_the_line_goes_with_the_speed(limb: str, line: Place, far: float, step: float) -> None:
    check_crossing(limb, line, far, step)
