"""A clip that is edited: contacts, locks, keys, cuts, each one step of undo; and the picture of it. No browser."""

from __future__ import annotations

import re
from dataclasses import replace
from functools import cache
from html.parser import HTMLParser

import numpy as np
import pytest

import poise
from poise.errors import InvalidValue
from poise.motion import Contacts, quality
from poise.studio.clips.keys import PoseKey, make_key
from poise.studio.clips.timeline import (
    ClipState,
    Timeline,
    add_contact,
    compare_quality,
    cut_clip,
    find_feet,
    lock_feet,
    measure_slip,
    merge_key,
    move_contact,
    put_keys,
    remove_contact,
    remove_key,
    set_spread,
)
from poise.studio.panel.timeline_picture import draw_marker, draw_timeline
from poise.studio.puppet import Puppet
from walkers import make_character
from walks import make_walk, put_skate_in

pytestmark = pytest.mark.slow

FPS = 30.0
FRAME = 30  # the right foot stands, the left one swings


@cache
def skate() -> ClipState:
    """A walk whose feet slip, with its contacts found."""
    clip = put_skate_in(make_walk())
    return find_feet(ClipState(clip, clip, clip))


@cache
def locked() -> ClipState:
    """The same with its feet locked."""
    return lock_feet(skate())


def take(state: ClipState, frame: int) -> Puppet:
    """Take the body in hand at a frame of a clip."""
    puppet = Puppet(state.motion.model)
    puppet.start_at(state.motion.q[frame])
    return puppet


def pull(puppet: Puppet, handle: str, by: tuple[float, float, float]) -> None:
    """Pull a handle, let go, and wait until the body stands."""
    puppet.hold(handle, puppet.transform(handle)[:3, 3] + np.array(by))
    for _ in range(80):
        puppet.frame()
    puppet.let_go(handle)
    for _ in range(20):
        puppet.frame()


def pull_key(state: ClipState, frame: int, handle: str, by: tuple[float, float, float]) -> PoseKey:
    """Make a key by pulling a handle at a frame."""
    puppet = take(state, frame)
    pull(puppet, handle, by)
    key = make_key(puppet, state.motion.q[frame], frame)
    assert key is not None
    return key


def lay(state: ClipState, *keys: PoseKey) -> ClipState:
    """Lay keys on a clip, one after the other."""
    for key in keys:
        state = put_keys(state, merge_key(state, key))
    return state


# ------------------------------------------------------------------------------------------------ keys


@pytest.mark.parametrize(("handle", "by"), [("hand_l", (0.1, 0.35, 0.3)), ("pelvis", (0.0, -0.08, 0.0))])
def test_a_key_is_what_was_seen_and_feet_that_stand_stay(handle: str, by: tuple[float, float, float]) -> None:
    state = locked()
    key = pull_key(state, FRAME, handle, by)
    assert key.names == (handle,)
    after = lay(state, key)
    model, before = state.motion.model, state.motion
    assert np.abs(model.difference(after.motion.q[FRAME], key.pose)).max() < 2e-3
    wanted = model.fk(key.pose, handle)[:3, 3]
    assert np.abs(model.fk(after.motion.q[FRAME], handle)[:3, 3] - wanted).max() < 1e-6
    assert state.contacts is not None
    assert measure_slip(after.motion, state.contacts).max() < 0.01
    changed = np.flatnonzero((after.motion.q != before.q).any(axis=1))
    assert changed.min() >= FRAME - 15
    assert changed.max() <= FRAME + 15
    assert len(changed) > 20


def test_a_foot_that_is_pulled_off_the_ground_goes_there() -> None:
    state = locked()
    key = pull_key(state, FRAME, "foot_r", (0.0, 0.1, 0.1))
    after = lay(state, key)
    model = state.motion.model
    assert np.abs(model.fk(after.motion.q[FRAME], "foot_r") - model.fk(key.pose, "foot_r")).max() < 1e-6
    assert after.note == ""


def test_a_joint_that_is_turned_by_a_slider_is_a_key_as_well() -> None:
    state = locked()
    puppet = take(state, FRAME)
    q = puppet.q
    q[state.motion.model.joint("elbow_l").q] -= 0.4
    puppet.turn_joint("elbow_l", q)
    key = make_key(puppet, state.motion.q[FRAME], FRAME)
    assert key is not None
    assert key.names == ("elbow_l",)
    after = lay(state, key)
    assert np.abs(state.motion.model.difference(after.motion.q[FRAME], q)).max() < 1e-9


def test_an_unchanged_pose_is_not_a_key() -> None:
    state = locked()
    assert make_key(take(state, FRAME), state.motion.q[FRAME], FRAME) is None


