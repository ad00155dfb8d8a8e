"""Goals on the edges of soles: the corners of a standing edge lie on the floor, and all others stay above it.

While the middle of an edge stands on the floor, both of its corners do: this is one equation, not two inequalities.
Corners of edges that do not stand stay above the floor, and so do those of standing edges that cannot be laid flat.
"""

import numpy as np
from numpy.typing import NDArray

from poise.anatomy import Edge, find_feet
from poise.arrays import Floats
from poise.goals import HalfSpace, Inside, OnPlane
from poise.goals.inside import pack_region
from poise.goals.on_plane import pack_axis
from poise.kinematics import Motion
from poise.motion.clips.whole_clip import ClipGoal
from poise.motion.contact.ledger import Contacts
from poise.motion.contact.standing_heights import measure_levels

__all__ = ["list_edge_goals"]

NEAR_FLOOR_M = 0.15  # a corner that stays higher above the floor cannot sink into it when others are held


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
    for foot in find_feet(clip.model):
        edges = foot.edges if foot.lies else ()
        stands = {edge.name: measure_levels(ledger, edge.name, up) for edge in edges}
        for edge in edges:
            own = stands[edge.name]
            others = [stands[other.name] for other in edges if other.name != edge.name]
            if np.isnan(own).all():
                continue  # it never stands: see below
            front = edge.name.startswith("toe")  # if both edges stand, the front one is enough
            alone = ~np.isnan(own) & (front | np.isnan(others[0]) if others else True)
            if alone.any():
                out.append(lay_edge(clip, ledger, edge, alone))
            floor = np.full(len(clip), np.nanmin(own))
            out += raise_corners(clip, edge, floor, np.isnan(own), NEAR_FLOOR_M * size)
        for edge in (edge for edge in foot.edges if edge.name in (floors or {})):
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


def raise_corner(
    clip: Motion, edge: Edge, i: int, floor: Floats, wanted: NDArray[np.bool_], near: Floats | float
) -> ClipGoal | None:
    """Return the goal that keeps a corner above a floor height per frame, or None if it never comes near."""
    corner, level, up = edge.corners[i], floor + edge.rises[i], clip.model.up_direction
    low = wanted & (clip.positions(corner.frame, corner.point) @ up < level + near)
    if not low.any():
        return None
    heights = level[low]
    first, name = HalfSpace(heights[0] * up, -up), f"{corner.name} above the floor"
    goal = Inside(corner.frame, first, point=corner.point, name=name)
    if (heights == heights[0]).all():
        return ClipGoal(goal, None, low.astype(np.float64), hard=True)
    targets = np.tile(pack_region((first,)), (len(clip), 1))
    targets[low, -1] = -heights
    return ClipGoal(goal, targets, low.astype(np.float64), hard=True)


def lay_edge(clip: Motion, ledger: Contacts, edge: Edge, stands: NDArray[np.bool_]) -> ClipGoal:
    """Return the goal that lays an edge flat: one of its corners is at its flat height while the middle stands."""
    corner, rise, up = edge.corners[0], edge.rises[0], clip.model.up_direction
    goal = OnPlane(corner.frame, np.zeros(3), up, at=corner.point, name=f"{edge.name} lies flat")
    targets = np.tile(pack_axis((0.0, 0.0, 0.0), tuple(up.tolist())), (len(clip), 1))
    targets[:, 9:] = rise * up
    for contact in ledger:
        if contact.name == edge.name and contact.place is not None:
            normal = up if contact.normal is None else np.array(contact.normal)
            at = (np.array(contact.place) @ normal + rise) * normal
            targets[contact.start : contact.end] = pack_axis(tuple(at.tolist()), tuple(normal.tolist()))
    return ClipGoal(goal, targets, stands.astype(np.float64), hard=True)
