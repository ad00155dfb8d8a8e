"""A solver that was used before answers as a new one: nothing that it learned on the way changes an answer."""

from __future__ import annotations

import numpy as np
import pytest

import poise
from bodies import random_model
from poise.goals import Goal, Reach

SEEDS = range(40)
HINGES = ("revolute", "prismatic", "universal", "euler")


def draw_goals(model: poise.Model, rng: np.random.Generator, strict: bool) -> list[Goal]:
    """Two or three points, most of them too far away."""
    frames = rng.choice(model.frames, size=min(len(model.frames), int(rng.integers(2, 4))), replace=False)
    places = model.fk(model.random(rng))[..., :3, 3]
    index = [model.frames.index(str(frame)) for frame in frames]
    away = rng.normal(size=(len(frames), 3)) * model.length * rng.choice([0.05, 0.6, 1.5])
    return [
        Reach(str(frame), places[i] + d, priority=k if strict else 0)
        for k, (frame, i, d) in enumerate(zip(frames, index, away, strict=True))
    ]


@pytest.mark.parametrize("strict", [False, True])
@pytest.mark.parametrize("seed", SEEDS)
def test_a_solver_used_again_answers_as_a_new_one(seed: int, strict: bool) -> None:
    rng = np.random.default_rng(seed)
    model = random_model(seed, joints=6, kinds=HINGES, mimic=False)
    goals = draw_goals(model, rng, strict)
    solver = poise.Solver(model, goals, restarts=3, max_steps=60)
    first, again = solver.solve(), solver.solve()
    assert first.status is again.status
    np.testing.assert_array_equal(first.q, again.q)
    assert first.searches == again.searches
