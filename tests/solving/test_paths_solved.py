"""Paths and stretching bones in everything that solves: they reach, their ends hold, and refusals name them."""

from typing import Any

import numpy as np
import pytest

import poise
from bodies import EVERY_KIND, STAGE_POINTS, make_stage, random_model
from poise import ModelBuilder, Solver, motion
from poise.errors import InvalidValue, PoiseError
from poise.goals import Reach, Rest
from poise.limits import Clearance, Coupled
from poise.methods import names
from poise.model import Path
from poise.native import core
from poise.rig import Rig

STAGE = make_stage()


def is_inside(model: poise.Model, q: Any) -> bool:
    q = np.atleast_2d(q)
    return all(
        ((q[:, j.q] >= j.lower) & (q[:, j.q] <= j.upper)).all() for j in model.joints if j.nv and not j.quaternion
    )


@pytest.mark.parametrize("seed", range(8))
def test_what_a_pose_can_is_reached(seed: int) -> None:
    rng = np.random.default_rng(seed)
    T = STAGE.fk(STAGE.random(rng), "hand")
    for goals in (Reach("hand", T), Reach("hand", T[:3, 3]), [Reach("hand", T[:3, 3]), Rest()]):
        solution = poise.solve(STAGE, goals, seed=seed)
        assert solution.reached
        assert is_inside(STAGE, solution.q)


@pytest.mark.slow
def test_random_bodies_of_every_kind_reach() -> None:
    reached = 0
    for seed in range(30):
        model = random_model(seed, 10, EVERY_KIND)
        rng = np.random.default_rng(seed)
        q = model.random(rng)
        goal = Reach(model.frames[-1], model.fk(q, model.frames[-1])[:3, 3])
        solution = poise.solve(model, goal, model.integrate(q, rng.normal(scale=0.05, size=model.nv)))
        assert solution.status is not poise.Status.UNREACHABLE
        assert is_inside(model, solution.q)
        reached += solution.reached
    assert reached >= 29


def test_the_ends_of_a_curve_hold() -> None:
    wire = ModelBuilder().add_joint("bead", None, "path", path=STAGE_POINTS).build()
    for target, end in (((9, 0, 0), wire.upper[0]), ((-9, 0, 0), 0.0)):
        solution = poise.solve(wire, Reach("bead", target))
        assert solution.q[0] == end
        assert solution.status is poise.Status.UNREACHABLE
        assert [limit.joint for limit in solution.active_limits] == ["bead"]
    assert poise.solve(wire, Reach("bead", (9, 0, 0)), [50.0]).q[0] <= 50.0  # a start beyond the end comes back
    nearest = poise.solve(wire, Reach("bead", (1.2, -0.2, 0.9)), [1.0])
    x = np.linspace(0, wire.upper[0], 20_001)[:, None]
    least = np.linalg.norm(wire.fk(x, "bead")[:, :3, 3] - (1.2, -0.2, 0.9), axis=1).min()
    assert nearest.errors["bead"][0] == pytest.approx(least, abs=1e-6)


REFUSING = {"fabrik": "'carriage'|'upper'|'lower'", "two_bone": r"carriage \(path\)", "inverse": "square"}


@pytest.mark.parametrize("method", [name for name in names() if name != "auto" and name not in REFUSING])
def test_methods_take_them(method: str) -> None:
    rng = np.random.default_rng(1)
    q = STAGE.random(rng)
    goal = Reach("hand", STAGE.fk(q, "hand")[:3, 3])
    start = STAGE.clamp(STAGE.integrate(q, rng.uniform(-0.05, 0.05, STAGE.nv)))
    solution = poise.solve(STAGE, goal, start, method=method, max_steps=2000)
    assert solution.errors["hand"][0] < 2e-3
    assert is_inside(STAGE, solution.q)


@pytest.mark.parametrize("method", REFUSING)
def test_methods_that_turn_bones_reject_them_by_name(method: str) -> None:
    with pytest.raises(PoiseError, match=REFUSING[method]):
        poise.solve(STAGE, Reach("hand", (1, 0.2, 0.1)), method=method)