def test_keys_are_kept_together_and_removed_one_by_one_to_the_bit() -> None:
    state = locked()
    first, second = pull_key(state, 30, "hand_l", (0.0, 0.3, 0.2)), pull_key(state, 80, "hand_r", (0.0, 0.3, 0.2))
    one, both = lay(state, first), lay(state, first, second)
    assert [key.frame for key in both.keys] == [30, 80]
    for key in (first, second):
        assert np.abs(state.motion.model.difference(both.motion.q[key.frame], key.pose)).max() < 2e-3
    again = put_keys(both, remove_key(both, 80))
    assert np.array_equal(again.motion.q, one.motion.q)
    none = put_keys(again, remove_key(again, 30))
    assert none.motion is state.base


def test_a_second_key_at_a_frame_replaces_the_first() -> None:
    state = lay(locked(), pull_key(locked(), FRAME, "hand_l", (0.0, 0.3, 0.2)))
    key = pull_key(state, FRAME, "hand_r", (0.0, 0.3, 0.2))
    after = lay(state, key)
    (only,) = after.keys
    assert only.names == ("hand_l", "hand_r")
    assert np.abs(state.motion.model.difference(after.motion.q[FRAME], key.pose)).max() < 2e-3


def test_the_spread_says_how_far_a_key_reaches() -> None:
    state = locked()
    after = set_spread(lay(state, pull_key(state, 60, "hand_l", (0.0, 0.3, 0.2))), 0.2)
    changed = np.flatnonzero((after.motion.q != state.motion.q).any(axis=1))
    assert 60 - 6 <= changed.min() < 60 < changed.max() <= 60 + 6


def test_a_body_without_feet_has_keys_too() -> None:
    model = poise.load("panda")
    clip = poise.Motion(model, np.tile(np.array(model.rest), (40, 1)), FPS)
    state = ClipState(clip, clip, clip)
    key = pull_key(state, 20, next(iter(Puppet(model).handles)), (0.05, 0.0, 0.05))
    after = lay(state, key)
    assert np.abs(model.difference(after.motion.q[20], key.pose)).max() < 1e-6


# ------------------------------------------------------------------------------------------------ contacts


def test_locked_feet_slip_by_nothing_and_the_original_stays() -> None:
    before, after = compare_quality(locked())
    assert before.slip_max > 0.5
    assert after.slip_max < 0.01
    assert locked().original is skate().original
    assert locked().keys == ()


@pytest.mark.slow
def test_a_key_stays_after_feet_are_locked_and_can_still_be_removed() -> None:
    key = pull_key(skate(), FRAME, "hand_l", (0.0, 0.3, 0.2))
    after = lock_feet(lay(skate(), key))
    assert [each.frame for each in after.keys] == [FRAME]
    assert compare_quality(after)[1].slip_max < 0.01
    hand = take(after, FRAME).transform("hand_l")[:3, 3]
    without = put_keys(after, remove_key(after, FRAME))
    assert without.motion is after.base
    assert compare_quality(without)[1].slip_max < 0.01
    gone = np.linalg.norm(take(without, FRAME).transform("hand_l")[:3, 3] - hand)
    assert gone == pytest.approx(np.linalg.norm((0.0, 0.3, 0.2)), abs=0.05)


def test_the_plot_shows_the_slip_that_the_table_says() -> None:
    for state in (skate(), locked()):
        assert state.contacts is not None
        found = measure_slip(state.motion, state.contacts)
        assert found.max() == pytest.approx(quality(state.motion, contacts=state.contacts).slip_max, abs=1e-12)
        assert len(found) == len(state.motion)


