"""Batches on a device: `make test-gpu`, where there is one. Everything is skipped elsewhere."""

from typing import Any

import numpy as np
import pytest

import poise
from poise import Status
from poise.batch import BatchSolver
from poise.errors import InvalidValue, ShapeMismatch
from poise.goals import Align, Balance, CenterOfMass, LookAt, Reach, Rest
from poise.limits import Box, Capsule, Clearance, Cylinder, HalfSpace, Sphere

cp = pytest.importorskip("cupy")
try:
    COUNT = cp.cuda.runtime.getDeviceCount()
except cp.cuda.runtime.CUDARuntimeError:
    COUNT = 0
pytestmark = pytest.mark.skipif(COUNT == 0, reason="no CUDA device on this machine")

TOLERANCE = (1e-4, 1e-3)
OBSTACLES = (
    HalfSpace((0, 0, -0.05), (0, 0, 1)),
    Sphere((0.5, 0.3, 0.5), 0.12),
    Box((0.45, 0.0, 0.2), (0.3, 0.5, 0.04)),
    Capsule((-0.4, -0.4, 0.0), (-0.4, -0.4, 1.0), 0.06),
    Cylinder((0.35, -0.45, 0.0), (0.4, -0.4, 0.7), 0.08),
)


def arm(count: int) -> tuple[poise.Model, str, Any]:
    model = poise.load("panda")
    tool = model.frames[-1]
    return model, tool, model.fk(model.random(np.random.default_rng(0), count), tool)


@pytest.fixture(scope="module")
def solver() -> BatchSolver:
    model, tool, _ = arm(1)
    return BatchSolver(model, Reach(tool, np.eye(4), tolerance=TOLERANCE))


@pytest.mark.parametrize("count", [1, 1000, 20_000, 300_000])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_an_arm_reaches(solver: BatchSolver, count: int, dtype: str) -> None:
    model, tool, targets = arm(count)
    batch = solver.solve(cp.asarray(targets, dtype=dtype))
    q = batch.q.get().astype(np.float64)
    reached = batch.reached.get()
    assert reached.mean() >= 0.9995
    T = model.fk(q, tool)
    assert np.linalg.norm(T[:, :3, 3] - targets[:, :3, 3], axis=1)[reached].max() <= 1.001e-4
    chord = np.linalg.norm(T[:, :3, :3] - targets[:, :3, :3], axis=(1, 2))[reached].max() / np.sqrt(2)
    assert chord <= 1.001e-3
    assert (q >= model.lower).all()
    assert (q <= model.upper).all()
    cpu = solver.solve(targets[:1000])
    assert np.mean(batch.searches.get()[:1000] == cpu.searches) > 0.9


@pytest.mark.parametrize("count", [1, 500, 20_000])
def test_double_refines_beyond_the_precision_of_float(count: int) -> None:
    model, tool, targets = arm(count)
    fine = BatchSolver(model, Reach(tool, np.eye(4), tolerance=(1e-10, 1e-10)), dtype="float64")
    batch = fine.solve(cp.asarray(targets))
    assert batch.q.dtype == cp.float64
    reached, q = batch.reached.get(), batch.q.get()
    assert reached.mean() >= 0.999
    T = model.fk(q, tool)
    assert np.linalg.norm(T[:, :3, 3] - targets[:, :3, 3], axis=1)[reached].max() <= 1.1e-10
    assert (q >= model.lower).all()
    assert (q <= model.upper).all()


@pytest.mark.parametrize("name", ["panda", "iiwa14", "ur5e"])
@pytest.mark.parametrize("count", [300, 30_000])
def test_random_transforms_are_reached_or_proved_out_of_reach_as_on_the_cpu(name: str, count: int) -> None:
    model, rng = poise.load(name), np.random.default_rng(4)
    tool = model.frames[-1]
    own = model.fk(model.random(rng, count), tool)
    mixed = own.copy()
    mixed[:, :3, 3] += rng.normal(scale=0.3, size=(count, 3))
    solver = BatchSolver(model, Reach(tool, np.eye(4), tolerance=TOLERANCE))
    codes, few = solver.solve(cp.asarray(mixed)).codes.get(), min(count, 2000)
    cpu = solver.solve(mixed[:few])
    unlike = (codes[:few] == 0) != cpu.reached
    assert (unlike | ((codes[:few] == 4) != (cpu.codes == 4))).mean() < 0.005
    assert not ((codes[:few] == 4) & cpu.reached).any()
    assert not ((codes[:few] == 0) & (cpu.codes == 4)).any()
    assert np.isin(codes, [0, 4]).mean() > 0.99
    assert (codes == 4).any()
    assert not (solver.solve(cp.asarray(own)).codes == 4).any()


