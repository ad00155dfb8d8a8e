"""Contacts of noisy clips are found and held, and a locked clip keeps its own."""

import numpy as np
import pytest

from dirt import add_drift, add_jitter, measure_found, move_root, stretch_path
from poise.motion import contacts, lock
from poise.motion.contact.noise import measure_drift, measure_jitter, remove_jitter
from walks import make_walk, put_skate_in

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
