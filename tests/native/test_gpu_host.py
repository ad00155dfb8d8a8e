"""The code of a GPU batch, built for the CPU, answers as the CPU does."""

import subprocess
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import poise
from gpu_problems import ROWS, build_six_joints, draw_mixed, humanoid, make_gaze, panda, prepare, turn_goals
from native_programs import compile_program, precompile_headers
from poise.goals import Balance, Goal, Orient, Reach, Rest
from poise.native import core
from poise.native.gpu.passes import list_places
from poise.native.gpu.source import coarsen, write_problem

pytestmark = pytest.mark.slow

FINE = (1e-9, 1e-9)  # [m, rad]
Build = Callable[[poise.Solver, bool], Path]


def rest_goals(make: Callable[[], tuple[poise.Model, list[Goal], dict[str, Any]]]) -> Any:
    """The same problem with a posture."""

    def make_rested() -> tuple[poise.Model, list[Goal], dict[str, Any]]:
        model, goals, targets = make()
        return model, [*goals, Rest()], targets

    return make_rested


RESTED = {
    "panda": rest_goals(panda),
    "six": rest_goals(build_six_joints),
    "humanoid": rest_goals(humanoid),
    "turned": turn_goals,
}
PROBLEMS = {
    "panda": panda,
    "mixed": draw_mixed,
    "six": build_six_joints,
    "humanoid": humanoid,
    "turned": turn_goals,
    "gazing": make_gaze,
}


def refine(goal: Any) -> Goal:
    """The goal with tolerances beyond float."""
    return goal if isinstance(goal, Rest) else replace(goal, tolerance=FINE if isinstance(goal, Reach) else FINE[1])


@dataclass
class Answers:
    """What the program wrote."""

    q: Any
    errors: Any
    codes: Any
    reached: Any
    steps: Any
    searches: Any


def read_answers(raw: bytes, nq: int, goals: int, finish: bool) -> Answers:
    kind = [("f8" if finish else "f4", nq), ("f8", 2 * goals), ("i1", 1), ("i1", 1), ("i4", 1), ("i4", 1)]
    parts, at = [], 0
    for dtype, width in kind:
        count = ROWS * width
        parts.append(np.frombuffer(raw, dtype, count, at).reshape((ROWS, width) if width > 1 else (ROWS,)))
        at += count * np.dtype(dtype).itemsize
    return Answers(*parts)


@pytest.fixture(scope="module")
def build(tmp_path_factory: pytest.TempPathFactory) -> Build:
    """Return a function that compiles the program for a problem into a folder, once for all with the same constants."""
    known: dict[str, Path] = {}
    flags = ("-fno-math-errno", "-pthread")
    shared = precompile_headers("gpu_entry", tmp_path_factory.mktemp("headers"), *flags)

    def build_once(solver: poise.Solver, finish: bool) -> Path:
        given = write_given(solver, finish)
        if given not in known:
            known[given] = tmp_path_factory.mktemp("program")
            (known[given] / "given.h").write_text(given)
            compile_program("gpu_entry", known[given], *flags, *shared, "-I", str(known[given]))
        return known[given]

    return build_once


def write_given(solver: poise.Solver, finish: bool) -> str:
    """Return the constants of a problem as C++."""
    f32, f64 = (core.problem_of(solver.problem, single) for single in (True, False))
    return write_problem(coarsen(f32) if finish else f32, "f32", "float") + write_problem(f64, "f64", "double")


def run(folder: Path, solver: poise.Solver, targets: dict[str, Any], starts: Any, early: int, finish: bool) -> Answers:
    """What the program answers."""
    model, names = solver.model, solver.row_names
    places = list_places(core.problem_of(solver.problem, True))
    seeds = np.vstack([core.seeds_of(solver.problem)[:, places], np.zeros((1, len(places)))]).astype(np.float32)
    data = [np.ascontiguousarray(targets[name]) for name in names]
    (folder / "in").write_bytes(b"".join(x.tobytes() for x in (*data, starts, seeds)))
    numbers = map(str, (ROWS, early, 13, int(finish)))
    subprocess.run([folder / "gpu_entry", folder / "in", folder / "out", *numbers], check=True, capture_output=True)
    return read_answers((folder / "out").read_bytes(), model.nq, len(names), finish)


@pytest.fixture(scope="module", params=PROBLEMS)
def built(request: pytest.FixtureRequest, build: Build) -> tuple[Any, ...]:
    model, goals, targets = PROBLEMS[request.param]()
    solver = prepare(model, goals, restarts=12)
    return request.param, build(solver, False), solver, targets


