"""Limits under every method of the shelf: the model's own cones, and how far one step leads."""

from __future__ import annotations

import numpy as np
import pytest

import poise
from limit_oracle import cone_broken, ranges_broken
from poise.goals import Reach
from poise.methods import Method, find_method, names
from poise.methods.scipy import LEAST_SQUARES, MINIMIZERS
from poise.model.joints.joint import BallRange

ROUNDING = 1e-12
STEPPING = [name for name in names() if name != "sequential"]


def coned_arm() -> poise.Model:
    """A ball joint and a hinge, both held narrow."""
    builder = poise.ModelBuilder("coned arm")
    builder.add_joint("ball", None, "ball", cone=BallRange(swing=(0.6, 0.9), twist=(-0.4, 0.5)))
    builder.add_joint("hinge", "ball", "revolute", offset=(0, 0, 0.5), axis=(0, 1, 0), lower=-1.0, upper=1.5)
    return builder.add_frame("tip", "hinge", (0, 0, 0.4)).build()


def largest_break(model: poise.Model, q: np.ndarray) -> float:
    """The worst of the ranges and the cone."""
    cone = model.joint("ball").cone
    assert cone is not None
    return max(ranges_broken(model, q), cone_broken(cone, q[model.joint("ball").q]))


@pytest.mark.slow
@pytest.mark.parametrize("optimizer", [*LEAST_SQUARES, *MINIMIZERS])
def test_scipy_keeps_the_cones_of_the_model(optimizer: str) -> None:
    pytest.importorskip("scipy")
    model, rng, reached = coned_arm(), np.random.default_rng(3), 0
    method = poise.methods.Scipy(optimizer)
    for k in range(16):
        inside = poise.solve(model, Reach("tip", rng.normal(size=3))).q  # some pose that keeps the limits
        has_pose = k % 4 > 0
        target = np.array(model.fk(inside, "tip"))[:3, 3] if has_pose else rng.normal(size=3) * 0.7
        start = model.rest if has_pose else np.array([*poise.Rotation.from_vector((1.5, 0.3, 0.9)).wxyz, 0.2])
        solution = poise.solve(model, Reach("tip", target), start, method=method)
        assert solution.steps <= 200
        assert largest_break(model, solution.q) <= ROUNDING
        error = float(np.linalg.norm(np.array(model.fk(solution.q, "tip"))[:3, 3] - target))
        assert abs(error - solution.errors["tip"][0]) <= 1e-9
        assert solution.reached == (error <= 1e-4 * min(1.0, model.length))
        reached += solution.reached and has_pose
        for few in (1, 4) if k % 2 else ():  # and cut short, it keeps them too
            short = poise.solve(model, Reach("tip", target), start, method=method, max_steps=few)
            assert short.steps <= few
            assert largest_break(model, short.q) <= ROUNDING
    assert reached >= 3  # of 12 that have a pose: trf reaches 4 to 7 of them, the others 9 to 12


def longest_step(model: poise.Model, solution: poise.Solution) -> float:
    """The most that a joint turned in one step of one search."""
    history = solution.history
    assert history is not None
    moved = np.abs(model.difference(history.q[:-1], history.q[1:])).max(axis=1)
    return float(moved[np.diff(history.search) == 0].max(initial=0.0))


@pytest.mark.parametrize("step_limit", [None, 0.3])
@pytest.mark.parametrize("method", STEPPING)
def test_a_step_is_no_longer_than_its_method_says(method: str, step_limit: float | None) -> None:
    """One radian, unless the method lays limbs into place; `step_limit=` holds all of them."""
    model, kind = poise.load("planar3"), find_method(method)
    assert isinstance(kind, Method)
    most = kind.longest_step if step_limit is None else step_limit
    longest = 0.0
    for target in np.random.default_rng(0).uniform(-2, 2, (20, 3)) * (1, 1, 0):
        try:
            solution = poise.solve(
                model, Reach("tip", target), method=method, step_limit=step_limit, record=True, max_steps=30
            )
        except poise.errors.InvalidValue:  # a body or a goal that the method does not support
            return
        longest = max(longest, longest_step(model, solution))
    assert longest <= most + 1e-9