def test_a_few_rows_out_of_reach_are_decided_as_many_are(solver: BatchSolver) -> None:
    targets, rng = arm(40_000)[2], np.random.default_rng(6)
    targets[:20_000, :3, 3] += rng.normal(scale=0.3, size=(20_000, 3))
    many = solver.solve(cp.asarray(targets)).codes.get()
    few = np.concatenate([np.flatnonzero(many == 4)[:40], np.arange(20_000, 40_000)])
    codes = solver.solve(cp.asarray(targets[few])).codes.get()
    np.testing.assert_array_equal(codes == 4, many[few] == 4)
    assert np.isin(codes, [0, 4]).mean() > 0.9995


def test_the_same_bits_every_time(solver: BatchSolver) -> None:
    targets = cp.asarray(arm(30_000)[2])
    a, b = solver.solve(targets), solver.solve(targets[::-1].copy())
    for field in ("q", "codes", "steps", "searches"):
        cp.testing.assert_array_equal(getattr(a, field), getattr(b, field)[::-1])


def test_a_bad_row_spoils_only_itself(solver: BatchSolver) -> None:
    _, tool, targets = arm(5000)
    targets[3, 0, 3] = np.nan
    targets[7, :3, :3] = 2.0
    targets[20, :3, 3] = 50.0
    starts = cp.tile(cp.asarray(solver.model.rest), (5000, 1))
    starts[30, 2] = cp.nan
    for rows in (100, 5000):  # by teams, and by threads
        batch = solver.solve(cp.asarray(targets[:rows]), starts[:rows])
        assert [i for i, s in enumerate(batch.status) if s is Status.INVALID] == [3, 7, 30]
        assert batch.status[20] is Status.UNREACHABLE
        assert np.isnan(batch.errors[tool].get()[[3, 7, 30]]).all()
        assert batch.counts[Status.REACHED] >= rows - 6


def test_other_libraries_get_back_what_they_gave(solver: BatchSolver) -> None:
    _, tool, targets = arm(500)
    torch = pytest.importorskip("torch")
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        given = torch.as_tensor(targets, dtype=torch.float32, device="cuda")
        batch = solver.solve(given)
        assert isinstance(batch.q, torch.Tensor)
        assert batch.q.is_cuda
        assert bool(batch.reached.all())
    assert isinstance(batch.errors[tool], torch.Tensor)
    assert len(batch.missed) == 0


def test_jax(solver: BatchSolver) -> None:
    jax = pytest.importorskip("jax")
    given = jax.numpy.asarray(arm(500)[2], dtype="float32")
    batch = solver.solve(given)
    assert isinstance(batch.q, jax.Array)
    assert bool(batch.reached.all())


def test_out_and_errors(solver: BatchSolver) -> None:
    model, tool, targets = arm(100)
    device = cp.asarray(targets)
    q = cp.zeros((100, 7), cp.float32)
    assert solver.solve(device, out=q).q is q
    with pytest.raises(InvalidValue, match="not on the GPU"):
        solver.solve(device, np.zeros(7))
    with pytest.raises(InvalidValue, match="not C-contiguous"):
        solver.solve(device[::2])
    with pytest.raises(InvalidValue, match="float32 or float64"):
        solver.solve(device.astype(cp.float16))
    with pytest.raises(ShapeMismatch, match=r"\(\.\.\., 4, 4\)"):
        solver.solve(device[:, :3, 3].copy())
    with pytest.raises(InvalidValue, match="out"):
        solver.solve(device, out=np.zeros((100, 7), np.float32))
    with pytest.raises(InvalidValue, match="default method"):
        poise.solve_batch(model, Reach(tool, np.eye(4)), device, method="dls")
    with pytest.raises(InvalidValue, match="solutions"):
        poise.solve_batch(model, Reach(tool, np.eye(4)), device, solutions=2)


