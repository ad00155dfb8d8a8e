"""What docs/limits.md calls exact: a test for each statement, measured in NumPy (limit_oracle.py)."""

import itertools
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import poise
from limit_oracle import clearance_gaps, cone_broken, limits_broken, loop_broken, ranges_broken
from poise.arrays import Floats
from poise.goals import Goal, LookAt, Reach, Rest
from poise.limits import (
    Acceleration,
    Box,
    Capsule,
    Clearance,
    Closed,
    Cone,
    Coupled,
    Cylinder,
    HalfSpace,
    Limit,
    Speed,
    Sphere,
)
from poise.limits.cone import find_cones

ROUNDING = 1e-14  # what NumPy and the kernels may differ by
TIP = "panda_hand_tcp"


def is_at_bound(broken: float) -> bool:
    """Kept, and no farther inside than a hair."""
    return -2e-9 <= broken <= 0.0


def build_ball_arm() -> poise.Model:
    """Three ball joints in a row."""
    builder = poise.ModelBuilder("arm")
    builder.add_joint("a", None, "ball")
    builder.add_joint("b", "a", "ball", offset=(0, 0, 0.4))
    builder.add_joint("c", "b", "ball", offset=(0, 0, 0.3))
    return builder.add_frame("tip", "c", (0, 0, 0.2)).build()


def turn_arm(*vectors: tuple[float, float, float]) -> Floats:
    """Quaternions of rotation vectors, one after the other."""
    return np.concatenate([poise.Rotation.from_vector(v).wxyz for v in vectors])


def run_first_search(solution: poise.Solution) -> Floats:
    """Every pose of the first search."""
    assert solution.history is not None
    return np.asarray(solution.history.q[solution.history.search == solution.history.search[0]])


def draw_far_targets(seed: int, count: int, size: float) -> Floats:
    """Places, most of them out of reach, so that limits bind."""
    return np.random.default_rng(seed).normal(size=(count, 3)) * size


# ------------------------------------------------------------------------------------------------ joint ranges


@pytest.mark.parametrize("levels", [1, 2])
def test_joint_ranges_are_exact_to_the_last_bit(panda: poise.Model, levels: int) -> None:
    at_a_bound = 0
    for target in draw_far_targets(0, 20, 0.7):
        goals: list[Goal] = [Reach(TIP, target), LookAt(TIP, (0, 0, 1), priority=levels - 1), Rest()]
        q = poise.solve(panda, goals).q
        assert (q >= panda.lower).all()
        assert (q <= panda.upper).all()
        at_a_bound += bool(((q <= panda.lower + 1e-12) | (q >= panda.upper - 1e-12)).any())
    assert at_a_bound >= 10


@pytest.mark.parametrize("levels", [1, 2])
def test_a_joint_outside_comes_back_a_step_at_a_time(panda: poise.Model, levels: int) -> None:
    start = np.array(panda.rest)
    start[1], start[3] = panda.upper[1] + 0.4, panda.lower[3] - 0.3
    goals = [Reach(TIP, (0.4, 0.2, 0.5)), LookAt(TIP, (1, 0, 0), priority=levels - 1)]
    solution = poise.solve(panda, goals, start, step_limit=0.05, record=True)
    poses = run_first_search(solution)
    out = np.maximum(poses - panda.upper, panda.lower - poses).clip(0.0)
    assert (np.diff(out, axis=0) <= 0.0).all()  # never further out
    assert (np.diff(out, axis=0) >= -0.05 - ROUNDING).all()  # at most a step's length
    assert ranges_broken(panda, solution.q) <= 0.0


def test_a_joint_outside_comes_back_over_calls_in_continuous_mode(panda: poise.Model) -> None:
    q = np.array(panda.rest)
    q[1] = panda.upper[1] + 0.4
    solver = poise.Solver(panda, [Reach(TIP, (0.4, 0.2, 0.5)), Rest()], mode="continuous", step_limit=0.1)
    for _ in range(5):
        before, q = q, solver.solve(q).q
        assert np.abs(q - before).max() <= 0.1 + ROUNDING
        assert ranges_broken(panda, q) <= max(ranges_broken(panda, before), 0.0)
    assert ranges_broken(panda, q) <= 0.0


# ------------------------------------------------------------------------------------------------ cones and sums


CONES: list[list[Limit]] = [
    [Cone("a", swing=0.5), Cone("b", swing=0.4)],
    [Cone("a", swing=(0.3, 0.9), twist=(-0.2, 0.3)), Cone("b", swing=(0.8, 0.2), axis=(1, 0, 0))],
    [Cone("a", twist=(-0.1, 0.4), axis=(1, 1, 0)), Cone("b", angle=0.5), Cone("c", swing=1.0, twist=(0.0, 0.1))],
]


