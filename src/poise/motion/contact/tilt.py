"""Feet that cannot be laid flat: an ankle with one axis rolls the sole onto its edge as the leg leans sideways.

The middle of a standing edge is still held in one place. The height of that place above the floor is the largest depth
of the lower corner below the middle during the contact. The solve that holds it may lean differently from the one that
gave the height, so it also keeps the corners above the floor (`edges`).
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from poise.anatomy import Edge, find_edges
from poise.kinematics import Motion
from poise.model import Model
from poise.motion.contact.ledger import Contact, Contacts, move_contact
from poise.motion.contact.standing_heights import measure_levels

__all__ = ["TiltedSoles"]

SPARE_HEIGHT_M = 2e-4  # added to the smallest height of a place, because a held foot leans slightly differently


class TiltedSoles:
    """The edges of soles that cannot be laid flat, and the floor heights below them.

    Attributes:
        edges: The edges, by the name of their middle.
        levels: The floor height below each edge, (frames,) [m]; nan while it does not stand.
    """

    def __init__(self, model: Model, ledger: Contacts) -> None:
        self.edges: dict[str, Edge] = {name: edge for name, edge in find_edges(model).items() if not edge.lies}
        self.levels = {name: measure_levels(ledger, name, model.up_direction) for name in self.edges}

    def list_floors(self) -> dict[str, float]:
        """Return the lowest height that each point stands on, by name [m]; points that never stand are omitted."""
        known = {name: levels[~np.isnan(levels)] for name, levels in self.levels.items()}
        return {name: float(levels.min()) for name, levels in known.items() if levels.size}

    def raise_places(self, clip: Motion, ledger: Contacts) -> Contacts:
        """Raise the places so that no corner is below its floor at the lean of a clip."""
        return replace(ledger, intervals=tuple(self._raise(clip, contact) for contact in ledger))

    def _raise(self, clip: Motion, contact: Contact) -> Contact:
        edge = self.edges.get(contact.name)
        if edge is None or contact.place is None:
            return contact
        held, up = clip[contact.start : contact.end], clip.model.up_direction
        middle = held.positions(contact.frame, contact.point) @ up
        corners = [
            held.positions(corner.frame, corner.point) @ up - rise
            for corner, rise in zip(edge.corners, edge.rises, strict=True)
        ]
        deepest = float((middle - np.min(corners, axis=0)).max())
        level = float(np.nanmin(self.levels[contact.name][contact.start : contact.end]))
        height = level + (deepest + SPARE_HEIGHT_M if deepest > SPARE_HEIGHT_M else 0.0)
        place = np.array(contact.place) + (height - float(np.array(contact.place) @ up)) * up
        return move_contact(contact, place)
