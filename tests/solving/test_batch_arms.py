"""Arms of six and seven hinges have kernels of their own in a batch; their rows are those of the single solver too."""

from __future__ import annotations

import numpy as np
import pytest

import poise
from poise.batch import BatchSolver
from poise.goals import Reach


def random_arm(seed: int, hinges: int, *, before: bool, behind: bool) -> poise.Model:
    """A serial arm with joints that do not move its tool, numbered before its own or behind them."""
    rng = np.random.default_rng(seed)
    builder = poise.ModelBuilder("arm")
    if before:
        builder.add_joint("lamp", None, "prismatic", lower=-0.1, upper=0.2)
    parent = None
    for i in range(hinges):
        corner = rng.choice([-np.pi / 2, 0.0, np.pi / 2, rng.uniform(-np.pi, np.pi)])
        offset = poise.Transform(poise.Rotation.from_axis_angle((1, 0, 0), corner), rng.uniform(-0.3, 0.3, 3))
        builder.add_joint(
            f"j{i}", parent, "revolute", offset=offset, lower=-2.5, upper=2.5, stiffness=rng.uniform(0, 1)
        )
        parent = f"j{i}"
    builder.add_frame("tool", parent, rng.uniform(-0.2, 0.2, 3))
    if behind:
        for side in (-1.0, 1.0):
            builder.add_joint(f"finger{side}", parent, "prismatic", lower=0.0, upper=0.04, axis=(0.0, side, 0.0))
    return builder.build()


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("before", [False, True])
@pytest.mark.parametrize("behind", [False, True])
@pytest.mark.parametrize("hinges", [5, 6, 7, 8])
def test_rows_of_arms_are_those_of_the_single_solver(hinges: int, behind: bool, before: bool, dtype: str) -> None:
    model = random_arm(hinges, hinges, before=before, behind=behind)
    rng = np.random.default_rng(1)
    targets, starts = model.fk(model.random(rng, 60), "tool"), model.random(rng, 60)
    goal = Reach("tool", np.eye(4), weight=(1.0, 2.0, 1.0, 0.5, 0.5, 0.5))
    batch = BatchSolver(model, goal, dtype=dtype).solve(targets, starts)
    solver = poise.Solver(model, goal)
    alone = [solver.solve(start, {"tool": target}) for start, target in zip(starts, targets, strict=True)]
    assert np.mean(batch.reached == [one.reached for one in alone]) >= 0.98
    idle = [k for k, joint in enumerate(model.joints) if joint.kind == "prismatic"]
    np.testing.assert_array_equal(batch.q[:, idle], starts[:, idle].astype(dtype))
    assert ((batch.q >= model.lower) & (batch.q <= model.upper)).all()
    found = model.fk(batch.q.astype(np.float64), "tool")
    metres = np.linalg.norm(found[:, :3, 3] - targets[:, :3, 3], axis=1)
    np.testing.assert_allclose(batch.errors["tool"][:, 0], metres, atol=1e-9)
    if dtype == "float64":
        same = [np.allclose(q, one.q, atol=1e-6) for q, one in zip(batch.q, alone, strict=True)]
        assert np.mean(same) >= 0.85  # rounding may send a long search elsewhere
