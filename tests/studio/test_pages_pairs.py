"""The page of a motion that was carried over: both bodies are seen, however far they go."""

import base64

import numpy as np
import pytest

import poise
from poise.motion import retarget
from poise.pages.scenes import make_scene
from walks import make_walk


@pytest.fixture(scope="module")
def data():
    walk = make_walk(60)
    q = np.array(walk.q)
    q[:, 2] += np.linspace(0.0, 20.0, 60)  # far away
    return make_scene(retarget(poise.Motion(walk.model, q, walk.fps), poise.load("humanoid", scale=0.9))).to_data()


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
