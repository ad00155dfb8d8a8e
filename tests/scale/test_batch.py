"""Batches: each row is what the single solver answers, for any number of threads, level and neighbours."""

import _thread
import copy
import pickle
import signal
import threading
import time
from typing import Any

import numpy as np
import pytest

import poise
from bodies import random_model
from poise import Status, native
from poise.batch import BatchSolver
from poise.errors import GoalsMissed, InvalidValue, NameNotFound, ShapeMismatch
from poise.goals import Custom, Goal, LookAt, Orient, Reach, Rest
from poise.limits import Clearance

LEVELS = ("baseline", "avx2", "avx512")
TOLERANCE = (1e-4, 1e-3)


def arm(count: int = 200, seed: int = 0) -> tuple[poise.Model, str, Any]:
    model = poise.load("panda")
    tool = model.frames[-1]
    return model, tool, model.fk(model.random(np.random.default_rng(seed), count), tool)


def pose_error(T: Any, wanted: Any) -> tuple[Any, Any]:
    """Metres and radians, by plain matrix algebra."""
    turned = np.einsum("bij,bkj->bik", wanted[:, :3, :3], T[:, :3, :3])
    sine = np.linalg.norm(turned - np.swapaxes(turned, 1, 2), axis=(1, 2)) / np.sqrt(8)
    angle = np.arctan2(sine, (np.trace(turned, axis1=1, axis2=2) - 1) / 2)
    return np.linalg.norm(T[:, :3, 3] - wanted[:, :3, 3], axis=1), angle


def inside(model: poise.Model, q: Any) -> bool:
    plain = [(j.q, j.v) for j in model.joints if j.nq == j.nv and j.nv]
    return all((q[..., a] >= model.lower[b]).all() and (q[..., a] <= model.upper[b]).all() for a, b in plain)


# ------------------------------------------------------------------------------------------ the same as one by one


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_an_arm_reaches_everything_inside_its_ranges(dtype: str) -> None:
    model, tool, targets = arm(1000)
    batch = poise.solve_batch(model, Reach(tool, np.eye(4), tolerance=TOLERANCE), targets, dtype=dtype)
    assert batch.q.dtype == dtype
    assert batch.reached.mean() >= 0.999
    metres, radians = pose_error(model.fk(batch.q.astype(np.float64), tool), targets)
    assert ((metres <= 1e-4 * (1 + 1e-6)) & (radians <= 1e-3 * (1 + 1e-6)))[batch.reached].all()
    np.testing.assert_allclose(batch.errors[tool][:, 0], metres, atol=1e-12)
    np.testing.assert_allclose(batch.errors[tool][:, 1], radians, atol=1e-9)
    assert inside(model, batch.q.astype(np.float64))


def problems() -> dict[str, tuple[poise.Model, list[Goal], dict[str, Any]]]:
    rng = np.random.default_rng(1)
    humanoid, tree = poise.load("humanoid"), poise.load("tree30")
    bodies = humanoid.integrate(humanoid.rest, rng.uniform(-0.3, 0.3, (20, humanoid.nv)))
    hands = {name: humanoid.fk(bodies, name) for name in ("hand_l", "hand_r")}
    feet = {name: humanoid.fk(humanoid.rest, name) for name in ("foot_l", "foot_r")}
    tips = [name for name in tree.frames if name.endswith("_end")][:3] or list(tree.frames[-3:])
    whole = tree.random(rng, 20)
    panda = poise.load("panda")
    turned = panda.fk(panda.random(rng, 20), panda.frames[-1])[:, :3, :3]
    return {
        "two hands, two feet": (
            humanoid,
            [*(Reach(n, np.zeros(3)) for n in hands), *(Reach(n, feet[n]) for n in feet)],
            {n: T[:, :3, 3] for n, T in hands.items()},
        ),
        "points of a floating tree": (
            tree,
            [Reach(n, np.zeros(3)) for n in tips],
            {n: tree.fk(whole, n)[:, :3, 3] for n in tips},
        ),
        "rotation with a posture": (
            panda,
            [Orient(panda.frames[-1], np.eye(3), axes="xy"), Rest()],
            {panda.frames[-1]: turned},
        ),
    }


