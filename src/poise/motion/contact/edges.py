"""Soles with corners: a foot stands flat or on an edge, with no corner below the floor."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from poise.anatomy import ContactPoint, Roles
from poise.anatomy import roles as find_roles
from poise.arrays import Floats
from poise.model import Model
from poise.model.memo import keep_with_model
from poise.motion.contact.ledger import Contacts

__all__ = ["Edge", "find_edges", "find_tipping", "measure_levels"]


@dataclass(frozen=True, slots=True)
class Edge:
    """The front or rear edge of a sole.

    Attributes:
        name: The name of its middle, "toe_l" or "heel_r".
        corners: The corners of the sole that are nearer to this edge than to the other one.
        rises: The heights of the corners above the middle while the sole lies flat [m].
        lies: Whether the foot can be laid flat.
        stands: The height of the middle above the floor while the sole lies flat on its lowest corner [m].
    """

    name: str
    corners: tuple[ContactPoint, ...]
    rises: tuple[float, ...]
    lies: bool
    stands: float = 0.0


@keep_with_model
def find_edges(model: Model, side: str) -> tuple[Edge, ...]:
    """List the edges of a sole known from shapes or a mesh; empty for a foot of bones only."""
    roles = find_roles(model)
    known = roles.contacts
    lies = can_lie(model, roles, side)
    middles = [known[name] for name in (f"toe_{side}", f"heel_{side}") if name in known]
    corners = [p for name, p in known.items() if name.startswith("sole_") and name.endswith(f"_{side}")]
    if len(middles) < 2 or any(p.evidence not in ("shapes", "mesh") for p in (*middles, *corners)):
        return ()
    places = {p.name: place_point(model, p) for p in (*middles, *corners)}
    up = find_normal(model, roles, side, places, [p.name for p in middles])
    found = []
    for middle in middles:
        far = {p.name: np.linalg.norm(places[p.name] - places[middle.name]) for p in corners}
        other = next(p for p in middles if p is not middle)
        own = tuple(
            p
            for p in corners
            if p.frame == middle.frame and far[p.name] < np.linalg.norm(places[p.name] - places[other.name])
        )
        if len(own) == 2:
            rises = tuple(float((places[p.name] - places[middle.name]) @ up) for p in own)
            found.append(Edge(middle.name, own, rises, lies))
    deepest = min((rise for edge in found for rise in edge.rises), default=0.0)
    return tuple(replace(edge, stands=max(0.0, -deepest)) for edge in found)


def find_normal(model: Model, roles: Roles, side: str, places: dict[str, Floats], middles: list[str]) -> Floats:
    """Return the upward normal of a sole in the rest pose, in which the sole may be tilted.

    It is the normal of the plane through its points, corrected so that both middles are at the same height.
    """
    points = np.array(list(places.values()))
    normal = np.linalg.svd(points - points.mean(axis=0))[2][2]
    ahead = places[middles[0]] - places[middles[1]]
    normal = normal - (normal @ ahead) / (ahead @ ahead) * ahead
    knee = roles.get(f"knee_{side}")
    above = model.up_direction if knee is None else model.fk(model.rest, knee)[:3, 3] - points.mean(axis=0)
    up: Floats = normal / np.linalg.norm(normal) * (1.0 if normal @ above >= 0.0 else -1.0)
    return up


def find_tipping(model: Model) -> dict[str, ContactPoint]:
    """Return the middle points of edges that cannot be laid flat, by name: these stand on a corner."""
    known = find_roles(model).contacts
    return {edge.name: known[edge.name] for side in "lr" for edge in find_edges(model, side) if not edge.lies}


def can_lie(model: Model, roles: Roles, side: str) -> bool:
    """Return whether an ankle has at least two rotation axes; with only one, the foot tilts sideways with the leg."""
    knee, foot = roles.get(f"knee_{side}"), roles.get(f"foot_{side}")
    if knee is None or foot is None:
        return False
    above = {joint.name for joint in model.joints_above(knee)}
    return sum(joint.nv for joint in model.joints_above(foot) if joint.name not in above) >= 2


def measure_levels(ledger: Contacts, name: str, up: Floats) -> Floats:
    """Return the height of a point at each frame while it stands, (frames,); nan otherwise."""
    out = np.full(ledger.frames, np.nan)
    for contact in ledger:
        if contact.name == name and contact.place is not None:
            out[contact.start : contact.end] = np.array(contact.place) @ up
    return out


def place_point(model: Model, point: ContactPoint) -> Floats:
    """Return the position of a contact point in the rest pose [m]."""
    T = model.fk(model.rest, point.frame)
    place: Floats = T[:3, :3] @ np.array(point.point) + T[:3, 3]
    return place
