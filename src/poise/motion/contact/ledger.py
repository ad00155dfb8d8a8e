"""Contacts: points of a body that stand still, with their places and frames.

`contacts` detects the contacts of a clip. They can be read, corrected, saved and passed to `lock`, `track` and
`quality`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import KW_ONLY, asdict, dataclass, replace
from os import PathLike
from typing import Any

import numpy as np
from numpy.typing import NDArray

from poise.arrays import Floats
from poise.errors import FormatError, InvalidValue
from poise.files.json_kinds import read_kind

__all__ = ["Contact", "Contacts"]

KIND = "poise contacts"
Place = tuple[float, float, float]


@dataclass(frozen=True, slots=True)
class Contact:
    """A point of the body that stands still for a range of frames.

    Attributes:
        frame: The frame that the point is fixed to.
        start: The first frame of the clip in contact.
        end: The first frame after it: `end - start` frames are in contact.
        place: The place of the point in the world [m]; None for the mean of its path.
        point: The point in the axes of the frame [m].
        name: The name of the point: "heel_l", "toe_r", or the frame's name.
        normal: The normal of the surface that the point stands on; None for a level one.
    """

    frame: str
    start: int
    end: int
    _: KW_ONLY
    place: Place | None = None
    point: Place = (0.0, 0.0, 0.0)
    name: str = ""
    normal: Place | None = None

    def __post_init__(self) -> None:
        for what in ("start", "end"):
            if not isinstance(getattr(self, what), (int, np.integer)) or isinstance(getattr(self, what), bool):
                raise InvalidValue(f"Contact: {what} is {getattr(self, what)!r}; it must be a whole number of frames.")
        if not 0 <= self.start < self.end:
            raise InvalidValue(f"Contact: it lasts from frame {self.start} to {self.end}; the end must come later.")
        object.__setattr__(self, "point", read_place(self.point, "point"))
        if self.place is not None:
            object.__setattr__(self, "place", read_place(self.place, "place"))
        if self.normal is not None:
            object.__setattr__(self, "normal", read_place(self.normal, "normal"))
        if not self.name:
            object.__setattr__(self, "name", self.frame)

    def __len__(self) -> int:
        return self.end - self.start


@dataclass(frozen=True, slots=True)
class Contacts:
    """The contacts of a clip, ordered by their start; immutable: every change returns a new object.

    Attributes:
        intervals: The contacts.
        frames: The number of frames of the clip.
        fps: Its frame rate.
        floor: The height of the floor [m], or None if unknown.
    """

    intervals: tuple[Contact, ...]
    frames: int
    fps: float
    floor: float | None = None

    def __post_init__(self) -> None:
        ordered = tuple(sorted(self.intervals, key=lambda c: (c.start, c.name, c.end)))
        object.__setattr__(self, "intervals", ordered)
        for contact in ordered:
            if contact.end > self.frames:
                raise InvalidValue(f"{contact.name!r} is in contact until frame {contact.end} of {self.frames}.")
        self._refuse_overlaps()

    def __len__(self) -> int:
        return len(self.intervals)

    def __iter__(self) -> Iterator[Contact]:
        return iter(self.intervals)

    def __getitem__(self, index: int) -> Contact:
        return self.intervals[index]

    def add(self, contact: Contact) -> Contacts:
        """Return the contacts with one added."""
        return replace(self, intervals=(*self.intervals, contact))

    def remove(self, index: int) -> Contacts:
        """Return the contacts without the one at an index."""
        self._check_line(index)
        return replace(self, intervals=tuple(c for i, c in enumerate(self.intervals) if i != index % len(self)))

    def replace(self, index: int, **changes: Any) -> Contacts:
        """Return the contacts with one changed: `contacts.replace(3, start=41, end=58)`."""
        self._check_line(index)
        changed = replace(self.intervals[index], **changes)
        return replace(self, intervals=tuple(changed if i == index % len(self) else c for i, c in enumerate(self)))

    def list_at(self, frame: int) -> list[Contact]:
        """List the contacts of one frame of the clip."""
        return [contact for contact in self if contact.start <= frame < contact.end]

    def _check_line(self, index: int) -> None:
        if not -len(self) <= index < len(self):
            raise InvalidValue(f"there is no contact {index}: the ledger has {len(self)}, from 0.")

    def _refuse_overlaps(self) -> None:
        last: dict[tuple[str, Place], Contact] = {}
        for contact in self.intervals:
            before = last.get((contact.frame, contact.point))
            if before is not None and before.end > contact.start:
                raise InvalidValue(
                    f"{contact.name!r} is in contact twice at frame {contact.start}: frames {before.start} to "
                    f"{before.end} and {contact.start} to {contact.end}. Remove or shorten one of them."
                )
            last[contact.frame, contact.point] = contact

    def __str__(self) -> str:
        height = "" if self.floor is None else f", floor at {self.floor:.3f} m"
        lines = [f"{len(self)} contacts in {self.frames} frames at {self.fps:g} fps{height}"]
        lines += [f"{i:4d}  {describe(contact, self.fps)}" for i, contact in enumerate(self)]
        return "\n".join(lines)

    def plain_values(self) -> dict[str, Any]:
        """Return the content of a JSON file of the contacts."""
        head = {"kind": KIND, "version": 1, "frames": self.frames, "fps": self.fps, "floor": self.floor}
        return {**head, "contacts": [asdict(contact) for contact in self]}

    @classmethod
    def load(cls, path: str | PathLike[str]) -> Contacts:
        """Read contacts from a file written by `poise.save`, possibly edited by hand.

        Raises:
            FormatError: The file is missing, or is not a contacts file.
        """
        given = read_kind(path, KIND)
        try:
            intervals = tuple(Contact(**row) for row in given["contacts"])
            return cls(intervals, int(given["frames"]), float(given["fps"]), given.get("floor"))
        except (KeyError, TypeError, ValueError) as error:
            raise FormatError(f"has a contact that cannot be read: {error}", str(path)) from None


def move_contact(contact: Contact, place: Floats) -> Contact:
    """Return a contact at another place."""
    x, y, z = place.tolist()
    return replace(contact, place=(x, y, z))


def is_of_foot(contact: Contact) -> bool:
    """Return whether a contact belongs to a heel, a toe or a sole."""
    return contact.name.startswith(("heel", "toe", "sole"))


def find_kind(name: str) -> str:
    """Return the name of a point without its side: "heel" for "heel_l", and "toe_f" for "toe_fl"."""
    part, _, side = name.rpartition("_")
    return f"{part}_{side[0]}" if part and side in ("fl", "fr", "hl", "hr") else part or name


def describe(contact: Contact, fps: float) -> str:
    """Return a one-line description of a contact."""
    place = "" if contact.place is None else "at " + " ".join(f"{x:8.3f}" for x in contact.place)
    when = f"{contact.start:6d} to {contact.end:6d}  ({contact.start / fps:7.2f} to {contact.end / fps:7.2f} s)"
    return f"{contact.name:<16}{when}  {place}".rstrip()


def read_place(given: Any, what: str) -> Place:
    """Return three finite numbers as a tuple; raise otherwise."""
    try:
        x = np.asarray(given, dtype=np.float64)
    except (TypeError, ValueError):
        x = np.zeros(0)
    if x.shape != (3,) or not np.isfinite(x).all():
        raise InvalidValue(f"Contact: {what} is {given!r}; it must be three finite numbers.")
    return float(x[0]), float(x[1]), float(x[2])


def flag_contact(ledger: Contacts, name: str) -> NDArray[np.bool_]:
    """Flag the frames in which a point is in contact."""
    out = np.zeros(ledger.frames, dtype=bool)
    for contact in ledger:
        if contact.name == name:
            out[contact.start : contact.end] = True
    return out
