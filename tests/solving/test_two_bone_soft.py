"""Soft stretch along a path: the elbow opens and closes steadily, whatever pose the solve starts from."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

import poise
from poise.goals import Reach
from poise.methods import TwoBone

OUT = np.linspace(0.3, 0.75, 46)  # metres from the shoulder, 1 cm a frame; the arm is 0.64 m long
WAYS = [(0.5, -0.2, 1.0), (1.0, -0.3, 0.3), (0.2, -1.0, 0.5)]


def elbows(way: tuple[float, ...], soften: float, *, warm: bool) -> NDArray[np.float64]:
    """The elbow's angle out along a line from the shoulder, and back."""
    model = poise.load("humanoid")
    shoulder = model.fk(model.rest, "shoulder_l")[:3, 3]
    joints = ["shoulder_l", "elbow_l"]
    solver = poise.Solver(model, [Reach("hand_l", shoulder)], method=TwoBone(soften=soften), joints=joints, restarts=0)
    along, at, q, out = np.array(way) / np.linalg.norm(way), model.joint("elbow_l").q, np.array(model.rest), []
    for distance in (*OUT, *OUT[::-1]):
        found = solver.solve(q if warm else model.rest, {"hand_l": shoulder + distance * along}).q
        q = found if warm else q
        out.append(float(found[at][0]))
    return np.array(out)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("soften", [0.7, 0.9])
def test_the_elbow_goes_steadily(way: tuple[float, ...], soften: float) -> None:
    warm = elbows(way, soften, warm=True)
    out, back = np.diff(warm[: len(OUT)]), np.diff(warm[len(OUT) :])
    assert (out > 0.0).all()  # it opens all the way, and never sticks
    assert (back < 0.0).all()
    assert np.abs(np.diff(warm)).max() < 0.1
    np.testing.assert_allclose(warm, elbows(way, soften, warm=False), atol=1e-9)
    np.testing.assert_allclose(warm, warm[::-1], atol=1e-9)


@pytest.mark.parametrize("way", WAYS)
def test_without_softening_it_is_the_same_from_every_start(way: tuple[float, ...]) -> None:
    np.testing.assert_allclose(elbows(way, 1.0, warm=True), elbows(way, 1.0, warm=False), atol=1e-3)
