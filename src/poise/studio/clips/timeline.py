"""A clip that is edited: its contacts, its keys, and every state that it went through. Nothing here knows a browser.

An operation takes the state of a clip and returns another one; long ones are given what to call with their progress.
What is made of a state is kept in a history, one step for each operation.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from poise.arrays import Floats
from poise.errors import InvalidValue
from poise.kinematics import Motion, MotionWithObjects
from poise.motion import Contact, Contacts, Quality, contacts, edit, lock, quality
from poise.studio.clips.keys import PoseKey, ask_key, is_loose

__all__ = [
    "ClipState",
    "Timeline",
    "add_contact",
    "compare_quality",
    "cut_clip",
    "find_feet",
    "lock_feet",
    "measure_slip",
    "merge_key",
    "move_contact",
    "put_keys",
    "remove_contact",
    "remove_key",
    "set_spread",
]

Progress = Callable[[int, int], object]
SPREAD = 0.5  # [s] that a key reaches before and after its frame, by default
ADDED_CONTACT_TIME = 0.15  # [s] before and after a frame: how long a contact is that is added by hand


@dataclass(frozen=True, eq=False)
class ClipState:
    """A clip at one moment of its editing.

    Attributes:
        original: The clip as it was opened, cut as this one is.
        base: What the keys are laid on.
        motion: What is seen: the base with its keys.
        contacts: The contacts of the clip; None before they are found.
        keys: The changes made by hand, by frame.
        spread: How far a key reaches before and after its frame [s].
        done: The operation that made this state, in words.
        note: What that operation has to say.
    """

    original: Motion
    base: Motion
    motion: Motion
    contacts: Contacts | None = None
    keys: tuple[PoseKey, ...] = ()
    spread: float = SPREAD
    done: str = ""
    note: str = ""

    @property
    def edited(self) -> bool:
        """Whether the motion is another one than the original."""
        return self.motion is not self.original


class Timeline:
    """The states of a clip, with undo and redo.

    Attributes:
        state: The state that is seen.
    """

    def __init__(self, motion: Motion) -> None:
        self.state = ClipState(motion, motion, motion)
        self._past: list[ClipState] = []
        self._future: list[ClipState] = []
        self._going_on = ""

    def commit(self, state: ClipState, going_on: str = "") -> None:
        """Make this the state that is seen.

        Args:
            state: The state.
            going_on: What is being moved: all changes of the same thing, one after the other, are one step.
        """
        if not going_on or going_on != self._going_on:
            self._past.append(self.state)
        self._going_on, self._future, self.state = going_on, [], state

    def undo(self) -> str:
        """Undo the last operation, and return its name; "" if there was none."""
        if not self._past:
            return ""
        self._future.append(self.state)
        undone, self.state, self._going_on = self.state.done, self._past.pop(), ""
        return undone

    def redo(self) -> str:
        """Repeat the operation that was undone last, and return its name; "" if there was none."""
        if not self._future:
            return ""
        self._past.append(self.state)
        self.state, self._going_on = self._future.pop(), ""
        return self.state.done


# ---------------------------------------------------------------------------------------------- contacts


def find_feet(state: ClipState) -> ClipState:
    """Find the contacts of the clip as it is seen.

    Raises:
        InvalidValue: The body has no feet that can be found.
    """
    found = contacts(state.motion)
    floor = "" if found.floor is None else f", floor at {found.floor:.3f} m"
    note = f"{len(found)} contacts found{floor}." if len(found) else "Nothing stands still in this clip."
    return replace(state, contacts=found, done="Find contacts", note=note)


def lock_feet(state: ClipState, progress: Progress | None = None) -> ClipState:
    """Hold the contacts exactly; keys become part of the clip."""
    ledger = contacts(state.motion) if state.contacts is None else state.contacts
    track = lock(state.motion, ledger, progress=progress)
    motion = keep_objects(track.motion, state.motion)
    return replace(state, base=motion, motion=motion, contacts=ledger, keys=(), done="Lock feet", note=track.why())


def keep_objects(motion: Motion, before: Motion) -> Motion:
    """Return an edited motion with the objects that it had: their paths are given, and do not change."""
    things = before.objects
    return MotionWithObjects(motion.model, motion.q, motion.fps, things) if things else motion


def move_contact(state: ClipState, index: int, start: int, end: int) -> ClipState:
    """Move the ends of a contact.

    Raises:
        InvalidValue: It would be empty, or the same point would be in contact twice.
    """
    return replace(state, contacts=read_ledger(state).replace(index, start=start, end=end), done="Move a contact")


def remove_contact(state: ClipState, index: int) -> ClipState:
    """Remove a contact from the ledger."""
    return replace(state, contacts=read_ledger(state).remove(index), done="Remove a contact")


def add_contact(state: ClipState, like: Contact, frame: int) -> ClipState:
    """Add a contact of the same point as another one, around a frame, as long as it fits between its neighbours.

    Raises:
        InvalidValue: The point is in contact there already.
    """
    ledger = read_ledger(state)
    own = [c for c in ledger if (c.frame, c.point) == (like.frame, like.point)]
    if any(c.start <= frame < c.end for c in own):
        raise InvalidValue(f"{like.name} is in contact at {frame / ledger.fps:.2f} s already.")
    some = max(1, round(ADDED_CONTACT_TIME * ledger.fps))
    start = max([0, frame - some, *(c.end for c in own if c.end <= frame)])
    end = min([ledger.frames, frame + some + 1, *(c.start for c in own if c.start > frame)])
    place = state.motion[start:end].positions(like.frame, like.point).mean(axis=0)
    if like.place is not None:  # on the same ground
        up = state.motion.model.up_direction
        place = place + (np.array(like.place) @ up - place @ up) * up
    added = replace(like, start=start, end=end, place=(float(place[0]), float(place[1]), float(place[2])))
    return replace(state, contacts=ledger.add(added), done="Add a contact")


def read_ledger(state: ClipState) -> Contacts:
    """Return the contacts of a clip.

    Raises:
        InvalidValue: Nobody has looked for them yet.
    """
    if state.contacts is None:
        raise InvalidValue("there are no contacts yet: press Find contacts.")
    return state.contacts


# ---------------------------------------------------------------------------------------------- keys


def merge_key(state: ClipState, key: PoseKey) -> tuple[PoseKey, ...]:
    """Return the keys with one more; at a frame that has one, its pose is replaced."""
    before = next((old for old in state.keys if old.frame == key.frame), None)
    if before is not None:
        names = [name for name in before.names if name not in key.names]
        key = replace(key, feet=before.feet | key.feet, names=(*names, *key.names))
    others = [old for old in state.keys if old.frame != key.frame]
    return tuple(sorted((*others, key), key=lambda each: each.frame))


def remove_key(state: ClipState, frame: int) -> tuple[PoseKey, ...]:
    """Return the keys without the one of a frame."""
    return tuple(key for key in state.keys if key.frame != frame)


def put_keys(
    state: ClipState, keys: Iterable[PoseKey], progress: Progress | None = None, done: str = "Key"
) -> ClipState:
    """Lay keys on the clip: each holds exactly at its frame, and spreads smoothly around it."""
    keys = tuple(keys)
    if not keys:
        return replace(state, motion=state.base, keys=(), done=done, note="")
    standing = find_standing(state, keys)
    found: dict[int | float, Any] = {key.frame: ask_key(state.base, key, standing) for key in keys}
    changes = {frame: goals for frame, goals in found.items() if goals}
    if not changes:
        return replace(state, motion=state.base, keys=keys, done=done, note="")
    track = edit(state.base, changes, spread=state.spread, contacts=standing, progress=progress)
    missed = "" if track.reached.all() else track.why()
    return replace(state, motion=keep_objects(track.motion, state.base), keys=keys, done=done, note=missed)


def set_spread(state: ClipState, spread: float, progress: Progress | None = None) -> ClipState:
    """Let all keys reach so far before and after their frames [s]."""
    return put_keys(replace(state, spread=spread), state.keys, progress, "Spread")


def find_standing(state: ClipState, keys: Iterable[PoseKey]) -> Contacts:
    """Return the contacts that hold while keys are applied: all but those that were moved by hand."""
    try:
        ledger = contacts(state.base) if state.contacts is None else state.contacts
    except InvalidValue:
        return Contacts((), len(state.base), state.base.fps)
    kept = [c for c in ledger if not any(is_loose(state.base, c, key) for key in keys)]
    return replace(ledger, intervals=tuple(kept))


# ---------------------------------------------------------------------------------------------- the whole clip


def cut_clip(state: ClipState, start: int, end: int) -> ClipState:
    """Keep the frames from `start` to before `end`; keys become part of the clip.

    Raises:
        InvalidValue: Fewer than two frames are left.
    """
    start, end = max(start, 0), min(end, len(state.motion))
    if end - start < 2:
        raise InvalidValue("a clip has at least two frames: move its ends apart.")
    motion, ledger = state.motion[start:end], state.contacts
    if ledger is not None:
        inside = [
            replace(c, start=max(c.start - start, 0), end=min(c.end, end) - start)
            for c in ledger
            if c.end > start and c.start < end
        ]
        ledger = replace(ledger, intervals=tuple(inside), frames=end - start)
    original = state.original[start:end]
    return replace(state, original=original, base=motion, motion=motion, contacts=ledger, keys=(), done="Cut", note="")


def measure_slip(motion: Motion, ledger: Contacts) -> Floats:
    """Return how far the contact points that slip most go along the ground at each frame, (frames,) [mm]."""
    up: Floats = motion.model.up_direction
    out = np.zeros(len(motion))
    for contact in ledger:
        path = motion.positions(contact.frame, contact.point)[contact.start : contact.end]
        across = path - np.outer(path @ up, up)
        slips = 1e3 * np.linalg.norm(np.diff(across, axis=0), axis=1)
        rows = slice(contact.start + 1, contact.end)
        out[rows] = np.maximum(out[rows], slips)
    return out


def compare_quality(state: ClipState) -> tuple[Quality, Quality]:
    """Return the quality of the original and of the edited clip, judged by the same contacts."""
    ledger = state.contacts
    if ledger is None:
        ledger = find_standing(replace(state, base=state.original), ())
    before = quality(state.original, contacts=ledger)
    return before, quality(state.motion, state.original, contacts=ledger)
