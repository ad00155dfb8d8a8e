"""Levels of the floor: recordings drift, so the floor rises and sinks slowly within a clip.

Contacts of one kind of point, such as heels, stand on levels. A contact stands on the nearest level, which follows it
only as far as needed, like a gear with backlash:

    level <- clip(level, own - SLACK_M, own + SLACK_M),

so a level floor stays level in spite of noise, and a contact that is more than `SAME_FLOOR_M` from all levels, as on a
stair, begins another one. Contacts are taken in the order of time: a level depends on those before it, and the first
one on those of the first second. So the beginning of a clip depends little on later frames, unless the floor changes by
more than a few centimetres: then other contacts are found.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from poise.arrays import Floats
from poise.motion.contact.ledger import Contact, find_kind, move_contact

__all__ = ["SAME_FLOOR_M", "level_contacts"]

# on a body of 1.75 m
SAME_FLOOR_M = 0.03  # contacts whose heights differ by more stand on different floors
SLACK_M = 0.015  # distance from its contacts at which a level follows them
FIRST_S = 1.0  # contacts that begin within this time of the first one give the first level together


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
