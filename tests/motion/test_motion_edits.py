"""Edits of motions: cut, joined, blended, resampled, smoothed, mirrored, and walks on the spot with their path."""

from __future__ import annotations

import numpy as np
import pytest

import poise
from bodies import random_model
from poise import Motion, Rotation, motion
from poise.errors import InvalidValue
from poise.formats.units import with_up
from poise.kinematics.carriers import find_root
from walks import PERIOD, STRIDE, make_bow, make_swing, make_walk

NAMES = ("humanoid", "tree30", "panda", "quadruped", "random 1", "random 2", "random 3")
CLOSE = 1e-9


def make_body(name):
    if name.startswith("random"):
        return random_model(int(name[-1]), joints=9)
    return poise.load(name)


def make_clip(model, frames=60, fps=30.0, seed=0, size=0.25):
    """A smooth motion about the rest pose, of all joints, at two frequencies."""
    rng = np.random.default_rng(seed)
    a, b = rng.normal(size=(2, model.nv)) * size
    t = np.arange(frames)[:, None] / fps
    steps = a * np.sin(2.0 * np.pi * 0.7 * t) + b * np.cos(2.0 * np.pi * 1.1 * t)
    return Motion(model, model.clamp(model.integrate(model.rest, steps)), fps)


def far(a, b):
    """The largest angle or length between two clips of as many frames: how far their bodies are apart."""
    assert a.q.shape == b.q.shape
    assert a.fps == b.fps
    return np.abs(a.model.fk(a.q) - b.model.fk(b.q)).max(initial=0.0)


@pytest.fixture(scope="module", params=NAMES)
def clip(request):
    return make_clip(make_body(request.param))


def test_resampling_keeps_the_frames_and_comes_back(clip):
    finer = clip.resampled(90.0)
    assert len(finer) == 3 * (len(clip) - 1) + 1
    np.testing.assert_array_equal(finer.q[::3], clip.q)
    np.testing.assert_array_equal(finer.resampled(30.0).q, clip.q)
    assert clip.resampled(7.0).times[-1] <= clip.times[-1]


def test_resampling_follows_the_motion_closely():
    """A cubic: halving the frames' distance divides the error by more than four."""
    model = poise.load("tree30")

    def miss(fps):
        fine = make_clip(model, 241, 240.0)
        return far(fine[:: int(240 / fps)].resampled(240.0), fine)

    assert miss(30.0) < 2e-3
    assert miss(60.0) < miss(30.0) / 4.0


def test_time_reversal_and_the_world_do_not_matter(clip):
    """Smoothing, sampling and means commute with running backwards."""
    times = np.linspace(0.05, clip.times[-1] - 0.1, 37)
    assert far(clip.reversed().smoothed(3.0), clip.smoothed(3.0).reversed()) < CLOSE
    backwards = clip.reversed().warped(clip.times[-1] - times)
    assert far(backwards, clip.warped(times)) < CLOSE
    assert np.abs(clip.model.fk(clip.mean().q) - clip.model.fk(clip.reversed().mean().q)).max() < 1e-7
    assert clip.reversed().reversed() == clip


def test_edits_stay_inside_the_ranges(clip):
    for edited in (
        clip.resampled(100.0),
        clip.smoothed(2.0),
        clip.looped(),
        clip.joined(clip),
        clip.warped([0.01, 0.99]),
    ):
        np.testing.assert_allclose(clip.model.clamp(edited.q), edited.q, atol=1e-12)


def test_smoothing_passes_slow_motion_and_stops_fast_motion():
    """A sine keeps its phase; its height falls by 1/sqrt(2) at the cutoff and hardly at all far below it."""
    model = poise.load("planar2")
    t = np.arange(600) / 100.0

    def gain(hz):
        wave = np.sin(2.0 * np.pi * hz * t)
        q = np.stack([wave, 0.0 * wave], axis=1)
        out = Motion(model, q, 100.0).smoothed(4.0).q[150:450, 0]
        return (out @ wave[150:450]) / (wave[150:450] @ wave[150:450])

    assert gain(4.0) == pytest.approx(np.sqrt(0.5), abs=2e-3)
    assert gain(0.4) == pytest.approx(1.0, abs=1e-3)
    assert abs(gain(20.0)) < 5e-3


