"""Speed() without a number: the velocity limits of the model."""

from __future__ import annotations

import numpy as np
import pytest

import poise
from driven_bodies import drive_randomly
from poise.errors import InvalidValue
from poise.goals import Reach
from poise.limits import Acceleration, Speed


@pytest.mark.parametrize("seed", range(6))
def test_it_is_the_mapping_of_the_joints_own_limits(seed: int) -> None:
    model = drive_randomly(seed)
    own = {joint.name: joint.velocity for joint in model.joints if joint.nv or joint.mimic}
    assert np.array_equal(Speed().bounds(model), Speed(own).bounds(model))
    assert np.isfinite(Speed().bounds(model)).any()


def test_a_step_holds_it() -> None:
    builder = poise.ModelBuilder("arm").add_joint("a", None, "revolute", velocity=0.5)
    builder.add_joint("b", "a", "revolute", offset=(1, 0, 0), velocity=2.0)
    builder.add_joint("c", "b", "revolute", offset=(1, 0, 0)).add_frame("tip", "c", (1, 0, 0))
    model = builder.build()
    solver = poise.Solver(model, Reach("tip", (-1, 1, 0)), limits=Speed())
    fastest, q = np.zeros(3), np.array([0.1, 0.2, 0.1])
    for _ in range(20):
        step = solver.step(q, 0.1)
        q, fastest = step.q, np.maximum(fastest, np.abs(step.velocity))
    assert (fastest[:2] <= [0.5 + 1e-12, 2.0 + 1e-12]).all()
    assert fastest[0] > 0.4
    assert Speed().describe(model) == ["Speed() leaves joints without a velocity limit free: c."]
    assert Speed(1.0).describe(model) == []


def test_a_model_without_limits_is_an_error() -> None:
    model = poise.load("humanoid")
    with pytest.raises(InvalidValue, match=r"no velocity limits; give a number"):
        poise.Solver(model, Reach("hand_l", (0, 1, 0)), limits=Speed()).step(model.rest, 0.1)
    with pytest.raises(InvalidValue, match="max"):
        Acceleration(None)