def draw_targets_behind(seed: int, count: int) -> Floats:
    """Places that the arm reaches looking back, and that no pose inside `CONES` does: there a cone must bind.

    They are at most 0.5 m away, so that the last joint comes 0.2 m farther out. Bones 0.3 and 0.2 m long hang at most
    0.5 m below the end of the first, which is 0.4 cos 0.9 m up; the last cones fold the arm to 0.76 m at most.
    """
    return np.random.default_rng(seed).uniform((-0.14, -0.14, -0.45), (0.14, 0.14, -0.3), (count, 3))


@pytest.mark.parametrize("limits", CONES)
@pytest.mark.parametrize("levels", [1, 2])
def test_cones_are_exact_and_a_pose_rests_a_hair_inside(limits: list[Limit], levels: int) -> None:
    model = build_ball_arm()
    for target in draw_targets_behind(1, 10):
        goals = [Reach("tip", target), LookAt("tip", -target, priority=levels - 1)]
        assert poise.solve(model, goals).reached
        q = poise.solve(model, goals, limits=limits).q
        broken = [cone_broken(cone, q[model.joint(name).q]) for name, cone in find_cones(model, limits).items()]
        assert max(broken) <= 0.0
        assert any(is_at_bound(gap) for gap in broken)


@pytest.mark.parametrize("limits", CONES)
def test_a_ball_joint_outside_its_cone_comes_back(limits: list[Limit]) -> None:
    model = build_ball_arm()
    start = turn_arm((0.9, 0.5, 0.2), (0.3, 0.9, -0.6), (0.1, 0.2, 0.4))
    ranges = find_cones(model, limits)
    solution = poise.solve(model, [Reach("tip", (0.3, 0.2, 0.4))], start, limits=limits, step_limit=0.05, record=True)
    poses = run_first_search(solution)
    worst = [max(cone_broken(cone, q[model.joint(name).q]) for name, cone in ranges.items()) for q in poses]
    assert worst[0] > 0.1
    assert (np.diff(np.maximum(worst, 0.0)) <= 1e-12).all()
    assert max(np.abs(model.difference(a, b)).max() for a, b in itertools.pairwise(poses)) <= 0.05 + ROUNDING
    assert max(cone_broken(cone, solution.q[model.joint(name).q]) for name, cone in ranges.items()) <= 0.0


def test_a_range_of_one_number_is_held_to_rounding() -> None:
    """A twist or a sum that may not change at all, also from a start where it is another."""
    model, limit = build_ball_arm(), Cone("c", twist=(0.2, 0.2))
    start = turn_arm((0.9, 0.5, 0.2), (0.3, 0.9, -0.6), (0.1, 0.2, -0.4))
    q = poise.solve(model, Reach("tip", (0.3, 0.2, 0.4)), start, limits=[limit]).q
    assert cone_broken(find_cones(model, [limit])["c"], q[model.joint("c").q]) <= 1e-12
    panda = poise.load("panda")
    one, other = (joint.name for joint in panda.joints[:2])
    even = Coupled({one: 1.0, other: -1.0}, 0.3, 0.3, name="sum")
    q = poise.solve(panda, Reach(TIP, (0.4, 0.2, 0.5)), limits=[even]).q
    assert sum_broken(panda, even, q) <= 1e-12


def add_joints(model: poise.Model) -> Coupled:
    """A range for a sum over three joints of the Panda."""
    one, other, third = (joint.name for joint in model.joints[:3])
    return Coupled({one: 1.0, other: -0.7, third: 0.3}, -0.2, 0.1, name="sum")


def sum_broken(model: poise.Model, limit: Coupled, q: Floats) -> float:
    """How far a sum is outside its range."""
    return limits_broken(model, [limit], q)["0 sum"]


def test_coupled_sums_are_exact_and_a_pose_rests_a_hair_inside(panda: poise.Model) -> None:
    limit, resting = add_joints(panda), 0
    for target in draw_far_targets(2, 15, 0.6):
        q = poise.solve(panda, Reach(TIP, target), limits=[limit]).q
        assert sum_broken(panda, limit, q) <= 0.0
        resting += is_at_bound(sum_broken(panda, limit, q))
    assert resting >= 5


def test_a_sum_outside_its_range_comes_back_a_step_at_a_time(panda: poise.Model) -> None:
    limit, start = add_joints(panda), np.array(panda.rest)
    start[:3] = (0.5, -0.6, 0.4)
    solution = poise.solve(panda, Reach(TIP, (0.4, 0.2, 0.5)), start, limits=[limit], step_limit=0.05, record=True)
    poses = run_first_search(solution)
    out = np.maximum([sum_broken(panda, limit, q) for q in poses], 0.0)
    assert out[0] > 0.5
    assert (np.diff(out) <= ROUNDING).all()
    assert np.abs(np.diff(poses, axis=0)).max() <= 0.05 + ROUNDING
    assert sum_broken(panda, limit, solution.q) <= 0.0


