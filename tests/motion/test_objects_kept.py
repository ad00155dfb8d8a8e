"""Objects: kept in files, planned through poses, and wrong arguments."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest

import poise
from poise import motion
from poise.errors import FormatWarning
from poise.goals import Grasp
from poise.model import Box, Capsule, Cylinder, Sphere
from poise.motion import track
from poise.spatial import Rotation

# ------------------------------------------------------------------------------------------------ the motion of both


@pytest.mark.slow
def test_a_glb_has_both(lifted, tmp_path):
    poise.save(lifted, tmp_path / "lift.glb")
    back = poise.load_motion(tmp_path / "lift.glb")
    assert np.abs(back.positions("box") - lifted.motion.objects[0].transforms[:, :3, 3]).max() < 1e-5
    assert np.abs(back.positions("hand_l") - lifted.motion.positions("hand_l")).max() < 1e-5
    turns = back.model.fk(back.q, "box")[:, :3, :3]
    assert np.abs(turns - lifted.motion.objects[0].transforms[:, :3, :3]).max() < 1e-5
    assert back.fps == 24.0


def test_other_formats_hold_the_body_and_say_so(lifted, tmp_path):
    with pytest.warns(FormatWarning, match=r"only the body, not 'box'; save a \.glb"):
        poise.save(lifted.motion, tmp_path / "lift.npz")


def test_edits_of_time_take_both(lifted):
    clip = lifted.motion
    assert np.array_equal(clip[4:9].objects[0].transforms, clip.objects[0].transforms[4:9])
    twice = clip.resampled(48.0)
    assert np.abs(twice.objects[0].transforms[::2] - clip.objects[0].transforms).max() < 1e-9
    assert np.abs(clip.reversed().objects[0].transforms - clip.objects[0].transforms[::-1]).max() < 1e-12
    assert pickle.loads(pickle.dumps(clip)) == clip
    assert clip != clip.reversed()
    assert clip.body.q is not None
    assert "with 'box'" in repr(clip)


@pytest.mark.slow
def test_it_is_shown_and_drawn(lifted, tmp_path):
    page = poise.show(lifted, browser=False)
    alone = poise.show(lifted.motion.body, browser=False)
    assert len(page.html) > len(alone.html)
    poise.plot(lifted, tmp_path / "lift.png")
    assert (tmp_path / "lift.png").stat().st_size > 10_000
    poise.plot(lifted.motion[:2], tmp_path / "lift.gif")
    assert (tmp_path / "lift.gif").stat().st_size > 5_000


# ------------------------------------------------------------------------------------------------ mistakes


def test_an_object_knows_its_faces_and_its_surface():
    thing = poise.Object(Box((0.1, 0.0, 0.0), (0.2, 0.4, 0.6)), np.eye(4))
    middle, out = thing.find_face("-z")
    assert np.allclose(middle, (0.1, 0.0, -0.3))
    assert np.allclose(out, (0.0, 0.0, -1.0))
    assert thing.measure_distance((0.3, 0.0, 0.0)) == pytest.approx(0.1)
    assert thing.measure_distance((0.1, 0.0, 0.0)) == pytest.approx(-0.1)
    can = poise.Object(Cylinder(0.1, 0.4), np.eye(4), name="can")
    assert can.measure_distance((0.2, 0.0, 0.0)) == pytest.approx(0.1)
    assert can.measure_distance((0.0, 0.0, 0.3)) == pytest.approx(0.1)
    assert poise.Object(Capsule(0.1, 0.4), np.eye(4)).measure_distance((0.0, 0.0, 0.4)) == pytest.approx(0.1)
    assert repr(can) == "<Object 'can': Cylinder, still>"


def test_an_object_follows_a_frame_of_a_motion(lifted):
    ghost = poise.Object(Sphere(0.05), lifted.motion.body, frame="hand_l")
    assert ghost.fps == 24.0
    assert np.array_equal(ghost.transforms, lifted.motion.model.fk(lifted.motion.q, "hand_l"))


STILL = np.tile(np.eye(4), (3, 1, 1))
BOX = Box((0.3, 0.2, 0.2))


def test_an_object_is_frozen_in_every_way() -> None:
    box = poise.Object(BOX, STILL)
    for name in poise.Object.__slots__:
        with pytest.raises(AttributeError, match="frozen"):
            setattr(box, name, None)
        with pytest.raises(AttributeError, match="frozen"):
            delattr(box, name)
        assert hasattr(box, name)


@pytest.mark.parametrize("kind", [int, float, np.int64, np.float32, np.float64])
def test_a_rate_is_any_real_number(kind) -> None:
    assert poise.Object(BOX, STILL, fps=kind(30)).fps == 30.0


@pytest.mark.slow
@pytest.mark.parametrize(("name", "frame"), [("planar2", "tip"), ("hand", "pinky_tip")])
def test_an_object_is_not_a_bone(name, frame) -> None:
    body = poise.load(name)
    path = np.tile(np.eye(4), (4, 1, 1))
    path[:, :3, 3] = body.fk(body.rest, frame)[:3, 3] * np.linspace(1.0, 1.5, 4)[:, None]
    made = track(body, [Grasp(frame, poise.Object(Sphere(0.02), path))])
    assert not made.reached.all()
    assert "may slide" not in made.why()


def turn(yaw: float, *place: float) -> Any:
    return poise.Transform(Rotation.from_euler("YXZ", (yaw, 0.0, 0.0)), place or (0.0, 1.1, 0.4)).matrix


def make_box() -> poise.Object:
    return poise.Object(Box((0.3, 0.2, 0.3)), turn(0.0), name="box", fps=30)


@pytest.mark.parametrize("fps", [30, 120])
def test_a_path_rests_at_each_of_its_poses(fps: int) -> None:
    stops = [turn(0.5, 0.1, 1.3, 0.4), turn(-0.5, -0.1, 1.1, 0.4)]
    path = make_box().move_through(stops, seconds=2.0, fps=fps)
    assert path.fps == fps
    T = path.transforms
    np.testing.assert_array_equal(T[0], turn(0.0))
    np.testing.assert_allclose(T[-1], stops[1], atol=1e-12)
    between = int(np.argmin(np.linalg.norm(T - stops[0], axis=(1, 2))))
    np.testing.assert_allclose(T[between], stops[0], atol=1e-12)
    speed = np.linalg.norm(np.diff(T[:, :3, 3], axis=0), axis=1) * fps
    assert max(speed[0], speed[between - 1], speed[between], speed[-1]) < 0.05 * speed.max()
    assert abs(len(T) - 1 - 2.0 * fps) <= 1


def test_a_pause_a_default_duration_and_a_longer_path() -> None:
    there = make_box().move_through(turn(0.0, 0.0, 1.5, 0.4))
    assert len(there.transforms) - 1 == 30  # 0.4 m at 0.4 m/s
    rested = there.move_through(there.transforms[-1], seconds=0.5)
    np.testing.assert_array_equal(rested.transforms[:31], there.transforms)
    np.testing.assert_allclose(rested.transforms[31:], np.tile(there.transforms[-1], (15, 1, 1)), atol=1e-15)


def test_hands_regrasp_an_object_while_it_is_turned() -> None:
    quarter, half = turn(np.pi / 2), turn(0.999 * np.pi)
    box = make_box().move_through(quarter, seconds=1.0).move_through(quarter, seconds=1.0)
    box = box.move_through(half, seconds=1.0)
    grasps = [
        Grasp("hand_l", box, "+x", during=(0.0, 1.0)),
        Grasp("hand_r", box, "-x", during=(0.0, 1.5)),
        Grasp("hand_l", box, "+z", during=(1.5, 3.0)),
        Grasp("hand_r", box, "-z", during=(2.0, 3.0)),
    ]
    track = motion.track(poise.load("humanoid"), grasps, contacts="auto")
    assert track.reached.all(), track.why()
    frames = np.arange(len(box.transforms)) / 30
    for name, (first, last) in {"hand_l": (0.0, 1.0), "hand_l.grasp": (1.5, 3.0)}.items():
        held = (frames >= first) & (frames <= last)
        assert track.errors[name][held].max() < 1e-6
        assert track.errors[name][~held, 0].max() > 0.05  # the hand is elsewhere
    np.testing.assert_array_equal(track.motion.objects[0].transforms, box.transforms)
