"""The clearance of a GPU batch, built for the CPU: verdicts as those of `measure_gap`, and clear answers."""

import subprocess
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import nvrtc
import poise
from native_programs import compile_program
from poise.batch.device import check_served, list_fixed
from poise.batch.obstacles import name_regions
from poise.goals import Reach
from poise.limits import Box, Capsule, Clearance, ConvexMesh, Cylinder, HalfSpace, PointCloud, Sphere
from poise.native import core
from poise.native.gpu import DeviceClearance, DeviceProblem, PlacedWorld
from poise.native.gpu.device import OPTIONS
from poise.native.gpu.passes import MOVING, list_passes, list_places, lists_all_poses
from poise.native.gpu.source import write_problem
from poise.spatial import Rotation

pytestmark = pytest.mark.slow

ROWS, POSES, SEARCHES = 150, 2000, 40
WORLD = (
    HalfSpace((0, 0, -0.05), (0, 0, 1)),
    Sphere((0.5, 0.3, 0.5), 0.12),
    Box((0.45, 0.0, 0.2), (0.3, 0.5, 0.04), Rotation.from_vector((0.1, 0.2, 0.3))),
    Capsule((-0.4, -0.4, 0.0), (-0.4, -0.4, 1.0), 0.06),
    Cylinder((0.35, -0.45, 0.0), (0.4, -0.4, 0.7), 0.08),
    Box((-0.5, 0.4, 0.4), (0.2, 0.2, 0.8)),
)
SHELF = (
    Box((0.35, 1.0, 0.4), (0.3, 0.04, 0.3)),
    Sphere((0.3, 1.4, 0.3), 0.1),
    Capsule((0, 0.9, 0.5), (0.4, 1.2, 0.5), 0.05),
)
UNREACHABLE, INVALID, IN_COLLISION = 4, 5, 6


@dataclass
class Answers:
    """What the program wrote."""

    verdicts: Any
    q: Any
    codes: Any
    reached: Any
    searches: Any


def pack(*arrays: Any) -> bytes:
    parts = [x if isinstance(x, bytes) else np.ascontiguousarray(x).tobytes() for x in arrays]
    return b"".join(np.int64(len(part)).tobytes() + part for part in parts)


@dataclass
class Case:
    """A problem, and what the program answered."""

    goal: Reach
    limit: Clearance
    model: poise.Model
    poses: Any
    targets: Any
    starts: Any
    moves: dict[str, Any]
    broken: tuple[int, ...]  # rows whose target or place is invalid
    answers: Answers = field(init=False)

    def measure_gaps(self, q: Any) -> Any:
        """Return the gaps of poses of rows 0, 1, ..., which begin again after the last, less the distance [m]."""
        gaps = np.full(len(q), np.nan)
        for row in range(ROWS) if self.moves else ():
            if row not in self.broken:
                gaps[row::ROWS] = self.place_world(row).measure_gap(self.model, q[row::ROWS])
        known = ~np.isnan(q).any(axis=1)
        if not self.moves:
            gaps[known] = self.limit.measure_gap(self.model, q[known])
        return gaps - self.limit.distance

    def place_world(self, row: int) -> Clearance:
        """Return the clearance of one row, with regions as its base sees them."""
        from_world = np.linalg.inv(self.moves["base"][row])
        places = self.moves["places"]
        world = [
            replace(region, transform=from_world @ (places[name][row] if name in places else np.eye(4)))
            for name, region, *_ in name_regions([self.limit])
        ]
        return replace(self.limit, world=world)


def place_on_host(solver: poise.Solver, places: Mapping[str, Any], base: Any) -> tuple[PlacedWorld, list[Any]]:
    """Return the places of a batch with addresses that the program fills in, and the transforms."""
    transforms = [base, *places.values()]
    host = [None if T is None else (SimpleNamespace(data=SimpleNamespace(ptr=0), itemsize=8), 16) for T in transforms]
    numbers = {name: k for k, name in enumerate(places, start=1)}
    groups = tuple(numbers.get(name, 0) for name, *_ in name_regions(solver.options.limits))
    return PlacedWorld(tuple(host), groups), [np.zeros(0) if T is None else T for T in transforms]


