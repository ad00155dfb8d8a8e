"""Regions and bases placed row by row on a device, for `make test-gpu`; skipped where there is none."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import poise
from poise.batch import BatchSolver
from poise.goals import Orient, Reach
from poise.limits import Box, Clearance, ConvexMesh, Cylinder, HalfSpace, PointCloud, Sphere
from poise.spatial import Rotation

cp = pytest.importorskip("cupy")
try:
    COUNT = cp.cuda.runtime.getDeviceCount()
except cp.cuda.runtime.CUDARuntimeError:
    COUNT = 0
pytestmark = pytest.mark.skipif(COUNT == 0, reason="no CUDA device on this machine")

TOLERANCE = (1e-4, 1e-3)
STALLED, INVALID, IN_COLLISION = 1, 5, 6
WORLD: tuple[Any, ...] = (
    HalfSpace((0, 0, -0.05), (0, 0, 1)),
    Box((0.45, 0.0, 0.2), (0.3, 0.5, 0.04), name="table"),
    Box((0.55, 0.2, 0.1), (0.04, 0.04, 0.2), name="table"),
    Sphere((0.5, 0.3, 0.5), 0.12),
    Cylinder((0.35, -0.45, 0.0), (0.4, -0.4, 0.7), 0.08),
)
KEYS = (None, "table", "table", None, "cylinder")  # in places=
LIMIT = Clearance(distance=0.01, world=WORLD)


def place_randomly(rng: np.random.Generator, count: int, length: float, angle: float) -> Any:
    T = np.tile(np.eye(4), (count, 1, 1))
    T[:, :3, :3] = Rotation.from_vector(rng.normal(scale=angle, size=(count, 3))).matrix
    T[:, :3, 3] = rng.normal(scale=length, size=(count, 3))
    return T


def make_batch(name: str, count: int) -> tuple[poise.Model, Any, dict[str, Any], Any]:
    """Return a body, targets, places of the table and the cylinder, and bases."""
    model, rng = poise.load(name), np.random.default_rng(3)
    base, table, other = (place_randomly(rng, count, 0.05, 0.1) for _ in range(3))
    base[:, :3, 3] += rng.uniform((-1, -1, 0), (1, 1, 0.3), (count, 3))
    targets = base @ model.fk(model.random(rng, count), model.frames[-1])
    return model, targets, {"table": base @ table, "cylinder": base @ other}, base


@pytest.mark.parametrize("name", ["panda", "ur5e"])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("count", [60, 20_000])
def test_answers_are_clear_where_regions_and_bases_are(name: str, dtype: str, count: int) -> None:
    model, targets, places, base = make_batch(name, count)
    base[7], places["table"][9, 0, 3] = 2.0 * np.eye(4), np.nan
    solver = BatchSolver(model, Reach(model.frames[-1], np.eye(4), tolerance=TOLERANCE), limits=[LIMIT], dtype=dtype)
    batch = solver.solve(
        cp.asarray(targets), places={key: cp.asarray(T) for key, T in places.items()}, base=cp.asarray(base)
    )
    codes, reached, q = batch.codes.get(), batch.reached.get(), batch.q.get().astype(np.float64)
    np.testing.assert_array_equal(np.flatnonzero(codes == INVALID), [7, 9])
    for row in np.flatnonzero(reached)[:100]:
        seen = np.linalg.inv(base[row])
        world = [replace(r, transform=seen @ places[k][row] if k else seen) for r, k in zip(WORLD, KEYS, strict=True)]
        assert replace(LIMIT, world=world).measure_gap(model, q[row]) > LIMIT.distance
    few = slice(0, min(count, 1000))
    cpu = solver.solve(targets[few], places={key: T[few] for key, T in places.items()}, base=base[few])
    assert np.mean(codes[few] == cpu.codes) > 0.97
    assert cpu.reached[codes[few] == IN_COLLISION].sum() <= (0 if name == "ur5e" else 5)
    assert (codes == IN_COLLISION).any()


def check_agrees(batch: poise.BatchSolution, cpu: poise.BatchSolution) -> None:
    """The same rows are reached; a GPU leaves more rows open, and calls none in collision that the CPU reaches."""
    codes = batch.codes.get()[: len(cpu.codes)]
    assert np.mean((codes == 0) == cpu.reached) > 0.97
    assert np.mean((codes == cpu.codes) | (codes == STALLED)) > 0.97
    assert not cpu.reached[codes == IN_COLLISION].any()


@pytest.mark.parametrize("name", ["panda", "ur5e"])
def test_point_clouds_and_convex_meshes(name: str) -> None:
    model, targets, places, base = make_batch(name, 5000)
    rng = np.random.default_rng(8)
    cloud = PointCloud(rng.normal((0.3, 0.3, 0.5), 0.05, (20_000, 3)), 0.01)
    rock = ConvexMesh(rng.normal((0.4, 0.0, 0.3), 0.08, (60, 3)), name="rock")
    limit = Clearance(distance=0.01, world=[cloud, rock])
    solver = BatchSolver(model, Reach(model.frames[-1], np.eye(4), tolerance=TOLERANCE), limits=[limit])
    local = np.linalg.inv(base) @ targets
    batch = solver.solve(cp.asarray(local))
    q, reached = batch.q.get().astype(np.float64), batch.reached.get()
    assert (limit.measure_gap(model, q[reached]) > limit.distance).all()
    check_agrees(batch, solver.solve(local[:1000]))
    given = {"rock": places["table"], "point cloud": places["cylinder"]}
    placed = solver.solve(
        cp.asarray(targets), places={k: cp.asarray(T) for k, T in given.items()}, base=cp.asarray(base)
    )
    cpu = solver.solve(targets[:1000], places={k: T[:1000] for k, T in given.items()}, base=base[:1000])
    check_agrees(placed, cpu)


def test_places_alone_and_a_base_alone_and_float_transforms() -> None:
    model, _, _, base = make_batch("ur5e", 5000)
    rng, tool = np.random.default_rng(5), model.frames[-1]
    local, table = model.fk(model.random(rng, 5000), tool), place_randomly(rng, 5000, 0.1, 0.2)
    solver = BatchSolver(model, Reach(tool, np.eye(4), tolerance=TOLERANCE), limits=[LIMIT])
    for given in ({"places": {"table": table}}, {"base": base}):
        targets = given.get("base", np.eye(4)) @ local
        floats = {
            k: {n: cp.asarray(T, dtype="f4") for n, T in x.items()} if k == "places" else cp.asarray(x, dtype="f4")
            for k, x in given.items()
        }
        gpu, cpu = solver.solve(cp.asarray(targets, dtype="f4"), **floats), solver.solve(targets, **given)
        assert np.mean(gpu.codes.get() == cpu.codes) > 0.99
    one = solver.solve(cp.asarray(local), places={"table": table[0]})  # one transform for all rows, from the host
    all_ = solver.solve(cp.asarray(local), places={"table": cp.asarray(np.tile(table[0], (5000, 1, 1)))})
    cp.testing.assert_array_equal(one.q, all_.q)


def test_a_base_moves_points_and_rotations_and_not_relative_goals() -> None:
    model, rng = poise.load("humanoid"), np.random.default_rng(6)
    base = place_randomly(rng, 300, 2.0, 1.0)
    bodies = model.integrate(model.rest, rng.uniform(-0.2, 0.2, (300, model.nv)))
    hand, head, chest = (model.fk(bodies, name) for name in ("hand_l", "eyes", "chest"))
    goals = [
        Reach("hand_l", np.zeros(3)),
        Orient("eyes", np.eye(3)),
        Reach("hand_r", np.eye(4), relative_to="chest"),
    ]
    targets = {
        "hand_l": (base @ hand)[:, :3, 3].copy(),
        "eyes": (base @ head)[:, :3, :3].copy(),
        "hand_r": np.linalg.inv(chest) @ model.fk(bodies, "hand_r"),
    }
    batch = poise.solve_batch(model, goals, {k: cp.asarray(x) for k, x in targets.items()}, base=cp.asarray(base))
    reached = batch.reached.get()
    assert reached.mean() > 0.97
    found = base @ model.fk(batch.q.get().astype(float), "hand_l")
    assert np.linalg.norm(found[:, :3, 3] - targets["hand_l"], axis=1)[reached].max() < 1.1e-3


@pytest.mark.parametrize("library", ["torch", "jax"])
def test_other_libraries(library: str) -> None:
    module: Any = pytest.importorskip(library)
    model, targets, places, base = make_batch("ur5e", 500)

    def give(x: Any) -> Any:
        if library == "torch":
            return module.as_tensor(x, dtype=module.float32, device="cuda")
        return module.numpy.asarray(x, dtype="float32")

    solver = BatchSolver(model, Reach(model.frames[-1], np.eye(4), tolerance=TOLERANCE), limits=[LIMIT])
    batch = solver.solve(give(targets), places={k: give(T) for k, T in places.items()}, base=give(base))
    cpu = solver.solve(targets, places=places, base=base)
    assert np.mean(np.asarray(batch.reached.cpu() if library == "torch" else batch.reached) == cpu.reached) > 0.98
