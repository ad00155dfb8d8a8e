"""Followers of live targets: ranges, rates and obstacles by independent differences, singular poses."""

from typing import Any

import numpy as np
import pytest

import poise
from limit_oracle import cone_broken
from live_arms import ACCELERATION, BENT, DT, LIMITS, SPEED, WALL, check_rates, find_hand, make_follower, shift
from poise.goals import Reach
from poise.limits import Acceleration, Clearance, Coupled, Speed
from poise.model import BallRange
from poise.motion import Follower


@pytest.mark.parametrize("acceleration", [2.0, 20.0])
@pytest.mark.parametrize("body", sorted(BENT))
def test_speed_and_acceleration_hold_for_uneven_steps(body, acceleration):
    follower, rng = make_follower(body, (Speed(SPEED), Acceleration(acceleration))), np.random.default_rng(0)
    steps: list[Any] = []
    model, start = follower.model, follower.q
    for k in range(600):
        if k % 40 == 0:
            target = model.fk(model.random(rng), model.frames[-1])
        dt = rng.choice([0.001, 0.004, 0.01, 0.03, 0.2])
        solution = follower.step({"hand": target}, dt)
        np.testing.assert_allclose(solution.velocity, (solution.q - (steps[-1][0] if steps else start)) / dt)
        steps.append((solution.q, dt))
    check_rates(model, steps, start, acceleration=acceleration)


def test_noisy_measurements_at_the_end_of_a_range_keep_range_and_speed():
    follower, rng = make_follower(), np.random.default_rng(6)
    model, measured = follower.model, follower.q
    far = shift(find_hand(follower), 2.0, -1.0, 0.0)
    for _ in range(300):
        solution = follower.step({"hand": far}, DT, measured)
        assert np.abs(solution.velocity).max() <= SPEED * (1.0 + 1e-9)
        assert (solution.q >= model.lower).all()
        assert (solution.q <= model.upper).all()
        measured = solution.q + rng.normal(scale=1e-3, size=model.nq)


def test_a_joint_measured_at_the_end_of_its_range_goes_no_further():
    follower = make_follower()
    model, far = follower.model, shift(find_hand(follower), 2.0, -1.0, 0.0)
    for _ in range(10):
        solution = follower.step({"hand": far}, DT)
    measured, fastest = np.array(solution.q), np.argmax(np.abs(solution.velocity))
    measured[fastest] = (model.upper if solution.velocity[fastest] > 0.0 else model.lower)[fastest]
    after = follower.step({"hand": far}, DT, measured).q
    assert model.lower[fastest] <= after[fastest] <= model.upper[fastest]


@pytest.mark.parametrize("acceleration", [5.0, 20.0])
def test_obstacles_and_accelerations_hold_together(acceleration):
    limits, rng, steps = (Speed(SPEED), Acceleration(acceleration), WALL), np.random.default_rng(7), []
    model = poise.load("panda")
    start = np.array([*BENT["panda"], *model.rest[7:]])
    follower = Follower(model, Reach(model.frames[-1], name="hand"), limits, start)
    for k in range(500):
        if k % 50 == 0:
            place = rng.uniform((0.3, -0.4, -0.2), (0.7, 0.4, 0.3))
        dt = rng.choice([0.004, 0.01, 0.03])
        if k % 120 == 100:
            follower.pause()
        if k % 120 == 110:
            follower.resume()
        steps.append((follower.step({"hand": place}, dt).q, dt))
    check_rates(model, steps, start, acceleration=acceleration)
    gaps = WALL.measure_gap(model, np.array([q for q, _ in steps]))
    assert gaps.min() >= -2e-9
    assert gaps.min() < 0.01


def test_a_hand_slides_along_an_obstacle_without_shaking():
    model = poise.load("panda")
    start = [*BENT["panda"], *model.rest[7:]]
    follower = Follower(model, Reach(model.frames[-1], name="hand"), (*LIMITS, WALL), start)
    path = []
    for k in range(300):
        path.append(follower.step({"hand": (0.5, -0.2 + 0.003 * max(0, k - 100), -0.1)}, DT).q)
    changes = np.abs(np.diff(path[150:], n=2, axis=0)).max(axis=1)
    assert np.percentile(changes, 90) < 0.1 * ACCELERATION * DT**2
    assert WALL.measure_gap(model, path[-1]) < 0.02
    assert find_hand(follower)[1, 3] == pytest.approx(0.397, abs=0.01)


