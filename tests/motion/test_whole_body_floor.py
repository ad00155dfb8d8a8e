"""The whole body and the floor: its depth below it, and bodies that lie on it."""

import numpy as np

import poise
import walkers
from falls import fall
from poise import Motion
from poise.motion import Track, contacts, quality, retarget
from poise.motion.contact.body_floor import measure_depth
from poise.motion.contact.curves import spread_peaks
from walks import make_walk


def test_the_depth_of_a_lying_body_is_measured_and_its_part_named():
    clip = fall()
    ledger = contacts(clip, floor=contacts(clip[:8]).floor)
    measured = quality(clip, contacts=ledger)
    assert measured.sink_max > 50.0
    assert measured.sink_share > 0.2
    message = Track(clip, {}, {}, ledger).why()
    assert message.startswith("The body is below the floor by more than 1 mm in")
    assert "'" in message.splitlines()[0]


def test_an_upright_body_is_not_below_the_floor():
    walk = make_walk(60)
    assert quality(walk).sink_max < 1.0
    assert "below the floor" not in Track(walk, {}, {}, contacts(walk)).why()


def test_a_body_that_lies_down_stays_above_the_floor():
    """The child's hips would be as low as those of the source, and its trunk in the floor."""
    carried = retarget(fall(depth=0.0), poise.load("humanoid", scale=0.6))
    assert carried.quality.sink_max < 2.0
    assert "below the floor" not in carried.why()


def test_contacts_that_pull_a_character_into_the_floor_are_held_above_it_again():
    """After two rounds of holding it above the floor, a part of this body is still 30 mm deep."""
    assert measure_depth(retarget(fall(depth=0.15), walkers.make_character()).motion) < 2e-3


def test_a_stream_that_lies_down_stays_above_the_floor():
    carried = retarget(fall(depth=0.0), poise.load("humanoid", scale=0.6), mode="online")
    assert carried.quality.sink_max < 5.0
    assert carried.quality.step_max < 0.5


def test_a_stream_that_begins_with_a_pose_elsewhere_does_not_float():
    """Many recordings begin with a T-pose, whose feet may be far below the floor."""
    walk, model = make_walk(40), poise.load("humanoid", scale=0.6)
    q = np.array(walk.q)
    q[0, 1] -= 0.6
    plain, cut = (retarget(Motion(walk.model, each, walk.fps), model, mode="online") for each in (walk.q, q))
    heights = [each.motion.positions("pelvis")[10:, 1] for each in (plain, cut)]
    assert np.abs(heights[1] - heights[0]).max() < 0.02


def test_a_lift_is_smooth_and_nowhere_lower_than_the_depth():
    depths = np.zeros(60)
    depths[20:30] = 0.1
    lift = spread_peaks(depths, 3)
    assert (lift >= depths - 1e-15).all()
    assert np.abs(np.diff(lift)).max() < 0.06
    assert not lift[:10].any()
