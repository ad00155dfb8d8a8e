"""Conventions: the precision that comes out, and a solver that was used before answers as a new one."""

from typing import Any

import numpy as np
import pytest

import poise
from bodies import random_model
from paths import DOCS
from poise.goals import Goal, Reach

MODEL = poise.load("panda")
TOOL = MODEL.frames[-1]
PAGE = (DOCS / "conventions.md").read_text("utf-8")


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_kinematics_keep_the_precision_they_are_given(dtype: Any) -> None:
    q = np.asarray(MODEL.rest, dtype=dtype)
    step = np.full(MODEL.nv, 0.1, dtype=dtype)
    found = (MODEL.fk(q), MODEL.fk(q, TOOL), MODEL.jacobian(q, TOOL), MODEL.integrate(q, step), MODEL.difference(q, q))
    assert {array.dtype for array in found} == {np.dtype(dtype)}


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_solves_answer_in_float64_whatever_the_targets_are(dtype: Any) -> None:
    targets = MODEL.fk(MODEL.random(np.random.default_rng(0), 20), TOOL)[:, :3, 3].astype(dtype)
    goal = Reach(TOOL, targets[0])
    assert poise.solve(MODEL, goal).q.dtype == np.float64
    assert poise.solve(MODEL, goal, MODEL.rest.astype(dtype)).q.dtype == np.float64
    assert poise.Solver(MODEL, goal).solve(None, {TOOL: targets[1]}).q.dtype == np.float64
    assert poise.solve_batch(MODEL, goal, targets).q.dtype == np.float64
    assert poise.solve_batch(MODEL, goal, targets, dtype="float32").q.dtype == np.float32


def test_the_page_marks_nothing_as_still_to_come() -> None:
    assert "ahead" not in PAGE


# ------------- A solver that was used before answers as a new one: nothing that it learned on the way changes an answer


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