@pytest.mark.parametrize("early", [0, 2])
def test_the_device_code_answers_as_the_cpu_does(built: tuple[Any, ...], early: int) -> None:
    name, folder, solver, targets = built
    model, names = solver.model, solver.row_names
    starts = np.tile(model.rest, (ROWS, 1))
    held = set(list_places(core.problem_of(solver.problem, True)))
    idle = [k for joint in model.joints if joint.nq == joint.nv for k in range(model.nq)[joint.q] if k not in held]
    starts[20:, idle] = np.random.default_rng(3).uniform(-4.0, 4.0, (ROWS - 20, len(idle)))  # outside most ranges
    starts[7, -1] = np.nan
    device = run(folder, solver, targets, starts, early, finish=False)
    goals = list(solver.goals.values())
    cpu = poise.solve_batch(model, goals, targets, starts, restarts=12, dtype="float32")
    np.testing.assert_array_equal(device.q[:, idle], cpu.q[:, idle])  # brought back into their ranges, alike
    np.testing.assert_array_equal(device.codes == 5, cpu.codes == 5)
    np.testing.assert_array_equal(device.codes == 4, cpu.codes == 4)
    assert np.mean(device.reached.astype(bool) == cpu.reached) > 0.96
    good = device.reached.astype(bool)
    q = device.q.astype(np.float64)
    if len(names) == len(goals):
        # another compiler rounds elsewhere, and searches are sensitive
        assert np.mean(device.steps == cpu.steps) > 0.5
    if name == "six":  # by its nearest branch, as on the CPU
        placed = good & (device.steps == 1)
        assert placed.mean() > 0.8
        assert np.median(np.abs(q - cpu.q)[placed].max(axis=1)) < 1e-4
        assert np.mean(np.abs(q - cpu.q)[placed].max(axis=1) < 1e-2) > 0.95
    rows = [solver.goals[x] for x in names]
    judged = poise.solve_batch(model, rows, targets, np.where(np.isnan(q), 0.0, q), restarts=0, max_steps=1)
    assert (judged.steps[good] == 0).all()  # the CPU finds them reached where they stand


@pytest.mark.parametrize("name", PROBLEMS)
def test_double_refines_beyond_the_precision_of_float(name: str, build: Build) -> None:
    model, goals, targets = PROBLEMS[name]()
    fine = [refine(goal) for goal in goals]
    solver = prepare(model, fine, restarts=12)
    starts = np.tile(model.rest, (ROWS, 1))
    starts[7, -1] = np.nan
    device = run(build(solver, True), solver, targets, starts, 2, finish=True)
    cpu = poise.solve_batch(model, fine, targets, starts, restarts=12)
    np.testing.assert_array_equal(device.codes == 5, cpu.codes == 5)
    np.testing.assert_array_equal(device.codes == 4, cpu.codes == 4)
    good = device.reached.astype(bool)
    assert np.mean(good == cpu.reached) > 0.96
    q = device.q[good]
    assert np.abs(q - q.astype(np.float32)).max() > 0  # more than float holds
    rows = [solver.goals[x] for x in solver.row_names]
    judged = poise.solve_batch(model, rows, {x: T[good] for x, T in targets.items()}, q, restarts=0, max_steps=1)
    assert (judged.steps == 0).all()


@pytest.mark.parametrize("finish", [False, True])
@pytest.mark.parametrize("name", RESTED)
def test_a_posture_is_followed_as_on_the_cpu(name: str, finish: bool, build: Build) -> None:
    model, goals, targets = RESTED[name]()
    solver = prepare(model, goals, restarts=12)
    starts = model.integrate(model.rest, np.random.default_rng(8).uniform(-0.3, 0.3, (ROWS, model.nv)))
    starts = model.clamp(starts)
    device = run(build(solver, finish), solver, targets, starts, 4, finish)
    cpu = poise.solve_batch(model, goals, targets, starts, restarts=12, dtype="float64" if finish else "float32")
    both = device.reached.astype(bool) & cpu.reached
    assert np.mean(device.reached.astype(bool) == cpu.reached) > 0.96
    cost, wanted = (
        (model.difference(model.rest, q[both].astype(np.float64)) ** 2).sum(axis=1) for q in (device.q, cpu.q)
    )
    # Both descents end after three steps that each gain less than 1e-4 of the cost: at a rate of convergence of up to
    # 0.9, less than 1e-3 is then left. A search that needs restarts may end in another valley.
    same = np.abs(cost / wanted - 1.0) < 1e-3
    assert same.mean() > (0.9 if name == "panda" else 0.95)
    assert np.median(np.abs(cost / wanted - 1.0)) < 1e-4
    assert np.mean(cost > 1.001 * wanted) < 0.05
    if name == "six":  # the branch that the posture prefers
        assert np.abs(device.q - cpu.q)[both].max() < 0.01


