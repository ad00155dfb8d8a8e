"""Hinges of a stream that are kept still do not hold back the others."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

import poise
from poise.arrays import Floats
from poise.goals import Reach
from poise.motion.clips.whole_clip import Window

STIFF = 3000.0


@dataclass
class Targets:
    """The targets of a frame."""

    numbers: Floats
    weights: Floats
    hard: Floats


def test_still_knees_do_not_stiffen_an_arm() -> None:
    model = poise.load("humanoid")
    rest = np.array(model.rest)
    window = Window(model, [Reach("hand_l", (0.0, 0.0, 0.0))], hold=1e-3, smooth=1.0, fps=30.0, joints=None)
    legs = [joint.v for side in "lr" for joint in model.joints_above(f"foot_{side}") if joint.name != "pelvis"]
    knees = np.isin(np.arange(model.nv), [v for own in legs for v in range(own.start, own.stop)])
    place = model.fk(rest, "hand_l")[:3, 3] + (0.0, 0.05, 0.05)
    numbers = np.concatenate([np.eye(3).ravel(), place])[None]
    asked = Targets(numbers, np.ones(1), np.zeros(1))
    window.keep(rest, rest)

    def measure(still: tuple[float, NDArray[np.bool_]] | None) -> float:
        q, _ = window.solve(rest, rest, asked, 40, still=still)
        assert still is None or np.abs(model.difference(rest, q)[knees]).max() < 1e-6
        return float(np.linalg.norm(model.fk(q, "hand_l")[:3, 3] - place))

    free, held = measure(None), measure((STIFF, knees))
    assert abs(held - free) < 0.01 * np.linalg.norm((0.05, 0.05))
