"""Whole clips: contacts that are found and held, edits that spread, goals along a motion, and what is refused."""

from dataclasses import replace

import numpy as np
import pytest

import poise
from poise import Motion, Rotation
from poise.errors import FormatError, InvalidValue, NameNotFound
from poise.goals import Reach
from poise.kinematics.carriers import carry, find_root
from poise.kinematics.mirror import Mirror
from poise.motion import Contact, Contacts, contacts, edit, lock, quality, track
from walks import make_walk, put_skate_in, stands

FPS = 30.0
FEET = ("heel_l", "toe_l", "heel_r", "toe_r")


@pytest.fixture(scope="module")
def walk():
    return make_walk()


@pytest.fixture(scope="module")
def skating(walk):
    return put_skate_in(walk)


@pytest.fixture(scope="module")
def locked(skating):
    return lock(skating, known(skating))


def known(clip):
    """The contacts of the walk as it was made."""
    up = clip.model.up_direction
    out = []
    for name in FEET:
        path = clip.positions(name)
        for start, end in runs(stands(name[-1], len(clip), clip.fps)):
            place = path[start:end].mean(axis=0)
            out.append(Contact(name, start, end, place=tuple(place - (place @ up) * up)))
    return Contacts(tuple(out), len(clip), clip.fps, 0.0)


def runs(flags):
    edges = np.flatnonzero(np.diff(np.concatenate([[0], flags.astype(int), [0]])))
    return list(zip(edges[::2].tolist(), edges[1::2].tolist(), strict=True))


def slip(clip, ledger):
    """The largest motion of a contact point from frame to frame [m], by forward kinematics alone."""
    return max(
        np.abs(np.diff(clip.positions(c.frame, c.point)[c.start : c.end], axis=0)).max(initial=0.0) for c in ledger
    )


# ------------------------------------------------------------------------------------------------ contacts


@pytest.mark.slow
def test_the_contacts_of_a_made_walk_are_found_to_a_frame(walk):
    found = contacts(walk)
    assert abs(found.floor) < 2e-3
    for name in FEET:
        expected = runs(stands(name[-1], len(walk), FPS))
        own = [(c.start, c.end) for c in found if c.name == name]
        assert len(own) == len(expected)
        for (a, b), (c, d) in zip(own, expected, strict=True):
            assert abs(a - c) <= 1
            assert abs(b - d) <= 1


def test_a_ledger_is_printed_changed_saved_and_read(walk, tmp_path):
    found = contacts(walk)
    assert str(found).count("\n") == len(found)
    assert "toe_r" in str(found)
    shorter = found.replace(0, end=found[0].end - 2).remove(1).add(Contact("hand_l", 3, 9, place=(0, 1, 0)))
    assert len(shorter) == len(found)
    path = poise.save(shorter, tmp_path / "walk.contacts.json")
    assert Contacts.load(path) == shorter
    assert [c.name for c in shorter.list_at(4)].count("hand_l") == 1


def test_wrong_ledgers_are_rejected_by_name(walk, tmp_path):
    for wrong in (
        {"start": 4, "end": 4},
        {"start": -1, "end": 4},
        {"start": 1.5, "end": 4},
        {"start": 1, "end": 4, "point": (0, 1)},
    ):
        with pytest.raises(InvalidValue, match="Contact"):
            Contact("toe_l", **wrong)
    with pytest.raises(InvalidValue, match="twice at frame 4"):
        Contacts((Contact("toe_l", 0, 6), Contact("toe_l", 4, 9)), 20, 30.0)
    with pytest.raises(InvalidValue, match="until frame 30 of 20"):
        Contacts((Contact("toe_l", 0, 30),), 20, 30.0)
    with pytest.raises(InvalidValue, match="120"):
        lock(walk[:50], contacts(walk))
    with pytest.raises(NameNotFound, match="tail"):
        lock(walk, Contacts((Contact("tail", 0, 9),), len(walk), FPS))
    (tmp_path / "a.json").write_text("{}")
    (tmp_path / "b.json").write_text("{")
    for name, words in (("a.json", "kind"), ("b.json", "JSON"), ("none.json", "cannot be read")):
        with pytest.raises(FormatError, match=words):
            Contacts.load(tmp_path / name)


# ------------------------------------------------------------------------------------------------ lock


def test_locked_feet_do_not_move_sink_or_float(skating, locked):
    assert slip(skating, locked.contacts) > 1e-4
    assert not locked.released
    assert slip(locked.motion, locked.contacts) < 1e-6
    up = skating.model.up_direction
    for contact in locked.contacts:
        heights = locked.motion.positions(contact.frame)[contact.start : contact.end] @ up
        assert np.abs(heights).max() < 1e-3
    for name in FEET:
        assert (locked.motion.positions(name) @ up).min() > -1e-3


def test_a_lock_is_as_smooth_as_the_clip_and_keeps_the_ranges(skating, locked):
    before, after = quality(skating, contacts=locked.contacts), locked.quality
    assert after.step_max <= 1.1 * before.step_max
    assert after.jerk_p95 <= 1.1 * before.jerk_p95
    assert after.limits_max == 0.0
    assert after.slip_max < 1e-3 < before.slip_max
    assert "slip" in str(after)
    assert "contacts hold within 0.01 mm" in locked.why()


