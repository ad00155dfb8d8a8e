"""Followers of live targets: clutches, gaps, pauses, wrong calls."""

from dataclasses import replace

import numpy as np
import pytest

import poise
from live_arms import ACCELERATION, BENT, DT, LIMITS, WALL, check_rates, find_hand, make_follower, shift, turn_at_random
from poise.errors import InvalidValue, NameNotFound, PoiseError, ShapeMismatch
from poise.goals import LookAt, Orient, Reach
from poise.limits import Speed
from poise.motion import Follower
from poise.spatial import Rotation, Transform


def test_drop_outs_and_jumps_keep_the_limits_and_are_reported():
    follower, rng, steps, states = make_follower("ur5e"), np.random.default_rng(1), [], []
    start, hand = follower.q, find_hand(follower)
    for k in range(500):
        target = shift(hand, 0.0, 0.05 - 0.05 * np.cos(0.03 * k), 0.0)
        lost, jumps = rng.random(2) < (0.05, 0.02)
        given = np.full((4, 4), np.nan) if lost else shift(target, 0.2, 0.0, 0.0) if jumps else target
        solution = follower.step({"hand": given}, DT)
        assert not (lost or jumps) or (solution.state == "bridged" and "hand" in solution.why())
        states.append(solution.state)
        steps.append((solution.q, DT))
        assert np.linalg.norm(find_hand(follower)[:3, 3] - target[:3, 3]) < 0.08  # a jump of one step leads 3 cm away
    check_rates(follower.model, steps, start)
    assert states.count("following") > 300
    for _ in range(100):
        follower.step({"hand": hand}, DT)
    np.testing.assert_allclose(follower.q, start, atol=1e-2)  # the same branch


def test_a_smooth_target_is_reached_in_the_step_in_which_it_arrives():
    follower = make_follower("ur5e")
    model, middle = follower.model, follower.q
    for k in range(200):
        q = middle + 0.3 * (1.0 - np.cos(0.03 * k))
        solution = follower.step({"hand": model.fk(q, model.frames[-1])}, DT)
        assert solution.state == "following"
        np.testing.assert_allclose(find_hand(follower)[:3, 3], model.fk(q, model.frames[-1])[:3, 3], atol=2e-4)


def test_a_still_target_is_not_overshot():
    follower = make_follower("ur5e")
    wanted = follower.q + 0.4
    target, ways = follower.model.fk(wanted, follower.model.frames[-1]), []
    for _ in range(200):
        solution = follower.step({"hand": target}, DT)
        ways.append(np.linalg.norm(find_hand(follower)[:3, 3] - target[:3, 3]))
    assert solution.state == "following"
    assert (np.diff(ways) <= 1e-4).all()
    np.testing.assert_array_equal(follower.velocity, 0.0)


def test_engaging_moves_nothing_and_the_controller_moves_by_scale_and_axes():
    follower, rng = make_follower(), np.random.default_rng(2)
    start, hand = follower.q, find_hand(follower)
    for _ in range(5):
        controller = turn_at_random(rng)
        follower.engage("hand", controller)
        np.testing.assert_array_equal(follower.step({"hand": controller}, DT).q, start)
        follower.release("hand")
        assert follower.step({"hand": turn_at_random(rng)}, DT).state == "held"
        np.testing.assert_array_equal(follower.q, start)
    axes = Rotation.from_axis_angle((0, 0, 1), np.pi / 2).matrix  # x of the controller is y of the robot
    follower.engage("hand", controller, scale=0.5, axes=axes)
    turned = shift(controller, 0.1, 0.0, 0.0)
    turned[:3, :3] = Rotation.from_axis_angle((1, 0, 0), 0.2).matrix @ controller[:3, :3]
    for _ in range(100):
        solution = follower.step({"hand": turned}, DT)
    assert solution.state == "following"
    np.testing.assert_allclose(find_hand(follower)[:3, 3], hand[:3, 3] + (0.0, 0.05, 0.0), atol=2e-4)
    wanted = Rotation.from_axis_angle((0, 1, 0), 0.2).matrix @ hand[:3, :3]
    np.testing.assert_allclose(find_hand(follower)[:3, :3], wanted, atol=2e-3)


