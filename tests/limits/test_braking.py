"""Braking: ranges, speeds and accelerations hold together in every time step, whatever the goals ask."""

import numpy as np
import pytest

import poise
from bodies import random_model
from limit_oracle import check_rates, start_at_ends
from poise import Solver
from poise.goals import Reach
from poise.limits import Acceleration, Speed


def step_along(solver, q, dt, targets, velocity=None):
    """The poses of a body that is led to one target after the other."""
    out = [q]
    for target in targets:
        solution = solver.step(out[-1], dt, {solver.row_names[0]: target}, velocity=velocity)
        velocity = solution.velocity
        out.append(np.array(solution.q))
    return np.array(out)


@pytest.mark.parametrize("rate", [30.0, 100.0, 1000.0])
@pytest.mark.parametrize("body", ["ur5e", "panda", 0, 1, 2, 3], ids=str)
def test_every_step_keeps_range_speed_and_acceleration(body, rate):
    model = poise.load(body) if isinstance(body, str) else random_model(body, joints=8)
    rng = np.random.default_rng(len(model.frames))
    for speed, acceleration in ((np.inf, 3.0), (0.5, 50.0), (2.0, 0.5)):
        solver = Solver(model, Reach(model.frames[-1], (0, 0, 0)), limits=[Speed(speed), Acceleration(acceleration)])
        far = model.length * rng.choice([0.3, 1.0, 10.0], size=(3, 1)) * rng.normal(size=(3, 3))
        q = step_along(solver, start_at_ends(model, rng), 1.0 / rate, np.repeat(far, 12, axis=0))
        check_rates(model, q, 1.0 / rate, speed, acceleration)


def test_joints_that_no_goal_moves_slow_down():
    model = poise.load("ur5e")
    solver = Solver(model, Reach("forearm_link", (0.3, 0.2, 0.4)), limits=Acceleration(3.0))
    before = np.full(model.nv, 0.5)
    after = solver.step(model.rest, 0.01, velocity=before).velocity
    assert np.abs(after - before).max() <= 0.03 * (1.0 + 1e-9)
    assert (after[3:] < before[3:]).all()


def test_joints_that_are_left_out_stay():
    model = poise.load("ur5e")
    solver = Solver(model, Reach("tool0", (0.3, 0.2, 0.4)), limits=Acceleration(3.0), joints=["elbow_joint"])
    moved = solver.step(model.rest, 0.01, velocity=np.full(model.nv, 0.5)).velocity
    assert np.flatnonzero(moved).tolist() == [2]