def test_smoothing_keeps_a_steady_turn_and_its_ends():
    model = poise.load("tree30")
    speed = np.random.default_rng(4).normal(size=model.nv)
    clip = Motion(model, np.stack([model.integrate(model.rest, 0.02 * i * speed) for i in range(40)]), 30.0)
    assert far(clip.smoothed(2.0), clip) < 1e-9


def test_a_clip_cut_with_an_overlap_is_joined_again(clip):
    assert far(clip[:40].joined(clip[31:], blend=0.3), clip) < CLOSE


@pytest.mark.parametrize("name", ["humanoid", "quadruped"])
def test_what_follows_goes_on_where_the_first_ends(name):
    """Wherever the second clip was recorded, it is shifted and turned on the ground, never lifted or tilted."""
    model = poise.load(name)
    clip = make_clip(model, size=0.1)
    first, second = clip[:40], clip[31:]
    root, up = model.joints[0], model.up_direction
    moved = np.array(second.q)
    turn = Rotation.from_axis_angle(up, 2.0)
    across = np.array([3.0, 0.0, 0.0])
    moved[:, root.q.start : root.q.start + 3] = turn.apply(second.q[:, root.q.start : root.q.start + 3]) + across
    moved[:, root.q.start + 3 : root.q.stop] = (turn @ Rotation(second.q[:, root.q.start + 3 : root.q.stop])).wxyz
    assert far(first.joined(Motion(model, moved, 30.0)), clip) < CLOSE


def test_a_loop_closes_without_a_jump():
    """The step from the last frame to the first is like the others, and so is its change."""
    model = poise.load("panda")
    clip = make_clip(model, 80)
    loop = clip.looped(0.5)
    assert len(loop) == 65
    steps = np.abs(np.diff(np.concatenate([loop.q, loop.q[:3]]), axis=0)).max(axis=1)
    assert steps[-3:].max() <= 1.5 * steps[:-3].max()


def test_velocities_are_those_of_the_motion(clip):
    model = clip.model
    fine = clip.resampled(300.0)
    v = fine.velocities()
    frame = model.frames[-1]
    by_joints = np.einsum("fij,fj->fi", model.jacobian(fine.q, frame)[:, :3], v)
    inner = slice(2, -2)
    scale = max(1.0, np.abs(by_joints).max())
    np.testing.assert_allclose(fine.velocities(frame)[inner], by_joints[inner], atol=0.02 * scale)
    np.testing.assert_array_equal(clip.positions(frame), model.fk(clip.q, frame)[:, :3, 3])


def test_a_bvh_that_jumps_by_whole_turns_does_not_spin():
    """Angles go over 180 degrees, and over the singular angle into the other triple; the bone hardly moves."""
    builder = poise.ModelBuilder("figure")
    builder.add_joint("root_position", None, "translation3")
    builder.add_joint("root", "root_position", "euler", order="ZXY")
    builder.add_joint("spine", "root", "euler", order="ZXY", offset=(0.0, 1.0, 0.0))
    model = builder.build()
    turn = np.linspace(0.0, 4.0 * np.pi, 90)
    rotations = Rotation.from_vector(np.stack([1.2 * np.sin(turn), turn, 0.1 * turn], axis=1) * 0.7)
    q = np.zeros((90, model.nq))
    q[:, model.joint("root").q] = rotations.to_euler("ZXY")
    q[:, model.joint("spine").q] = rotations.to_euler("ZXY")
    clip = Motion(model, q, 30.0)
    assert np.abs(np.diff(q, axis=0)).max() > 3.0  # it does jump
    assert np.abs(clip.velocities()).max() < 30.0
    coarse, fine = (turn_of_spine(c) for c in (clip, clip.resampled(300.0)))
    assert fine.max() < 0.12 * coarse.max()
    assert far(clip.resampled(60.0).resampled(30.0), clip) < CLOSE


