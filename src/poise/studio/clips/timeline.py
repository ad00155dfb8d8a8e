"""The state of an edited clip: contacts, keys, and undo history. Independent of the browser.

An operation takes the state of a clip and returns a new one; long operations report their progress to a callback. The
states are kept in a history, one undo step per operation.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from poise.arrays import Floats
from poise.errors import InvalidValue
from poise.kinematics import Motion, MotionWithObjects
from poise.motion import Contact, Contacts, Quality, add_path, contacts, edit, lock, quality
from poise.studio.clips.keys import PoseKey, ask_key, is_loose

__all__ = [
    "ClipState",
    "Timeline",
    "add_clip_path",
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
SPREAD = 0.5  # [s], default reach of a key before and after its frame
ADDED_CONTACT_TIME = 0.15  # [s] before and after a frame, for a contact added by hand


@dataclass(frozen=True, eq=False)
class ClipState:
    """One state of an edited clip.

    Attributes:
        original: The clip as it was opened, with the same cuts.
        base: The clip without its keys.
        motion: The clip with its keys.
        contacts: The contacts of the clip, or None before they are found.
        keys: The changes made by hand, ordered by frame.
        spread: The reach of keys before and after their frames [s].
        done: The name of the operation that made this state.
        note: The report of that operation.
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
        """Whether the motion differs from the original."""
        return self.motion is not self.original


class Timeline:
    """The history of a clip's states, with undo and redo.

    Attributes:
        state: The current state.
    """

    def __init__(self, motion: Motion) -> None:
        self.state = ClipState(motion, motion, motion)
        self._past: list[ClipState] = []
        self._future: list[ClipState] = []
        self._going_on = ""

    def commit(self, state: ClipState, going_on: str = "") -> None:
        """Set the current state.

        Args:
            state: The state.
            going_on: The name of a continuous change: consecutive changes with the same name are one undo step.
        """
        if not going_on or going_on != self._going_on:
            self._past.append(self.state)
        self._going_on, self._future, self.state = going_on, [], state

    def undo(self) -> str:
        """Undo the last operation and return its name, or "" if the history is empty."""
        if not self._past:
            return ""
        self._future.append(self.state)
        undone, self.state, self._going_on = self.state.done, self._past.pop(), ""
        return undone

    def redo(self) -> str:
        """Redo the last undone operation and return its name, or "" if nothing was undone."""
        if not self._future:
            return ""
        self._past.append(self.state)
        self.state, self._going_on = self._future.pop(), ""
        return self.state.done


# ---------------------------------------------------------------------------------------------- contacts


def find_feet(state: ClipState) -> ClipState:
    """Find the contacts of the edited clip.

    Raises:
        InvalidValue: No feet were found in the body.
    """
    found = contacts(state.motion)
    floor = "" if found.floor is None else f", floor at {found.floor:.3f} m"
    note = f"{len(found)} contacts found{floor}." if len(found) else "Nothing stands still in this clip."
    return replace(state, contacts=found, done="Find contacts", note=note)


def lock_feet(state: ClipState, progress: Progress | None = None) -> ClipState:
    """Hold the contacts exactly, in the clip and in the clip without its keys, so that keys can still be removed."""
    track = lock(state.motion, "auto" if state.contacts is None else state.contacts, progress=progress)
    ledger = track.demanded or track.contacts
    base = motion = keep_objects(track.motion, state.motion)
    if state.keys:
        base = keep_objects(lock(state.base, ledger, progress=progress).motion, state.base)
    return replace(state, base=base, motion=motion, contacts=ledger, done="Lock feet", note=track.why())


def keep_objects(motion: Motion, before: Motion) -> Motion:
    """Return an edited motion with the objects of the motion before; their paths do not change."""
    things = before.objects
    return MotionWithObjects(motion.model, motion.q, motion.fps, things) if things else motion


