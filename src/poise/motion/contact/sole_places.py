"""Places of soles: those of the points of one foot that stand together must fit its shape.

- Points of one rigid foot keep their distance, so their places must have it too (`fit_places`).
- Two points leave a foot free to roll about their line. A foot whose heel and toe stand holds its sole by a third point
  beside the heel (`hold_soles`), u being up:

      a = u x (toe - heel) / |u x (toe - heel)|        the direction across the sole
      third point = heel + SIDE_SHARE |toe - heel| a

- A foot whose ankle has one axis cannot be laid flat: it rolls onto its edge as the leg leans sideways, and keeps its
  two points. The middle of a standing edge is still held in one place. The height of that place above the floor is the
  largest depth of the lower corner below the middle during the contact (`TiltedSoles`). The solve that holds it may
  lean differently from the one that gave the height, so it also keeps the corners above the floor (`edge_goals`).
"""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from poise.anatomy import Edge, find_edges, find_feet
from poise.arrays import Floats
from poise.kinematics import Motion
from poise.model import Model
from poise.motion.contact.ledger import Contact, Contacts, move_contact
from poise.motion.contact.standing_heights import measure_levels

__all__ = [
    "MAX_PLACE_SHIFT",
    "TiltedSoles",
    "find_stretch",
    "fit_places",
    "hold_soles",
    "list_planted",
    "measure_roll",
    "measure_shift",
]

RIGID_CHANGE = 1e-4  # relative to L: points whose distance changes by less belong to one rigid part
MAX_PLACE_SHIFT = 0.03  # relative to L: places that would move further contradict each other and are released
MAX_SWEEPS = 40  # passes over all pairs; chains of overlapping contacts converge in a few
SIDE_SHARE = 0.3  # of the length of a sole: distance of the third point from the heel
SPARE_HEIGHT_M = 2e-4  # added to the smallest height of a place, because a held foot leans slightly differently
LEAST_LEVEL_M = 1e-9  # horizontal distance of two places: nearer ones show no direction in which to move apart


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
    shift = find_stretch(first, second, far, up)
    change = float(np.linalg.norm(shift))
    if change > most:
        return 0.0
    places[a], places[b] = first - 0.5 * shift, second + 0.5 * shift
    return change


def find_stretch(first: Floats, second: Floats, far: float, up: Floats) -> Floats:
    """Return the horizontal shift of a place that gives it the distance `far` from the first one [m].

    It is zero if their heights or their direction do not allow that.
    """
    apart = second - first
    rise = float(apart @ up)
    level = apart - rise * up
    length, wanted = float(np.linalg.norm(level)), float(np.sqrt(max(far * far - rise * rise, 0.0)))
    possible = length > LEAST_LEVEL_M and wanted > LEAST_LEVEL_M
    out: Floats = (wanted - length) / length * level if possible else np.zeros(3)
    return out


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
        level, place = np.nanmin(self.levels[contact.name][contact.start : contact.end]), np.array(contact.place)
        height = float(level) + (deepest + SPARE_HEIGHT_M if deepest > SPARE_HEIGHT_M else 0.0)
        return move_contact(contact, place + (height - float(place @ up)) * up)