@pytest.mark.parametrize("name", problems())
def test_rows_are_those_of_the_single_solver(name: str) -> None:
    model, goals, targets = problems()[name]
    batch = poise.solve_batch(model, goals, targets, restarts=5)
    solver = poise.Solver(model, goals, restarts=5)
    same = 0
    for row in range(20):
        alone = solver.solve(None, {goal: x[row] for goal, x in targets.items()})
        assert batch.reached[row] == alone.reached
        assert (batch.status[row] is alone.status) or alone.proof is not None
        same += batch.steps[row] == alone.steps and np.allclose(batch.q[row], alone.q, atol=1e-6)
    assert same >= 17  # rounding of other instructions may send a long search elsewhere


@pytest.mark.parametrize("seed", range(6))
def test_random_bodies_of_all_joint_kinds(seed: int) -> None:
    model = random_model(seed)
    rng = np.random.default_rng(seed)
    frame = model.frames[-1]
    targets = model.fk(model.random(rng, 40), frame)[:, :3, 3]
    goal = Reach(frame, np.zeros(3))
    batch = poise.solve_batch(model, goal, targets, restarts=8)
    solver = poise.Solver(model, goal, restarts=8)
    alone = [solver.solve(None, {frame: p}) for p in targets]
    assert np.mean(batch.reached == [a.reached for a in alone]) >= 0.95
    metres = np.linalg.norm(model.fk(batch.q, frame)[:, :3, 3] - targets, axis=1)
    np.testing.assert_allclose(batch.errors[frame][:, 0], metres, atol=1e-9 * (1 + model.length))
    single = poise.solve_batch(model, goal, targets, restarts=8, dtype="float32")
    assert np.mean(single.reached == batch.reached) >= 0.9


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_threads_and_neighbours_change_nothing(dtype: str) -> None:
    model, tool, targets = arm(300)
    one, three = (BatchSolver(model, Reach(tool, np.eye(4)), threads=n, dtype=dtype) for n in (1, 3))
    a, b = one.solve(targets), three.solve(targets)
    back = one.solve(targets[::-1])
    for field in ("q", "codes", "steps", "searches"):
        np.testing.assert_array_equal(getattr(a, field), getattr(b, field))
        np.testing.assert_array_equal(getattr(a, field), getattr(back, field)[::-1])


@pytest.mark.parametrize("level", LEVELS)
def test_every_level_answers(level: str) -> None:
    home = native.level()
    native.choose_level(level)
    try:
        if native.level() != level:
            pytest.skip(f"this machine does not run {level}")
        model, tool, targets = arm(100)
        batch = poise.solve_batch(model, Reach(tool, np.eye(4)), targets)
        assert batch.reached.all()
        assert pose_error(model.fk(batch.q, tool), targets)[0].max() <= 1e-4 * (1 + 1e-6)
    finally:
        native.choose_level(home)


# ------------------------------------------------------------------------------------------ faults


def test_a_bad_row_spoils_only_itself() -> None:
    model, tool, targets = arm(64)
    good = poise.solve_batch(model, Reach(tool, np.eye(4)), targets)
    bad = targets.copy()
    bad[3, 0, 3] = np.nan
    bad[7, :3, :3] = 2.0
    bad[9, :3, 3] = np.inf
    bad[20, :3, 3] = (50.0, 0.0, 0.0)
    starts = np.tile(model.rest, (64, 1))
    starts[30, 2] = np.nan
    batch = poise.solve_batch(model, Reach(tool, np.eye(4)), bad, starts)
    invalid = [3, 7, 9, 30]
    assert [i for i, s in enumerate(batch.status) if s is Status.INVALID] == invalid
    assert batch.status[20] is Status.UNREACHABLE
    assert not batch.reached[[*invalid, 20]].any()
    assert np.isnan(batch.errors[tool][invalid]).all()
    assert np.isnan(batch.q[30]).all()
    np.testing.assert_array_equal(batch.q[3], model.rest)
    rest = np.setdiff1d(np.arange(64), [*invalid, 20])
    np.testing.assert_array_equal(batch.q[rest], good.q[rest])
    assert list(batch.missed) == [3, 7, 9, 20, 30]
    assert batch.counts == {Status.REACHED: 59, Status.UNREACHABLE: 1, Status.INVALID: 4}
    with pytest.raises(GoalsMissed, match="missed rows 3, 7, 9, 20, 30"):
        batch.raise_if_missed()


