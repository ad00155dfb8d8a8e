"""The ground of a source may be at any height: it is found, or given."""

import numpy as np
import pytest

import poise
from poise import Motion
from poise.errors import InvalidValue
from poise.motion import retarget
from walkers import make_machine
from walks import make_walk

MODES = ["clip", "online"]


def raise_by(clip, height):
    """The same clip so much higher, by one number or by one for each frame [m]."""
    q = np.array(clip.q)
    q[:, 1] += height
    return Motion(clip.model, q, clip.fps)


def count_held(carried):
    """In how many frames contacts hold, all of them together."""
    return sum(map(len, carried.contacts))


def differ(one, other):
    """How far the frames of two motions are from each other at most [m]."""
    places = [m.model.fk(m.q)[..., :3, 3] for m in (one.motion, other.motion)]
    return np.abs(places[0] - places[1]).max()


@pytest.mark.slow
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("height", [-0.6, -0.05, -0.02, 0.005, 0.02, 0.035, 0.05, 0.09, 0.4])
def test_as_much_is_held_wherever_the_ground_of_the_recording_is(height, mode):
    model, walk = make_machine(), make_walk(60)
    plain, raised = (retarget(clip, model, mode=mode) for clip in (walk, raise_by(walk, height)))
    assert count_held(plain) > 50
    assert count_held(raised) >= 0.95 * count_held(plain)
    assert differ(plain, raised) < 0.02
    assert raised.quality.sink_max < 0.01


@pytest.mark.slow
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("height", [-0.5, 0.03, 0.07, 2.0])
def test_a_ground_that_is_given_is_taken_alike_in_clips_and_streams(height, mode):
    model, walk = make_machine(), make_walk(48)
    plain = retarget(walk, model, mode=mode, floor=0.0)
    raised = retarget(raise_by(walk, height), model, mode=mode, floor=height)
    assert count_held(plain) > 40
    assert differ(plain, raised) < 1e-5


@pytest.mark.slow
def test_a_stream_that_begins_in_the_air_stands_where_it_comes_down():
    model, walk = make_machine(), make_walk(90)
    falls = raise_by(walk, np.maximum(0.3 - 4.9 * walk.times**2, 0.0))  # a jump ends
    plain, carried = (retarget(clip, model, mode="online") for clip in (walk, falls))
    late = [sum(max(0, c.end - max(c.start, 20)) for c in each.contacts) for each in (plain, carried)]
    assert late[1] > 0.9 * late[0]


@pytest.mark.slow
@pytest.mark.parametrize("mode", MODES)
def test_what_is_in_the_air_above_the_ground_that_is_given_stays_there(mode):
    """Nothing stands in it: the height of the ground alone tells where it is."""
    model, walk = make_machine(), make_walk(24)
    gliding = raise_by(walk, 0.5)
    q = np.array(gliding.q)
    q[:, 2] += 3.0 * walk.times
    carried = retarget(Motion(walk.model, q, walk.fps), model, mode=mode, floor=0.0)
    soles = [p for n, p in poise.roles(model).contacts.items() if n.startswith(("heel", "toe"))]
    lowest = min(float((carried.motion.positions(p.frame, p.point) @ model.up_direction).min()) for p in soles)
    assert not len(carried.contacts)
    assert lowest == pytest.approx(0.5 * carried.scale, abs=0.1 * carried.scale)


@pytest.mark.slow
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("floor", ["low", float("nan"), [0.0]])
def test_a_ground_that_is_not_a_height_is_rejected_by_name(floor, mode):
    with pytest.raises(InvalidValue, match="floor"):
        retarget(make_walk(12), make_machine(), mode=mode, floor=floor)


def test_a_stream_whose_first_frame_digs_in_stands_where_the_others_do():
    model, walk = make_machine(), make_walk(60)
    digs = raise_by(walk, np.where(np.arange(len(walk)) == 0, -0.08, 0.0))
    plain, carried = (retarget(clip, model, mode="online") for clip in (walk, digs))
    assert count_held(carried) > 0.3 * count_held(plain)


def test_a_foot_on_the_floor_stands_on_it_where_others_of_its_kind_stand_higher():
    """Most stances are on a step; what stands on the recording's floor is not carried below the target's."""
    model, walk = make_machine(), make_walk(90)
    q = np.array(walk.q)
    q[:, 1] += 0.04 * (walk.times >= 0.6)
    carried = retarget(Motion(walk.model, q, walk.fps), model)
    soles = [p for n, p in poise.roles(model).contacts.items() if n.startswith(("heel", "toe", "sole"))]
    heights = [carried.motion.positions(p.frame, p.point) @ model.up_direction for p in soles]
    assert len(carried.contacts) >= 4
    assert np.min(heights) > -1e-5