# ------------------------------------------------------------------------------------------------ clearance


WORLD = {
    "half-space": HalfSpace((0, 1.0, 0.35), (0.1, 0.0, -1)),
    "sphere": Sphere((0.3, 1.1, 0.35), 0.12),
    "box": Box((0.3, 1.1, 0.4), (0.2, 0.3, 0.2), poise.Rotation.from_vector((0.3, 0.4, 0.5))),
    "capsule": Capsule((0.1, 1.0, 0.45), (0.5, 1.3, 0.4), 0.06),
    "cylinder": Cylinder((0.15, 1.0, 0.45), (0.45, 1.25, 0.38), 0.09),
}


def put_in_the_way(kind: str) -> tuple[Clearance, Floats]:
    """A clearance, and a place for the left hand that breaks it."""
    if kind == "self":
        return Clearance([("hand_l", "head"), ("forearm_l", "head"), ("forearm_l", "chest")], 0.01), np.array(
            (0, 1.55, 0)
        )
    place = np.array((0.3, 1.12, 0.4))
    return Clearance([], 0.01, [WORLD[kind]]), place


def list_arm_joints(model: poise.Model) -> list[str]:
    """The joints of the left arm."""
    return [
        joint.name
        for joint in model.joints
        if joint.name.endswith("_l") and joint.name[:4] in "clav shou elbo fore wris"
    ]


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["self", *WORLD])
def test_every_pose_that_is_taken_is_clear_and_the_last_rests_a_hair_away(humanoid: poise.Model, kind: str) -> None:
    limit, place = put_in_the_way(kind)
    options: dict[str, Any] = {"limits": [limit], "joints": list_arm_joints(humanoid), "record": True, "restarts": 0}
    solution = poise.solve(humanoid, Reach("hand_l", place), **options)
    start = min(clearance_gaps(humanoid, limit, humanoid.rest))
    gaps = [min(clearance_gaps(humanoid, limit, q)) / humanoid.length for q in run_first_search(solution)]
    assert start >= 0.0
    assert min(gaps) >= -ROUNDING
    assert is_at_bound(-gaps[-1] - ROUNDING)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["self", *WORLD])
def test_a_start_in_collision_never_gets_deeper_and_comes_out(humanoid: poise.Model, kind: str) -> None:
    limit, place = put_in_the_way(kind)
    options: dict[str, Any] = {"joints": list_arm_joints(humanoid), "restarts": 0}
    start = poise.solve(humanoid, Reach("hand_l", place), **options).q
    deep = clearance_gaps(humanoid, limit, start) / humanoid.length
    assert deep.min() < -1e-3
    goal = Reach("hand_l", place + 0.02)
    solution = poise.solve(humanoid, goal, start, limits=[limit], record=True, **options)
    for q in run_first_search(solution):
        before, deep = deep, clearance_gaps(humanoid, limit, q) / humanoid.length
        assert (deep >= np.minimum(before, 0.0) - ROUNDING).all()
    assert deep.min() >= -ROUNDING


# ------------------------------------------------------------------------------------------------ closed loops


def build_bar(humanoid: poise.Model, *, whole: bool) -> Closed:
    """Both hands on one bar, by their points or as they are held at rest."""
    T = np.linalg.inv(humanoid.fk(humanoid.rest, "hand_l")) @ humanoid.fk(humanoid.rest, "hand_r")
    return Closed("hand_r", "hand_l", T if whole else (-0.25, 0.0, 0.0))


@pytest.mark.parametrize("whole", [True, False])
def test_loops_are_closed_to_a_billionth(humanoid: poise.Model, whole: bool) -> None:
    limit = build_bar(humanoid, whole=whole)
    reached = 0
    for target in draw_far_targets(5, 12, 0.3) + np.array((0.2, 1.2, 0.35)):
        solution = poise.solve(humanoid, [Reach("hand_l", target), LookAt("eyes", target, priority=1)], limits=[limit])
        assert max(loop_broken(humanoid, limit, solution.q)) <= 1e-9
        reached += solution.reached
    assert reached > 0


def test_a_loop_that_cannot_be_closed_is_not_reached(humanoid: poise.Model) -> None:
    limit = Closed("hand_l", "hand_r", (3.0, 0.0, 0.0))
    solution = poise.solve(humanoid, Reach("head", humanoid.fk(humanoid.rest, "head")[:3, 3]), limits=[limit])
    assert loop_broken(humanoid, limit, solution.q)[0] > 0.1
    assert not solution.reached


