"""Planted soles: a foot whose heel and toe stand holds its sole, not only the line between them.

Two points leave a foot free to roll about their line. A third point beside the heel fixes the roll:

    a = u x (toe - heel) / |u x (toe - heel)|        the direction across the sole, u being up
    third point = heel + SIDE_SHARE |toe - heel| a

A foot whose ankle has one axis cannot be laid flat, and keeps its two points.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from poise.anatomy import find_feet
from poise.arrays import Floats
from poise.kinematics import Motion
from poise.model import Model
from poise.motion.contact.ledger import Contact, Contacts

__all__ = ["hold_soles", "list_planted", "measure_roll"]

SIDE_SHARE = 0.3  # of the length of a sole: distance of the third point from the heel


def hold_soles(clip: Motion, ledger: Contacts) -> Contacts:
    """Add the third point of every sole whose heel and toe stand; all contacts need places.

    The sole keeps the roll that it has in the clip at the start of the contact.
    """
    added = tuple(make_third(clip, heel, toe) for heel, toe in list_planted(clip.model, ledger))
    return replace(ledger, intervals=(*ledger.intervals, *added))


def list_planted(model: Model, ledger: Contacts) -> Iterator[tuple[Contact, Contact]]:
    """List the heels and toes that stand together, both cut to their common frames, of feet that can lie flat."""
    for foot in (foot for foot in find_feet(model) if foot.lies):
        heels, toes = ([c for c in ledger if c.name == f"{part}_{foot.side}"] for part in ("heel", "toe"))
        for heel, toe in ((heel, toe) for heel in heels for toe in toes):
            start, end = max(heel.start, toe.start), min(heel.end, toe.end)
            if start < end:
                yield replace(heel, start=start, end=end), replace(toe, start=start, end=end)


def make_third(clip: Motion, heel: Contact, toe: Contact) -> Contact:
    """Return the third point of a planted sole."""
    first, up = clip[heel.start], clip.model.up_direction
    T = first.transform(heel.frame)
    at = T.apply(heel.point)
    along = first.transform(toe.frame).apply(toe.point) - at
    point = T.inverse().apply(at + SIDE_SHARE * np.linalg.norm(along) * find_across(along, up))
    assert heel.place is not None, "places are filled before"
    assert toe.place is not None, "places are filled before"
    way = np.subtract(toe.place, heel.place)
    place = np.array(heel.place) + SIDE_SHARE * np.linalg.norm(along) * find_across(way, up)
    side = heel.name.rpartition("_")[2]
    return replace(heel, point=tuple(point.tolist()), place=tuple(place.tolist()), name=f"sole_{side}")


def measure_roll(motion: Motion, heel: Contact, toe: Contact) -> Floats:
    """Return the sideways roll of a planted sole since the start of its contact, (frames,) [rad]."""
    held, up = motion[heel.start : heel.end], motion.model.up_direction
    R = motion.model.fk(held.q, heel.frame)[:, :3, :3]
    along = held[0].transform(toe.frame).apply(toe.point) - held[0].transform(heel.frame).apply(heel.point)
    across = R[0].T @ find_across(along, up)
    lean: Floats = np.arcsin(np.clip(R @ across @ up, -1.0, 1.0))
    return lean


def find_across(along: Floats, up: Floats) -> Floats:
    """Return the level unit vector across a direction."""
    across = np.cross(up, along)
    out: Floats = across / max(float(np.linalg.norm(across)), 1e-12)
    return out