def move_contact(state: ClipState, index: int, start: int, end: int) -> ClipState:
    """Set the start and end frame of a contact.

    Raises:
        InvalidValue: The contact would be empty, or overlap another contact of the same point.
    """
    return replace(state, contacts=read_ledger(state).replace(index, start=start, end=end), done="Move a contact")


def remove_contact(state: ClipState, index: int) -> ClipState:
    """Remove a contact."""
    return replace(state, contacts=read_ledger(state).remove(index), done="Remove a contact")


def add_contact(state: ClipState, like: Contact, frame: int) -> ClipState:
    """Add a contact of the same point as another, around a frame, limited by its neighbours.

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
        InvalidValue: The contacts have not been found yet.
    """
    if state.contacts is None:
        raise InvalidValue("there are no contacts yet: press Find contacts.")
    return state.contacts


# ---------------------------------------------------------------------------------------------- keys


def merge_key(state: ClipState, key: PoseKey) -> tuple[PoseKey, ...]:
    """Return the keys with another one; a key at the same frame is replaced."""
    before = next((old for old in state.keys if old.frame == key.frame), None)
    if before is not None:
        names = [name for name in before.names if name not in key.names]
        key = replace(key, feet=before.feet | key.feet, names=(*names, *key.names))
    others = [old for old in state.keys if old.frame != key.frame]
    return tuple(sorted((*others, key), key=lambda each: each.frame))


def remove_key(state: ClipState, frame: int) -> tuple[PoseKey, ...]:
    """Return the keys without the one at a frame."""
    return tuple(key for key in state.keys if key.frame != frame)


def put_keys(
    state: ClipState, keys: Iterable[PoseKey], progress: Progress | None = None, done: str = "Key"
) -> ClipState:
    """Apply keys to the clip: each holds exactly at its frame, and spreads smoothly around it."""
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
    """Set the reach of all keys before and after their frames [s]."""
    return put_keys(replace(state, spread=spread), state.keys, progress, "Spread")


def find_standing(state: ClipState, keys: Iterable[PoseKey]) -> Contacts:
    """Return the contacts to hold while keys are applied: all except those moved by hand."""
    try:
        ledger = contacts(state.base) if state.contacts is None else state.contacts
    except InvalidValue:
        return Contacts((), len(state.base), state.base.fps)
    kept = [c for c in ledger if not any(is_loose(state.base, c, key) for key in keys)]
    return replace(ledger, intervals=tuple(kept))


# ---------------------------------------------------------------------------------------------- the whole clip


def cut_clip(state: ClipState, start: int, end: int) -> ClipState:
    """Keep the frames from `start` up to, not including, `end`; keys become part of the clip.

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


def add_clip_path(state: ClipState) -> ClipState:
    """Add the path to a walk on the spot; keys become part of the clip, and contacts are to be found again.

    Raises:
        InvalidValue: The clip is not on the spot.
    """
    motion = add_path(state.motion)
    return replace(state, base=motion, motion=motion, contacts=None, keys=(), done="Add the path", note="")


def measure_slip(motion: Motion, ledger: Contacts) -> Floats:
    """Return the largest horizontal slip of a contact point at each frame, (frames,) [mm]."""
    up: Floats = motion.model.up_direction
    out = np.zeros(len(motion))
    for contact in ledger:
        path = motion.positions(contact.frame, contact.point)[contact.start : contact.end]
        across = path - np.outer(path @ up, up)
        slips = 1e3 * motion.model.metres_per_unit * np.linalg.norm(np.diff(across, axis=0), axis=1)
        np.maximum.at(out, np.arange(contact.start + 1, contact.end), slips)
    return out


def compare_quality(state: ClipState) -> tuple[Quality, Quality]:
    """Return the quality of the original and of the edited clip, with the same contacts."""
    ledger = state.contacts
    if ledger is None:
        ledger = find_standing(replace(state, base=state.original), ())
    before = quality(state.original, contacts=ledger)
    return before, quality(state.motion, state.original, contacts=ledger)
