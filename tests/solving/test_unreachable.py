"""UNREACHABLE is a proof, and the answer next to it the nearest pose; bodies out of reach come to rest."""

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

import poise
from bodies import ALL_KINDS, random_model
from poise import Status
from poise.goals import Goal, Orient, Reach
from poise.methods import Scipy
from poise.methods.scipy import LEAST_SQUARES, MINIMIZERS
from poise.reach.bounds import Freedom, find_pair_range, find_pivot_range, find_reachable_range, find_reachable_ranges
from poise.reach.distances import Interval, find_extremes

BOUNDED = ("revolute", "prismatic", "screw", "universal", "euler", "ball", "continuous")
POSES = 200


def free_all(model: poise.Model, *, limited: bool = True) -> Freedom:
    return Freedom(np.ones(model.nv, dtype=bool).tobytes(), limited)


def find_points(model: poise.Model, q: NDArray[Any], frame: str, point: NDArray[Any], base: str | None) -> NDArray[Any]:
    """A frame's point at many poses, in the world or in another frame."""
    T = model.fk(q, frame)
    world = T[:, :3, :3] @ point + T[:, :3, 3]
    if base is None:
        return world
    B = model.fk(q, base)
    return np.einsum("nji,nj->ni", B[:, :3, :3], world - B[:, :3, 3])


def assert_inside(distances: NDArray[Any], interval: Interval, model: poise.Model) -> None:
    slack = 1e-9 * (model.length + float(distances.max()))
    assert distances.min() >= interval.near - slack
    assert distances.max() <= interval.far + slack


# ------------------------------------------------------------------------------------------------ sound


@pytest.mark.slow
@given(seed=st.integers(0, 2**32 - 1), joints=st.integers(1, 12), mixed=st.booleans(), relative=st.booleans())
def test_no_pose_is_outside_the_claim(seed: int, joints: int, mixed: bool, relative: bool) -> None:
    model, rng = random_model(seed, joints, ALL_KINDS if mixed else BOUNDED), np.random.default_rng(seed)
    frame, base, other = (str(name) for name in rng.choice(model.frames, 3))
    point = rng.normal(scale=0.3, size=3)
    goal = Reach(frame, (0, 0, 0), point=point, relative_to=base if relative else None).rows(model)
    q = model.random(rng, POSES)
    here = find_points(model, q, frame, point, goal.base)
    found = find_reachable_range(model, goal, free_all(model))
    if found:
        assert_inside(np.linalg.norm(here - found[0], axis=1), found[1], model)
    second = Reach(other, (0, 0, 0), relative_to=goal.base).rows(model)
    apart = find_pair_range(model, goal, second, free_all(model))
    if apart:
        there = find_points(model, q, other, np.zeros(3), goal.base)
        assert_inside(np.linalg.norm(here - there, axis=1), apart, model)
    pivot = find_pivot_range(model, goal, free_all(model))
    if pivot:
        at = find_points(model, q, frame, pivot[0], goal.base)
        assert_inside(np.linalg.norm(at - pivot[1], axis=1), pivot[2], model)


@pytest.mark.slow
@given(seed=st.integers(0, 2**32 - 1), joints=st.integers(1, 10))
def test_joints_that_may_not_move_may_be_anywhere(seed: int, joints: int) -> None:
    """A start may lie outside the limits, and what the solver may not move stays there."""
    model, rng = random_model(seed, joints, BOUNDED), np.random.default_rng(seed)
    moves = rng.random(model.nv) < 0.5
    frame = str(rng.choice(model.frames))
    goal = Reach(frame, (0, 0, 0)).rows(model)
    q = model.random(rng, POSES)
    held = model.integrate(q[0], rng.uniform(-5, 5, model.nv))
    for joint in model.joints:
        if joint.nv and not moves[joint.v].all():
            moves[joint.v] = False
            q[:, joint.q] = held[joint.q]
    for known in (None, held.tobytes()):
        found = find_reachable_range(model, goal, Freedom(moves.tobytes(), True, known))
        if found:
            at = find_points(model, q, frame, np.zeros(3), None)
            assert_inside(np.linalg.norm(at - found[0], axis=1), found[1], model)


