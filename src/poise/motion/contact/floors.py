"""Floors: the height below every sole of a body, including soles that never stand.

A point is kept above the places at which it, or the same point of the other foot, stands before and after each frame.
Points of a kind that never stands are kept above the floor, if its height is known: otherwise a clip without contacts,
such as a run, would go through the floor.
"""

from __future__ import annotations

import numpy as np

from poise.anatomy import ContactPoint
from poise.anatomy import roles as find_roles
from poise.arrays import Floats
from poise.model import Model
from poise.motion.contact.ledger import Contact, Contacts
from poise.motion.contact.soles import list_soles

__all__ = ["STAIR_DEPTH_M", "find_heights_below", "is_of_foot", "list_swinging"]

STAIR_DEPTH_M = 0.02  # relative to a person's size: a contact this far below the floor is on a stair and does not sink


def list_swinging(model: Model, ledger: Contacts, *, carried: bool = False) -> tuple[list[ContactPoint], float]:
    """List the soles of a body that never stand, and the floor height below them [m].

    The list is empty if the floor is unknown or only hands are in contact. With `carried`, for a retargeted motion, the
    soles are the exact contact points of the body, like the points that stand.
    """
    feet = [contact for contact in ledger if is_of_foot(contact)]
    if ledger.floor is None or (len(ledger) and not feet):
        return [], 0.0
    up = model.up_direction
    places = [float(np.array(contact.place) @ up) for contact in feet if contact.place is not None]
    names, points = {c.name for c in ledger}, {(c.frame, c.point) for c in ledger}
    paws = {c.name.rpartition("_")[2] for c in ledger} & {"fl", "fr", "hl", "hr"}  # a paw stands on one point
    soles, known = list_soles(model), find_roles(model).contacts
    if carried:
        soles = [known[sole.name] for sole in soles]
    free = [
        sole
        for sole in soles
        if sole.name not in names
        and (sole.frame, sole.point) not in points
        and sole.name.rpartition("_")[2] not in paws
    ]
    return free, min([ledger.floor, *places])


def is_of_foot(contact: Contact) -> bool:
    """Return whether a contact belongs to a heel, a toe or a sole."""
    return contact.name.startswith(("heel", "toe", "sole"))


def find_heights_below(*stood: Floats) -> Floats:
    """Return the height of the floor below a point in each frame: the lowest at which points stand before and after it.

    Args:
        stood: The heights at which points stand in each frame, (frames,) [m]; nan while they do not.
    """
    frames, out = np.arange(len(stood[0])), np.full(len(stood[0]), np.nan)
    for heights in stood:
        known = np.flatnonzero(~np.isnan(heights))
        if len(known):
            after = known[np.minimum(np.searchsorted(known, frames), len(known) - 1)]
            before = known[np.maximum(np.searchsorted(known, frames, side="right") - 1, 0)]
            out = np.fmin(out, np.minimum(heights[before], heights[after]))
    return out
