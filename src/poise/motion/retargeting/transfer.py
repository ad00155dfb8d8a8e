"""Contacts of a retargeted clip: detected in the source, and placed in the target.

Feet are detected as in any clip (`contacts`). A hand is in contact if it is slow and low, or stays in one place while
the hips move on, because it then holds a rail, a table or a wall.
"""

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from poise.anatomy import find_edges
from poise.arrays import Floats
from poise.errors import InvalidValue
from poise.kinematics import Motion
from poise.motion.contact.body_floor import measure_thickness
from poise.motion.contact.detector import HAND_RULE
from poise.motion.contact.detector import contacts as find_contacts
from poise.motion.contact.floor import measure_floor
from poise.motion.contact.ledger import Contact, Contacts, find_kind, is_of_foot
from poise.motion.contact.soles import list_soles, measure_size
from poise.motion.contact.standing_heights import SAME_FLOOR_M, STAIR_DEPTH_M, find_usual_heights
from poise.motion.retargeting.correspondence import CarryOver

__all__ = ["carry_contacts", "find_air", "find_holds", "measure_standing_ankle"]

Place = tuple[float, float, float]
WRIST_HEIGHT_M = 0.12  # largest height above the floor of the wrist of a hand whose palm lies on it
HIP_TRAVEL_M = 0.2  # of the hips while a hand stays: if they move further, the hand holds something
STANDING_PERCENTILE = 20.0  # of the heights of ankles in contact


def find_holds(
    clip: Motion, carrying: CarryOver, floor: float | None = None, known: Contacts | None = None
) -> Contacts:
    """Detect the contacts of the feet and hands of a clip; only of the hands if its body has no feet.

    `floor` is the height of the floor [m]; estimated by default. `known` are foot contacts that were found before.
    """
    try:
        feet = find_contacts(clip, floor=floor) if known is None else known
    except InvalidValue:
        feet = Contacts((), len(clip), clip.fps, floor)
    hands = [contact for side in "lr" for contact in find_hand_holds(clip, carrying, f"wrist_{side}", feet.floor)]
    return Contacts((*feet, *hands), len(clip), clip.fps, feet.floor)


def find_air(clip: Motion, ledger: Contacts) -> float:
    """Return the height above the floor of a clip without foot contacts [m]; 0 otherwise."""
    if ledger.floor is None or not list_soles(clip.model) or any(is_of_foot(contact) for contact in ledger):
        return 0.0
    lowest = find_contacts(clip).floor
    return 0.0 if lowest is None else lowest - ledger.floor


def find_hand_holds(clip: Motion, carrying: CarryOver, role: str, floor: float | None) -> list[Contact]:
    """List the contacts of a hand: on the floor, or in one place while the hips move on."""
    if role not in carrying.parts or "pelvis" not in carrying.theirs:
        return []
    frame, up, size = carrying.theirs[role], clip.model.up_direction, measure_size(clip)
    path, hips = clip.positions(frame), clip.positions(carrying.theirs["pelvis"])
    out = []
    for a, b in HAND_RULE.find_intervals(path, path @ up, clip.fps, size):
        low = floor is not None and float((path[a:b] @ up).max()) < floor + WRIST_HEIGHT_M * size
        holds = float(np.linalg.norm(np.ptp(hips[a:b], axis=0))) > HIP_TRAVEL_M * size
        if low or holds:
            place = path[a:b].mean(axis=0)
            out.append(Contact(frame, a, b, place=(place[0], place[1], place[2]), name=f"palm_{role[-1]}"))
    return out


def carry_contacts(
    carrying: CarryOver, ledger: Contacts, moved: Motion, size: float, rises: Mapping[Contact, float] | None = None
) -> Contacts:
    """Return the contacts of the source as contacts of the target, on a floor at height 0, at the places of `moved`.

    `size` is the size of the source relative to a person, in the unit of its file. `rises` are the known heights of
    contacts above the source's floor.
    """
    up = carrying.model.up_direction
    found, edges = [], find_edges(carrying.model)
    for contact in ledger:
        height = find_height(carrying, ledger, contact, size)
        if rises is not None and contact in rises:
            height = carrying.scales.path * rises[contact]
        point = find_point(carrying, contact, height is not None)
        if point is None or not can_hold(carrying, point[0]):
            continue
        resting = moved[contact.start : contact.end]
        place = resting.positions(*point).mean(axis=0)
        if height is not None:
            edge = edges.get(contact.name)
            above = 0.0 if edge is None else edge.stands
            above = above if is_of_foot(contact) else measure_thickness(resting, *point)
            leg = carrying.tips.get(contact.name.rpartition("_")[2])
            above = above if leg is None else leg.radius
            place = place + (height + above - place @ up) * up
        found.append(
            Contact(
                point[0],
                contact.start,
                contact.end,
                place=(place[0], place[1], place[2]),
                point=point[1],
                name=contact.name,
            )
        )
    return Contacts(
        tuple(merge(found)), len(moved), moved.fps, 0.0 if carrying.moves and ledger.floor is not None else None
    )


