"""A goal out of reach has a still answer: the minimum itself, and in continuous mode a body that comes to rest."""

from __future__ import annotations

import numpy as np
import pytest

import poise
from poise.goals import Goal, Orient, Reach
from poise.methods import Scipy
from poise.methods.scipy import LEAST_SQUARES, MINIMIZERS

ARMS = {"panda": "panda_hand_tcp", "ur5e": "tool0", "iiwa14": None, "planar3": None, "snake100": None}


def tip_of(model: poise.Model) -> str:
    return ARMS.get(model.name) or str(model.frames[-1])


def missed_points(model: poise.Model, rng: np.random.Generator, count: int) -> list[np.ndarray]:
    """Points from just out of reach to a hundred lengths away, in the plane of a planar arm."""
    out = []
    for _ in range(count):
        way = rng.normal(size=3)
        way[2] *= not model.name.startswith("planar")
        out.append(way / np.linalg.norm(way) * model.length * 10 ** rng.uniform(0.1, 2))
    return out


@pytest.mark.parametrize("name", ARMS)
def test_an_arm_out_of_reach_comes_to_rest(name: str) -> None:
    model, rng = poise.load(name), np.random.default_rng(0)
    for point in missed_points(model, rng, 6):
        solver = poise.Solver(model, Reach(tip_of(model), point), mode="continuous")
        q = np.asarray(model.random(rng))
        for _ in range(60):
            q = solver.solve(q).q
        again = solver.solve(q).q
        assert np.abs(model.difference(q, again)).max() < 1e-9


@pytest.mark.slow
@pytest.mark.parametrize("shift", [(0, 0, 2.0), (0, -2, 0.5), (3, 1, 1), (0.5, -1.5, 1.5)])
def test_a_body_on_its_feet_comes_to_rest(shift: tuple[float, ...]) -> None:
    model = poise.load("humanoid")
    hand = model.fk(model.rest, "hand_r")[:3, 3] + shift
    goals: list[Goal] = [Reach(name, model.fk(model.rest, name)) for name in ("foot_l", "foot_r")]
    solver, q = poise.Solver(model, [*goals, Reach("hand_r", hand)], mode="continuous"), np.array(model.rest)
    for _ in range(400):  # bounds are met one after the other on the way
        q = solver.solve(q).q
    for _ in range(20):
        again = solver.solve(q).q
        assert np.abs(model.difference(q, again)).max() < 1e-9
        q = again


@pytest.mark.parametrize("name", ["panda", "ur5e", "planar3"])
def test_the_minimum_of_a_missed_goal_is_found_within_the_default_steps(name: str) -> None:
    model, rng = poise.load(name), np.random.default_rng(1)
    for point in missed_points(model, rng, 12):
        goal = Reach(tip_of(model), point)
        found = poise.solve(model, goal, restarts=0)
        longer = poise.solve(model, goal, found.q, restarts=0, max_steps=10_000)
        assert found.steps <= 200
        before, after = found.errors[tip_of(model)][0], longer.errors[tip_of(model)][0]
        assert before - after <= 1e-9 * before


@pytest.mark.parametrize("ratio", [1.0, 1e2, 1e4, 1e6])
def test_weights_far_apart_do_not_cost_a_goal_that_can_be_reached(ratio: float) -> None:
    model, rng, reached = poise.load("humanoid"), np.random.default_rng(0), 0
    for k in range(40):
        q = model.clamp(model.integrate(model.rest, rng.normal(scale=0.4, size=model.nv)))
        heavy, light = (model.fk(q, name)[:3, 3] for name in ("hand_l", "hand_r"))
        goals = [Reach("hand_l", heavy, weight=ratio), Reach("hand_r", light, priority=k % 2 and 0)]
        reached += poise.solve(model, goals).reached
    assert reached == 40


def test_weights_far_apart_inside_a_level() -> None:
    model, rng = poise.load("panda"), np.random.default_rng(2)
    for _ in range(10):
        T = model.fk(np.asarray(model.random(rng)), "panda_hand_tcp")
        goals = [Reach("panda_hand_tcp", T[:3, 3], weight=1e6), Orient("panda_hand_tcp", T[:3, :3])]
        assert poise.solve(model, goals).reached


@pytest.mark.slow
@pytest.mark.parametrize("optimizer", [*LEAST_SQUARES, *MINIMIZERS])
def test_scipy_keeps_to_the_steps(optimizer: str) -> None:
    pytest.importorskip("scipy")
    model = poise.load("panda")
    T = model.fk(np.asarray(model.random(np.random.default_rng(3))), "panda_hand_tcp")
    for most in (1, 3, 20):
        solution = poise.solve(model, Reach("panda_hand_tcp", T), method=Scipy(optimizer), max_steps=most)
        assert solution.steps <= most
    enough = poise.solve(model, Reach("panda_hand_tcp", T[:3, 3]), method=Scipy(optimizer), max_steps=2000)
    assert enough.reached