@pytest.mark.parametrize("beyond", [0.0, 0.01, 0.2])
def test_a_stretched_arm_turns_with_a_target_out_of_reach_without_shaking(beyond):
    follower, path = Follower(poise.load("ur5e"), Reach("tool0", name="hand"), LIMITS, BENT["ur5e"]), []
    for k in range(450):
        angle = 0.002 * k
        x, y = (0.95 + beyond) * np.cos(angle), (0.95 + beyond) * np.sin(angle)
        path.append(follower.step({"hand": (x, y, 0.3)}, DT).q)
    assert np.abs(np.diff(path[300:], n=2, axis=0)).max() < 0.1 * ACCELERATION * DT**2
    assert np.arctan2(*find_hand(follower)[[1, 0], 3]) == pytest.approx(angle, abs=0.01)


def test_a_path_through_a_singular_pose_is_followed():
    follower = make_follower("ur5e")
    straight = follower.q
    straight[4] = 0.0  # axes 4 and 6 are parallel
    follower.reset(straight)
    middle = find_hand(follower)
    for k in range(630):
        solution = follower.step({"hand": shift(middle, 0.0, *(np.array([0.15, 0.045]) * np.sin(0.01 * k) ** 2))}, DT)
        assert solution.errors["hand"][0] < 0.05  # while the wrist turns at its limits
    assert solution.state == "following"


def test_a_sum_of_joints_and_accelerations_hold_together():
    model = poise.load("ur5e")
    sum_of_two = Coupled({"shoulder_lift_joint": 1.0, "elbow_joint": 1.0}, upper=0.6)
    follower = Follower(model, Reach("tool0", name="hand"), (*LIMITS, sum_of_two), BENT["ur5e"])
    steps, start = [], follower.q
    for k in range(200):
        steps.append((follower.step({"hand": (-0.7, 0.1, 0.1 if k % 40 < 20 else 0.9)}, DT).q, DT))
    check_rates(model, steps, start)
    sums = np.array([q[1] + q[2] for q, _ in steps])
    assert sums.max() <= 0.6 + 1e-8


def test_cones_of_ball_joints_and_accelerations_hold_together():
    builder = poise.ModelBuilder("shoulder")
    builder.add_joint("ball", None, "ball", cone=BallRange(swing=0.6, twist=(-0.5, 0.5)))
    builder.add_joint("elbow", "ball", "revolute", offset=(0, 0, 0.4), axis=(0, 1, 0), lower=-2.0, upper=2.0)
    model = builder.add_frame("hand", "elbow", (0, 0, 0.4)).build()
    follower, rng, before, last = Follower(model, Reach("hand"), LIMITS), np.random.default_rng(8), model.rest, 0.0
    for k in range(400):
        if k % 40 == 0:
            target = 0.5 * rng.normal(size=3)
        dt = rng.choice([0.004, 0.01, 0.03])
        q = follower.step({"hand": target}, dt).q
        velocity = model.difference(before, q) / dt
        assert np.abs(velocity - last).max() <= ACCELERATION * dt * (1.0 + 1e-9)
        assert cone_broken(model.joint("ball").cone, q[model.joint("ball").q]) < 1e-8
        before, last = q, velocity


