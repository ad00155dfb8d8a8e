"""The ground of a source may be at any height, and recordings may be noisy: contacts are found all the same."""

import numpy as np
import pytest

import poise
from dirt import add_drift, add_jitter, measure_found, move_root, stretch_path
from poise import Motion
from poise.motion import contacts, lock, retarget
from poise.motion.contact.noise import measure_drift, measure_jitter, remove_jitter
from walkers import make_machine
from walks import make_walk, put_skate_in

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


DIRT = {
    "slow noise of 1 cm": lambda walk: add_drift(walk, hz=3.0),
    "white noise of 2 mm": add_jitter,
    "skates at 0.22 m/s": lambda walk: stretch_path(walk, 0.6),
    "rises by 8 cm": lambda walk: move_root(walk, np.outer(np.linspace(0.0, 0.08, len(walk)), walk.model.up_direction)),
}


@pytest.mark.parametrize("name", list(DIRT))
def test_noise_hides_few_contacts_and_makes_few(name):
    walk = make_walk(90)
    found, new = measure_found(contacts(walk), contacts(DIRT[name](walk)))
    assert found > 0.85
    assert new < 0.15


def test_a_noisy_walk_is_held():
    walk = make_walk(90)
    track = lock(add_drift(walk, hz=3.0))
    assert measure_found(contacts(walk), track.contacts)[0] > 0.85
    assert track.quality.slip_max < 1e-3


def test_locking_twice_changes_nothing():
    once = lock(put_skate_in(make_walk(90), 0.006))
    twice = lock(once.motion)
    assert measure_found(once.contacts, twice.contacts) == (1.0, 0.0)
    for name in ("heel_l", "toe_r"):
        point = next(contact for contact in once.contacts if contact.name == name)
        paths = [track.motion.positions(point.frame, point.point) for track in (once, twice)]
        assert np.abs(paths[1] - paths[0]).max() < 1e-4


def test_a_foot_that_slides_beside_a_standing_one_is_not_drift():
    frames, near = np.arange(60), np.ones((2, 60), dtype=bool)
    paths = np.zeros((2, 60, 3))
    paths[0, :, 0] = 0.25 / 30.0 * frames
    assert np.abs(measure_drift(paths, near, 30.0, 1.0)).max() < 1e-12
    paths[1] = paths[0]
    assert measure_drift(paths, near, 30.0, 1.0)[:, 0] == pytest.approx(paths[0, :, 0] + 0.25 / 30.0)


def test_a_body_that_glides_on_both_feet_does_not_drift():
    paths = np.zeros((2, 60, 3))
    paths[:, :, 0] = 1.0 / 30.0 * np.arange(60)
    assert not measure_drift(paths, np.ones((2, 60), dtype=bool), 30.0, 1.0).any()


def test_jitter_is_measured_and_a_clean_path_is_not_smoothed():
    noise = np.random.default_rng(0).normal(size=(4, 400, 3))
    assert measure_jitter(2e-3 * noise) == pytest.approx(2e-3, rel=0.15)
    clean = np.cumsum(1e-3 * np.ones((4, 50, 3)), axis=1)
    assert remove_jitter(clean, 120.0, 1.0) is clean
    assert remove_jitter(2e-3 * noise, 30.0, 1.0).std() < 1.2e-3


def test_one_contact_out_of_reach_does_not_release_those_that_miss_by_a_hair():
    walk = make_walk(90)
    ledger = contacts(walk)
    far = ledger.replace(4, place=tuple(np.add(ledger[4].place, (0.0, 0.0, 0.6))))
    out = lock(walk, far)
    assert out.released
    assert sum(map(len, out.contacts)) > 0.6 * sum(map(len, ledger))
    assert not any("is 0.0" in each.reason for each in out.released)
