"""Consistent places: points of one rigid foot keep their distance, so their places must have it too."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from poise.arrays import Floats
from poise.kinematics import Motion
from poise.motion.contact.ledger import Contact, Contacts, move_contact

__all__ = ["MAX_PLACE_SHIFT", "fit_places", "measure_shift"]

RIGID_CHANGE = 1e-4  # relative to L: points whose distance changes by less belong to one rigid part
MAX_PLACE_SHIFT = 0.03  # relative to L: places that would move further contradict each other and are released
MAX_SWEEPS = 40  # passes over all pairs; chains of overlapping contacts converge in a few


def fit_places(clip: Motion, ledger: Contacts) -> Contacts:
    """Move the places of points of one foot horizontally until their distances match those of the foot."""
    pairs = list_pairs(clip, ledger)
    if not pairs:
        return ledger
    up = clip.model.up_direction
    places = [None if c.place is None else np.array(c.place) for c in ledger]
    for _ in range(MAX_SWEEPS):
        worst = max(fit_pair(places, a, b, far, up, MAX_PLACE_SHIFT * clip.model.length) for a, b, far in pairs)
        if worst < 1e-12:
            break
    moved = [
        contact if place is None else move_contact(contact, place)
        for contact, place in zip(ledger, places, strict=True)
    ]
    return replace(ledger, intervals=tuple(moved))


def fit_pair(places: list[Floats | None], a: int, b: int, far: float, up: Floats, most: float) -> float:
    """Move two places horizontally, each by half, until their distance is `far`; return the change of distance [m].

    Places that would need more than `most` [m] contradict each other and stay unchanged.
    """
    first, second = places[a], places[b]
    if first is None or second is None:
        return 0.0
    apart = second - first
    rise = float(apart @ up)
    level = apart - rise * up
    length = float(np.linalg.norm(level))
    wanted = np.sqrt(max(far * far - rise * rise, 0.0))
    if length < 1e-9 or wanted < 1e-9:
        return 0.0
    if abs(wanted - length) > most:
        return 0.0
    shift = 0.5 * (wanted - length) * level / length
    places[a], places[b] = first - shift, second + shift
    return float(abs(wanted - length))


def list_pairs(clip: Motion, ledger: Contacts) -> list[tuple[int, int, float]]:
    """List pairs of contacts that overlap in time and are on one rigid part, with the distance of their points [m]."""
    out = []
    distances: dict[tuple[object, object], float | None] = {}
    for i, a in enumerate(ledger):
        for j, b in enumerate(ledger.intervals[i + 1 :], i + 1):
            if (a.frame, a.point) == (b.frame, b.point) or a.end <= b.start or b.end <= a.start:
                continue
            key = ((a.frame, a.point), (b.frame, b.point))
            if key not in distances:
                distances[key] = measure_distance(clip, a, b)
            far = distances[key]
            if far is not None:
                out.append((i, j, far))
    return out


def measure_distance(clip: Motion, a: Contact, b: Contact) -> float | None:
    """Return the distance between two points [m], or None if it changes over the clip."""
    few = clip[:: max(1, len(clip) // 50)]
    far = np.linalg.norm(few.positions(a.frame, a.point) - few.positions(b.frame, b.point), axis=1)
    return float(far.mean()) if np.ptp(far) < RIGID_CHANGE * clip.model.length else None


def measure_shift(before: Contacts, after: Contacts) -> float:
    """Return the largest change of a place [m]."""
    pairs = zip(before, after, strict=True)
    return max(
        (float(np.linalg.norm(np.subtract(b.place, a.place))) for a, b in pairs if a.place and b.place), default=0.0
    )
