"""Where a proof says that no pose reaches, the answer is the best of a few searches: no sampled pose is nearer."""

from __future__ import annotations

import numpy as np
import pytest

import poise
from poise import Status
from poise.goals import Reach

ARMS = 120
SAMPLES = 4000


def arm(rng: np.random.Generator) -> poise.Model:
    """One to three joints with ranges."""
    builder, parent = poise.ModelBuilder("arm"), None
    for i in range(int(rng.integers(1, 4))):
        kind = str(rng.choice(["revolute", "revolute", "revolute", "prismatic"]))
        axis = rng.normal(size=3)
        wide = rng.uniform(0.3, 5.0) if kind == "revolute" else rng.uniform(0.1, 0.6)
        low = -rng.uniform(0, wide)
        offset = rng.normal(scale=0.5, size=3) if i else (0, 0, 0)
        axis /= np.linalg.norm(axis)
        builder.add_joint(f"j{i}", parent, kind, offset=offset, axis=axis, lower=low, upper=low + wide)
        parent = f"j{i}"
    return builder.add_frame("tip", parent, rng.normal(scale=0.5, size=3)).build()


def test_no_sampled_pose_is_nearer() -> None:
    proved, worse = 0, []
    for seed in range(ARMS):
        rng = np.random.default_rng(seed)
        model = arm(rng)
        away = rng.normal(size=3)
        target = away / np.linalg.norm(away) * model.length * rng.uniform(0.9, 3.0)
        answer = poise.solve(model, Reach("tip", target))
        if answer.status is not Status.UNREACHABLE:
            continue
        proved += 1
        ends = model.random(rng, SAMPLES)
        sampled = np.concatenate(
            [ends, np.clip(3 * ends - 1.5 * (model.lower + model.upper), model.lower, model.upper)]
        )
        nearest = np.linalg.norm(model.fk(sampled, "tip")[:, :3, 3] - target, axis=1).min()
        if answer.errors["tip"][0] > 1.01 * nearest:
            worse.append(seed)
    assert proved > ARMS // 2
    assert len(worse) <= proved // 100, worse


def test_a_hinge_goes_to_its_nearer_end() -> None:
    builder = poise.ModelBuilder("hinge")
    builder.add_joint("hinge", None, "revolute", axis=(0, 0, 1), lower=-2.0, upper=1.0)
    model = builder.add_frame("tip", "hinge", (1, 0, 0)).build()
    answer = poise.solve(model, Reach("tip", (-2, 0.1, 0)))
    assert answer.q[0] == pytest.approx(-2.0)
    assert answer.status is Status.UNREACHABLE