@pytest.mark.parametrize("rests", [False, True])
def test_a_team_keeps_its_balance(rests: bool, build: Build) -> None:
    model, _, targets = humanoid()
    feet, hands = ("foot_l", "foot_r"), ("hand_l", "hand_r")
    targets |= {name: targets[name][:, :3, 3] + (0.0, 0.0, 0.3) for name in hands}  # in front of it
    goals: list[Goal] = [*(Reach(name, np.zeros(3)) for name in hands), *(Reach(name, np.eye(4)) for name in feet)]
    goals += [Balance(feet, margin=0.02), *([Rest()] if rests else [])]
    solver = prepare(model, goals, restarts=12)
    starts = np.tile(model.rest, (ROWS, 1))
    given = {"balance": np.tile([*model.up_direction, 0.02], (ROWS, 1))}
    device = run(build(solver, False), solver, targets | given, starts, 2, False)
    cpu = poise.solve_batch(model, goals, targets, starts, restarts=12)
    good, q = device.reached.astype(bool), device.q.astype(np.float64)
    assert np.mean(good == cpu.reached) > 0.96
    assert good.mean() > 0.9
    free = poise.solve_batch(model, goals[:4], targets, starts, restarts=12)
    fallen = poise.solve_batch(model, goals[:5], targets, free.q, restarts=0, max_steps=1).steps > 0
    assert fallen.mean() > 0.2  # without the goal
    rows = [solver.goals[x] for x in solver.row_names]
    judged = poise.solve_batch(model, rows, targets, q, restarts=0, max_steps=1)
    assert (judged.steps[good] == 0).all()  # the CPU finds them reached where they stand
    if rests:
        both = good & cpu.reached
        cost, wanted = ((model.difference(model.rest, x[both]) ** 2).sum(axis=1) for x in (q, cpu.q))
        assert np.mean(np.abs(cost / wanted - 1.0) < 1e-3) > 0.9  # others end in another valley, often a lower one
        assert np.mean(cost > 1.001 * wanted) < 0.05


def test_a_team_balances_above_a_line(build: Build) -> None:
    """Points on a line have no corners, however their numbers are rounded; the ends of the line are its border."""
    builder = poise.ModelBuilder("cart")
    builder.add_joint("x", None, "prismatic", axis=(1, 0, 0), lower=-3, upper=3)
    builder.add_joint("y", "x", "prismatic", axis=(0, 1, 0), lower=-3, upper=3)
    builder.add_joint("turn", "y", "revolute", axis=(0, 0, 1), offset=(0, 0, 1), mass=1.0, center=(0.1, 0, 0.2))
    supports = [f"point_{k}" for k in range(4)]
    for name, t in zip(supports, (-1.0, 0.13, 0.77, 1.0), strict=True):
        builder.add_frame(name, None, (t * np.cos(0.5) - 1.6, t * np.sin(0.5) - 1.0, 0.0))
    model = builder.build()
    solver = prepare(model, [Orient("turn", np.eye(3)), Balance(supports)], restarts=12)
    turns = np.random.default_rng(0).uniform(-3.0, 3.0, ROWS)
    targets = {"turn": poise.Rotation.from_axis_angle((0, 0, 1), turns).matrix}
    targets["balance"] = np.tile([*model.up_direction, 0.0], (ROWS, 1))
    device = run(build(solver, False), solver, targets, np.tile(model.rest, (ROWS, 1)), 2, finish=False)
    assert device.reached.mean() > 0.95


def test_a_team_keeps_a_first_priority_while_a_second_one_misses(build: Build) -> None:
    model = poise.load("humanoid")
    feet, hands = ("foot_l", "foot_r"), ("hand_l", "hand_r")
    goals: list[Goal] = [Reach(name, np.zeros(3), priority=2, name=name) for name in hands]
    goals += [Reach(name, np.eye(4), priority=1) for name in feet]
    rng = np.random.default_rng(6)
    bodies = model.integrate(model.rest, rng.uniform(-0.1, 0.1, (ROWS, model.nv)))
    targets = {name: model.fk(bodies, name) for name in feet}
    targets |= {name: model.fk(bodies, name)[:, :3, 3].copy() for name in hands}
    targets["hand_l"][20:, 0] += rng.uniform(1.5, 3.0, ROWS - 20)  # out of reach for feet that stay
    solver = prepare(model, goals, restarts=12)
    device = run(build(solver, False), solver, targets, np.tile(model.rest, (ROWS, 1)), 2, finish=False)
    assert device.reached[:20].mean() > 0.9
    assert not device.reached[20:].any()
    errors = {name: device.errors[:, 2 * k : 2 * k + 2] for k, name in enumerate(solver.row_names)}
    for name in feet:
        assert np.quantile(errors[name][:, 0], 0.95) < 1e-4
        assert np.quantile(errors[name][:, 1], 0.95) < 1e-3
    cpu = poise.solve_batch(model, goals, {name: x[20:30] for name, x in targets.items()}, restarts=12)
    missed, wanted = (
        sum(x[name][:, 0] ** 2 for name in hands) for x in ({k: v[20:30] for k, v in errors.items()}, cpu.errors)
    )
    assert np.median(missed / wanted) < 1.1