def test_limits_beyond_ranges_hold() -> None:
    b = ModelBuilder("beads").add_joint("one", None, "path", path=STAGE_POINTS)
    b.add_joint("two", None, "path", path=[(p[0], p[1] + 0.02, p[2]) for p in STAGE_POINTS])
    b.add_shape("one", poise.model.Sphere(0.1)).add_shape("two", poise.model.Sphere(0.1))
    model = b.build()
    limits = [Clearance(pairs=[("one", "two")]), Coupled({"one": 1.0, "two": 1.0}, upper=2.5)]
    solution = poise.solve(
        model, [Reach("one", STAGE_POINTS[2]), Reach("two", STAGE_POINTS[2])], [0.2, 0.9], limits=limits
    )
    apart = np.linalg.norm(model.fk(solution.q, "one")[:3, 3] - model.fk(solution.q, "two")[:3, 3])
    assert apart >= 0.2 - 1e-9
    assert solution.q.sum() <= 2.5 + 1e-12


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_batches(dtype: str) -> None:
    rng = np.random.default_rng(0)
    targets = STAGE.fk(STAGE.random(rng, 64), "hand")
    batch = poise.solve_batch(STAGE, Reach("hand", targets[0]), targets, restarts=20, dtype=dtype)
    assert batch.reached.mean() >= 0.95
    assert is_inside(STAGE, batch.q)
    metres = np.linalg.norm(STAGE.fk(batch.q, "hand")[:, :3, 3] - targets[:, :3, 3], axis=1)
    assert metres[batch.reached].max() < 2e-4


def test_a_gpu_rejects_a_path_by_name_and_takes_a_stretch() -> None:
    cause, _, place = core.refused_by_device(Solver(STAGE, Reach("hand", (1, 0, 0))).problem)
    from poise.batch.device import REFUSALS

    assert "path" in REFUSALS[cause]
    assert place == STAGE.joint("carriage").q.start
    arm = ModelBuilder().add_joint("turn", None, "revolute").add_joint("bone", "turn", "scale", length=1.0).build()
    assert core.refused_by_device(Solver(arm, Reach("bone", (1, 0, 0))).problem)[0] == 0


def test_continuous_and_in_time() -> None:
    solver = Solver(STAGE, [Reach("hand", (0.5, 0.2, 0.2)), Rest()], mode="continuous", step_limit=0.2)
    q = poise.solve(STAGE, Reach("hand", (0.5, 0.2, 0.2))).q
    for x in np.linspace(0.5, 1.5, 40):
        solution = solver.solve(q, {"hand": (x, 0.2, 0.2)})
        assert solution.reached
        q = solution.q
    step = solver.step(q, 0.02, {"hand": (1.52, 0.2, 0.2)})
    assert step.velocity is not None
    assert np.isfinite(step.velocity).all()


def test_clips_and_rigs() -> None:
    line = np.linspace((0.5, 0.2, 0.2), (1.5, 0.2, 0.2), 24)
    track = motion.track(STAGE, Reach("hand", line), fps=24)
    assert track.reached.all()
    assert is_inside(STAGE, track.motion.q)
    rig = Rig(STAGE)
    rig.drag("hand", (1.0, 0.3, 0.2))
    assert is_inside(STAGE, rig.pose.q)


def test_a_closed_track_goes_round() -> None:
    ring = [(1, 0, 0), (0, 1, 0), (-1, 0, 0), (0, -1, 0)]
    model = ModelBuilder().add_joint("car", None, "path", path=Path(ring, closed=True)).build()
    length = model.joint("car").path.length
    solver, q = Solver(model, Reach("car", ring[0]), mode="continuous"), np.zeros(1)
    for x in np.linspace(0, 2.5 * length, 200)[1:]:
        q = solver.solve(q, {"car": model.fk([x], "car")[:3, 3]}).q
    assert q[0] == pytest.approx(2.5 * length, abs=1e-2)  # two and a half rounds, not half of one


def test_unknown_kinds_of_the_door() -> None:
    with pytest.raises(InvalidValue, match="every number"):
        STAGE.fk(np.full(STAGE.nq, np.nan), "hand")
