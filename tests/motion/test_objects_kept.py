"""Objects and the motions that move them as values: files, edits of time, pictures, and mistakes."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

import poise
from lifting import SIZE, lift
from poise.errors import FormatWarning, InvalidValue, NameNotFound, ShapeMismatch
from poise.goals import Custom, Grasp, Reach
from poise.model import Box, Capsule, Cylinder, Mesh, Sphere
from poise.motion import track

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


def test_mistakes_are_named(body, box):
    T = lift()
    with pytest.raises(InvalidValue, match="Mesh"):
        poise.Object(Mesh("a.stl"), T)
    with pytest.raises(InvalidValue, match="shape is 'box'"):
        poise.Object("box", T)
    with pytest.raises(ShapeMismatch, match="Object: transform has shape"):
        poise.Object(Box(SIZE), np.zeros((2, 2)))
    with pytest.raises(InvalidValue, match="Object: transform"):
        poise.Object(Box(SIZE), np.full((4, 4), np.nan))
    with pytest.raises(InvalidValue, match="fps is -1"):
        poise.Object(Box(SIZE), T, fps=-1)
    with pytest.raises(InvalidValue, match="not a Motion"):
        poise.Object(Box(SIZE), T, frame="hand_l")
    with pytest.raises(InvalidValue, match=r"object is 3.*poise\.Object"):
        Grasp("hand_l", 3)
    with pytest.raises(InvalidValue, match="faces of 'box'"):
        Grasp("hand_l", box, "left")
    with pytest.raises(ShapeMismatch, match="where is"):
        Grasp("hand_l", box, T)
    with pytest.raises(InvalidValue, match="finite"):
        Grasp("hand_l", box, (np.nan, 0.0, 0.0))
    with pytest.raises(NameNotFound, match="hand_l"):
        track(body, Grasp("hadn_l", box))
    with pytest.raises(InvalidValue, match="two objects are called 'box'"):
        track(body, [Grasp("hand_l", box), Grasp("hand_r", box.move(T))])
    with pytest.raises(ShapeMismatch, match="different numbers of frames"):
        track(body, [Grasp("hand_l", box), Grasp("hand_r", poise.Object(Box(SIZE), T[:5], name="other"))])
    with pytest.raises(InvalidValue, match="no target moves"):
        track(body, Grasp("hand_l", box.move(np.eye(4))))
    with pytest.raises(InvalidValue, match="fps is missing"):
        track(body, Reach("hand_l", T))
    with pytest.raises(InvalidValue, match="Custom"):
        track(body, [Grasp("hand_l", box), Custom(lambda q: q[:1], size=1)])
    with pytest.raises(InvalidValue, match="contacts"):
        track(body, Grasp("hand_l", box), contacts="none")
    with pytest.raises(ShapeMismatch, match="start has shape"):
        track(body, Grasp("hand_l", box), start=np.zeros(3))
    with pytest.raises(AttributeError, match="frozen"):
        box.name = "other"


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