def test_a_whole_body_and_a_posture() -> None:
    model = poise.load("humanoid")
    names = ("hand_l", "hand_r", "foot_l", "foot_r")
    q = model.integrate(model.rest, np.random.default_rng(1).uniform(-0.2, 0.2, (20_000, model.nv)))
    goals = [Reach(name, np.eye(4)) for name in names]
    targets = {name: cp.asarray(model.fk(q, name)) for name in names}
    batch = poise.solve_batch(model, goals, targets)
    cpu = poise.solve_batch(model, goals, {name: T[:200].get() for name, T in targets.items()})
    assert float(batch.reached.mean()) >= 0.99
    assert np.mean(batch.reached.get()[:200] == cpu.reached) > 0.97


def rested(name: str, count: int) -> tuple[poise.Model, list[Any], dict[str, Any]]:
    """A problem with a posture, with reachable targets."""
    model, rng = poise.load(name), np.random.default_rng(3)
    if name == "humanoid":
        names = ("hand_l", "hand_r", "foot_l", "foot_r")
        q = model.integrate(model.rest, rng.uniform(-0.2, 0.2, (count, model.nv)))
        return model, [*(Reach(x, np.eye(4)) for x in names), Rest()], {x: model.fk(q, x) for x in names}
    tool = model.frames[-1]
    return (
        model,
        [Reach(tool, np.eye(4), tolerance=TOLERANCE), Rest()],
        {tool: model.fk(model.random(rng, count), tool)},
    )


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("count", [200, 20_000])
@pytest.mark.parametrize(("name", "same"), [("panda", 0.9), ("iiwa14", 0.95), ("ur5e", 0.99), ("humanoid", 0.97)])
def test_a_posture_is_followed_as_on_the_cpu(name: str, same: float, count: int, dtype: str) -> None:
    model, goals, targets = rested(name, count)
    batch = poise.solve_batch(model, goals, {x: cp.asarray(T) for x, T in targets.items()}, dtype=dtype)
    q, few = batch.q.get().astype(np.float64), min(count, 1000)
    assert float(batch.reached.mean()) >= 0.999
    judged = poise.solve_batch(model, goals[:-1], targets, q, restarts=0, max_steps=1)
    assert (judged.steps[batch.reached.get()] == 0).all()  # the CPU finds them reached where they stand
    cpu = poise.solve_batch(model, goals, {x: T[:few] for x, T in targets.items()})
    both = batch.reached.get()[:few] & cpu.reached
    cost, wanted = ((model.difference(model.rest, x[both]) ** 2).sum(axis=1) for x in (q[:few], cpu.q))
    # both end after three steps that each gain less than 1e-4 of the cost; some searches end in another valley
    assert np.mean(np.abs(cost / wanted - 1.0) < 1e-3) > same
    assert np.mean(cost > 1.001 * wanted) < 0.05
    assert np.median(np.abs(cost / wanted - 1.0)) < 1e-4


@pytest.mark.parametrize("rests", [False, True])
@pytest.mark.parametrize("count", [200, 20_000])
def test_a_body_keeps_its_balance_as_on_the_cpu(count: int, rests: bool) -> None:
    model, feet, hands = poise.load("humanoid"), ("foot_l", "foot_r"), ("hand_l", "hand_r")
    q = model.integrate(model.rest, np.random.default_rng(1).uniform(-0.2, 0.2, (count, model.nv)))
    targets = {name: model.fk(q, name) for name in feet}
    targets |= {name: model.fk(q, name)[:, :3, 3] + (0.0, 0.0, 0.3) for name in hands}  # in front of it
    goals: list[Any] = [*(Reach(x, np.zeros(3)) for x in hands), *(Reach(x, np.eye(4)) for x in feet)]
    goals += [Balance(feet, margin=0.02), *([Rest()] if rests else [])]
    batch = poise.solve_batch(model, goals, {name: cp.asarray(x) for name, x in targets.items()})
    reached, q, few = batch.reached.get(), batch.q.get().astype(np.float64), min(count, 500)
    judged = poise.solve_batch(model, goals[:5], targets, q, restarts=0, max_steps=1)
    assert (judged.steps[reached] == 0).all()  # the CPU finds them balanced where they stand
    cpu = poise.solve_batch(model, goals, {name: x[:few] for name, x in targets.items()})
    assert np.mean(reached[:few] == cpu.reached) > 0.97
    both = reached[:few] & cpu.reached
    cost, wanted = ((model.difference(model.rest, x[both]) ** 2).sum(axis=1) for x in (q[:few], cpu.q))
    assert not rests or np.mean(np.abs(cost / wanted - 1.0) < 1e-2) > 0.8
    with pytest.raises(InvalidValue, match="the same for all rows"):
        poise.solve_batch(model, goals, {"balance": cp.zeros(count), **{x: cp.asarray(T) for x, T in targets.items()}})


