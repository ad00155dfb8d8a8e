"""Streams recover from jumps and T-poses; displacements of arms keep limits, ranges and speeds."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import poise
from poise import Motion, Rotation
from poise.limits import Clearance, HalfSpace
from poise.model import BallRange
from poise.model.derive import remodel, with_shapes
from poise.model.geometry.shapes import Box, Capsule, Shape
from poise.model.spec import JointSpec
from poise.motion import Retargeter, retarget
from poise.motion.retargeting.separation.stream_separation import FASTEST_RAD_S, StreamSeparation
from poise.spatial import Transform
from walkers import make_character, make_machine
from walks import make_walk

BODIES = {"machine": make_machine, "child": lambda: poise.load("humanoid", scale=0.6)}
MOST_STEPS = {"machine": 1.5, "child": 1.15}  # relative to the largest step of the whole clip


@pytest.fixture(scope="module")
def walk():
    return make_walk(90).smoothed(3.0)


def measure_hips(motion):
    """The height of the pelvis at every frame, relative to that of the rest pose."""
    model, pelvis = motion.model, poise.roles(motion.model)["pelvis"]
    height = float(model.fk(model.rest, pelvis)[:3, 3] @ model.up_direction)
    return motion.positions(pelvis) @ model.up_direction / height


def measure_steps(motion, first):
    """The largest turn of a joint from one frame to the next, without the root, after some frames."""
    q = motion.q[first:]
    return float(np.abs(motion.model.difference(q[:-1], q[1:]))[:, 6:].max())


@pytest.mark.parametrize("scale", ["auto", 1.0])
@pytest.mark.parametrize("height", [0.2, 0.6])
def test_a_stream_that_begins_in_the_air_stands_upright_after_it_has_landed(walk, scale, height):
    """Bones keep knees straight; where steps are scaled by a number, ankles follow the hips down."""
    q, model = np.tile(walk.model.rest, (60, 1)), make_character()
    q[:20, 1] += height * (1.0 - np.linspace(0.0, 1.0, 20) ** 2)
    fall = Motion(walk.model, q, walk.fps)
    whole, stream = (retarget(fall, model, scale=scale, mode=mode) for mode in ("clip", "online"))
    assert abs(measure_hips(stream.motion)[-1] - measure_hips(whole.motion)[-1]) < 0.01
    assert stream.contacts
    assert measure_steps(stream.motion, 0) < 0.1


@pytest.mark.parametrize("name", list(BODIES))
def test_a_stream_that_begins_in_the_air_walks_on_as_the_whole_clip_does(walk, name):
    q, model = np.array(walk.q), BODIES[name]()
    q[:15, 1] += 0.6 * (1.0 - np.linspace(0.0, 1.0, 15) ** 2)
    fall = Motion(walk.model, q, walk.fps)
    whole, stream = (retarget(fall, model, mode=mode) for mode in ("clip", "online"))
    assert np.abs(measure_hips(stream.motion)[25:] - measure_hips(whole.motion)[25:]).max() < 0.03
    assert sum(len(contact) for contact in stream.contacts) > 100
    assert measure_steps(stream.motion, 16) < MOST_STEPS[name] * measure_steps(whole.motion, 16)


def record_like_cmu(walk):
    """A walk at 120 frames a second on a floor that rises, with noise, after one frame of a T-pose below height 0."""
    clip, rng = walk.resampled(120.0), np.random.default_rng(2)
    q = np.array(clip.q)
    q[:, 1] += np.linspace(0.02, 0.065, len(q)) + rng.normal(scale=4e-4, size=len(q))
    q[:, [0, 2]] += rng.normal(scale=4e-4, size=(len(q), 2))
    q[0] = clip.model.rest
    q[0, 1] -= 0.03
    q[0, 2] -= 0.3
    return Motion(clip.model, q, clip.fps)


@pytest.mark.parametrize("name", list(BODIES))
def test_a_recording_with_a_t_pose_and_a_floor_that_is_not_level_has_contacts(walk, name):
    clip, model = record_like_cmu(walk), BODIES[name]()
    whole, stream = (retarget(clip, model, mode=mode) for mode in ("clip", "online"))
    off = measure_hips(stream.motion)[60:] - measure_hips(whole.motion)[60:]
    assert np.abs(off).max() < 0.05
    held = np.zeros(len(clip), dtype=bool)
    for contact in stream.contacts:
        held[contact.start : contact.end] = True
    assert held[60:].mean() > 0.4
    assert measure_steps(stream.motion, 30) < MOST_STEPS[name] * measure_steps(whole.motion, 30)


def bend_elbows(angles):
    """A figure that stands and bends both elbows, by angles [rad] given once a second; negative: beyond straight."""
    model, times = make_character(), np.arange(120) / 30.0
    q, angle = np.tile(model.rest, (120, 1)), np.interp(times, np.arange(5.0), angles)
    for side, sign in (("l", 1.0), ("r", -1.0)):
        q[:, model.joint(f"shoulder_{side}").q] = Rotation.from_vector((-1.2 * sign, 0.0, 0.0)).wxyz
        q[:, model.joint(f"elbow_{side}").q] = Rotation.from_vector(np.outer(-sign * angle, (0.0, 0.0, 1.0))).wxyz
    return Motion(model, q, 30.0)


@pytest.mark.parametrize("make", [make_machine, make_character, lambda: poise.load("humanoid")])
@pytest.mark.parametrize("angles", [(-0.35, -0.35, 1.2, 1.2, 0.5), (0.3, -0.35, -0.35, -0.35, 1.5)])
def test_a_limb_that_goes_beyond_straight_does_not_change_sides(make, angles):
    clip, model = bend_elbows(angles), make()
    whole, stream = (retarget(clip, model, mode=mode).motion for mode in ("clip", "online"))
    assert measure_steps(stream, 0) < 1.3 * measure_steps(whole, 0)
    assert np.abs(model.difference(stream.q, whole.q))[:, 6:].max() < 0.4


def test_a_limb_that_bends_to_the_other_side_for_good_turns_there_slowly():
    clip, model = bend_elbows((0.6, -1.2, -1.2, -1.2, -1.2)), make_character()
    whole, stream = (retarget(clip, model, mode=mode).motion for mode in ("clip", "online"))
    assert measure_steps(stream, 0) < 0.3
    assert np.abs(model.difference(stream.q[-1], whole.q[-1]))[6:].max() < 0.1


def test_a_limb_that_changes_sides_twice_does_not_jump():
    model = poise.load("humanoid")
    elbow, live = model.joint("elbow_l").q, Retargeter(model, model, fps=30)
    poses = []
    for angle in [1.2] * 12 + [-1.5] * 30:
        q = np.array(model.rest)
        q[elbow] = angle
        poses.append(live.step(q).q)
    assert np.abs(model.difference(np.array(poses[13:-1]), np.array(poses[14:]))).max() < 0.5


def turn_arms(axis, angle, seconds):
    """A figure whose arms turn about an axis, mirrored, after half a second, and then stay for two seconds."""
    model, times = make_character(), np.arange(round(30 * (2.5 + seconds))) / 30.0
    q, turned = np.tile(model.rest, (len(times), 1)), angle * np.clip((times - 0.5) / seconds, 0.0, 1.0)
    for side, sign in (("l", 1.0), ("r", -1.0)):
        turn = Rotation.from_vector(np.outer(turned, (sign * axis[0], sign * axis[1], axis[2])))
        q[:, model.joint(f"shoulder_{side}").q] = (turn @ Rotation.from_vector((-1.2 * sign, 0.0, 0.0))).wxyz
        q[:, model.joint(f"elbow_{side}").q] = Rotation.from_vector((0.0, 0.0, -0.5 * sign)).wxyz
    return Motion(model, q, 30.0)


@pytest.mark.parametrize("axis", [(1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (1.0, 0.0, 1.0)])
@pytest.mark.parametrize("angle", [2.0 * np.pi, -2.0 * np.pi])
def test_arms_beyond_their_ranges_return_to_the_source_within_a_second(axis, angle):
    clip, model = turn_arms(axis, angle, 0.4), make_machine()
    stream = retarget(clip, model, mode="online")
    assert np.degrees(stream.bone_errors[:, -30:]).max() < 18.0
    assert measure_steps(stream.motion, 0) < 0.6


def test_a_stream_that_recovered_is_reset():
    clip = turn_arms((1.0, 0.0, 0.0), -2.0 * np.pi, 0.4)
    live = Retargeter(clip.model, make_machine(), fps=clip.fps)
    first, moving = [], 0
    for q in clip.q[:40]:
        first.append(live.step(q).q)
        moving += any(state.away for state in live.arms.states)
    assert moving
    live.reset()
    assert np.array_equal(first, [live.step(q).q for q in clip.q[:40]])


def test_arms_that_cannot_reach_a_still_source_come_to_rest_and_are_not_solved_again(monkeypatch):
    source, model, solves = make_character(), make_machine(), 0
    names = [j.name for j in model.joints if not j.name.endswith(("shoulder_roll", "wrist_yaw", "wrist_roll"))]
    q = np.array(source.rest)
    for side, sign in (("l", 1.0), ("r", -1.0)):
        q[source.joint(f"shoulder_{side}").q] = Rotation.from_vector((sign, 0.0, 0.0)).wxyz
    live = Retargeter(source, model, joints=names, fps=30)
    solve = live.arms.window.solve

    def count(*args):
        nonlocal solves
        solves += 1
        return solve(*args)

    monkeypatch.setattr(live.arms.window, "solve", count)
    poses = [live.step(q).q for _ in range(60)]
    assert solves
    solves = 0
    poses += [live.step(q).q for _ in range(60)]
    assert not solves
    assert measure_steps(Motion(model, np.array(poses), 30.0), 59) < 1e-3


def test_arms_are_free_after_a_cut_of_a_stream():
    """A cut may turn an arm by any angle in a frame, and what it missed before does not count."""
    clip = turn_arms((1.0, 0.0, 0.0), -2.0 * np.pi, 0.4)
    live = Retargeter(clip.model, make_machine(), fps=clip.fps)
    for q in clip.q[:30]:
        live.step(q)
    before, q = np.array(live.q), np.array(clip.model.rest)
    q[:3] += clip.model.up_direction
    for side, sign in (("l", 1.0), ("r", -1.0)):
        q[clip.model.joint(f"shoulder_{side}").q] = Rotation.from_vector((-1.2 * sign, 0.0, 0.0)).wxyz
    assert any(state.missed for state in live.arms.states)
    after = live.step(q).q
    assert live.ground.estimate.cut
    assert np.abs(after - before)[live.arms.columns].max() > 1.0
    assert not any(state.away or state.best is not None for state in live.arms.states)


def test_a_cartwheel_is_no_cut_of_a_stream():
    """Feet that are far apart become the lowest ones in turn: one goes down fast, and the other one up."""
    model = make_character()
    live, q = Retargeter(model, make_machine(), fps=120.0), np.array(model.rest)
    for side, sign in (("l", 1.0), ("r", -1.0)):
        q[model.joint(f"hip_{side}").q] = Rotation.from_vector((sign, 0.0, 0.0)).wxyz
    q[:3] += model.up_direction
    for t in range(60):
        q[3:7] = Rotation.from_vector((9.0 * (t - 30) / 120.0, 0.0, 0.0)).wxyz
        live.step(q)
        assert not live.ground.estimate.cut


FPS = 30.0
WIDEST = 0.3  # rad
IDENTITY = np.array([1.0, 0.0, 0.0, 0.0])


def add_shapes(body: poise.Model) -> poise.Model:
    """Return the body with a box for a trunk and capsules for its hands."""
    chest = Shape("chest", Box((0.24, 0.32, 0.16)), Transform(None, (0.0, 0.05, 0.0)), "collision")
    hands = [Shape(f"hand_{side}", Capsule(0.03, 0.04), Transform(), "collision") for side in "lr"]
    return with_shapes(body, [chest, *hands])


def start(body: poise.Model) -> StreamSeparation:
    """Return the separation of a stream, with its left arm turned by 1 rad at the shoulder."""
    found = Retargeter(poise.load("humanoid"), add_shapes(body), fps=FPS).separation
    assert found is not None
    found.shift = np.zeros(body.nv)
    found.shift[body.joint("shoulder_l").v] = (-1.0, 0.0, 0.0)
    return found


@pytest.fixture(scope="module")
def body() -> poise.Model:
    return poise.load("humanoid", scale=0.8)


def test_a_fading_displacement_is_no_faster_than_arms(body: poise.Model) -> None:
    parting = start(body)
    assert parting.shift is not None
    before = body.integrate(body.rest, parting.shift)
    after = parting.part(np.array(body.rest), lambda _: True)
    steps = np.abs(body.difference(before, after))
    assert 0.1 < steps.max() * FPS < FASTEST_RAD_S * (1.0 + 1e-9)


def test_a_fading_displacement_that_is_rejected_becomes_smaller(body: poise.Model) -> None:
    def allows(q: np.ndarray) -> bool:
        return bool(np.abs(body.difference(body.rest, q)).max() < 0.5)

    out = start(body).part(np.array(body.rest), allows)
    assert 0.1 < np.abs(body.difference(body.rest, out)).max() < 0.5


def test_a_pose_is_not_changed_if_every_displacement_is_rejected(body: poise.Model) -> None:
    parting = start(body)
    np.testing.assert_array_equal(parting.part(np.array(body.rest), lambda _: False), body.rest)
    np.testing.assert_array_equal(parting.part(np.array(body.rest), lambda _: True), body.rest)


def test_a_ball_joint_stays_in_its_range(body: poise.Model) -> None:
    open_range = np.full(3, np.inf)
    specs = [
        replace(spec, kind="ball", lower=-open_range, upper=open_range, rest=IDENTITY, cone=BallRange(angle=WIDEST))
        if isinstance(spec, JointSpec) and spec.name == "shoulder_l"
        else spec
        for spec in body.layout.specs
    ]
    jointed = remodel(with_shapes(body, []), specs)
    out = start(jointed).part(np.array(jointed.rest), lambda _: True)
    turn = jointed.difference(jointed.rest, out)[jointed.joint("shoulder_l").v]
    assert np.linalg.norm(turn) == pytest.approx(WIDEST, abs=1e-9)


@pytest.mark.parametrize(("pairs", "own"), [("auto", True), ([("hand_l", "chest")], True), ([], False)])
def test_a_clearance_with_a_world_replaces_it_if_it_has_pairs(body: poise.Model, pairs: object, own: bool) -> None:
    wall = HalfSpace((0.0, 0.0, -5.0), (0.0, 0.0, 1.0))
    live = Retargeter(poise.load("humanoid"), add_shapes(body), limits=[Clearance(pairs, world=[wall])])
    assert (live.separation is None) is own