def test_arrays_of_the_wrong_shape_are_rejected_by_name() -> None:
    model, tool, targets = arm(4)
    goal = Reach(tool, np.eye(4))

    def solve(targets: Any, starts: Any = None, **options: Any) -> poise.BatchSolution:
        return poise.solve_batch(model, goal, targets, starts, **options)

    with pytest.raises(ShapeMismatch, match=r"targets\['.*'\] has shape \(4, 3\); .* \(\.\.\., 4, 4\)"):
        solve(targets[:, :3, 3])
    with pytest.raises(ShapeMismatch, match=r"starts has shape \(3,\); its last axis must be 7"):
        solve(targets, np.zeros(3))
    with pytest.raises(ShapeMismatch, match="do not broadcast"):
        solve(targets, np.zeros((5, 7)))
    with pytest.raises(InvalidValue, match="give real numbers"):
        solve(targets.astype(complex))
    with pytest.raises(NameNotFound, match="elbow"):
        solve({"elbow": targets})
    with pytest.raises(InvalidValue, match="there are 2 goals"):
        poise.solve_batch(model, [goal, Orient(tool, np.eye(3))], targets)
    with pytest.raises(NameNotFound, match="float16"):
        solve(targets, dtype="float16")
    with pytest.raises(InvalidValue, match="threads is 0"):
        solve(targets, threads=0)
    with pytest.raises(InvalidValue, match="solutions is 0"):
        solve(targets, solutions=0)
    with pytest.raises(ShapeMismatch, match=r"out\['q'\] has shape \(4, 6\); it must be \(4, 7\)"):
        solve(targets, out=np.zeros((4, 6)))
    with pytest.raises(InvalidValue, match=r"out\['q'\] is an array of float32"):
        solve(targets, out=np.zeros((4, 7), np.float32))
    with pytest.raises(InvalidValue, match="not C-contiguous"):
        solve(targets, out=np.zeros((7, 4)).T)
    frozen = np.zeros((4, 7))
    frozen.setflags(write=False)
    with pytest.raises(InvalidValue, match="read-only"):
        solve(targets, out=frozen)
    with pytest.raises(NameNotFound, match="speed"):
        solve(targets, out={"speed": frozen})


def test_arrays_of_every_layout_are_read_alike() -> None:
    model, tool, targets = arm(12)
    goal = Reach(tool, np.eye(4))
    plain = poise.solve_batch(model, goal, targets)
    frozen = np.asfortranarray(targets)
    frozen.setflags(write=False)
    np.testing.assert_array_equal(poise.solve_batch(model, goal, frozen).q, plain.q)
    np.testing.assert_array_equal(poise.solve_batch(model, goal, targets[::2]).q, plain.q[::2])
    grid = poise.solve_batch(model, goal, targets.reshape(3, 4, 4, 4), np.tile(model.rest, (4, 1)))
    np.testing.assert_array_equal(grid.q.reshape(12, 7), plain.q)
    assert grid.status.shape == (3, 4)
    assert poise.solve_batch(model, goal, targets.astype(np.float32)).reached.all()
    assert poise.solve_batch(model, goal, targets[0]).q.shape == (7,)
    assert poise.solve_batch(model, goal, targets[:0]).q.shape == (0, 7)
    filled = np.zeros((12, 7))
    assert poise.solve_batch(model, goal, targets, out=filled).q is filled
    again = poise.solve_batch(model, goal, targets[::-1], out=plain)
    assert again.q is plain.q