def test_a_contact_is_moved_removed_and_added_again() -> None:
    state = skate()
    assert state.contacts is not None
    line = next(k for k, c in enumerate(state.contacts) if c.start > 0)
    contact = state.contacts[line]
    moved = move_contact(state, line, contact.start + 2, contact.end - 1)
    assert moved.contacts is not None
    assert replace(contact, start=contact.start + 2, end=contact.end - 1) in moved.contacts
    gone = remove_contact(state, line)
    assert gone.contacts is not None
    assert contact not in gone.contacts
    again = add_contact(gone, contact, (contact.start + contact.end) // 2)
    assert again.contacts is not None
    assert len(again.contacts) == len(state.contacts)
    for other in state.contacts:  # at any frame at all: either it stands there already, or it is added
        for frame in range(0, len(state.motion), 7):
            try:
                added = add_contact(state, other, frame).contacts
            except InvalidValue:
                assert other.name in {c.name for c in state.contacts.list_at(frame)}
            else:
                assert added is not None
                assert other.name in {c.name for c in added.list_at(frame)}


def test_invalid_values_are_rejected_and_nothing_changes() -> None:
    state = skate()
    assert state.contacts is not None
    name = state.contacts[0].name
    later = next(c for c in state.contacts if c.name == name and c.start > 0)
    with pytest.raises(InvalidValue, match="twice"):
        move_contact(state, 0, 0, later.start + 1)
    with pytest.raises(InvalidValue, match="later"):
        move_contact(state, 0, 5, 5)
    with pytest.raises(InvalidValue, match="Find contacts"):
        remove_contact(replace(state, contacts=None), 0)
    with pytest.raises(InvalidValue, match="two frames"):
        cut_clip(state, 10, 11)


def test_a_clip_is_cut_with_its_contacts_and_its_original() -> None:
    state = locked()
    cut = cut_clip(state, 20, 90)
    assert len(cut.motion) == len(cut.original) == 70
    assert np.array_equal(cut.motion.q, state.motion.q[20:90])
    assert cut.contacts is not None
    assert cut.contacts.frames == 70
    assert measure_slip(cut.motion, cut.contacts).max() < 0.01


# ------------------------------------------------------------------------------------------------ undo


def test_every_operation_is_one_step_of_undo() -> None:
    clip = skate().original
    timeline = Timeline(clip)
    states = [timeline.state]

    def do(state: ClipState, going_on: str = "") -> None:
        timeline.commit(state, going_on)
        states.append(timeline.state)

    do(find_feet(timeline.state))
    do(remove_contact(timeline.state, 3))
    do(lock_feet(timeline.state))
    do(lay(timeline.state, pull_key(timeline.state, FRAME, "hand_l", (0.0, 0.3, 0.2))))
    do(cut_clip(timeline.state, 10, 100))
    for state in states[-2::-1]:
        assert timeline.undo()
        assert timeline.state is state
    assert timeline.undo() == ""
    for state in states[1:]:
        assert timeline.redo() == state.done
        assert timeline.state is state
    assert timeline.redo() == ""


def test_a_slider_that_is_pulled_is_one_step() -> None:
    timeline = Timeline(skate().original)
    timeline.commit(skate())
    found = timeline.state
    for end in (20, 19, 18):
        timeline.commit(move_contact(timeline.state, 0, 0, end), "heel_l")
    for end in (4, 3):
        timeline.commit(move_contact(timeline.state, 1, 0, end), "heel_r")
    timeline.undo()
    timeline.undo()
    assert timeline.state is found


# ------------------------------------------------------------------------------------------------ the picture


class Balance(HTMLParser):
    """Counts what is open."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note that something opens."""
        if tag != "br":
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        """Note that something closes."""
        assert self.open.pop() == tag

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note that something opens and closes."""


def check(picture: str) -> None:
    """Check that a picture is whole, and asks for nothing from elsewhere."""
    balance = Balance()
    balance.feed(picture)
    assert balance.open == []
    assert "http" not in picture
    assert "nan" not in picture


def test_the_picture_has_a_bar_for_each_contact_and_a_mark_for_each_key() -> None:
    state = lay(locked(), pull_key(locked(), FRAME, "hand_l", (0.0, 0.3, 0.2)))
    assert state.contacts is not None
    picture = draw_timeline(state, (0.5, 3.0), chosen=2)
    check(picture)
    assert picture.count("border-radius:2px") == len(state.contacts)
    assert picture.count("rotate(45deg)") == 1
    assert picture.count("box-shadow") == 1
    assert picture.count("<polyline") == 2  # before and now
    assert all(f">{name}<" in picture for name in ("heel_l", "toe_l", "heel_r", "toe_r"))


def test_every_clip_has_a_picture() -> None:
    model = make_character()
    clip = poise.Motion(model, np.tile(np.array(model.rest), (2, 1)), FPS)
    plain = ClipState(clip, clip, clip)
    for state in (plain, replace(plain, contacts=Contacts((), 2, FPS)), find_feet(plain)):
        check(draw_timeline(state, (0.0, 1.0 / FPS)))
    long = make_walk().resampled(300.0)
    ledger = find_feet(ClipState(long, long, long))
    assert len(draw_timeline(ledger, (0.0, 9.9))) < 20_000


def test_the_marker_goes_from_end_to_end() -> None:
    state = skate()
    last = float(state.motion.times[-1])
    for seconds, share in ((0.0, 0.0), (last / 2, 50.0), (last, 100.0)):
        picture = draw_marker(state, seconds)
        check(picture)
        found = re.search(r"left:([0-9.]+)%", picture)
        assert found is not None
        assert float(found[1]) == pytest.approx(share, abs=0.01)
