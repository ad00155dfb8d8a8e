"""Feet of streams: they stand where the feet of the source stand, and never below the floor."""

from __future__ import annotations

import numpy as np
import pytest

import poise
from poise import Motion, Rotation
from poise.arrays import Floats
from poise.limits import Clearance, HalfSpace
from poise.limits.capsules import body_capsules
from poise.motion import Retargeter, retarget
from poise.motion.retargeting.stream_contacts import settle
from walkers import make_machine
from walks import make_walk

BODIES = {"machine": make_machine, "child": lambda: poise.load("humanoid", scale=0.6)}
MOST_STEPS = {"machine": 1.5, "child": 1.15}  # relative to the largest step of the whole clip


@pytest.fixture(scope="module")
def walk():
    return make_walk(90).smoothed(3.0)


@pytest.mark.slow
@pytest.mark.parametrize("name", list(BODIES))
@pytest.mark.parametrize(("fps", "most"), [(30.0, 1.8), (120.0, 4.5)])
def test_a_stream_is_nearly_as_smooth_as_the_whole_clip_at_every_frame_rate(walk, name, fps, most):
    """At 120 frames a second each fourth one has a kink: between those that were 30 lie straight lines."""
    model, clip = BODIES[name](), walk.resampled(fps)
    whole, stream = (retarget(clip, model, mode=mode) for mode in ("clip", "online"))
    assert stream.quality.jerk_p95 < most * whole.quality.jerk_p95
    assert stream.quality.step_max < MOST_STEPS[name] * whole.quality.step_max


@pytest.mark.slow
@pytest.mark.parametrize("name", list(BODIES))
def test_feet_land_where_bones_lead_them(walk, name):
    model = BODIES[name]()
    live, stood, off = Retargeter(walk.model, model), set[str](), []
    for frame in walk.q:
        live.step(frame)
        now = {hold.name: hold for hold in live.contacts.holds if hold.place is not None}
        for hold in (now[key] for key in now.keys() - stood):
            way = hold.place - hold.leg.follow(live.contacts.targets)
            off.append(np.linalg.norm(way - (way @ model.up_direction) * model.up_direction))
        stood = set(now)
    assert len(off) > 8
    assert max(off) < 0.005 * model.length


@pytest.mark.slow
@pytest.mark.parametrize("name", [*BODIES, "nods"])
def test_contacts_of_a_stream_stand_still_on_the_floor(walk, name):
    model = make_machine(nods=True) if name == "nods" else BODIES[name]()
    stream = retarget(walk, model, mode="online")
    assert len(stream.contacts) > 5
    for contact in stream.contacts:
        path = stream.motion.positions(contact.frame, contact.point)[contact.start : contact.end]
        heights = path @ model.up_direction
        path = path - np.outer(heights, model.up_direction)
        assert np.ptp(path, axis=0).max() < 5e-5 * model.length
        level = heights.mean() if name == "nods" else 0.0  # one that cannot roll stands on a corner of its sole
        assert abs(contact.place @ model.up_direction - level) < 1e-12
    assert stream.quality.sink_max < 1e-3


def lean(walk):
    """The walk of a body that sways from side to side as a whole, feet and all."""
    q = np.array(walk.q)
    sway = 0.12 * np.sin(2.0 * np.pi * walk.times / 0.9)
    turn = Rotation.from_axis_angle((0.0, 0.0, 1.0), sway)
    q[:, :3] = turn.apply(q[:, :3])
    q[:, 3:7] = (turn @ Rotation(q[:, 3:7])).wxyz
    return Motion(walk.model, q, walk.fps)


def sink(walk):
    """The walk of a body whose floor is not where the stream takes it to be: its feet are below it by 4 cm at last."""
    q = np.array(walk.q)
    q[:, 1] -= np.linspace(0.0, 0.04, len(q))
    return Motion(walk.model, q, walk.fps)


@pytest.mark.slow
@pytest.mark.parametrize("change", [lean, sink])
@pytest.mark.parametrize("name", [*BODIES, "nods"])
def test_no_sole_of_a_stream_is_ever_below_the_floor(walk, name, change):
    """A foot that cannot roll stands on its lower corner, and a source that sinks is no reason to."""
    model = make_machine(nods=True) if name == "nods" else BODIES[name]()
    stream = retarget(change(walk), model, mode="online").motion
    points = [p for n, p in poise.roles(model).contacts.items() if n.startswith(("sole", "heel", "toe"))]
    heights = [stream.positions(point.frame, point.point) @ model.up_direction for point in points]
    assert len(points) >= 4
    assert np.min(heights) > -1e-6 * model.length
    lowest = np.min(heights, axis=0)
    assert np.median(lowest) < 0.01 * model.length  # and it stands on it all the same


@pytest.mark.parametrize(("x", "v"), [(0.05, 0.0), (0.05, -0.15), (0.05, -5.0), (0.05, 0.2), (-0.03, 0.0), (2e-4, 0.0)])
@pytest.mark.parametrize("fps", [1.0, 30.0, 1000.0])
def test_a_height_settles_without_crossing_the_floor(x, v, fps):
    path, speed, side = [x], v, np.sign(x)
    for _ in range(round(max(3.0 * fps, 3))):
        there, speed = settle(path[-1], speed, 1.0 / fps, 0.2, 24.0)
        path.append(there)
    moves = np.abs(np.diff(path)) * fps
    assert (side * np.array(path) >= 0.0).all()
    assert path[-1] == 0.0
    assert moves.max() <= 0.2 * (1.0 + 1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("ceiling", [0.08, -0.07])
def test_a_stream_does_not_rise_through_a_limit_to_keep_its_soles_above_the_floor(walk, ceiling):
    """What is solid on the machine are its feet: under a ceiling that is lower than the floor they stay below it."""
    model = make_machine()
    world = [HalfSpace(ceiling * model.up_direction, -model.up_direction)]
    stream = retarget(sink(walk), model, mode="online", limits=Clearance([], world=world)).motion
    tops = [
        stream.positions(each.frame, end) @ model.up_direction + each.radius
        for each in body_capsules(model)
        for end in (each.a, each.b)
    ]
    assert np.max(tops) < ceiling + 0.005


def run(clip: Motion, floor: float) -> Floats:
    """Return the stream of a clip whose points have no chains of bones."""
    live = Retargeter(clip.model, poise.load("humanoid", scale=0.6), fps=clip.fps, floor=floor)
    for hold in live.contacts.holds:
        hold.leg = None
    return np.array([live.step(q).q for q in clip.q])


def test_feet_are_released_at_the_same_height() -> None:
    clip = make_walk(40)
    raised = np.array(clip.q)
    raised[:, :3] += clip.model.up_direction
    np.testing.assert_allclose(run(Motion(clip.model, raised, clip.fps), 1.0), run(clip, 0.0), atol=1e-6)