def test_an_open_loop_is_closed_before_any_goal(humanoid: poise.Model) -> None:
    """The goal asks for the hands to be apart, at the first priority; the loop is closed all the same."""
    limit = build_bar(humanoid, whole=False)
    apart = [Reach("hand_l", (0.8, 1.3, 0.0)), Reach("hand_r", (-0.8, 1.3, 0.0))]
    solution = poise.solve(humanoid, apart, limits=[limit])
    assert loop_broken(humanoid, limit, humanoid.rest)[0] > 0.1
    assert max(loop_broken(humanoid, limit, solution.q)) <= 1e-9
    assert not solution.reached


# ------------------------------------------------------------------------------------------------ rates


def list_steps(
    solver: poise.Solver, q: Floats, dt: float, velocity: Floats | None, count: int
) -> Iterator[poise.Solution]:
    """A motion, step by step."""
    for _ in range(count):
        solution = solver.step(q, dt, velocity=velocity)
        yield solution
        q, velocity = solution.q, solution.velocity


@pytest.mark.parametrize("priority", [0, 1])
def test_speed_is_exact_in_every_step(humanoid: poise.Model, priority: int) -> None:
    """Ball joints, slides and hinges alike."""
    goals = [Reach("hand_l", (-0.4, 1.6, 0.5)), LookAt("eyes", (-1, 1.6, -0.5), priority=priority), Rest()]
    solver = poise.Solver(humanoid, goals, limits=[Speed(1.5)])
    fastest = 0.0
    for solution in list_steps(solver, humanoid.rest, 0.1, None, 8):
        assert solution.velocity is not None
        fastest = max(fastest, float(np.abs(solution.velocity).max()))
    assert 1.4999 < fastest <= 1.5 + 1e-12


def test_ball_joints_keep_their_speed_about_several_axes() -> None:
    """A turn of many steps about different axes adds up to no more than one step may be."""
    model = build_ball_arm()
    for k, target in enumerate(draw_far_targets(7, 20, 0.5)):
        solver = poise.Solver(model, [Reach("tip", target), LookAt("tip", -target)], limits=[Speed(2.0 + k % 3)])
        start = turn_arm((0.3, -0.8, 0.5), (1.0, 0.2, 0.4), (-0.2, 0.7, 0.1))
        for solution in list_steps(solver, start, 0.25, None, 4):
            assert np.abs(solution.velocity).max() <= (2.0 + k % 3) * (1 + 1e-12)


def test_ball_joints_keep_the_bound_of_a_call() -> None:
    model = build_ball_arm()
    for target in draw_far_targets(8, 30, 0.5):
        goals = [Reach("tip", target), LookAt("tip", (1, 1, 1), priority=1)]
        q = turn_arm((0.3, -0.8, 0.5), (1.0, 0.2, 0.4), (-0.2, 0.7, 0.1))
        for chosen in (goals, goals[:1]):
            solver = poise.Solver(model, chosen, mode="continuous", step_limit=0.5)
            assert np.abs(model.difference(q, solver.solve(q).q)).max() <= 0.5 * (1 + 1e-12)


def test_acceleration_is_exact_in_every_step(humanoid: poise.Model) -> None:
    goals = [Reach("hand_l", (-0.4, 1.6, 0.5)), LookAt("eyes", (-1, 1.6, -0.5), priority=1)]
    solver = poise.Solver(humanoid, goals, limits=[Speed(2.0), Acceleration(6.0)])
    before, most = np.zeros(humanoid.nv), 0.0
    for solution in list_steps(solver, humanoid.rest, 0.05, before, 25):
        assert solution.velocity is not None
        most = max(most, float(np.abs(solution.velocity - before).max()))
        before = solution.velocity
        assert np.abs(before).max() <= 2.0 * (1 + 1e-12)
    assert 0.2999 < most <= 0.3 * (1 + 1e-9)


def test_what_is_too_fast_slows_down_as_fast_as_it_may(panda: poise.Model) -> None:
    solver = poise.Solver(panda, Reach(TIP, (0.4, 0.2, 0.5)), limits=[Speed(0.5), Acceleration(4.0)])
    velocity = np.zeros(panda.nv)
    velocity[0], velocity[2] = 1.5, -1.1
    before = velocity
    for solution in list_steps(solver, panda.rest, 0.05, velocity, 5):
        assert solution.velocity is not None
        for joint in (0, 2):
            if abs(before[joint]) > 0.7:
                assert abs(before[joint]) - abs(solution.velocity[joint]) == pytest.approx(0.2, abs=1e-12)
        before = solution.velocity
    assert np.abs(before).max() <= 0.5 * (1 + 1e-12)
