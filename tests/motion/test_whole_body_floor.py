"""The whole body and the floor: its depth below it, and bodies that lie on it."""

from falls import fall
from poise.motion import Track, contacts, quality
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