@pytest.mark.parametrize("name", poise.models.names())
def test_built_ins_stay_inside_the_claim(name: str) -> None:
    model, rng = poise.load(name), np.random.default_rng(1)
    q = model.random(rng, 2000)
    for frame in model.frames[:: max(1, len(model.frames) // 8)]:
        found = find_reachable_range(model, Reach(frame, (0, 0, 0)).rows(model), free_all(model))
        if found:
            at = find_points(model, q, frame, np.zeros(3), None)
            assert_inside(np.linalg.norm(at - found[0], axis=1), found[1], model)


@pytest.mark.parametrize("name", ["panda", "ur5e", "iiwa14"])
def test_reached_targets_are_never_called_unreachable(name: str) -> None:
    model, rng = poise.load(name), np.random.default_rng(2)
    solver = poise.Solver(model, Reach(model.frames[-1], np.eye(4)))
    for q in model.random(rng, 300):
        assert solver.solve(targets={model.frames[-1]: model.fk(q, model.frames[-1])}).status is not Status.UNREACHABLE


# ------------------------------------------------------------------------------------------------ tight


@pytest.mark.parametrize(("name", "sharp"), [("panda", 1e-3), ("ur5e", 2e-3), ("iiwa14", 1e-3), ("planar3", 1e-3)])
def test_arms_come_as_far_as_claimed(name: str, sharp: float) -> None:
    model = poise.load(name)
    frame = model.frames[-1]
    found = find_reachable_range(model, Reach(frame, (0, 0, 0)).rows(model), free_all(model))
    assert found
    center, interval = found
    far = center + np.array([10.0, 0.0, 0.0]) * model.length
    solution = poise.solve(model, Reach(frame, far))
    got = float(np.linalg.norm(solution.pose.position(frame) - center))
    assert interval.far * (1 - sharp) <= got <= interval.far * (1 + 1e-9)


def test_a_limited_elbow_is_exact_both_ways() -> None:
    builder = poise.ModelBuilder("arm")
    builder.add_joint("shoulder", None, "ball")
    builder.add_joint("elbow", "shoulder", "revolute", offset=(0.3, 0, 0), lower=0.5, upper=2.0)
    model = builder.add_frame("tip", "elbow", (0.2, 0, 0)).build()
    ((_, *center, near, far),) = find_reachable_ranges(
        model, [Reach("tip", (0, 0, 0)).rows(model)], np.ones(4, bool), True
    )
    assert center == pytest.approx([0, 0, 0])
    assert near == pytest.approx(math.sqrt(0.13 + 0.12 * math.cos(2.0)))
    assert far == pytest.approx(math.sqrt(0.13 + 0.12 * math.cos(0.5)))


def test_slides_and_screws_add_their_range() -> None:
    builder = poise.ModelBuilder("crane")
    builder.add_joint("turn", None, "continuous")
    builder.add_joint("boom", "turn", "prismatic", offset=(1, 0, 0), axis=(1, 0, 0), lower=-0.25, upper=2.0)
    model = builder.add_frame("hook", "boom").build()
    ((_, *_, near, far),) = find_reachable_ranges(model, [Reach("hook", (0, 0, 0)).rows(model)], np.ones(2, bool), True)
    assert (near, far) == pytest.approx((0.75, 3.0))
    assert find_reachable_ranges(model, [Reach("hook", (0, 0, 0)).rows(model)], np.ones(2, bool), False) == []


def test_no_claim_where_there_is_none_to_make() -> None:
    model = poise.load("humanoid")
    assert find_reachable_ranges(model, [Reach("hand_l", (9, 9, 9)).rows(model)], np.ones(model.nv, bool), True) == []
    arm = poise.load("panda")
    free = [
        Orient("panda_hand_tcp", np.eye(3)).rows(arm),
        Reach("panda_hand_tcp", (9, 9, 9), weight=(1, 1, 0)).rows(arm),
    ]
    assert find_reachable_ranges(arm, free, np.ones(7, bool), True) == []


@given(cosine=st.floats(-2, 2), sine=st.floats(-2, 2), low=st.floats(-9, 9), width=st.floats(0, 9), at=st.floats(0, 1))
def test_swing_bounds_every_angle(cosine: float, sine: float, low: float, width: float, at: float) -> None:
    least, most = find_extremes(cosine, sine, low, low + width)
    value = cosine * math.cos(low + at * width) + sine * math.sin(low + at * width)
    assert least - 1e-12 <= value <= most + 1e-12


# ------------------------------------------------------------------------------------------------ said


def test_a_far_target_is_proved_at_once() -> None:
    model = poise.load("panda")
    solution = poise.solve(model, Reach("panda_hand_tcp", (1.4, 0.2, 0.5)))
    assert solution.status is Status.UNREACHABLE
    assert solution.searches == 1
    proof = solution.proof
    assert proof is not None
    assert solution.errors["panda_hand_tcp"][0] == pytest.approx(proof.distance - proof.farthest, rel=1e-6)


def test_the_rotation_can_prove_it_too() -> None:
    model = poise.load("iiwa14")
    tip = model.frames[-1]
    T = np.eye(4)
    T[:3, 3] = (0.9, 0, 0.36)  # near enough for the tip, too far for a wrist under an upright hand
    solution = poise.solve(model, Reach(tip, T))
    assert solution.status is Status.UNREACHABLE
    assert solution.proof is not None
    assert solution.proof.kind == "pivot"
    assert poise.solve(model, Reach(tip, T[:3, 3])).reached


def test_two_targets_too_far_apart() -> None:
    model = poise.load("humanoid")
    solution = poise.solve(model, [Reach("hand_l", (0, 3, 1)), Reach("hand_r", (0, -3, 1))])
    assert solution.status is Status.UNREACHABLE
    assert solution.proof is not None
    assert solution.proof.kind == "pair"
    missing = sum(metres for metres, _ in solution.errors.values())
    assert missing == pytest.approx(solution.proof.excess, rel=0.01)


def test_joints_that_stand_still_count_where_they_stand() -> None:
    model = poise.load("humanoid")
    arm = ["shoulder_l", "elbow_l", "forearm_l", "wrist_l"]
    start = model.rest
    far = model.fk(start, "shoulder_l")[:3, 3] + np.array([0, 0, 2.0])
    assert poise.solve(model, Reach("hand_l", far), joints=arm).status is Status.UNREACHABLE
    assert poise.solve(model, Reach("hand_l", far)).reached


def test_within_the_tolerance_is_not_out_of_reach() -> None:
    model = poise.load("planar2")
    assert poise.solve(model, Reach("tip", (2.05, 0, 0), tolerance=0.1)).reached
    assert poise.solve(model, Reach("tip", (2.0, 0, 0))).reached
    assert poise.solve(model, Reach("tip", (2.05, 0, 0), tolerance=0.01)).status is Status.UNREACHABLE


# --------- Where a proof says that no pose reaches, the answer is the best of a few searches: no sampled pose is nearer


ARM_COUNT = 120
SAMPLES = 4000


def draw_arm(rng: np.random.Generator) -> poise.Model:
    """One to three joints with ranges."""
    builder, parent = poise.ModelBuilder("arm"), None
    for i in range(int(rng.integers(1, 4))):
        kind = str(rng.choice(["revolute", "revolute", "revolute", "prismatic"]))
        axis = rng.normal(size=3)
        wide = rng.uniform(0.3, 5.0) if kind == "revolute" else rng.uniform(0.1, 0.6)
        low = -rng.uniform(0, wide)
        offset = rng.normal(scale=0.5, size=3) if i else (0, 0, 0)
        axis /= np.linalg.norm(axis)
        builder.add_joint(f"j{i}", parent, kind, offset=offset, axis=axis, lower=low, upper=low + wide)
        parent = f"j{i}"
    return builder.add_frame("tip", parent, rng.normal(scale=0.5, size=3)).build()


@pytest.mark.slow
def test_no_sampled_pose_is_nearer() -> None:
    proved, worse = 0, []
    for seed in range(ARM_COUNT):
        rng = np.random.default_rng(seed)
        model = draw_arm(rng)
        away = rng.normal(size=3)
        target = away / np.linalg.norm(away) * model.length * rng.uniform(0.9, 3.0)
        answer = poise.solve(model, Reach("tip", target))
        if answer.status is not Status.UNREACHABLE:
            continue
        proved += 1
        ends = model.random(rng, SAMPLES)
        sampled = np.concatenate(
            [ends, np.clip(3 * ends - 1.5 * (model.lower + model.upper), model.lower, model.upper)]
        )
        nearest = np.linalg.norm(model.fk(sampled, "tip")[:, :3, 3] - target, axis=1).min()
        if answer.errors["tip"][0] > 1.01 * nearest:
            worse.append(seed)
    assert proved > ARM_COUNT // 2
    assert len(worse) <= proved // 100, worse


def test_a_hinge_goes_to_its_nearer_end() -> None:
    builder = poise.ModelBuilder("hinge")
    builder.add_joint("hinge", None, "revolute", axis=(0, 0, 1), lower=-2.0, upper=1.0)
    model = builder.add_frame("tip", "hinge", (1, 0, 0)).build()
    answer = poise.solve(model, Reach("tip", (-2, 0.1, 0)))
    assert answer.q[0] == pytest.approx(-2.0)
    assert answer.status is Status.UNREACHABLE


# --------- A goal out of reach has a still answer: the minimum itself, and in continuous mode a body that comes to rest


TOOLS = {"panda": "panda_hand_tcp", "ur5e": "tool0", "iiwa14": None, "planar3": None, "snake100": None}


def find_tip(model: poise.Model) -> str:
    return TOOLS.get(model.name) or str(model.frames[-1])


def draw_missed_points(model: poise.Model, rng: np.random.Generator, count: int) -> list[np.ndarray]:
    """Points from just out of reach to a hundred lengths away, in the plane of a planar arm."""
    out = []
    for _ in range(count):
        way = rng.normal(size=3)
        way[2] *= not model.name.startswith("planar")
        out.append(way / np.linalg.norm(way) * model.length * 10 ** rng.uniform(0.1, 2))
    return out


@pytest.mark.parametrize("name", TOOLS)
def test_an_arm_out_of_reach_comes_to_rest(name: str) -> None:
    model, rng = poise.load(name), np.random.default_rng(0)
    for point in draw_missed_points(model, rng, 6):
        solver = poise.Solver(model, Reach(find_tip(model), point), mode="continuous")
        q = np.asarray(model.random(rng))
        for _ in range(60):
            q = solver.solve(q).q
        again = solver.solve(q).q
        assert np.abs(model.difference(q, again)).max() < 1e-9


@pytest.mark.slow
@pytest.mark.parametrize("shift", [(0, 0, 2.0), (0, -2, 0.5), (3, 1, 1), (0.5, -1.5, 1.5)])
def test_a_body_on_its_feet_comes_to_rest(shift: tuple[float, ...]) -> None:
    model = poise.load("humanoid")
    hand = model.fk(model.rest, "hand_r")[:3, 3] + shift
    goals: list[Goal] = [Reach(name, model.fk(model.rest, name)) for name in ("foot_l", "foot_r")]
    solver, q = poise.Solver(model, [*goals, Reach("hand_r", hand)], mode="continuous"), np.array(model.rest)
    for _ in range(400):  # bounds are met one after the other on the way
        q = solver.solve(q).q
    for _ in range(20):
        again = solver.solve(q).q
        assert np.abs(model.difference(q, again)).max() < 1e-9
        q = again


@pytest.mark.parametrize("name", ["panda", "ur5e", "planar3"])
def test_the_minimum_of_a_missed_goal_is_found_within_the_default_steps(name: str) -> None:
    model, rng = poise.load(name), np.random.default_rng(1)
    for point in draw_missed_points(model, rng, 12):
        goal = Reach(find_tip(model), point)
        found = poise.solve(model, goal, restarts=0)
        longer = poise.solve(model, goal, found.q, restarts=0, max_steps=10_000)
        assert found.steps <= 200
        before, after = found.errors[find_tip(model)][0], longer.errors[find_tip(model)][0]
        assert before - after <= 1e-9 * before


@pytest.mark.parametrize("ratio", [1.0, 1e2, 1e4, 1e6])
def test_weights_far_apart_do_not_cost_a_goal_that_can_be_reached(ratio: float) -> None:
    model, rng, reached = poise.load("humanoid"), np.random.default_rng(0), 0
    for k in range(40):
        q = model.clamp(model.integrate(model.rest, rng.normal(scale=0.4, size=model.nv)))
        heavy, light = (model.fk(q, name)[:3, 3] for name in ("hand_l", "hand_r"))
        goals = [Reach("hand_l", heavy, weight=ratio), Reach("hand_r", light, priority=k % 2 and 0)]
        reached += poise.solve(model, goals).reached
    assert reached == 40


def test_weights_far_apart_inside_a_level() -> None:
    model, rng = poise.load("panda"), np.random.default_rng(2)
    for _ in range(10):
        T = model.fk(np.asarray(model.random(rng)), "panda_hand_tcp")
        goals = [Reach("panda_hand_tcp", T[:3, 3], weight=1e6), Orient("panda_hand_tcp", T[:3, :3])]
        assert poise.solve(model, goals).reached


@pytest.mark.slow
@pytest.mark.parametrize("optimizer", [*LEAST_SQUARES, *MINIMIZERS])
def test_scipy_keeps_to_the_steps(optimizer: str) -> None:
    pytest.importorskip("scipy")
    model = poise.load("panda")
    T = model.fk(np.asarray(model.random(np.random.default_rng(3))), "panda_hand_tcp")
    for most in (1, 3, 20):
        solution = poise.solve(model, Reach("panda_hand_tcp", T), method=Scipy(optimizer), max_steps=most)
        assert solution.steps <= most
    enough = poise.solve(model, Reach("panda_hand_tcp", T[:3, 3]), method=Scipy(optimizer), max_steps=2000)
    assert enough.reached