def run(
    folder: Path, solver: poise.Solver, poses: Any, targets: Any, starts: Any, places: Any = None, base: Any = None
) -> Answers:
    free, clearance = check_served(solver, 1), DeviceClearance(solver.problem, list_fixed(solver))
    world, transforms = place_on_host(solver, places or {}, base)
    f32, f64 = (core.problem_of(free.problem, single) for single in (True, False))
    given = write_problem(f32, "f32", "float") + write_problem(f64, "f64", "double")
    given += write_problem(clearance.body, "body", "double")
    (folder / "given.h").write_text(given + f"constexpr bool lists = {int(lists_all_poses(f32))};\n")
    compile_program("gpu_clearance", folder, "-fno-math-errno", "-I", str(folder))
    seeds = core.seeds_of(free.problem)[: SEARCHES - 1, list_places(f32)].astype(np.float32)
    given = []
    for single in (False, True):
        call, arrays = clearance.prepare(single, world.groups)
        call["n_places"], arrays["places"] = len(transforms), world.write(0).tobytes()
        given += [call, *arrays.values(), *transforms]
    (folder / "in").write_bytes(pack(*given, poses, targets, starts, seeds))
    program = [folder / "gpu_clearance", folder / "in", folder / "out", str(SEARCHES)]
    subprocess.run(program, check=True, capture_output=True)
    raw, at, parts, nq = (folder / "out").read_bytes(), 0, [], solver.model.nq
    sizes = (("i1", len(poses)), ("f4", ROWS * nq), ("f8", ROWS * 2), ("i1", ROWS), ("i1", ROWS), ("i4", ROWS))
    for dtype, count in sizes:
        parts.append(np.frombuffer(raw, dtype, count, at))
        at += parts[-1].nbytes
    return Answers(parts[0], parts[1].reshape(ROWS, nq), parts[3], parts[4].astype(bool), parts[5])


def turn_randomly(random: np.random.Generator, count: int, length: float, angle: float) -> Any:
    """Return random transforms (count, 4, 4)."""
    T = np.tile(np.eye(4), (count, 1, 1))
    T[:, :3, :3] = [Rotation.from_vector(x).matrix for x in random.normal(scale=angle, size=(count, 3))]
    T[:, :3, 3] = random.normal(scale=length, size=(count, 3))
    return T