# ------------------------------------------------------------------------------------------ the rest of the contract


def test_several_answers_are_distinct_and_the_nearest_comes_first() -> None:
    model, tool, targets = arm(50)
    batch = poise.solve_batch(model, Reach(tool, np.eye(4), tolerance=TOLERANCE), targets, solutions=4)
    assert batch.q.shape == (50, 4, 7)
    assert batch.reached.shape == (50, 4)
    assert batch.reached.mean() > 0.9
    for row in range(50):
        found = batch.q[row][batch.reached[row]]
        far = np.abs(found - model.rest).max(axis=1)
        assert (np.diff(far) >= 0).all()
        apart = np.abs(found[:, None] - found[None]).max(axis=2) + np.eye(len(found))
        assert (apart > 0.1).all()
        metres, radians = pose_error(model.fk(found, tool), np.tile(targets[row], (len(found), 1, 1)))
        assert (metres <= 1.000001e-4).all()
        assert (radians <= 1.000001e-3).all()
    assert np.isnan(batch.q[~batch.reached]).all()
    assert len(batch.missed) == 0
    assert batch.pose(0, 1).q.shape == (7,)


def test_streams_and_progress() -> None:
    model, tool, targets = arm(120)
    seen: list[tuple[int, int]] = []
    solver = BatchSolver(model, Reach(tool, np.eye(4)))
    parts = list(solver.stream((targets[i : i + 50] for i in range(0, 120, 50)), progress=lambda *x: seen.append(x)))
    np.testing.assert_array_equal(np.concatenate([p.q for p in parts]), solver.solve(targets).q)
    assert seen[-1] == (120, 120)
    assert "120" not in repr(parts[0])
    with pytest.raises(ZeroDivisionError):
        solver.solve(targets, progress=lambda *_: 1 / 0)


@pytest.mark.slow
def test_ctrl_c_stops_a_long_batch_at_once() -> None:
    model = poise.load("humanoid")
    goals = [Reach(name, np.zeros(3)) for name in ("hand_l", "hand_r", "foot_l", "foot_r")]
    far = {goal.frame: np.random.default_rng(0).uniform(-0.9, 0.9, (500_000, 3)) for goal in goals}
    solver = BatchSolver(model, goals)
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # a job in the background has it ignored
    begun = time.perf_counter()
    threading.Timer(0.3, _thread.interrupt_main).start()
    with pytest.raises(KeyboardInterrupt):
        solver.solve(far)
    signal.signal(signal.SIGINT, before)
    assert time.perf_counter() - begun < 15.0  # the whole takes minutes
    assert solver.solve({name: x[:2] for name, x in far.items()}).q.shape == (2, model.nq)


@pytest.mark.parametrize(
    "options", [{"method": "dls"}, {"method": "ccd"}, {"mode": "continuous"}, {"limit_handling": "freeze"}]
)
def test_other_methods_run_one_by_one_on_every_thread(options: dict[str, Any]) -> None:
    model, tool, targets = arm(40)
    goal = Reach(tool, np.zeros(3))
    solver = BatchSolver(model, goal, **options)
    assert not solver.in_lanes
    points = targets[:, :3, 3].copy()
    points[5] = np.nan
    batch = solver.solve(points)
    alone = poise.Solver(model, goal, **options)
    for row in (0, 1, 39):
        one = alone.solve(None, {tool: points[row]})
        np.testing.assert_array_equal(batch.q[row], one.q)
        assert batch.status[row] is one.status
    assert batch.status[5] is Status.INVALID


