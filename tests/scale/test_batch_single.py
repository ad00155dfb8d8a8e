"""Batches in float32: `reached`, `errors` and the limits are those of the float32 poses that are handed out."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import poise
from limit_oracle import cone_broken, ranges_broken
from poise.arrays import Floats
from poise.goals import Custom, Goal, Reach
from poise.methods import Scipy, Sequential
from poise.model import Model
from poise.model.joints.joint import BallRange

TCP = "panda_hand_tcp"
# between what float32 and float64 can tell: rounding decides which rows hold it [m]
FINE = 6e-8


def panda(tolerance: float) -> tuple[Model, list[Goal], Floats]:
    model = poise.load("panda")
    targets = np.asarray(model.fk(model.random(np.random.default_rng(1), 40), TCP))[:, :3, 3]
    return model, [Reach(TCP, targets[0], tolerance=tolerance)], targets


def coned(tolerance: float) -> tuple[Model, list[Goal], Floats]:
    """A ball joint in a narrow cone, a hinge in a narrow range: most answers are at the edge of one."""
    builder = poise.ModelBuilder("coned arm")
    builder.add_joint("ball", None, "ball", cone=BallRange(swing=(0.6, 0.9), twist=(-0.4, 0.5)))
    builder.add_joint("hinge", "ball", "revolute", offset=(0, 0, 0.5), axis=(0, 1, 0), lower=-1.1, upper=1.3)
    model = builder.add_frame("tip", "hinge", (0, 0, 0.4)).build()
    rng = np.random.default_rng(2)
    wild = [poise.solve(model, Reach("tip", rng.normal(size=3))).q for _ in range(40)]
    targets = np.array([np.asarray(model.fk(q, "tip"))[:3, 3] for q in wild])
    return model, [Reach("tip", targets[0], tolerance=tolerance)], targets


def height(model: Model, frame: str) -> Goal:
    """A goal in Python that asks for nothing that is not so: the frame's height is a number."""
    return Custom(lambda q: 0.0 * np.asarray(model.fk(q, frame))[2:3, 3], size=1, name="height", tolerance=1.0)


WAYS: dict[str, Callable[[Model], dict[str, Any]]] = {
    "lanes": lambda _: {},
    "threads": lambda _: {"method": "dls"},
    "scipy": lambda _: {"method": Scipy("trf")},
    "sequential": lambda _: {"method": Sequential()},
    "custom": lambda _: {"custom": True},
    "several": lambda _: {"solutions": 3},
    "several, one by one": lambda _: {"solutions": 3, "method": "dls"},
}


@pytest.mark.slow
@pytest.mark.parametrize("tolerance", [1e-4, FINE])
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("body", [panda, coned])
def test_single_precision_is_judged_as_it_is_returned(body: Any, way: str, tolerance: float) -> None:
    model, goals, targets = body(tolerance)
    options = WAYS[way](model)
    if options.pop("custom", False):
        goals = [*goals, height(model, goals[0].frame)]
    name, frame = goals[0].frame, goals[0].frame
    batch = poise.solve_batch(model, goals, {name: targets}, dtype="float32", **options)
    assert batch.q.dtype == np.float32
    several = batch.q.ndim == 3
    q = batch.q.astype(np.float64).reshape(len(targets), -1, model.nq)
    errors, reached = batch.errors[name].reshape(*q.shape[:2], 2), batch.reached.reshape(q.shape[:2])
    for k, j in np.ndindex(*q.shape[:2]):
        if np.isnan(q[k, j]).any():
            assert several
            continue
        off = float(np.linalg.norm(np.asarray(model.fk(q[k, j], frame))[:3, 3] - targets[k]))
        assert errors[k, j, 0] == pytest.approx(off, abs=2e-9)
        if reached[k, j]:
            assert off <= tolerance + 2e-9
        assert largest_break(model, q[k, j]) <= 1e-7
    if tolerance > FINE and not several:  # rounding alone costs nothing there
        full = poise.solve_batch(model, goals, {name: targets}, **options)
        assert np.mean(full.reached == batch.reached) > 0.95


def largest_break(model: Model, q: Floats) -> float:
    """The worst of the ranges, which hold exactly, and the cones, of quaternions whose length is rounded."""
    cones = [(joint.cone, joint.q) for joint in model.joints if joint.cone is not None]
    assert ranges_broken(model, q) <= 0.0
    return max([0.0, *(cone_broken(cone, q[at] / np.linalg.norm(q[at])) for cone, at in cones)])


@pytest.mark.slow
def test_float32_reaches_fewer_rows_at_tight_tolerances() -> None:
    """With a tolerance that rounding alone breaks, fewer rows are reached in float32 than in float64."""
    model, goals, targets = panda(2e-8)
    targets = targets[:20]
    goals = [replace(goals[0], name="tcp")]
    full, half = (
        poise.solve_batch(model, goals, targets, dtype=dtype, method=Scipy("trf")) for dtype in ("float64", "float32")
    )
    assert full.reached.mean() > 0.9
    assert half.reached.mean() < 0.9