@pytest.mark.parametrize("more", [(), (Clearance(),)], ids=["rates", "self-clearance"])
def test_two_arms_of_a_person_follow_from_the_chest(more):
    model = poise.load("humanoid")
    arms = [
        joint.name
        for joint in model.joints
        if any(part in joint.name for part in ("arm", "clavicle", "elbow", "shoulder", "wrist"))
    ]
    follower = Follower(model, [Reach("hand_l"), Reach("hand_r")], (*LIMITS, *more), joints=arms)
    hands = {name: model.fk(model.rest, name)[:3, 3] for name in ("hand_l", "hand_r")}
    last = np.zeros(model.nv)
    for k in range(200):
        aims = {name: p + 0.05 * (1.0 - np.cos(0.03 * k)) * np.array([0.0, 0.5, 1.0]) for name, p in hands.items()}
        before, solution = follower.q, follower.step(aims, DT)
        velocity = model.difference(before, solution.q) / DT
        assert np.abs(velocity).max() <= SPEED * (1.0 + 1e-9)
        assert np.abs(velocity - last).max() <= ACCELERATION * DT * (1.0 + 1e-9)
        last = velocity
        assert solution.state == "following"
    still = [joint.q for joint in model.joints if joint.name not in arms and joint.nq]
    assert all(np.array_equal(solution.q[part], model.rest[part]) for part in still)


@pytest.mark.parametrize("seed", range(3))
def test_limits_hold_whatever_is_called_in_whatever_order(seed):
    follower, rng, steps = make_follower(limits=(*LIMITS, WALL)), np.random.default_rng(seed), []
    model, start, hand = follower.model, follower.q, find_hand(follower)
    calls = [follower.pause, follower.resume, follower.resume, lambda: follower.release("hand")]
    for _ in range(500):
        if rng.random() < 0.05:
            calls[rng.integers(len(calls))]()
        if rng.random() < 0.04:
            follower.engage("hand", hand, scale=rng.uniform(0.2, 4.0))
        far = rng.random() < 0.02
        hand = model.fk(model.random(rng), model.frames[-1]) if far else shift(hand, *rng.normal(scale=0.01, size=3))
        dt = np.exp(rng.uniform(np.log(1e-3), np.log(0.3)))
        targets = ({}, {"hand": None}, {"hand": hand}, {"hand": hand})[rng.integers(4)]
        steps.append((follower.step(targets, dt).q, dt))
    check_rates(model, steps, start)
    assert WALL.measure_gap(model, np.array([q for q, _ in steps])).min() >= -2e-9


def test_hands_that_are_led_into_each_other_stop_apart():
    model = poise.load("humanoid")
    arms = [joint.name for joint in model.joints if joint.name.startswith(("shoulder", "elbow", "wrist"))]
    apart = Clearance(pairs=[("hand_l", "hand_r"), ("hand_l", "forearm_r"), ("hand_r", "forearm_l")])
    follower = Follower(model, [Reach("hand_l"), Reach("hand_r")], (*LIMITS, apart), joints=arms)
    middle, gaps, last = np.array([0.0, 1.2, 0.3]), [], np.zeros(model.nv)
    for _ in range(200):
        before, solution = follower.q, follower.step({"hand_l": middle, "hand_r": middle}, DT)
        velocity = model.difference(before, solution.q) / DT
        assert np.abs(velocity - last).max() <= ACCELERATION * DT * (1.0 + 1e-9)
        gaps.append(float(apart.measure_gap(model, solution.q)))
        last = velocity
    assert min(gaps) >= -2e-9
    assert gaps[-1] < 0.01
    assert np.abs(last).max() < 1e-3


def test_without_limits_a_body_in_millimetres_moves_like_one_in_metres():
    paths = []
    for units, size in (("m", 1.0), ("mm", 1e3)):
        builder = poise.ModelBuilder()
        builder.units = units
        builder.add_joint("slide", None, "prismatic", lower=-size, upper=size, velocity=0.5 * size)
        builder.add_joint("turn", "slide", "revolute", axis=(0, 0, 1), offset=(0.5 * size, 0, 0), velocity=2.0)
        follower = Follower(builder.add_frame("tip", "turn", (0.5 * size, 0, 0)).build(), Reach("tip"))
        target = np.array([0.9, 0.3, 0.3]) * size
        paths.append([follower.step({"tip": target}, DT).q / (size, 1.0) for _ in range(40)])
    np.testing.assert_allclose(*paths, atol=1e-3)
    assert np.diff(paths[0], axis=0).max(axis=0)[0] > 2e-3