def test_other_goals_levels_and_limits_run_one_by_one_on_every_thread() -> None:
    model = poise.load("humanoid")
    hands = np.random.default_rng(3).uniform((-0.1, 0.9, 0.2), (0.4, 1.4, 0.5), (30, 3))
    goals = [Reach("hand_l", hands[0]), LookAt("head", hands[0], priority=1), Rest()]
    solver = BatchSolver(model, goals, limits=Clearance())
    assert not solver.in_lanes
    looks = {"hand_l": hands, "head": hands}
    batch = solver.solve(looks)
    alone = poise.Solver(model, goals, limits=Clearance())
    for row in (0, 7, 29):
        one = alone.solve(None, {name: x[row] for name, x in looks.items()})
        np.testing.assert_array_equal(batch.q[row], one.q)
        assert batch.status[row] is one.status
    np.testing.assert_array_equal(batch.q, BatchSolver(model, goals, limits=Clearance(), threads=1).solve(looks).q)


@pytest.mark.slow
def test_a_custom_goal_runs_row_by_row() -> None:
    model, tool, targets = arm(3)
    low = Custom(lambda q: np.array([q[3] + 2.0]), size=1, name="bent")
    batch = poise.solve_batch(model, [Reach(tool, np.zeros(3)), low], {tool: targets[:, :3, 3] * 0.5})
    alone = poise.Solver(model, [Reach(tool, np.zeros(3)), low])
    np.testing.assert_array_equal(batch.q[2], alone.solve(None, {tool: targets[2, :3, 3] * 0.5}).q)


def test_a_method_that_python_drives_runs_row_by_row() -> None:
    model, tool, targets = arm(3)
    points = targets[:, :3, 3].copy()
    points[1] = np.nan
    batch = poise.solve_batch(model, Reach(tool, np.zeros(3)), points, method=poise.methods.Scipy("trf"))
    assert list(batch.reached) == [True, False, True]
    assert batch.status[1] is Status.INVALID


def test_starts_far_round_and_outside_the_ranges() -> None:
    builder = poise.ModelBuilder("spinner")
    for k in range(3):
        builder.add_joint(
            f"j{k}", f"j{k - 1}" if k else None, "continuous", axis=(0, 0, 1), offset=(0.5 * bool(k), 0, 0)
        )
    builder.add_frame("tip", "j2", (0.5, 0, 0))
    model = builder.build()
    starts = np.zeros((20, 3))
    starts[4] = 1e7
    batch = poise.solve_batch(model, Reach("tip", (0.3, 0.8, 0.0)), np.tile((0.3, 0.8, 0.0), (20, 1)), starts)
    assert batch.reached.all()
    arm_model, tool, targets = arm(10)
    outside = poise.solve_batch(arm_model, Reach(tool, np.eye(4)), targets, np.full(7, 4.0))
    assert outside.reached.all()
    assert inside(arm_model, outside.q)


def test_answers_that_are_made_later_can_be_copied_and_pickled() -> None:
    model = poise.load("planar2")
    tip = model.frames[-1]
    batch = poise.solve_batch(
        model, Reach(tip, np.zeros(3)), model.fk(model.random(np.random.default_rng(0), 3), tip)[:, :3, 3]
    )
    asked: list[str] = []
    later = poise.BatchSolution.make_lazily(model, lambda name: asked.append(name) or getattr(batch, name))
    assert not asked
    assert later.q is batch.q
    assert later.q is batch.q
    assert asked == ["q"]
    for twin in (copy.copy(later), pickle.loads(pickle.dumps(later))):
        np.testing.assert_array_equal(twin.steps, batch.steps)
        np.testing.assert_array_equal(twin.errors[tip], batch.errors[tip])
    with pytest.raises(AttributeError, match="colour"):
        _ = later.colour


def test_a_frame_means_reach() -> None:
    arm = poise.load("ur5e")
    T = arm.fk(arm.random(np.random.default_rng(0), 5), "tool0")
    for targets, goal in ((T, Reach("tool0", np.eye(4))), (T[:, :3, 3], Reach("tool0", np.zeros(3)))):
        named, plain = (poise.solve_batch(arm, each, targets) for each in ("tool0", goal))
        np.testing.assert_array_equal(named.q, plain.q)
    given = poise.solve_batch(arm, arm.frame("tool0"), {"tool0": T})
    assert given.reached.all()
    with pytest.raises(NameNotFound, match="tool1"):
        poise.solve_batch(arm, "tool1", T)