@pytest.fixture(scope="module", params=["panda", "panda to a point", "humanoid", "panda placed", "ur5e placed"])
def case(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Case:
    """An arm whose closed form lists its poses or not, a body with joints that the goal does not move, and arms among
    regions and on bases that are placed row by row."""
    name, word, _ = (*request.param.split(" ", 1), "", "")[:3]
    model, random = poise.load(name), np.random.default_rng(4)
    arm, point, placed = name != "humanoid", word == "to a point", word == "placed"
    tool = model.frames[-1] if arm else "hand_l"
    poses, bodies = (move_randomly(model, random, count, 2.0 if arm else 0.5) for count in (POSES, ROWS))
    targets, starts = model.fk(bodies, tool), np.tile(model.rest, (ROWS, 1))
    goal, limit = Reach(tool, np.eye(4)), Clearance(distance=0.01, world=WORLD if arm else SHELF)
    if point or not arm:
        goal, targets = Reach(tool, np.zeros(3)), targets[:, :3, 3]
    if not arm:
        clear = poses[limit.measure_gap(model, poses) > limit.distance]
        starts[ROWS // 2 :] = clear[: ROWS - ROWS // 2]
    moves: dict[str, Any] = {}
    if placed:
        world = [replace(WORLD[2], name="desk"), replace(WORLD[3], name="desk"), WORLD[0], *WORLD[4:]]
        cloud = PointCloud(random.normal((0.2, 0.5, 0.6), 0.03, (500, 3)), 0.02)
        rock = ConvexMesh(random.normal((-0.4, 0.0, 0.6), 0.05, (40, 3)), name="desk")
        limit = Clearance(distance=0.01, world=[cloud, *world, rock])
        base, place, other = (turn_randomly(random, ROWS, 0.1, 0.2) for _ in range(3))
        base[:, :3, 3] += random.uniform((-1, -1, 0), (1, 1, 0.3), (ROWS, 3))
        base[:20, :3, 3], place[20:40, :3, 3] = (-0.5, 0.4, 0.0), 9.0  # in the last box, and a desk that is far away
        moves = {"base": base, "places": {"desk": base @ place, "cylinder": base @ other, "point cloud": base @ place}}
        targets = base @ targets
        base[30], moves["places"]["point cloud"][31, 0, 3] = 2.0 * np.eye(4), np.nan
    targets[5] = np.nan
    case = Case(goal, limit, model, poses, targets, starts, moves, (5, 30, 31) if placed else (5,))
    solver = poise.Solver(model, goal, limits=[limit], restarts=SEARCHES - 1)
    case.answers = run(tmp_path_factory.mktemp("program"), solver, poses, targets, starts, **moves)
    return case


@pytest.mark.nvrtc
@pytest.mark.parametrize("name", ["panda", "ur5e", "humanoid", "panda to a point"])
def test_the_kernels_compile_for_a_gpu(name: str) -> None:
    model = poise.load(name.partition(" ")[0])
    lists, body = name in ("panda", "ur5e"), name == "humanoid"
    goal = Reach("hand_l" if body else model.frames[-1], np.eye(4) if lists else np.zeros(3))
    solver = poise.Solver(model, goal, limits=[Clearance()])
    problem = DeviceProblem(check_served(solver, 1).problem, clearance=DeviceClearance(solver.problem))
    names = list_passes(problem.tables[0])
    assert names == ("check_clear", *(["list_clear"] if lists else []), "gather_bodies" if body else "gather_clear")
    options = [*(x for x in OPTIONS if "std" not in x), "--Ofast-compile=max"]
    compiled = nvrtc.compile(problem.source((False, False), (*names, *MOVING)), {}, "sm_90", options=options)
    assert set(compiled.kernels) == {*names, *MOVING}


def move_randomly(model: poise.Model, random: np.random.Generator, count: int, size: float) -> Any:
    """Return poses around the rest pose, inside the ranges."""
    low, high = np.maximum(model.lower, -size), np.minimum(model.upper, size)
    return model.integrate(model.rest, random.uniform(np.minimum(low, 0), np.maximum(high, 0), (count, model.nv)))


def test_verdicts_are_those_of_the_measured_gap(case: Case) -> None:
    gaps = case.measure_gaps(case.poses)
    sure = np.abs(gaps) > 1e-9  # False for NaN
    assert 0.1 < np.mean(gaps > 0) < 0.9
    np.testing.assert_array_equal(case.answers.verdicts[sure] == 0, gaps[sure] > 0)


def test_answers_are_clear_and_as_many_as_on_the_cpu(case: Case) -> None:
    answers, model, base = case.answers, case.model, {k: x for k, x in case.moves.items() if k == "base"}
    cpu, free = (
        poise.solve_batch(model, case.goal, case.targets, case.starts, limits=limits, restarts=SEARCHES - 1, **given)
        for limits, given in (([case.limit], case.moves), ([], base))
    )
    np.testing.assert_array_equal(np.flatnonzero(answers.codes == INVALID), case.broken)
    np.testing.assert_array_equal(np.flatnonzero(cpu.codes == INVALID), case.broken)
    valid = answers.codes != INVALID
    q, good = answers.q.astype(np.float64), answers.reached
    gaps = case.measure_gaps(q)
    assert (gaps[good] > 0).all()
    own = {k: x[good] for k, x in base.items()}
    judged = poise.solve_batch(model, case.goal, case.targets[good], q[good], restarts=0, max_steps=1, **own)
    assert (judged.steps == 0).all()  # the CPU finds them reached where they stand
    hidden = case.measure_gaps(free.q)[good] < 0
    assert hidden.sum() > 5  # found by further searches
    assert np.mean(good[cpu.reached]) > 0.95
    blocked = answers.codes == IN_COLLISION
    assert blocked.any() == (case.targets.ndim == 3)  # transforms
    assert not cpu.reached[blocked].any()
    # any other row has a clear pose, or its start
    at_start = np.abs(q - case.starts).max(axis=1) < 1e-6
    assert (at_start | (gaps > 0))[valid & ~good].all()
    if case.moves:
        assert blocked[:20].mean() > 0.9
        proved = cpu.codes == UNREACHABLE  # some by closed forms, which do not run here
        assert np.mean((answers.codes == cpu.codes)[valid & ~proved]) > 0.95
        assert proved[answers.codes == UNREACHABLE].all()


def test_branches_that_float_cannot_tell_apart_are_searched_for(tmp_path: Path) -> None:
    """Nearly stretched wrists: the listed branch stands for a curve of poses, some of them clear."""
    model, random = poise.load("ur5e"), np.random.default_rng(1)
    bodies, tool = move_randomly(model, random, ROWS, 2.0), model.frames[-1]
    bodies[:, 4] = random.choice([-1, 1], ROWS) * random.uniform(2e-4, 4e-4, ROWS)
    targets, starts = model.fk(bodies, tool), np.tile(model.rest, (ROWS, 1))
    limit = Clearance(distance=0.01, world=WORLD)
    solver = poise.Solver(model, Reach(tool, np.eye(4)), limits=[limit], restarts=SEARCHES - 1)
    answers = run(tmp_path, solver, starts, targets, starts)
    cpu = poise.solve_batch(model, Reach(tool, np.eye(4)), targets, starts, limits=[limit])
    assert cpu.reached.sum() > ROWS / 5
    assert np.mean(answers.reached[cpu.reached]) > 0.985  # without searches 0.979
    assert (limit.measure_gap(model, answers.q.astype(np.float64))[answers.reached] > limit.distance).all()


def make_slide(size: float) -> poise.Model:
    """Return a Stanford arm: two turns, a slide and a wrist."""
    builder = poise.ModelBuilder("stanford")
    places = [(0, 0, 0), (0, 0.15, 0.4), (0, 0, 0.3), (0, 0, 0), (0, 0, 0), (0, 0, 0)]
    for k, (place, axis) in enumerate(zip(places, "zyzzyz", strict=True)):
        kind, most = ("prismatic", 0.8 * size) if k == 2 else ("revolute", 3.1)
        given = {"offset": size * np.array(place), "axis": np.eye(3)["xyz".index(axis)], "lower": -most, "upper": most}
        builder.add_joint(f"j{k}", f"j{k - 1}" if k else None, kind, **given)
    return builder.add_frame("tool", "j5", poise.Transform(translation=(0, 0, 0.1 * size))).build()


def test_motions_of_slides_are_measured_in_lengths_of_the_body(tmp_path: Path) -> None:
    size, random = 10.0, np.random.default_rng(4)
    model = make_slide(size)
    limit = Clearance(pairs=[], world=Sphere((0.2 * size, 0, 0.4 * size), 0.1 * size))  # where the shoulder may be
    targets = model.fk(model.random(random, ROWS), "tool")
    starts = model.random(random, ROWS)
    goal = Reach("tool", np.eye(4), tolerance=(1e-4 * size, 1e-3))
    solver = poise.Solver(model, goal, limits=[limit], restarts=SEARCHES - 1)
    answers = run(tmp_path, solver, starts[:1], targets, starts)
    cpu = poise.solve_batch(model, goal, targets, starts, limits=[limit], restarts=SEARCHES - 1)
    free = poise.solve_batch(model, goal, targets, starts, restarts=SEARCHES - 1)
    listed = answers.reached & cpu.reached & (limit.measure_gap(model, free.q) < limit.distance)
    assert listed.sum() > 10
    assert np.mean(np.abs(answers.q - cpu.q).max(axis=1)[listed] < 1e-3) > 0.95


@pytest.mark.parametrize(("weight", "fixed"), [(1.0, True), ((1, 1, 1, 1, 1, 0), False), ((1, 1, 0, 1, 1, 1), False)])
def test_only_a_goal_without_free_components_fixes_its_link(weight: Any, fixed: bool) -> None:
    model = poise.load("panda")
    solver = poise.Solver(model, Reach(model.frames[-1], np.eye(4), weight=weight), limits=[Clearance()])
    call, _ = DeviceClearance(solver.problem).prepare(False)
    assert (call["goal_primitive"][0] >= 0) == fixed


def test_a_long_held_object_may_move_further_within_the_tolerance() -> None:
    model = poise.load("panda")
    tool = model.frames[-1]
    deep = []
    for limit in (Clearance(), Clearance(held={tool: Capsule((0, 0, 0), (0, 0, 3), 0.01)})):
        solver = poise.Solver(model, Reach(tool, np.eye(4)), limits=[limit])
        deep.append(DeviceClearance(solver.problem).prepare(False)[0]["deep"][0])
    assert deep[1] < 5 * deep[0] < 0


def test_a_body_far_from_the_origin_is_not_judged_in_float() -> None:
    model = poise.load("panda")
    solver = poise.Solver(model, Reach(model.frames[-1], np.eye(4)), limits=[Clearance()])
    clearance = DeviceClearance(solver.problem)
    for x, certain in ((0.0, True), (1000.0, False)):
        clearance.body["primitives"][0]["p"] = [x, 0.0, 0.0]
        calls = [clearance.prepare(single)[0] for single in (True, False)]
        assert [bool(call["certain"][0]) for call in calls] == [certain, True]
