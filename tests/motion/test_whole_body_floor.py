"""The whole body and the floor: its depth below it, and bodies that lie on it."""

import numpy as np

import poise
from falls import fall
from poise.motion import Track, contacts, quality, retarget
from poise.motion.retargeting.body_floor import spread_peaks
from walks import make_walk


def test_the_depth_of_a_lying_body_is_measured_and_its_part_named():
    clip = fall()
    ledger = contacts(clip, floor=contacts(clip[:8]).floor)
    measured = quality(clip, contacts=ledger)
    assert measured.sink_max > 50.0
    assert measured.sink_share > 0.2
    told = Track(clip, {}, {}, ledger).why()
    assert "below the floor in" in told
    assert "'" in told.splitlines()[-1]


def test_an_upright_body_is_not_below_the_floor():
    walk = make_walk(60)
    assert quality(walk).sink_max < 1.0
    assert "below the floor" not in Track(walk, {}, {}, contacts(walk)).why()


def test_a_body_that_lies_down_stays_above_the_floor():
    """The child's hips would be as low as those of the source, and its trunk in the floor."""
    carried = retarget(fall(depth=0.0), poise.load("humanoid", scale=0.6))
    assert carried.quality.sink_max < 2.0
    assert "below the floor" not in carried.why()


def test_a_lift_is_smooth_and_nowhere_lower_than_the_depth():
    depths = np.zeros(60)
    depths[20:30] = 0.1
    lift = spread_peaks(depths, 3)
    assert (lift >= depths - 1e-15).all()
    assert np.abs(np.diff(lift)).max() < 0.06
    assert not lift[:10].any()
