"""Feet of a stream: they land where bones lead them, come to rest without a kink, and stand still then."""

import numpy as np
import pytest

import poise
from poise.motion import Retargeter, retarget
from poise.motion.settling import settle
from walkers import make_machine
from walks import make_walk

BODIES = {"machine": make_machine, "child": lambda: poise.load("humanoid", scale=0.6)}


@pytest.fixture(scope="module")
def walk():
    return make_walk(90).smoothed(3.0)


@pytest.mark.parametrize("name", list(BODIES))
@pytest.mark.parametrize(("fps", "most"), [(30.0, 1.9), (120.0, 7.0)])
def test_a_stream_is_nearly_as_smooth_as_the_whole_clip_at_every_frame_rate(walk, name, fps, most):
    """At 120 frames a second each fourth one has a kink: between those that were 30 lie straight lines."""
    model, clip = BODIES[name](), walk.resampled(fps)
    whole, stream = (retarget(clip, model, mode=mode) for mode in ("clip", "online"))
    assert stream.quality.jerk_p95 < most * whole.quality.jerk_p95
    assert stream.quality.step_max < 1.6 * whole.quality.step_max


@pytest.mark.parametrize("name", list(BODIES))
def test_feet_land_where_bones_lead_them(walk, name):
    model = BODIES[name]()
    live, stood, off = Retargeter(walk.model, model), set[str](), []
    for frame in walk.q:
        live.step(frame)
        now = {hold.name: hold for hold in live.treading.holds if hold.place is not None}
        for hold in (now[key] for key in now.keys() - stood):
            way = hold.place - hold.leg.find_place(live.treading.targets)
            off.append(np.linalg.norm(way - (way @ model.up_direction) * model.up_direction))
        stood = set(now)
    assert len(off) > 8
    assert max(off) < 0.005 * model.length


@pytest.mark.parametrize("name", list(BODIES))
def test_what_a_stream_says_stands_stands_still_on_the_floor(walk, name):
    model = BODIES[name]()
    stream = retarget(walk, model, mode="online")
    assert len(stream.contacts) > 5
    for contact in stream.contacts:
        path = stream.motion.positions(contact.frame, contact.point)[contact.start : contact.end]
        assert np.ptp(path, axis=0).max() < 5e-5 * model.length
        assert abs(contact.place @ model.up_direction) < 1e-6


@pytest.mark.parametrize(("x", "v"), [(0.05, 0.0), (0.05, -0.15), (0.05, -5.0), (0.05, 0.2), (-0.03, 0.0), (2e-4, 0.0)])
@pytest.mark.parametrize("fps", [1.0, 30.0, 1000.0])
def test_a_height_settles_without_crossing_the_floor(x, v, fps):
    path, speed, side = [x], v, np.sign(x)
    for _ in range(round(max(3.0 * fps, 3))):
        there, speed = settle(path[-1], speed, 1.0 / fps, 0.2)
        path.append(there)
    moves = np.abs(np.diff(path)) * fps
    assert (side * np.array(path) >= 0.0).all()
    assert path[-1] == 0.0
    assert moves.max() <= 0.2 * (1.0 + 1e-9)
