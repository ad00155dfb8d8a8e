"""Comfort: its gradient, that it is least among poses that serve the goals, and that it costs them nothing."""

from __future__ import annotations

import numpy as np
import pytest

import poise
from bodies import random_model
from poise.goals import Comfort, MidRange, Reach, Rest
from poise.kinematics.manipulability import manipulability

TIP = "panda_hand_tcp"


@pytest.mark.parametrize("seed", range(6))
def test_gradient_is_that_of_the_cost(seed):
    model = random_model(seed, joints=7)
    rng = np.random.default_rng(seed)
    q = model.integrate(model.rest, 0.2 * rng.normal(size=model.nv))
    goal = Comfort(gains=rng.uniform(0.1, 2.0, model.nv), manipulability=0.5, frame=model.frames[-1], weight=1.5)
    slope, bend = goal.find_slope(model, q)
    h = 1e-6
    costs = [[goal.find_cost(model, model.integrate(q, s * h * e)) for s in (1, -1)] for e in np.eye(model.nv)]
    numeric = np.diff(np.array(costs)[:, ::-1], axis=1)[:, 0] / (2 * h)
    turning = np.ones(model.nv, dtype=bool)
    assert slope[turning] == pytest.approx(numeric[turning], abs=1e-4 * max(1.0, np.abs(numeric).max()))
    assert np.linalg.eigvalsh(bend).min() >= -1e-9 * np.abs(bend).max()


@pytest.mark.parametrize("seed", range(4))
def test_no_pose_nearby_that_serves_the_goal_is_more_comfortable(seed):
    model = poise.load("panda")
    rng = np.random.default_rng(seed)
    target = model.fk(model.random(rng), TIP)
    goal = Comfort(manipulability=2.0, frame=TIP)
    reach = Reach(TIP, target, tolerance=(1e-9, 1e-9))
    solution = poise.solve(model, [reach, goal])
    assert solution.reached
    least = goal.find_cost(model, solution.q)
    tried = 0
    for turn in np.linspace(-0.3, 0.3, 13):
        start = solution.q + turn * rng.normal(size=model.nv)
        other = poise.solve(model, reach, model.clamp(start), restarts=0)
        if other.reached and np.abs(other.q - solution.q).max() < 0.5:
            tried += 1
            assert goal.find_cost(model, other.q) >= least - 1e-3 * (1 + abs(least))
    assert tried >= 6


def test_joints_leave_the_ends_of_their_ranges():
    model = poise.load("panda")
    rng = np.random.default_rng(3)
    nearer = 0
    for _ in range(20):
        target = model.fk(model.random(rng), TIP)[:3, 3]
        plain, comfortable = (poise.solve(model, [Reach(TIP, target), *more]) for more in ([], [Comfort()]))
        assert plain.reached == comfortable.reached
        room = [np.minimum(model.upper - s.q, s.q - model.lower).min() for s in (plain, comfortable)]
        nearer += room[1] > room[0]
    assert nearer >= 18


def test_manipulability_grows_where_it_counts():
    model = poise.load("panda")
    rng = np.random.default_rng(1)
    for _ in range(5):
        reach = Reach(TIP, model.fk(model.random(rng), TIP)[:3, 3])
        plain = poise.solve(model, [reach, MidRange()])
        able = poise.solve(model, [reach, Comfort(manipulability=20.0, frame=TIP)])
        assert manipulability(model, able.q, TIP).measure > manipulability(model, plain.q, TIP).measure


def test_it_never_costs_the_goals_and_keeps_the_limits():
    model = poise.load("humanoid")
    goals = [Reach("hand_l", (0.4, 1.2, 0.3)), Reach("foot_l", model.fk(model.rest, "foot_l"))]
    solution = poise.solve(model, [*goals, Comfort(gains={"elbow_l": 5.0}), Rest(weight=0.1)])
    assert solution.reached
    assert solution.q == pytest.approx(model.clamp(solution.q), abs=1e-15)
    assert "comfort" in str(solution)


def test_a_call_in_continuous_mode_is_bounded():
    model = poise.load("panda")
    reach = Reach(TIP, model.fk(model.rest, TIP)[:3, 3])
    comfort = Comfort(manipulability=5.0, frame=TIP)
    solver = poise.Solver(model, [reach, comfort], mode="continuous")
    q = np.array(model.rest)
    costs = []
    for _ in range(30):
        after = solver.solve(q).q
        assert np.abs(after - q).max() <= 0.2 + 1e-12
        q = after
        costs.append(comfort.find_cost(model, q))
    assert costs[-1] < costs[0]


def test_batches_take_it_row_by_row():
    model = poise.load("panda")
    targets = model.fk(model.random(np.random.default_rng(0), 3), TIP)[:, :3, 3]
    goals = [Reach(TIP, targets[0], name="tip"), Comfort()]
    many = poise.solve_batch(model, goals, {"tip": targets})
    for row, target in enumerate(targets):
        alone = poise.Solver(model, goals).solve(targets={"tip": target})
        assert many.q[row] == pytest.approx(alone.q, abs=1e-9)
