"""Soles with corners: a foot stands flat or on an edge, with no corner below the floor.

While the middle of an edge stands on the floor, both of its corners do: this is one equation, not two inequalities.
Corners of edges that do not stand stay above the floor, and so do those of standing edges that cannot be laid flat.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from poise.anatomy import ContactPoint, Roles
from poise.anatomy import roles as find_roles
from poise.arrays import Floats
from poise.goals import HalfSpace, Inside, OnPlane
from poise.goals.inside import pack_region
from poise.goals.on_plane import pack_axis
from poise.kinematics import Motion
from poise.model import Model
from poise.model.memo import MemoTable
from poise.motion.clips.whole_clip import ClipGoal
from poise.motion.contact.ledger import Contacts

__all__ = ["Edge", "find_edges", "find_tipping", "list_edge_goals", "measure_levels"]

NEAR_FLOOR_M = 0.15  # a corner that stays higher above the floor cannot sink into it when others are held


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


def list_edge_goals(
    clip: Motion,
    ledger: Contacts,
    floors: dict[str, float] | None = None,
    size: float = 1.0,
    levels: dict[str, Floats] | None = None,
) -> list[ClipGoal]:
    """List goals that keep corners of soles on the floor while their edge stands, and above it otherwise.

    Args:
        clip: The motion.
        ledger: Its contacts.
        floors: The floor height below edges that cannot be laid flat and edges that never stand, by name [m].
        size: The size of the body relative to a person.
        levels: The height under edges that cannot be laid flat, by name, (frames,) [m]; nan while they do not stand.
    """
    up = clip.model.up_direction
    out: list[ClipGoal] = []
    for side in "lr":
        edges = [edge for edge in find_edges(clip.model, side) if edge.lies]
        stands = {edge.name: measure_levels(ledger, edge.name, up) for edge in edges}
        for edge in edges:
            own = stands[edge.name]
            others = [stands[other.name] for other in edges if other.name != edge.name]
            if np.isnan(own).all():
                continue  # it never stands: see below
            front = edge.name.startswith("toe")  # if both edges stand, the front one is enough
            alone = ~np.isnan(own) & (front | np.isnan(others[0]) if others else True)
            if alone.any():
                out.append(lay_edge(clip, edge, own, alone, up))
            floor = np.full(len(clip), np.nanmin(own))
            out += raise_corners(clip, edge, floor, np.isnan(own), NEAR_FLOOR_M * size)
        for edge in (edge for edge in find_edges(clip.model, side) if edge.name in (floors or {})):
            below = None if edge.lies else (levels or {}).get(edge.name)
            out += raise_edge(clip, ledger, edge, (floors or {})[edge.name], below, NEAR_FLOOR_M * size)
    return out


def raise_edge(
    clip: Motion, ledger: Contacts, edge: Edge, floor: float, below: Floats | None, near: float
) -> list[ClipGoal]:
    """List goals that keep an edge above the floor while it is free, and above `below` while it stands."""
    free = np.isnan(measure_levels(ledger, edge.name, clip.model.up_direction))
    if below is None:
        return raise_corners(clip, edge, np.full(len(clip), floor), free, near)
    every = np.ones(len(clip), dtype=bool)
    return raise_corners(clip, edge, np.where(free, floor, below), every, np.where(free, near, np.inf))


def raise_corners(
    clip: Motion, edge: Edge, floor: Floats, wanted: NDArray[np.bool_], near: Floats | float
) -> list[ClipGoal]:
    """List goals that keep the corners of an edge above the floor in some frames, if they come nearer than `near`."""
    raised = [raise_corner(clip, edge, i, floor, wanted, near) for i in range(len(edge.corners))]
    return [goal for goal in raised if goal is not None]


EDGES = MemoTable[str, tuple[Edge, ...]]("edges of the soles by side")


def find_edges(model: Model, side: str) -> tuple[Edge, ...]:
    """List the edges of a sole known from shapes or a mesh; empty for a foot of bones only."""
    return model.memo.look_up(EDGES, side, lambda: tuple(look_for_edges(model, side)))


def look_for_edges(model: Model, side: str) -> Iterator[Edge]:
    """List the edges of a sole, found from its points in the rest pose."""
    roles = find_roles(model)
    known = roles.contacts
    lies = can_lie(model, roles, side)
    middles = [known[name] for name in (f"toe_{side}", f"heel_{side}") if name in known]
    corners = [p for name, p in known.items() if name.startswith("sole_") and name.endswith(f"_{side}")]
    if len(middles) < 2 or any(p.evidence not in ("shapes", "mesh") for p in (*middles, *corners)):
        return
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
    yield from (replace(edge, stands=max(0.0, -deepest)) for edge in found)


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


def lay_edge(clip: Motion, edge: Edge, levels: Floats, stands: NDArray[np.bool_], up: Floats) -> ClipGoal:
    """Return the goal that lays an edge flat: one of its corners is at its flat height while the middle stands."""
    corner, rise = edge.corners[0], edge.rises[0]
    goal = OnPlane(corner.frame, np.zeros(3), up, at=corner.point, name=f"{edge.name} lies flat")
    targets = np.tile(pack_axis((0.0, 0.0, 0.0), tuple(up.tolist())), (len(clip), 1))
    targets[:, 9:] = np.outer(np.where(stands, levels, 0.0) + rise, up)
    return ClipGoal(goal, targets, stands.astype(np.float64), hard=True)


def raise_corner(
    clip: Motion, edge: Edge, i: int, floor: Floats, wanted: NDArray[np.bool_], near: Floats | float
) -> ClipGoal | None:
    """Return the goal that keeps a corner above a floor height per frame, or None if it never comes near."""
    corner, level, up = edge.corners[i], floor + edge.rises[i], clip.model.up_direction
    low = wanted & (clip.positions(corner.frame, corner.point) @ up < level + near)
    if not low.any():
        return None
    regions = {height: HalfSpace(height * up, -up) for height in dict.fromkeys(level[low].tolist())}
    first, name = next(iter(regions.values())), f"{corner.name} above the floor"
    targets = np.array([pack_region((regions.get(height, first),)) for height in level.tolist()])
    goal = Inside(corner.frame, first, point=corner.point, name=name)
    return ClipGoal(goal, targets if len(regions) > 1 else None, low.astype(np.float64), hard=True)


def place_point(model: Model, point: ContactPoint) -> Floats:
    """Return the position of a contact point in the rest pose [m]."""
    T = model.fk(model.rest, point.frame)
    place: Floats = T[:3, :3] @ np.array(point.point) + T[:3, 3]
    return place
