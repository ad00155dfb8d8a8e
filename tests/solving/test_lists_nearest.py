"""The first answer of a list is the nearest pose of all arcs, and each arc's nearest is among the answers."""

from __future__ import annotations

import numpy as np
import pytest

import poise
from poise.goals import Reach

ARMS = {"panda": "panda_hand_tcp", "iiwa14": "iiwa_link_ee"}
TARGETS = 3
DENSE = 400  # poses along each arc


@pytest.mark.slow
@pytest.mark.parametrize("samples", [1, 16])
@pytest.mark.parametrize(("name", "frame"), ARMS.items())
def test_no_pose_along_an_arc_is_nearer_than_the_first_answer(name, frame, samples) -> None:
    model = poise.load(name)
    rng = np.random.default_rng(21)
    for q, start in zip(model.random(rng, TARGETS), model.random(rng, TARGETS), strict=True):
        goal = Reach(frame, model.fk(q, frame))
        first = poise.solve_all(model, goal, start, samples=samples)[0]
        dense = poise.solve_all(model, goal, start, samples=DENSE)
        nearest = min(np.abs(answer.q - start).max() for answer in dense)
        assert np.abs(first.q - start).max() <= nearest + 1e-3
