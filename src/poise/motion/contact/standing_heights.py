"""The heights at which contacts stand, and those of the floor below points that do not.

Recordings drift, so the floor rises and sinks slowly within a clip. Contacts of one kind of point, such as heels, stand
on levels. A contact stands on the nearest level, which follows it only as far as needed, like a gear with backlash:

    level <- clip(level, own - SLACK_M, own + SLACK_M),

so a level floor stays level in spite of noise, and a contact that is more than `SAME_FLOOR_M` from all levels, as on a
stair, begins another one. Contacts are taken in the order of time: a level depends on those before it, and the first
one on those of the first second. So the beginning of a clip depends little on later frames, unless the floor changes by
more than a few centimetres: then other contacts are found.

A point is kept above the places at which it, or the same point of the other foot, stands before and after each frame.
Points of a kind that never stands are kept above the floor, if its height is known: otherwise a clip without contacts,
such as a run, would go through the floor.
"""

from collections.abc import Iterable

import numpy as np

from poise.anatomy import ContactPoint, find_feet
from poise.arrays import Floats
from poise.model import Model
from poise.motion.contact.ledger import Contact, Contacts, find_kind, is_of_foot, move_contact

__all__ = [
    "SAME_FLOOR_M",
    "STAIR_DEPTH_M",
    "find_heights_below",
    "find_usual_heights",
    "level_contacts",
    "list_swinging",
    "measure_levels",
]

# on a body of 1.75 m
SAME_FLOOR_M = 0.03  # contacts whose heights differ by more stand on different floors
SLACK_M = 0.015  # distance from its contacts at which a level follows them
FIRST_S = 1.0  # contacts that begin within this time of the first one give the first level together
STAIR_DEPTH_M = 0.02  # a contact this far below the floor is on a stair and does not sink


def level_contacts(found: Iterable[Contact], up: Floats, fps: float, size: float) -> list[Contact]:
    """Return contacts at the heights of their levels; `size` is that of the body relative to a person."""
    kinds: dict[str, list[Contact]] = {}
    for contact in sorted(found, key=lambda c: (c.start, c.name)):
        kinds.setdefault(find_kind(contact.name), []).append(contact)
    return [moved for each in kinds.values() for moved in level_kind(each, up, fps, size)]


def level_kind(found: list[Contact], up: Floats, fps: float, size: float) -> list[Contact]:
    """Return contacts of one kind of point, in the order of time, at the heights of their levels."""
    own = [float(np.array(contact.place) @ up) for contact in found]
    first = [h for h, c in zip(own, found, strict=True) if c.start <= found[0].start + FIRST_S * fps]
    levels, out = [float(np.median(first))], []
    for height, contact in zip(own, found, strict=True):
        nearest = min(range(len(levels)), key=lambda i: abs(levels[i] - height))
        if abs(levels[nearest] - height) > SAME_FLOOR_M * size:
            nearest = len(levels)
            levels.append(height)
        slack = SLACK_M * size
        levels[nearest] = min(max(levels[nearest], height - slack), height + slack)
        out.append(move_contact(contact, np.array(contact.place) + (levels[nearest] - height) * up))
    return out


def find_usual_heights(found: Iterable[Contact], up: Floats) -> dict[str, float]:
    """Return the median height of the contacts of each kind of point [m]."""
    heights: dict[str, list[float]] = {}
    for contact in found:
        if contact.place is not None:
            heights.setdefault(find_kind(contact.name), []).append(float(np.array(contact.place) @ up))
    return {kind: float(np.median(each)) for kind, each in heights.items()}


def measure_levels(ledger: Contacts, name: str, up: Floats) -> Floats:
    """Return the height of a point at each frame while it stands, (frames,) [m]; nan otherwise."""
    out = np.full(ledger.frames, np.nan)
    for contact in ledger:
        if contact.name == name and contact.place is not None:
            out[contact.start : contact.end] = np.array(contact.place) @ up
    return out


def find_heights_below(lowest: float, size: float, *stood: Floats) -> Floats:
    """Return the height of the floor below a point in each frame: the lowest at which points stand before and after it.

    Args:
        lowest: The height where no such point stands near it [m]: a point may leave a high place.
        size: The size of the body relative to a person.
        stood: The heights at which points stand in each frame, (frames,) [m]; nan while they do not.
    """
    frames, out = np.arange(len(stood[0])), np.full(len(stood[0]), np.nan)
    for heights in stood:
        known = np.flatnonzero(~np.isnan(heights))
        if len(known):
            after = known[np.minimum(np.searchsorted(known, frames), len(known) - 1)]
            before = known[np.maximum(np.searchsorted(known, frames, side="right") - 1, 0)]
            out = np.fmin(out, np.minimum(heights[before], heights[after]))
    return np.where(np.abs(out - lowest) <= SAME_FLOOR_M * size, out, lowest)


def list_swinging(model: Model, ledger: Contacts, *, carried: bool = False) -> tuple[list[ContactPoint], float]:
    """List the soles of a body that never stand, and the floor height below them [m].

    The list is empty if the floor is unknown or only hands are in contact. With `carried`, for a retargeted motion, the
    soles are the exact contact points of the body, like the points that stand.
    """
    feet = [contact for contact in ledger if is_of_foot(contact)]
    if ledger.floor is None or (len(ledger) and not feet):
        return [], 0.0
    places = [float(np.array(contact.place) @ model.up_direction) for contact in feet if contact.place is not None]
    names, points = {c.name for c in ledger}, {(c.frame, c.point) for c in ledger}
    sides = {name.rpartition("_")[2] for name in names}
    free = [
        sole
        for foot in find_feet(model)
        if not (foot.is_paw and foot.side in sides)  # a paw stands on one point
        for sole in (foot.exact if carried else foot.standing)
        if sole.name not in names and (sole.frame, sole.point) not in points
    ]
    return free, min([ledger.floor, *places])
