"""Floors: every sole of a body has one, whether or not it ever stands.

A point that stands is kept above the lowest place where it does. A point that never stands is kept above the ground, if
that is known: a clip in which nothing stands still, such as a run, would go through the floor otherwise.
"""

from __future__ import annotations

import numpy as np

from poise.anatomy import roles as find_roles
from poise.errors import InvalidValue
from poise.model import Model
from poise.motion.contact.ledger import Contact, Contacts
from poise.motion.contact.soles import SolePoint, find_soles

__all__ = ["STAIR_DEPTH_M", "is_of_foot", "list_soles", "list_swinging"]

STAIR_DEPTH_M = 0.02  # of a person: a contact so far below the floor is on a stair that goes down, and does not sink


def list_soles(model: Model) -> list[SolePoint]:
    """List the points with which a body stands; none if it has no feet."""
    try:
        return find_soles(model)
    except InvalidValue:
        return []


def list_swinging(model: Model, ledger: Contacts, *, carried: bool = False) -> tuple[list[SolePoint], float]:
    """List the soles of a body that never stand, and the height of the ground below them.

    The list is empty if the ground is unknown, as in a ledger of hands alone. For a motion that is `carried` to this
    body they are its contact points themselves, as those that stand are.
    """
    feet = [contact for contact in ledger if is_of_foot(contact)]
    if ledger.floor is None or (len(ledger) and not feet):
        return [], 0.0
    up = model.up_direction
    places = [float(np.array(contact.place) @ up) for contact in feet if contact.place is not None]
    names, points = {c.name for c in ledger}, {(c.frame, c.point) for c in ledger}
    soles, known = list_soles(model), find_roles(model).contacts
    if carried:
        soles = [SolePoint(s.name, known[s.name].frame, known[s.name].point) for s in soles]
    free = [sole for sole in soles if sole.name not in names and (sole.frame, sole.point) not in points]
    return free, min([ledger.floor, *places])


def is_of_foot(contact: Contact) -> bool:
    """Return whether a contact belongs to a heel, a toe or a sole."""
    return contact.name.startswith(("heel", "toe", "sole"))
