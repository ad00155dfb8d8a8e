"""Laws of whole clips: across windows, frame rates tell the same motion, toes have a floor of their own."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

from poise import Motion
from poise.kinematics.mirror import Mirror
from poise.motion import Contact, Contacts, contacts, lock
from poise.motion.clips.whole_clip import WINDOW
from poise.motion.contact import detector
from poise.motion.contact.soles import find_soles
from walks import make_walk, put_skate_in

FPS = 30.0
LATER = round(0.5 * FPS)
ACROSS = 1e-3  # rad


@pytest.fixture(scope="module")
def long():
    """A walk that is longer than a window, locked."""
    clip = put_skate_in(make_walk(144))[:144]
    # ends: every turn makes it longer
    while len(clip) < WINDOW + 400:
        clip = clip.joined(clip, blend=0.2)
    clip = clip[: WINDOW + 400]
    return lock(clip)


def far(model, a, b):
    return np.abs(model.difference(a, b)).max()


def lock_again(clip, like, change):
    """Lock a clip at the places of another lock, each changed."""
    return lock(clip, Contacts(tuple(map(change, like.contacts)), len(clip), clip.fps, like.contacts.floor))


@pytest.mark.slow
@pytest.mark.parametrize("cut", [1, 30])
def test_cutting_the_front_changes_nothing_later_across_windows(long, cut):
    source = long.source
    kept = [c for c in long.contacts if c.end > cut + 1]
    moved = tuple(replace(c, start=max(c.start - cut, 0), end=c.end - cut) for c in kept)
    part = lock(source[cut:], Contacts(moved, len(source) - cut, FPS, long.contacts.floor))
    assert far(source.model, part.motion.q[LATER:], long.motion.q[cut + LATER :]) < ACROSS


@pytest.mark.slow
def test_the_mirror_image_across_windows(long):
    source, model = long.source, long.source.model
    mirror, first = Mirror(model), source.q[0]
    swap = {"l": "r", "r": "l"}

    def reflect(c):
        place = tuple(mirror.reflect_point(first, np.array(c.place)))
        name, frame = (text[:-1] + swap[text[-1]] for text in (c.name, c.frame))
        point = next(d.point for d in long.contacts if d.name == name)
        return replace(c, frame=frame, name=name, place=place, point=point)

    again = lock_again(source.mirrored(), long, reflect)
    expected = np.stack([mirror.reflect_pose(q, first) for q in long.motion.q])
    assert far(model, again.motion.q, expected) < ACROSS


@pytest.mark.slow
def test_finer_frames_come_to_one_motion():
    """30, 60, 120 and 240 frames a second give the same motion, the nearer the finer: weights count per second."""
    clip = put_skate_in(make_walk(144))
    found = contacts(clip)
    locked = []
    for times in (1, 2, 4, 8):
        fine = clip.resampled(times * FPS)
        ledger = tuple(replace(c, start=times * c.start, end=times * (c.end - 1) + 1) for c in found)
        locked.append(lock(fine, Contacts(ledger, len(fine), fine.fps, found.floor)).motion.q[::times])
    apart = [np.abs(clip.model.difference(a, b)) for a, b in pairwise(locked)]
    assert apart[0].max() < 0.03
    assert apart[0].mean() < 1e-3
    for coarse, finer in pairwise(apart):
        assert finer.max() < 0.7 * coarse.max()
        assert finer.mean() < 0.7 * coarse.mean()


def test_toes_that_lie_higher_than_heels_stand_all_the_same(monkeypatch):
    """The place of a point on a foot does not decide whether the foot stands, also on a plate."""
    walk = make_walk(144)
    q = np.array(walk.q)
    root = walk.model.joints[0].q.start
    q[72:, root : root + 3] += 0.04 * walk.model.up_direction
    clip = Motion(walk.model, q, walk.fps)
    before = contacts(clip)
    soles = find_soles(clip.model)
    lift = 0.018 * clip.model.up_direction  # the frames of the feet have the world's axes at rest

    def raise_toes(*_):
        return [replace(s, point=tuple(np.add(s.point, lift))) if "toe" in s.name else s for s in soles]

    monkeypatch.setattr(detector, "find_soles", raise_toes)
    after = contacts(clip)
    assert [c.name for c in after] == [c.name for c in before]
    for a, b in zip(before, after, strict=True):
        assert max(abs(a.start - b.start), abs(a.end - b.end)) <= 1


@pytest.mark.slow
def test_what_is_pulled_down_with_a_body_does_not_sink():
    """A body that floats is pulled to the floor by a toe, later by its pelvis: the toe stays above the floor then."""
    walk = make_walk(60)
    up = walk.model.up_direction
    q = np.tile(walk.q[10], (60, 1))
    q[:, :3] += 0.08 * up
    clip = Motion(walk.model, q, walk.fps)
    held = next(contact for contact in contacts(walk) if contact.name == "toe_l")
    toe = clip.positions(held.frame, held.point)[0]
    pelvis = clip.positions("pelvis")[0] - 0.2 * up
    places = [tuple(toe - (toe @ up) * up), tuple(pelvis)]
    low = replace(held, start=10, end=16, place=places[0])
    sits = Contact("pelvis", 30, 50, place=places[1], name="pelvis")
    moved = lock(clip, Contacts((low, sits), 60, walk.fps, 0.0)).motion
    path = moved.positions(held.frame, held.point)
    assert np.abs(path[12] - places[0]).max() < 1e-6
    assert np.abs(moved.positions("pelvis")[40] - pelvis).max() < 1e-6
    assert (path @ up).min() > -1e-4