@pytest.mark.slow
def test_cutting_the_front_changes_nothing_later(skating):
    """With the clip's own contacts and floor, the first frames do not decide the others."""
    whole = lock(skating, known(skating))
    for cut in (1, 7, 30):
        kept = [c for c in whole.contacts if c.end > cut + 1]
        moved = [Contact(c.frame, max(c.start - cut, 0), c.end - cut, place=c.place) for c in kept]
        part = lock(skating[cut:], Contacts(tuple(moved), len(skating) - cut, FPS, 0.0))
        later = round(0.5 * FPS)
        far = skating.model.difference(part.motion.q[later:], whole.motion.q[cut + later :])
        assert np.abs(far).max() < 1e-3


@pytest.mark.slow
def test_time_reversal_gives_the_reversed_lock(skating):
    forwards, ledger = lock(skating, known(skating)), known(skating)
    turned = [Contact(c.frame, len(skating) - c.end, len(skating) - c.start, place=c.place) for c in ledger]
    backwards = lock(skating.reversed(), Contacts(tuple(turned), len(skating), FPS, 0.0))
    far = skating.model.difference(backwards.motion.reversed().q, forwards.motion.q)
    assert np.abs(far).max() < 1e-6


@pytest.mark.slow
def test_a_lock_out_of_reach_is_released_and_reported(walk):
    ledger = known(walk)
    far = tuple(np.array(ledger[0].place) + np.array([0.0, 0.0, 3.0]))
    track_ = lock(walk, ledger.replace(0, place=far))
    assert track_.released
    assert any("out of reach" in each.reason for each in track_.released)
    assert "released" in track_.why()
    assert slip(track_.motion, track_.contacts) < 1e-4


@pytest.mark.slow
def test_the_ground_may_be_given(skating):
    up = skating.model.up_direction
    raised = lock(skating, known(skating), floor=0.1)
    for contact in raised.contacts:
        heights = raised.motion.positions(contact.frame)[contact.start : contact.end] @ up
        np.testing.assert_allclose(heights, 0.1, atol=1e-6)


@pytest.mark.parametrize("frames", [1, 2, 3])
def test_very_short_clips_are_locked_too(walk, frames):
    clip = walk[:frames]
    ledger = Contacts((Contact("toe_l", 0, frames),), frames, FPS)
    assert len(lock(clip, ledger).motion) == frames
    assert quality(clip).frames == frames


def test_a_clip_without_contacts_does_not_change(walk):
    np.testing.assert_array_equal(lock(walk, Contacts((), len(walk), FPS)).motion.q, walk.q)


def test_clips_that_cannot_be_locked_are_rejected_by_name(walk):
    arm = poise.load("panda")
    still = Motion(arm, np.tile(arm.rest, (5, 1)))
    with pytest.raises(InvalidValue, match="feet"):
        lock(still)
    with pytest.raises(InvalidValue, match="contacts"):
        lock(walk, "never")
    with pytest.raises(InvalidValue, match="clip"):
        lock(walk[:0])
    with pytest.raises(InvalidValue, match="clip"):
        lock("walk.bvh")
    assert quality(still).contact_share == 0.0


# ------------------------------------------------------------------------------------------------ edit


@pytest.mark.slow
def test_an_edit_holds_at_its_frame_and_ends_at_its_spread(walk):
    place = walk.positions("hand_l")[60] + np.array([0.05, 0.15, 0.1])
    out = edit(walk, {60: [Reach("hand_l", place)]}, spread=0.5)
    np.testing.assert_allclose(out.motion.positions("hand_l")[60], place, atol=1e-8)
    away = np.abs(np.arange(len(walk)) - 60) > 15
    np.testing.assert_array_equal(out.motion.q[away], walk.q[away])
    ledger = contacts(walk)
    for contact in ledger:
        part = slice(contact.start, contact.end)
        np.testing.assert_allclose(
            out.motion.positions(contact.frame)[part], walk.positions(contact.frame)[part], atol=1e-6
        )
    assert quality(out.motion).step_max < quality(walk).step_max + 0.1
    assert out.reached.all()


@pytest.mark.slow
def test_edits_by_seconds_at_several_frames_and_at_the_ends(walk):
    up = walk.model.up_direction
    high = {t: [Reach("hand_r", walk.positions("hand_r")[round(t * FPS)] + 0.1 * up)] for t in (0.0, 1.0, 3.0)}
    out = edit(walk, high, spread=0.3)
    for t, (goal,) in high.items():
        np.testing.assert_allclose(out.motion.positions("hand_r")[round(t * FPS)], goal.target, atol=1e-8)


# ------------------------------------------------------------------------------------------------ track


def make_circle(model, frame, frames=90, radius=0.1):
    q = model.rest
    center = model.fk(q, frame)
    a = np.linspace(0.0, 2.0 * np.pi, frames)
    path = np.tile(center, (frames, 1, 1))
    path[:, :3, 3] += radius * np.stack([np.cos(a) - 1.0, np.sin(a), 0.0 * a], axis=1)
    return path


