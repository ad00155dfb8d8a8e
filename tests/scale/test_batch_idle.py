"""Joints that no goal depends on, started outside their ranges: a batch brings them back as a solve does."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import poise
from limit_oracle import cone_broken, ranges_broken
from poise.arrays import Floats
from poise.batch import BatchSolver
from poise.goals import Reach
from poise.limits import Cone, Coupled
from poise.model import Model
from poise.model.joints.joint import BallRange

ROWS = 60


def branched(*, ball: bool) -> Model:
    """An arm that reaches, and next to it branches of every kind of range, which no goal on its tip depends on."""
    builder = poise.ModelBuilder("branched")
    builder.add_joint("a", None, "revolute", axis=(0, 0, 1), lower=-2, upper=2)
    builder.add_joint("b", "a", "revolute", offset=(0.4, 0, 0), axis=(0, 1, 0), lower=-2, upper=2)
    builder.add_joint("c", "b", "revolute", offset=(0.4, 0, 0), axis=(0, 1, 0), lower=-2, upper=2)
    builder.add_frame("tip", "c", (0.3, 0, 0))
    builder.add_joint("hinge", "a", "revolute", offset=(0, 0.3, 0), lower=-0.3337, upper=1.1111)
    builder.add_joint("slide", "hinge", "prismatic", offset=(0, 0.3, 0), lower=-0.1, upper=0.2)
    euler = {"lower": (-0.3, -0.2, -0.1), "upper": (0.3, 0.7, 0.1)}
    builder.add_joint("euler", "slide", "euler", order="XYZ", offset=(0, 0.3, 0), **euler)  # type: ignore[arg-type]
    if ball:
        cone = BallRange(swing=(0.4, 0.5), twist=(-0.3, 0.3))
        builder.add_joint("ball", "a", "ball", offset=(0, -0.3, 0), cone=cone)
    builder.add_joint("two", "a", "universal", offset=(0, 0, 0.2), lower=(-0.3, -0.2), upper=(0.3, 0.7))
    return builder.build()


def far_starts(model: Model) -> tuple[Floats, Floats]:
    """Targets that can be reached, and starts far outside of most ranges."""
    rng = np.random.default_rng(0)
    inside = np.asarray(model.random(rng, ROWS))
    targets = np.asarray(model.fk(inside, "tip"))[:, :3, 3]
    starts = inside + rng.normal(scale=0.8, size=inside.shape)
    for joint in model.joints:
        if joint.quaternion:
            starts[:, joint.q] /= np.linalg.norm(starts[:, joint.q], axis=1, keepdims=True)
    return targets, starts


def largest_break(model: Model, q: Floats) -> float:
    """The worst of the ranges and the cone."""
    cones = [(joint.cone, joint.q) for joint in model.joints if joint.cone is not None]
    return max([ranges_broken(model, q), *(cone_broken(cone, q[at] / np.linalg.norm(q[at])) for cone, at in cones)])


LIMITS: dict[str, Callable[[], list[Any]]] = {
    "none": list,
    "coupled": lambda: [Coupled({"hinge": 1.0, "b": 0.5}, -0.2, 0.4)],
    "coupled idle": lambda: [Coupled({"hinge": 1.0, "slide": 1.0}, -0.2, 0.4)],
    "cone": lambda: [Cone("ball", swing=0.3)],
}


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize(("ball", "limits"), [(False, "none"), (False, "coupled"), (False, "coupled idle"),
                                              (True, "none"), (True, "coupled"), (True, "cone")])  # fmt: skip
def test_idle_joints_come_back_as_in_a_solve(ball: bool, limits: str, dtype: str) -> None:
    """Packed in lanes (the first case) or row by row: the same places, inside, and the same claims."""
    model = branched(ball=ball)
    targets, starts = far_starts(model)
    batch = poise.solve_batch(model, Reach("tip", targets[0]), targets, starts, dtype=dtype, limits=LIMITS[limits]())
    solver = BatchSolver(model, Reach("tip", targets[0]), limits=LIMITS[limits]())
    assert solver.in_lanes == (not ball and limits == "none")
    near = 1e-9 if dtype == "float64" else 1e-6
    for k in range(ROWS):
        alone = poise.solve(model, Reach("tip", targets[k]), starts[k], limits=LIMITS[limits]())
        row = np.asarray(batch.q[k], dtype=np.float64)
        assert batch.reached[k] == alone.reached
        assert largest_break(model, row) <= (1e-12 if dtype == "float64" else 1e-7 if ball else 0.0)
        for name in ("hinge", "slide", "euler", "two"):
            at = model.joint(name).q
            np.testing.assert_allclose(row[at], alone.q[at], atol=near)
