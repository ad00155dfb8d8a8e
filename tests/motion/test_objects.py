"""Objects in hands: hands stay on what they hold, objects keep their paths, impossible frames are reported."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import poise
from lifting import SIZE, lift, list_grasps
from poise.errors import InvalidValue
from poise.goals import Grasp, LookAt, Reach, Rest, Style
from poise.kinematics import MotionWithObjects
from poise.limits import Clearance, Speed
from poise.limits.capsules import body_capsules, place_capsules
from poise.model import Box, Capsule, Cylinder, Sphere
from poise.motion import Contact, Contacts, track


@pytest.fixture(scope="module")
def cleared(body, box):
    return track(body, list_grasps(box), contacts="auto", limits=[Clearance()])


def see_hands(clip, hand):
    """Where a hand is in the axes of the object at every frame, (frames, 4, 4)."""
    return np.linalg.inv(clip.objects[0].transforms) @ clip.model.fk(clip.q, hand)


def measure_gaps(clip, spared):
    """How far the nearest capsule of the body is from the box at each frame [m], by samples along it."""
    out = np.full(len(clip), np.inf)
    capsules = body_capsules(clip.model)
    (thing,) = clip.objects
    for t, T in enumerate(thing.transforms):
        a, b = place_capsules(clip.model, capsules, clip.q[t])
        for k, capsule in enumerate(capsules):
            if not any(word in capsule.frame for word in spared):
                points = a[k] + np.linspace(0.0, 1.0, 60)[:, None] * (b[k] - a[k])
                over = np.abs((points - T[:3, 3]) @ T[:3, :3]) - 0.5 * np.array(thing.shape.size)
                outside = np.linalg.norm(np.maximum(over, 0.0), axis=1) + np.minimum(over.max(axis=1), 0.0)
                out[t] = min(out[t], outside.min() - capsule.radius)
    return out


# ------------------------------------------------------------------------------------------------ the laws


def test_a_sole_that_rolls_while_it_is_planted_is_reported(body, lifted):
    q = np.array(lifted.motion.q)
    row = body.joint("ankle_l").q
    q[5:9, row.start + 1] += np.radians(8.0)
    rolled = replace(lifted, motion=MotionWithObjects(body, q, lifted.motion.fps, lifted.motion.objects))
    message = rolled.why().splitlines()[-1]
    assert message.startswith("The sole of heel_l and toe_l rolls sideways by ")
    assert 4.0 < float(message.split("by ")[1].split()[0]) < 9.0
    assert "rolls" not in lifted.why()


@pytest.mark.slow
def test_hands_stay_on_the_object(lifted):
    for hand, inwards in (("hand_l", -1.0), ("hand_r", 1.0)):
        T = see_hands(lifted.motion, hand)
        palm = T[:, :3, :3] @ np.array([inwards * 0.0210877, 0.0, 0.0]) + T[:, :3, 3]
        assert np.abs(palm - (-inwards * SIZE[0] / 2, 0.0, 0.0)).max() < 1e-6  # the middle of the face on its side
        assert np.abs(T[:, 0, 0] - 1.0).max() < 1e-6  # and flat on it, free to turn there
    assert np.ptp(see_hands(lifted.motion, "hand_l")[:, 2, 2]) > 1e-3
    assert lifted.reached.all()
    assert lifted.why().startswith("Every goal is reached in all 24 frames")


@pytest.mark.slow
def test_the_object_is_where_its_path_says(lifted, cleared, box):
    for clip in (lifted.motion, cleared.motion):
        assert isinstance(clip, MotionWithObjects)
        assert np.array_equal(clip.objects[0].transforms, box.transforms)
        assert clip.fps == 24.0


def test_feet_are_held_and_the_body_is_balanced(body, lifted):
    assert len(lifted.contacts) == 6  # heel, toe, and a point next to the heel of each foot
    for foot in ("heel_l", "toe_l", "heel_r", "toe_r"):
        assert np.abs(lifted.motion.positions(foot) - body.fk(body.rest, foot)[:3, 3]).max() < 1e-6
    for foot in ("foot_l", "foot_r"):
        normals = body.fk(lifted.motion.q, foot)[:, :3, :3] @ body.fk(body.rest, foot)[:3, :3].T @ body.up_direction
        assert np.degrees(np.arccos(np.clip(normals @ body.up_direction, -1.0, 1.0))).max() < 0.5
    masses = body.center_of_mass(lifted.motion.q)
    assert (np.abs(masses[:, 0]) < 0.149).all()
    assert ((masses[:, 2] > -0.088) & (masses[:, 2] < 0.172)).all()


def test_it_moves_like_a_person(body, lifted):
    knees = lifted.motion.q[:, body.joint("knee_l").q.start]
    assert knees[0] > 0.6 > knees[-1]
    pelvis = lifted.motion.positions("pelvis")[:, 1]
    assert pelvis[0] < pelvis[-1] - 0.03
    steps = np.abs(body.difference(lifted.motion.q[:-1], lifted.motion.q[1:]))
    assert steps.max() < 0.25
    assert (lifted.motion.q >= -1e9).all()
    numbers = [k for joint in body.joints if not joint.quaternion for k in range(joint.q.start, joint.q.stop)]
    velocities = [k for joint in body.joints if not joint.quaternion for k in range(joint.v.start, joint.v.stop)]
    q = lifted.motion.q[:, numbers]
    assert (q >= body.lower[velocities]).all()
    assert (q <= body.upper[velocities]).all()


@pytest.mark.slow
def test_a_turned_world_turns_the_answer(body, box, lifted):
    turn = np.array(poise.Transform(poise.Rotation.from_vector((0.0, 1.1, 0.0)), (0.7, 0.0, -0.4)).matrix)
    root = body.joint("pelvis").q
    q = np.array(body.rest)
    T = turn @ body.fk(q, "pelvis")
    q[root] = (*T[:3, 3], *poise.Rotation.from_matrix(T[:3, :3]).wxyz)
    moved = track(body, list_grasps(box.move(turn @ box.transforms)), start=q, contacts="auto")
    for frame in ("hand_l", "head", "knee_r", "pelvis"):
        wanted = turn @ body.fk(lifted.motion.q, frame)
        assert np.abs(body.fk(moved.motion.q, frame) - wanted).max() < 2e-3
    assert moved.reached.all()


@pytest.mark.slow
def test_the_body_keeps_clear_of_what_it_holds(cleared, body):
    assert cleared.reached.all()
    assert not cleared.broken.any()
    spared = ("hand", "wrist", "forearm")
    assert measure_gaps(cleared.motion, spared).min() > -1e-6
    near = poise.Object(Box(SIZE), lift(ahead=0.24), name="box")
    free = track(body, list_grasps(near), contacts="auto")
    held = track(body, list_grasps(near), contacts="auto", limits=[Clearance()])
    assert measure_gaps(free.motion, spared).min() < -0.02
    assert measure_gaps(held.motion, spared).min() > -1e-6


@pytest.mark.slow
@pytest.mark.parametrize(
    "shape", [Sphere(0.16), Capsule(0.14, 0.1), Cylinder(0.16, 0.2)], ids=lambda s: type(s).__name__
)
def test_round_things_are_held_and_kept_clear_of(body, shape):
    thing = poise.Object(shape, lift(0.8, 1.1, frames=8))
    goals = [Grasp("hand_l", thing), Grasp("hand_r", thing)]
    made = track(
        body, goals, contacts="auto", limits=[Clearance(pairs=[("chest", thing.name), ("pelvis", thing.name)])]
    )
    assert made.reached.all()
    T = see_hands(made.motion, "hand_l")
    palm = T[:, :3, :3] @ np.array([-0.0210877, 0.0, 0.0]) + T[:, :3, 3]
    assert np.abs([thing.measure_distance(p) for p in palm]).max() < 1e-6


@pytest.mark.slow
def test_an_impossible_path_is_reported_with_its_first_frame(body):
    s = np.linspace(0.0, 1.0, 30)
    T = lift(1.0, 1.0, frames=30)
    T[:, 2, 3] += 2.0 * np.maximum(s - 0.5, 0.0)
    away = poise.Object(Box(SIZE), T, name="crate")
    made = track(body, list_grasps(away), contacts="auto")
    first = made.impossible
    assert first is not None
    assert 15 <= first < 29
    assert made.reached[:first].all()
    assert not made.reached[first:].any()
    message = made.why()
    assert message.startswith(f"Frame {first} ({first / 30:.2f} s) is the first that is impossible: 'hand_")
    assert "range" in message or "limit" in message or "out of reach" in message or "stretched" in message
    assert np.abs(made.motion.positions("toe_l") - made.motion.positions("toe_l")[0]).max() < 1e-4
    assert np.array_equal(made.motion.objects[0].transforms, T)


@pytest.mark.slow
def test_a_limit_in_the_way_is_named(body):
    crate = poise.Object(Box((1.2, 1.2, 1.2)), lift(1.1, 1.1, ahead=0.9, frames=4), name="crate")
    made = track(body, [Grasp("hand_l", crate, (0.0, 0.0, 0.0))], contacts="auto", limits=[Clearance()])
    assert made.impossible == 0
    assert "'crate'" in made.why()
    assert "clearance" in made.why()


# ------------------------------------------------------------------------------------------------ where a hand is


def test_a_transform_and_a_point_are_taken_as_they_are(body):
    T = lift(1.0, 1.1, frames=6)
    thing = poise.Object(Sphere(0.1), T)
    where = poise.Transform(poise.Rotation.from_vector((0.2, 1.4, 0.1)), (0.13, 0.02, 0.0))
    made = track(body, [Grasp("hand_l", thing, where), Grasp("hand_r", thing, (-0.12, 0.0, 0.0))], contacts="auto")
    assert np.abs(see_hands(made.motion, "hand_l") - where.matrix).max() < 1e-6
    assert np.abs(see_hands(made.motion, "hand_r")[:, :3, 3] - (-0.12, 0.0, 0.0)).max() < 1e-6


def test_a_hand_that_touches_stays_as_it_is(body):
    T_hand = body.fk(body.rest, "hand_l")
    T = np.tile(np.eye(4), (6, 1, 1))
    T[:, :3, 3] = T_hand[:3, 3] + np.array([0.0, -0.06, 0.0])
    T[:, 2, 3] += np.linspace(0.0, 0.1, 6)
    made = track(body, [Grasp("hand_l", poise.Object(Box((0.1, 0.1, 0.1)), T))], contacts="auto")
    assert made.reached.all()
    wanted = np.linalg.inv(T[0]) @ T_hand
    assert np.abs(see_hands(made.motion, "hand_l") - wanted).max() < 1e-6


@pytest.mark.slow
def test_a_face_is_held_from_below(body):
    tray = poise.Object(Box((0.44, 0.02, 0.3)), lift(1.0, 1.1, frames=6), name="tray")
    where = [(0.16, -0.03, 0.0), (-0.16, -0.03, 0.0)]
    made = track(body, [Grasp("hand_l", tray, "-y")], contacts="auto")
    T = see_hands(made.motion, "hand_l")
    assert np.abs(T[:, 1, 0] + 1.0).max() < 1e-6  # the palm, along -x of the hand, looks up
    both = track(body, [Grasp(f"hand_{s}", tray, p) for s, p in zip("lr", where, strict=True)], contacts="auto")
    assert both.reached.all()


def test_an_arm_takes_what_it_points_at():
    arm = poise.load("panda")
    T = np.tile(np.eye(4), (10, 1, 1))
    T[:, :3, 3] = np.linspace((0.45, -0.2, 0.2), (0.45, 0.2, 0.4), 10)
    made = track(arm, Grasp("panda_hand_tcp", poise.Object(Box((0.05, 0.05, 0.1)), T), "+z"), fps=30)
    seen = see_hands(made.motion, "panda_hand_tcp")
    assert np.abs(seen[:, :3, 3] - (0.0, 0.0, 0.05)).max() < 1e-6
    assert np.abs(seen[:, 2, 2] + 1.0).max() < 1e-6


def test_a_role_names_a_hand(body):
    other = body.with_roles({"grabber": "hand_r"})
    thing = poise.Object(Sphere(0.1), lift(1.0, 1.1, frames=4))
    made = track(other, Grasp("grabber", thing, (0.0, 0.0, 0.0)))
    assert np.abs(see_hands(made.motion, "hand_r")[:, :3, 3]).max() < 1e-6


# ------------------------------------------------------------------------------------------------ with the rest of it


@pytest.mark.slow
def test_other_goals_postures_and_styles_join_in(body, box, lifted):
    eyes = LookAt("head", box.transforms[:, :3, 3].mean(axis=0))
    bent = poise.Pose(body, body.rest).replace({"neck": (0.3, 0.0)})
    made = track(body, [*list_grasps(box), eyes, Rest(bent)], contacts="auto")
    assert made.reached.all()
    style = Style.fit(lifted.motion)
    styled = track(body, [*list_grasps(box), style], contacts="auto")
    assert styled.reached.all()
    far = [np.abs(body.difference(each.motion.q, lifted.motion.q)).mean() for each in (styled, made)]
    assert far[0] < far[1]


@pytest.mark.slow
def test_a_goal_that_cannot_be_served_costs_the_grasps_nothing(body, box):
    behind = LookAt("head", (0.0, 1.0, -3.0), weight=3.0)
    made = track(body, [*list_grasps(box), behind], contacts="auto")
    for hand in ("hand_l", "hand_r"):
        assert made.errors[hand].max() < 1e-6


def test_it_follows_a_clip(body):
    q = np.repeat(body.rest[None], 12, axis=0)
    q[:, 2] += np.linspace(0.0, 0.2, 12)
    clip = poise.Motion(body, q, fps=30.0)
    tray = poise.Object(Sphere(0.1), body.fk(q, "pelvis") @ np.array(poise.Transform(None, (0.2, 0.2, 0.35)).matrix))
    made = track(body, Grasp("hand_l", tray, (0.0, 0.0, 0.0)), start=clip)
    assert made.reached.all()
    assert np.abs(made.motion.positions("foot_r") - clip.positions("foot_r")).max() < 0.04


def test_contacts_of_a_ledger_hold_while_they_last(body):
    frames = 10
    ledger = Contacts((Contact("foot_l", 0, 5), Contact("foot_r", 0, frames)), frames, 30.0)
    thing = poise.Object(Sphere(0.1), lift(1.0, 1.2, frames=frames))
    made = track(body, Grasp("hand_r", thing, (0.0, 0.0, 0.0)), contacts=ledger)
    still = body.fk(body.rest, "foot_l")[:3, 3]
    assert np.abs(made.motion.positions("foot_l")[:5] - still).max() < 1e-6


@pytest.mark.slow
def test_limits_of_time_hold(body, box):
    made = track(body, list_grasps(box), contacts="auto", limits=[Speed(20.0)])
    rates = np.abs(body.difference(made.motion.q[:-1], made.motion.q[1:])) * made.motion.fps
    assert rates[:, 6:].max() <= 20.0
    assert made.reached.all()


def test_a_stream_holds_it_too(body, box):
    made = track(body, [Grasp("hand_l", box), Grasp("hand_r", box)], contacts="auto", mode="online")
    assert np.abs(see_hands(made.motion, "hand_l")[:, 0, 0] - 1.0).max() < 2e-3
    assert np.array_equal(made.motion.objects[0].transforms, box.transforms)
    with pytest.raises(InvalidValue, match="online"):
        track(body, Grasp("hand_l", box), mode="online", limits=Clearance())


def test_one_pose_holds_what_stands_still(body):
    ball = poise.Object(Sphere(0.1), poise.Transform(None, (0.3, 1.2, 0.4)))
    feet = [Reach(foot, body.fk(body.rest, foot)) for foot in ("foot_l", "foot_r")]
    solution = poise.solve(body, [*feet, Grasp("hand_l", ball, (0.1, 0.0, 0.0))])
    assert solution.reached
    assert np.abs(solution.pose.position("hand_l") - (0.4, 1.2, 0.4)).max() < 1e-4
    with pytest.raises(InvalidValue, match=r"motion\.track"):
        poise.solve(body, Grasp("hand_l", ball.move(lift(frames=3)), (0.1, 0.0, 0.0)))
    with pytest.raises(InvalidValue, match="where is None"):
        poise.solve(body, Grasp("hand_l", ball))