def merge(found: list[Contact]) -> list[Contact]:
    """Merge overlapping contacts of the same point: a foot may have one point for heel and toe."""
    out: list[Contact] = []
    for contact in sorted(found, key=lambda c: (c.frame, c.point, c.start)):
        last = out[-1] if out else None
        if last is None or (last.frame, last.point) != (contact.frame, contact.point) or contact.start >= last.end:
            out.append(contact)
        elif contact.end > last.end:
            out[-1] = replace(last, end=contact.end)
    return out


def find_point(carrying: CarryOver, contact: Contact, low: bool) -> tuple[str, Place] | None:
    """Return the frame and point of the target that correspond to a contact, or None.

    A hand that is `low` has its palm on the floor; a hand that holds something is held at the wrist.
    """
    known, leg = carrying.roles[0].contacts, carrying.tips.get(contact.name.rpartition("_")[2])
    if leg is not None:
        return leg.frame, leg.point
    if low and contact.name in known:
        return known[contact.name].frame, known[contact.name].point
    if is_of_foot(contact):
        own = known.get(contact.name) or known.get(f"sole_1_{contact.name[-1:]}")
        return None if own is None else (own.frame, own.point)
    for pair in carrying.parts:
        if pair.source == contact.frame:
            return pair.target, (0.0, 0.0, 0.0)
    return None


def can_hold(carrying: CarryOver, frame: str) -> bool:
    """Return whether the frame depends on a joint that may move."""
    above = [joint for joint in carrying.model.joints_above(frame) if joint.nv]
    return carrying.joints is None or any(carrying.may_move(joint.name, joint.frame) for joint in above)


def find_height(carrying: CarryOver, ledger: Contacts, contact: Contact, size: float) -> float | None:
    """Return the height of a contact in the target's world [m]: 0 on the floor, other on a stair; None if unknown."""
    if contact.place is None or ledger.floor is None:
        return None
    up = carrying.source.up_direction
    own = float(np.array(contact.place) @ up)
    if not is_of_foot(contact):
        low = own - ledger.floor < 2.0 * WRIST_HEIGHT_M * size
        wrist = 0.0 if contact.name in carrying.roles[0].contacts else carrying.scales.path * (own - ledger.floor)
        return wrist if low else None
    usual = find_usual_heights(ledger, up)[find_kind(contact.name)]
    lies_on_floor = own < usual and own > ledger.floor - STAIR_DEPTH_M * size  # others of its kind stand higher
    return carrying.scales.path * (own - usual) if abs(own - usual) > SAME_FLOOR_M * size and not lies_on_floor else 0.0


def measure_standing_ankle(
    carrying: CarryOver, T: Floats, ledger: Contacts, rises: Mapping[Contact, float] | None = None
) -> float:
    """Return the height of the standing ankles of a clip [m]: the 20th percentile of their heights in contact.

    Without contacts it is the 2nd percentile of all heights, as for the floor. `rises` are known heights of contacts
    above the floor, which are subtracted.
    """
    known: Mapping[Contact, float] = {} if rises is None else rises
    up, heights, stands = carrying.model.up_direction, [], False
    for side in "lr":
        if f"ankle_{side}" not in carrying.theirs:
            continue
        path = T[:, carrying.at[carrying.theirs[f"ankle_{side}"]], :3, 3] @ up
        feet = [c for c in ledger if c.name.endswith(f"_{side}") and not c.name.startswith("palm")]
        own = [path[c.start : c.end] - known.get(c, 0.0) for c in feet]
        stands = stands or bool(own)
        heights += own or [path]
    if not heights:
        return 0.0
    every = np.concatenate(heights)
    return float(np.percentile(every, STANDING_PERCENTILE)) if stands else measure_floor(every)