def test_an_unreachable_target_does_not_shake_and_a_clutch_does_not_ratchet_there():
    follower, rng = make_follower(), np.random.default_rng(3)
    controller = np.eye(4)
    follower.engage("hand", controller)
    for k in range(400):
        solution = follower.step({"hand": shift(controller, 0.0, 0.0, min(0.01 * k, 2.0))}, DT)
    assert solution.state == "limited"
    assert "limited" in solution.why()
    stretched = follower.q
    for _ in range(100):
        np.testing.assert_allclose(follower.step({}, DT).q, stretched, atol=1e-6)
    for _ in range(100):
        follower.release("hand")
        controller = turn_at_random(rng)
        follower.engage("hand", controller)
        follower.step({"hand": controller}, DT)
    np.testing.assert_allclose(follower.q, stretched, atol=1e-6)
    top = find_hand(follower)
    for k in range(100):
        follower.step({"hand": shift(controller, 0.0, 0.0, -0.001 * min(k, 50))}, DT)
    np.testing.assert_allclose(find_hand(follower)[:3, 3], top[:3, 3] - (0.0, 0.0, 0.05), atol=1e-3)


def test_a_late_target_is_reported_and_the_last_one_is_kept():
    follower = make_follower(late=0.05)
    target = shift(find_hand(follower), 0.0, 0.05, 0.0)
    states = [follower.step({"hand": target}, DT).state, *(follower.step(None, DT).state for _ in range(100))]
    assert states[-1] == "bridged"
    assert "late" in follower.step({}, DT).why()
    np.testing.assert_allclose(find_hand(follower), target, atol=1e-3)
    assert follower.step({"hand": target}, DT).state == "following"


def test_target_speed_is_in_metres_for_bodies_in_another_unit():
    arm = poise.load("planar2")
    follower = Follower(
        poise.Model("cm", arm.layout.specs, attached=replace(arm.attachments, units="cm")), Reach("tip"), LIMITS
    )
    tip = follower.model.fk(follower.q, "tip")[:3, 3]
    assert follower.step({"tip": np.add(tip, (2.0, 0.0, 0.0))}, DT).gaps == {}
    assert follower.step({"tip": np.add(tip, (52.0, 0.0, 0.0))}, DT).gaps == {"tip": "is 0.5 m away"}


def test_pausing_brakes_and_resuming_moves_nothing():
    follower = make_follower()
    controller = np.eye(4)
    follower.engage("hand", controller)
    steps, start = [], follower.q
    for k in range(60):
        if k == 20:
            follower.pause()
        solution = follower.step({"hand": shift(controller, 0.0, 0.01 * k, 0.0)}, DT)
        assert (solution.state == "held") == (k >= 20)
        steps.append((solution.q, DT))
    check_rates(follower.model, steps, start)
    np.testing.assert_array_equal(follower.velocity, 0.0)
    follower.resume()
    far = turn_at_random(np.random.default_rng(4))
    np.testing.assert_array_equal(follower.step({"hand": far}, DT).q, solution.q)
    follower.step({"hand": shift(far, 0.0, 0.0, 0.02)}, DT)
    assert np.abs(follower.velocity).max() > 0.0
    follower.reset(start)
    np.testing.assert_array_equal(follower.q, start)
    assert follower.step({}, DT).state == "held"


def test_measured_joints_are_where_the_step_begins():
    follower = make_follower()
    measured = follower.q + 0.01
    target = find_hand(follower)
    solution = follower.step({"hand": target}, DT, measured)
    np.testing.assert_allclose(solution.q, measured + solution.velocity * DT, atol=1e-12)
    assert 0.0 < np.abs(solution.velocity).max() <= ACCELERATION * DT
    outside = np.array(follower.model.upper) + 0.1
    assert (follower.step({"hand": target}, DT, outside).q <= follower.model.upper).all()