def test_teams_give_the_same_bits_every_time_and_a_posture_below_the_goals() -> None:
    model, names = poise.load("humanoid"), ("hand_l", "hand_r")
    rng = np.random.default_rng(2)
    bodies = [model.integrate(model.rest, rng.normal(scale=0.4, size=(3000, model.nv))) for _ in names]
    targets = {  # some need several searches, and some are out of reach
        name: cp.asarray(model.fk(q, name)) for name, q in zip(names, bodies, strict=True)
    }
    solver = BatchSolver(model, [*(Reach(name, np.eye(4)) for name in names), Rest()], restarts=20)
    first, again = solver.solve(targets), solver.solve(targets)
    for x, y in ((first.q, again.q), (first.steps, again.steps), (first.searches, again.searches)):
        np.testing.assert_array_equal(x.get(), y.get())
    free = poise.solve_batch(model, [Reach(name, np.eye(4)) for name in names], targets, restarts=20)
    assert float(first.reached.mean()) >= float(free.reached.mean()) - 0.01
    both = (first.reached & free.reached).get()
    apart, without = (np.abs(model.difference(model.rest, x.q.get().astype(float)[both])).mean() for x in (first, free))
    assert apart < without


def test_a_gaze_and_a_lean() -> None:
    model = poise.load("humanoid")
    bodies = model.integrate(model.rest, np.random.default_rng(4).uniform(-0.2, 0.2, (500, model.nv)))
    eyes, chest = model.fk(bodies, "eyes"), model.fk(bodies, "chest")
    goals = [Reach("hand_l", np.zeros(3)), LookAt("eyes", np.zeros(3)), Align("chest", "y", (0, 1, 0), name="lean")]
    targets = {
        "hand_l": model.fk(bodies, "hand_l")[:, :3, 3].copy(),
        "eyes": eyes[:, :3, 3] + 2.0 * eyes[:, :3, 2],
        "lean": 3.0 * chest[:, :3, 1],
    }
    device = {name: cp.asarray(x) for name, x in targets.items()}
    device["lean"][3] = 0.0
    batch = poise.solve_batch(model, goals, device)
    reached = batch.reached.get()
    assert list(np.flatnonzero(~reached)) == [3]
    assert batch.status[3] is Status.INVALID
    seen = model.fk(batch.q.get().astype(float)[reached], "eyes")
    way = targets["eyes"][reached] - seen[:, :3, 3]
    angles = np.arccos(np.clip(np.einsum("bi,bi->b", seen[:, :3, 2], way) / np.linalg.norm(way, axis=1), -1, 1))
    assert angles.max() < 1.1e-3
    fixed = poise.solve_batch(model, goals, {"hand_l": device["hand_l"]})  # the others keep their own targets
    assert float(fixed.reached.mean()) > 0.95
    with pytest.raises(InvalidValue, match="'com' is a CenterOfMass"):
        poise.solve_batch(model, [*goals, CenterOfMass((0, 0, 1), name="com")], device)


@pytest.mark.parametrize("name", ["panda", "ur5e"])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("count", [50, 20_000])
def test_answers_among_obstacles_are_clear(name: str, dtype: str, count: int) -> None:
    model = poise.load(name)
    tool, limit = model.frames[-1], Clearance(distance=0.01, world=OBSTACLES)
    targets = model.fk(model.random(np.random.default_rng(0), count), tool)
    solver = BatchSolver(model, Reach(tool, np.eye(4), tolerance=TOLERANCE), limits=[limit], dtype=dtype)
    batch = solver.solve(cp.asarray(targets))
    q, reached, codes = batch.q.get().astype(np.float64), batch.reached.get(), batch.codes.get()
    assert (limit.measure_gap(model, q[reached]) > limit.distance).all()
    assert np.linalg.norm(model.fk(q, tool) - targets, axis=(1, 2))[reached].max() < 0.01
    away = np.abs(q - model.rest).max(axis=1) > 1e-6
    assert (limit.measure_gap(model, q[away]) > limit.distance).all()  # others have a clear pose, or their start
    cpu = solver.solve(targets[:500])
    assert np.mean(reached[:500][cpu.reached]) > 0.97
    found = int(cpu.reached[codes[:500] == 6].sum())
    assert found == 0 if name == "ur5e" else found < 5  # of seven joints, the free one is sampled
