"""A motion is the same in every unit, and giants hold what people hold: tolerances are lengths."""

import numpy as np
import pytest

import poise
from poise import Motion
from poise.motion import Contact, Contacts, quality, retarget
from poise.spatial import Rotation
from recordings import write_lying
from walkers import make_character, make_machine
from walks import make_walk, put_skate_in

STEP = 0.02  # m: how uneven the places are where the feet of a source stand


def write_in(unit):
    """An uneven walk of a character, and the same in a file that has so many units in a metre."""
    walk = put_skate_in(make_walk(96))
    q = np.array(walk.q)
    q[:, 1] += STEP * np.sin(2.0 * np.pi * walk.times / 2.4)  # every other step is higher
    own = retarget(Motion(walk.model, q, walk.fps), make_character(), contacts=Contacts((), len(walk), walk.fps)).motion
    large = make_character(scale=unit)
    there = np.array(own.q)
    there[:, :3] *= unit
    return own, Motion(large, there, own.fps)


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["clip", "online"])
@pytest.mark.parametrize("unit", [39.37, 100.0, 1e-3])
def test_the_result_does_not_depend_on_the_unit_of_the_source(unit, mode):
    metres, other = write_in(unit)
    body = make_machine()
    ours, theirs = (retarget(clip, body, mode=mode) for clip in (metres, other))
    assert len(ours.contacts) > 4
    assert [(c.name, c.start, c.end) for c in ours.contacts] == [(c.name, c.start, c.end) for c in theirs.contacts]
    heights = [[float(np.array(c.place) @ body.up_direction) for c in each.contacts] for each in (ours, theirs)]
    np.testing.assert_allclose(heights[0], heights[1], atol=1e-6)
    far = ours.motion.model.fk(ours.motion.q)[..., :3, 3] - theirs.motion.model.fk(theirs.motion.q)[..., :3, 3]
    assert np.abs(far).max() < 1e-3


@pytest.mark.slow
@pytest.mark.parametrize("height", [0.1, 0.2, 0.5])
@pytest.mark.parametrize("unit", [39.37, 100.0])
def test_a_hand_that_is_low_lies_on_the_floor_in_every_unit(unit, height):
    """And one that is not holds something where it is."""
    answers = []
    for scale in (1.0, unit):
        source = make_character(scale=scale)
        clip = Motion(source, np.tile(source.rest, (12, 1)), 30.0)
        place = tuple(scale * np.array((0.4, 0.2, height)))
        hand = Contact("hand_l", 0, 12, place=place, name="palm_l")
        answers.append(retarget(clip, make_machine(), contacts=Contacts((hand,), 12, 30.0, 0.0)).motion.q)
    np.testing.assert_allclose(answers[0], answers[1], atol=1e-4)


@pytest.mark.parametrize("deep", [0.005, 0.015, 0.039])
@pytest.mark.parametrize("scale", [1.0, 50.0])
def test_what_stands_a_little_below_the_floor_sinks_into_it(deep, scale):
    """A place is no floor: one that is a little lower is deep, and one that is a stair lower is not."""
    model = poise.load("humanoid", scale=scale)
    for depth, sinks in ((deep, True), (0.1, False)):
        q = np.tile(model.rest, (20, 1))
        q[:, 1] -= depth * scale
        clip = Motion(model, q, 30.0)
        found = poise.motion.contacts(clip)
        ledger = Contacts(found.intervals, found.frames, found.fps, found.floor + depth * scale)
        assert quality(clip, contacts=ledger).sink_max == pytest.approx(1e3 * depth * scale if sinks else 0.0, abs=1e-6)


@pytest.fixture(scope="module", params=[0.12, 0.25])
def swaying(request, tmp_path_factory):
    """A swaying that sways from side to side, more than ankles can follow: some contacts are all but out of reach."""
    plain = make_walk(72)
    q = np.array(plain.q)
    turn = Rotation.from_axis_angle((0.0, 0.0, 1.0), request.param * np.sin(2.0 * np.pi * plain.times / 0.9))
    q[:, :3] = turn.apply(q[:, :3])
    q[:, 3:7] = (turn @ Rotation(q[:, 3:7])).wxyz
    path = tmp_path_factory.mktemp("clips") / "walk.bvh"
    write_lying(path, Motion(plain.model, q, plain.fps))
    return poise.load_motion(path, scale=0.01)


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["clip", "online"])
@pytest.mark.parametrize("size", [3.0, 50.0])
def test_a_giant_holds_the_contacts_that_a_person_does(swaying, size, mode):
    """None is let go because a hundredth of a millimetre is less to it."""
    person, giant = (retarget(swaying, poise.load("humanoid", scale=scale), mode=mode) for scale in (1.0, size))
    held = [sum(map(len, carried.contacts)) for carried in (person, giant)]
    assert held[0] > 20
    assert held[1] > 0.95 * held[0]
    assert len(giant.track.released) <= len(person.track.released)
    assert giant.quality.sink_max < 0.1 * size