def test_a_goal_released_in_motion_does_not_come_back():
    follower, controller, heights = make_follower(), np.eye(4), []
    follower.engage("hand", controller)
    for k in range(120):
        if k == 60:
            follower.release("hand")
        follower.step({"hand": shift(controller, 0.0, 0.0, 0.004 * k)}, DT)
        heights.append(find_hand(follower)[2, 3])
    assert heights[65] > heights[60]
    assert heights[-1] > max(heights) - 1e-3
    np.testing.assert_array_equal(follower.velocity, 0.0)


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda f, T: f.step({"hand": T}, 0.0), InvalidValue, "dt"),
        (lambda f, T: f.step({"hand": T}, np.nan), InvalidValue, "dt"),
        (lambda f, T: f.step({"hand": T}, 1e-300), InvalidValue, "dt"),
        (lambda f, T: f.step({"hnad": T}, DT), NameNotFound, "hand"),
        (lambda f, T: f.step([T], DT), InvalidValue, "targets"),
        (lambda f, T: f.step({"hand": T[:3, 3]}, DT), ShapeMismatch, "hand"),
        (lambda f, _: f.step({"hand": np.zeros(5)}, DT), ShapeMismatch, "hand"),
        (lambda f, T: f.step({"hand": 2.0 * T}, DT), InvalidValue, "hand"),
        (lambda f, T: f.step({"hand": T}, DT, [1.0]), ShapeMismatch, "measured"),
        (lambda f, T: f.step({"hand": T}, DT, f.q * np.nan), InvalidValue, "measured"),
        (lambda f, T: f.engage("hnad", T), NameNotFound, "hand"),
        (lambda f, T: f.engage("hand", T * np.nan), InvalidValue, "controller"),
        (lambda f, T: f.engage("hand", T, scale=0.0), InvalidValue, "scale"),
        (lambda f, T: f.engage("hand", T, axes=np.ones(2)), PoiseError, "axes"),
        (lambda f, _: f.release("hnad"), NameNotFound, "hand"),
        (lambda f, T: f.engage("gaze", T), InvalidValue, "gaze"),
    ],
)
def test_a_wrong_call_is_named_and_the_stream_goes_on(call, error, words):
    model = poise.load("panda")
    hand = model.frames[-1]

    def make():
        gaze = LookAt(hand, (1.0, 0.0, 0.0), name="gaze", weight=1e-3)
        return Follower(model, [Reach(hand, Transform(), name="hand"), gaze], LIMITS, [*BENT["panda"], *model.rest[7:]])

    follower, plain = make(), make()
    target = shift(find_hand(follower), 0.0, 0.1, 0.0)
    for k in range(20):
        if k % 5 == 2:
            with pytest.raises(error, match=words):
                call(follower, target)
        np.testing.assert_array_equal(follower.step({"hand": target}, DT).q, plain.step({"hand": target}, DT).q)


def test_other_goals_keep_their_last_target():
    model = poise.load("panda")
    gaze = LookAt(model.frames[-1], (1.0, 0.0, 0.0), name="gaze")
    follower = Follower(model, gaze, (*LIMITS, WALL), [*BENT["panda"], *model.rest[7:]])
    for _ in range(100):
        solution = follower.step({"gaze": (0.5, 0.5, 0.5)}, DT)
    assert solution.state == "following"
    before = follower.q
    solution = follower.step({"gaze": (np.nan, 0.0, 0.0)}, DT)
    assert solution.state == "bridged"
    assert "gaze" in solution.why()
    np.testing.assert_allclose(solution.q, before, atol=1e-4)


def test_wrong_options_are_named():
    with pytest.raises(InvalidValue, match="velocity limits"):
        make_follower(limits=(Speed(),))
    with pytest.raises(InvalidValue, match="goals"):
        Follower(poise.load("ur5e"), ["tool0"], LIMITS)
    with pytest.raises(ShapeMismatch, match="target_speed"):
        make_follower(target_speed=3.0)
    with pytest.raises(InvalidValue, match="late"):
        make_follower(late=0.0)


def test_rotations_and_points_are_followed_too():
    model = poise.load("ur5e")
    goals = [Orient("tool0", np.eye(3), name="turn"), Reach("tool0", name="place")]
    follower = Follower(model, goals, LIMITS, BENT["ur5e"])
    controller = turn_at_random(np.random.default_rng(5))
    follower.engage("turn", controller[:3, :3])
    follower.engage("place", controller)
    moved = shift(controller, 0.05, 0.0, 0.0)
    before = find_hand(follower)
    for _ in range(60):
        solution = follower.step({"turn": controller[:3, :3], "place": moved}, DT)
    assert solution.state == "following"
    np.testing.assert_allclose(find_hand(follower), shift(before, 0.05, 0.0, 0.0), atol=1e-3)


def test_rows_of_different_lengths_are_no_target():
    follower = Follower(poise.load("ur5e"), Reach("tool0"), LIMITS)
    with pytest.raises(PoiseError, match="tool0"):
        follower.step({"tool0": [[1.0, 0.0], [1.0]]}, DT)


def test_closed_loops_are_refused():
    builder = poise.ModelBuilder().add_joint("a", None, "revolute").add_joint("b", "a", "revolute", offset=(1, 0, 0))
    builder.add_frame("tip", "b", (1, 0, 0)).add_frame("post", None, (1, 1, 0)).add_closure("tip", "post", (0, 0, 0))
    with pytest.raises(InvalidValue, match="closed loops"):
        Follower(builder.build(), Reach("b"), LIMITS)
