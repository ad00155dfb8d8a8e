"""The page of a motion that was carried over: both bodies are seen, however far they go."""

import base64

import numpy as np
import pytest

import poise
from poise.formats.units import scale_model
from poise.model.derive import with_example_poses
from poise.motion import retarget
from poise.pages.pairs import find_places
from poise.pages.scenes import make_scene
from walks import make_walk


@pytest.fixture(scope="module")
def data():
    walk = make_walk(60)
    q = np.array(walk.q)
    q[:, 2] += np.linspace(0.0, 20.0, 60)  # far away
    return make_scene(retarget(poise.Motion(walk.model, q, walk.fps), poise.load("humanoid", scale=0.9))).to_data()


@pytest.mark.slow
def test_the_camera_goes_along_with_both_bodies(data):
    path = np.frombuffer(base64.b64decode(data["follow"]), "<f4").reshape(-1, 3)
    assert len(path) == data["frames"]
    assert np.ptp(path, axis=0).max() > 10.0
    assert max(data["box"]) < 3.0  # m: half of what is seen
    assert data["radius"] > 8.0  # the ground is as long as the way


def test_a_scene_that_follows_nothing_sees_everything():
    data = make_scene(make_walk(60)).to_data()
    assert data["follow"] == ""
    assert data["ground"] == data["middle"]


@pytest.mark.slow
@pytest.mark.parametrize("unit", [0.01, 1.0, 100.0])
def test_both_are_seen_in_whatever_unit_the_source_is(unit):
    """A recording in centimetres is no giant, and one in kilometres no dot, beside the body that it is carried to."""
    walk = make_walk(20)
    q = np.array(walk.q)
    q[:, :3] /= unit
    source = poise.Motion(poise.load("humanoid", scale=1.0 / unit), q, walk.fps)
    both = make_scene(retarget(source, poise.load("humanoid"))).to_data()
    assert 0.8 < max(both["box"]) < 3.0  # m: half of what is seen


@pytest.mark.slow
def test_both_go_in_step_however_far():
    """A body that is half as large goes half as far: the page does not have to show more for a longer way."""
    walk = make_walk(60)
    q = np.array(walk.q)
    q[:, 2] += np.linspace(0.0, 20.0, 60)
    carried = retarget(poise.Motion(walk.model, q, walk.fps), poise.load("humanoid", scale=0.5))
    assert max(make_scene(carried).to_data()["box"]) < 1.5  # m: half of what is seen


def test_what_stands_still_does_not_count():
    builder = poise.ModelBuilder("on a stage")
    builder.add_frame("world", None)
    builder.add_joint("pelvis", "world", "free")
    builder.add_frame("head", "pelvis", (0.0, 0.0, 0.5))
    model = builder.build()
    q = np.tile(model.rest, (5, 1))
    q[:, 0] = 7.0
    places = find_places(poise.Motion(model, q, 30.0))
    assert places[..., 0] == pytest.approx(np.full((5, 2), 7.0))


def test_a_body_in_another_unit_looks_the_same():
    """Also one whose rest pose does not stand, so that its clip tells its parts, as recordings of LAFAN1."""
    clip = make_walk(5)
    model = with_example_poses(clip.model, clip.q)
    other = scale_model(model, 0.5)
    heads = [body.fk(body.example_poses, "head")[:, :3, 3] for body in (model, other)]
    assert heads[1] == pytest.approx(0.5 * heads[0])
