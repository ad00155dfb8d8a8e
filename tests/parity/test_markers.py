"""Many markers on a body: more rows than velocities. The answer is the least-squares fit, as SciPy finds it."""

from typing import Any

import numpy as np
import pytest

import poise
from poise.goals import Reach
from tiers import mostly_slow

NOISE = 0.004  # [m]


def draw_markers(model: poise.Model, count: int, seed: int, noise: float) -> tuple[list[Reach], dict[str, Any]]:
    """Goals for points all over the body in a random pose near rest, off by `noise`, and where they should be."""
    rng = np.random.default_rng(seed)
    q = model.clamp(model.integrate(np.array(model.rest), rng.normal(scale=0.15, size=model.nv)))
    goals, targets = [], {}
    for k in range(count):
        frame, point = model.frames[k % len(model.frames)], rng.normal(scale=0.05, size=3)
        T = model.fk(q, frame)
        targets[f"m{k}"] = T[:3, :3] @ point + T[:3, 3] + rng.normal(scale=noise, size=3)
        goals.append(Reach(frame, targets[f"m{k}"], point=point, name=f"m{k}", tolerance=1e-6))
    return goals, targets


def find_residuals(model: poise.Model, goals: list[Reach], targets: dict[str, Any], q: Any) -> Any:
    """Where each marker is, less where it should be [m]."""
    T = {goal.frame: model.fk(q, goal.frame) for goal in goals}
    parts = [T[g.frame][:3, :3] @ g.point + T[g.frame][:3, 3] - targets[g.name] for g in goals]
    return np.concatenate(parts)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["humanoid", "quadruped", "panda"])
@pytest.mark.parametrize("count", [30, 60])
def test_exact_markers_are_met(name: str, count: int) -> None:
    model = poise.load(name)
    for seed in range(3):
        goals, targets = draw_markers(model, count, seed, 0.0)
        solution = poise.solve(model, goals)
        assert solution.reached
        assert np.abs(find_residuals(model, goals, targets, solution.q)).max() < 1.1e-6


@pytest.mark.parametrize("name", mostly_slow(["panda", "humanoid"], 1))
def test_noisy_markers_are_fitted_as_scipy_does(name: str) -> None:
    optimize = pytest.importorskip("scipy.optimize")
    model = poise.load(name)
    for seed in range(3):
        goals, targets = draw_markers(model, 60, seed, NOISE)
        ours = poise.solve(model, goals, restarts=0, max_steps=300)
        np.testing.assert_allclose(model.clamp(ours.q), ours.q, atol=1e-12)
        mine = float((find_residuals(model, goals, targets, ours.q) ** 2).sum())

        def cost(dv: Any, goals: Any = goals, targets: Any = targets, q: Any = ours.q) -> Any:
            return find_residuals(model, goals, targets, model.clamp(model.integrate(q, dv)))

        theirs = optimize.least_squares(cost, np.zeros(model.nv), xtol=1e-12, ftol=1e-12, gtol=1e-12)
        assert mine <= 2 * theirs.cost * (1 + 1e-4)


@pytest.mark.slow
def test_a_batch_of_markers_is_what_one_by_one_gives() -> None:
    model = poise.load("panda")
    rows = [draw_markers(model, 12, seed, NOISE)[1] for seed in range(6)]
    goals = draw_markers(model, 12, 0, NOISE)[0]
    batch = poise.solve_batch(model, goals, {g.name: np.array([r[g.name] for r in rows]) for g in goals}, restarts=0)
    solver = poise.Solver(model, goals, restarts=0)
    for k, row in enumerate(rows):
        np.testing.assert_array_equal(batch.q[k], solver.solve(targets=row).q)


@pytest.mark.slow
def test_joints_that_depend_on_each_other_do_not_drift() -> None:
    builder = poise.ModelBuilder("coaxial")
    for k, above in enumerate((None, "r0", "r1", "r2")):
        axis, offset = ((0, 0, 1), (0, 0, 0)) if k < 2 else ((0, 1, 0), (0.3, 0, 0))
        builder.add_joint(f"r{k}", above, "revolute", axis=axis, offset=offset)
    model = builder.build()
    for seed in range(40):
        rng = np.random.default_rng(seed)
        goals = [
            Reach(
                model.frames[-1 - k % 2],
                rng.normal(scale=0.5, size=3),
                point=rng.normal(scale=0.1, size=3),
                name=f"m{k}",
            )
            for k in range(12)
        ]
        q = poise.solve(model, goals, np.zeros(4), restarts=0).q
        assert abs(q[0] - q[1]) < 1e-6  # alike in everything, so they share the turn


def test_several_answers_where_rows_outnumber_joints() -> None:
    model = poise.load("panda")
    frames = model.frames[-3:]
    q = model.random(np.random.default_rng(0), 5)
    goals = [Reach(frame, np.zeros(3), point=(0.1, 0.05, 0.0), name=frame) for frame in frames]
    T = {frame: model.fk(q, frame) for frame in frames}
    targets = {frame: T[frame][:, :3, :3] @ (0.1, 0.05, 0.0) + T[frame][:, :3, 3] for frame in frames}
    batch = poise.solve_batch(model, goals, targets, solutions=3)
    assert batch.reached[:, 0].all()