@pytest.mark.parametrize("mode", ["clip", "online"])
def test_an_arm_follows_a_path(mode):
    arm = poise.load("panda")
    path = make_circle(arm, "panda_hand_tcp")
    out = track(arm, Reach("panda_hand_tcp", path), fps=30.0, mode=mode)
    assert out.reached.all(), out.why()
    assert np.abs(np.diff(out.motion.q, axis=0)).max() < 0.2
    assert out.quality.limits_max == 0.0
    named = track(arm, Reach("panda_hand_tcp", path[0], name="hand"), fps=30.0, targets={"hand": path}, mode=mode)
    np.testing.assert_array_equal(named.motion.q, out.motion.q)


@pytest.mark.slow
def test_a_whole_clip_does_not_depend_on_its_first_frame():
    arm = poise.load("panda")
    path = make_circle(arm, "panda_hand_tcp")
    # points are solved frame by frame; along transforms the whole path decides, and decides on the same branch
    for given, close in ((path[:, :3, 3], 1e-3), (path, 0.1)):
        whole, part = (track(arm, Reach("panda_hand_tcp", p), fps=30.0).motion.q for p in (given, given[7:]))
        assert np.abs(whole[7 + 15 :] - part[15:]).max() < close


@pytest.mark.slow
def test_a_body_stands_while_a_hand_moves(walk):
    model = walk.model
    path = np.tile(model.fk(model.rest, "hand_l")[:3, 3], (40, 1))
    path[:, 1] += np.linspace(0.0, 0.2, 40)
    ledger = Contacts(tuple(Contact(n, 0, 40, place=tuple(model.fk(model.rest, n)[:3, 3])) for n in FEET), 40, FPS, 0.0)
    out = track(model, Reach("hand_l", path), fps=FPS, contacts=ledger)
    assert out.reached.all(), out.why()
    assert slip(out.motion, ledger) < 1e-6


def test_frames_out_of_reach_are_reported():
    arm = poise.load("panda")
    path = make_circle(arm, "panda_hand_tcp")
    path[30:40, 0, 3] += 2.0
    out = track(arm, Reach("panda_hand_tcp", path), fps=30.0)
    assert not out.reached[32:38].any()
    assert "missed in" in out.why()
    assert out.quality.limits_max == 0.0


@pytest.mark.slow
def test_turning_and_shifting_the_world_changes_nothing_else(skating):
    """A lock of the clip elsewhere is the lock elsewhere."""
    model, up = skating.model, skating.model.up_direction
    root = find_root(model)
    there = np.eye(4)
    there[:3, :3], there[:3, 3] = Rotation.from_axis_angle(up, 1.3).matrix, (2.0, 0.0, -1.0)
    here = lock(skating, known(skating))
    moved = Motion(model, carry(root, skating.q, there), skating.fps)
    places = [tuple(there[:3, :3] @ np.array(c.place) + there[:3, 3]) for c in known(skating)]
    ledger = [replace(c, place=place) for c, place in zip(known(skating), places, strict=True)]
    elsewhere = lock(moved, Contacts(tuple(ledger), len(moved), FPS, 0.0))
    assert np.abs(model.difference(elsewhere.motion.q, carry(root, here.motion.q, there))).max() < 1e-6


@pytest.mark.slow
def test_the_mirror_image_of_a_lock_is_the_lock_of_the_mirror_image(skating):
    model = skating.model
    mirror, first = Mirror(model), skating.q[0]
    image = skating.mirrored()
    here = lock(skating, known(skating))
    ledger = [
        replace(c, frame=swap(c.frame), name=swap(c.name), place=tuple(mirror.reflect_point(first, np.array(c.place))))
        for c in known(skating)
    ]
    there = lock(image, Contacts(tuple(ledger), len(image), FPS, 0.0))
    expected = np.stack([mirror.reflect_pose(q, first) for q in here.motion.q])
    assert np.abs(model.difference(there.motion.q, expected)).max() < 1e-6


def swap(name):
    return name[:-1] + {"l": "r", "r": "l"}[name[-1]]


@pytest.mark.slow
def test_contacts_that_contradict_each_other_are_released_and_reported(walk):
    """Two feet further apart than the legs reach, and two points of one foot that do not fit."""
    for other in (Contact("toe_r", 0, 9, place=(3, 0, 0)), Contact("heel_l", 0, 9, place=(1, 0.4, 0))):
        ledger = Contacts((Contact("toe_l", 0, 9, place=(0, 0, 0)), other), len(walk), FPS)
        out = lock(walk, ledger)
        assert out.released
        assert "released" in out.why()
        assert not len(out.contacts) or slip(out.motion, out.contacts) < 1e-5


def test_slip_is_unknown_for_a_body_without_feet():
    arm = poise.load("panda")
    found = quality(Motion(arm, np.tile(arm.rest, (5, 1)), 30.0))
    assert np.isnan([found.slip_mean, found.slip_max, found.drift_max]).all()
    assert found.to_dict()["slip_mean"] is None
    assert "feet      no feet found, so slip, drift and floor are unknown" in str(found)