def turn_of_spine(clip):
    """The angle that the spine turns by from frame to frame."""
    rotations = Rotation.from_matrix(clip.model.fk(clip.q, "spine")[:, :3, :3])
    return (rotations[:-1].inverse() @ rotations[1:]).angle


def test_the_mean_pose_of_a_symmetric_swing_is_its_middle():
    model = poise.load("tree30")
    step = np.random.default_rng(1).normal(size=model.nv)
    clip = Motion(model, np.stack([model.integrate(model.rest, a * step) for a in (-0.5, -0.1, 0.1, 0.5)]))
    np.testing.assert_allclose(model.fk(clip.mean().q), model.fk(model.rest), atol=1e-9)


@pytest.mark.parametrize("frames", [1, 2, 3])
def test_very_short_clips(frames):
    clip = make_clip(poise.load("humanoid"), frames)
    assert len(clip.resampled(60.0)) == 2 * frames - 1
    assert clip.velocities().shape == (frames, clip.model.nv)
    assert clip.velocities("head").shape == (frames, 3)
    assert len(clip.smoothed(4.0)) == frames
    assert len(clip.joined(clip, blend=0.0)) == 2 * frames
    clip.mean()


SPEED = STRIDE / PERIOD


def hold_back(clip: Motion) -> Motion:
    """Return a clip without its progress over the ground: on the spot."""
    root, up = find_root(clip.model), clip.model.up_direction
    assert root is not None
    path = clip.positions(root.frame)
    way = path[-1] - path[0]
    way -= (way @ up) * up
    q = np.array(clip.q)
    shift = np.outer(np.linspace(0.0, 1.0, len(clip)), way) @ root.base[:3, :3]
    q[:, root.slide.q.start : root.slide.q.start + 3] -= shift
    return Motion(clip.model, q, clip.fps)


@pytest.mark.parametrize("fps", [30.0, 120.0])
@pytest.mark.parametrize("up", ["y", "z"])
def test_the_speed_is_that_of_the_walk_and_its_path_comes_back(fps: float, up: str) -> None:
    walk = make_walk().resampled(fps)
    walk = Motion(with_up(walk.model, up), walk.q, fps)
    spot = hold_back(walk)
    assert motion.measure_spot_speed(spot) == pytest.approx(SPEED, rel=0.05)
    again = motion.add_path(spot)
    assert np.abs(again.positions("pelvis") - walk.positions("pelvis")).max() < 0.05
    before, after = motion.quality(spot), motion.quality(again)
    assert after.slip_mean < 0.05 * before.slip_mean
    assert f"walks on the spot at about {before.spot_speed:.1f} m/s" in str(before)
    assert "on the spot" not in str(after)


def test_a_walk_with_its_path_can_be_locked() -> None:
    track = motion.lock(motion.add_path(hold_back(make_walk())))
    assert track.quality.slip_max < 1e-3
    assert np.ptp(track.motion.positions("pelvis"), axis=0).max() > 0.9 * SPEED * 4.0


@pytest.mark.parametrize("name", ["walk", "swing", "bow", "rest", "short", "arm"])
def test_other_clips_are_not_on_the_spot(name: str) -> None:
    body, arm = poise.load("humanoid"), poise.load("panda")
    clip = {
        "walk": make_walk(),
        "swing": make_swing(),
        "bow": make_bow(),
        "rest": Motion(body, np.repeat(body.rest[None], 40, axis=0)),
        "short": make_walk()[:2],
        "arm": Motion(arm, np.repeat(arm.rest[None], 40, axis=0)),
    }[name]
    assert motion.measure_spot_speed(clip) == 0.0
    with pytest.raises(InvalidValue, match="on the spot"):
        motion.add_path(clip)
