"""Stances: contacts of a foot that overlap in time, placed on the surfaces of a scene.

Heel and toe of a stance stand on one plane: the slope between the grounds below them, or the level ground that is
nearest to the height of the source if that slope is an edge. A foot whose toes would be inside the next stair is moved
back. The hips rise by the mean difference between the grounds below both feet and the heights of the source.
"""

from dataclasses import dataclass, replace

import numpy as np

from poise.anatomy import Edge, find_edges
from poise.arrays import Floats
from poise.kinematics import Motion
from poise.motion.contact.curves import average
from poise.motion.contact.ledger import Contact, Contacts, is_of_foot, move_contact
from poise.motion.contact.scene import Scene

__all__ = ["PlacedContacts", "place_contacts"]

MOST_SLOPE = 0.7  # rise over run between heel and toe; steeper grounds are edges
PUSH_SHARE, PUSH_STEPS = 0.005, 20  # of the body's length, and their number: how a foot is moved out of a stair
MOST_PUSH_SHARE = 0.08  # of the body's length: largest distance by which a foot is moved
WALL_SHARE, WALL_SLOPE = 0.005, 0.3  # gap to walls, of the body's length; cosine of the angle between up and a normal
PROBE_SHARE = 0.008  # of the body's length: distance at which the slope across a foot is measured
SMOOTH_S = 0.12  # half the time over which a rise of the hips begins and ends


@dataclass(frozen=True, eq=False)
class PlacedContacts:
    """Contacts on the surfaces of a scene.

    Attributes:
        ledger: The contacts.
        lift: The height by which the hips rise, (frames,) [m].
        highest_step: The largest height between successive footholds [m].
    """

    ledger: Contacts
    lift: Floats
    highest_step: float


def place_contacts(scene: Scene, clip: Motion, ledger: Contacts) -> PlacedContacts:
    """Place the contacts of a clip, whose heights are those of its scaled source, on the surfaces of a scene."""
    placed, lifts = [c for c in ledger if not is_of_foot(c)], list[Floats]()
    placed = [place_palm(scene, c) for c in placed]
    grounds: list[tuple[int, float]] = []
    for side in ("l", "r"):
        own, knots = [c for c in ledger if is_of_foot(c) and c.name.endswith(f"_{side}")], list[tuple[int, float]]()
        for stance in part_stances(own):
            stood, rise, ground = place_stance(scene, clip, stance)
            placed += stood
            start, end = min(c.start for c in stance), max(c.end for c in stance) - 1
            knots += [(start, rise), (end, rise)]
            grounds.append((start, ground))
        if knots:
            lifts.append(np.interp(np.arange(len(clip)), *np.array(sorted(knots)).T))
    levels = [height for _, height in sorted(grounds)]
    highest = float(np.abs(np.diff(levels)).max(initial=0.0))
    lift = smooth_lift(np.mean(lifts, axis=0), clip.fps) if lifts else np.zeros(len(clip))
    return PlacedContacts(replace(ledger, intervals=tuple(placed)), lift, highest)


def smooth_lift(lift: Floats, fps: float) -> Floats:
    """Return a lift averaged over about `SMOOTH_S` before and after each frame."""
    radius = max(1, round(SMOOTH_S * fps))
    return average(np.pad(lift, radius, mode="edge"), radius)


def part_stances(own: list[Contact]) -> list[list[Contact]]:
    """Group the contacts of one foot that overlap in time."""
    out, end = list[list[Contact]](), -1
    for contact in sorted(own, key=lambda c: c.start):
        if contact.start < end:
            out[-1].append(contact)
        else:
            out.append([contact])
        end = max(end, contact.end)
    return out


def place_palm(scene: Scene, contact: Contact) -> Contact:
    """Return the contact of a hand, raised to the ground if it is below."""
    place = np.array(contact.place)
    return move_contact(contact, place + max(float(scene.find_ground(place) - place @ scene.up), 0.0) * scene.up)


def place_stance(scene: Scene, clip: Motion, stance: list[Contact]) -> tuple[list[Contact], float, float]:
    """Place the contacts of a stance on the ground; return them, the rise from their heights, and the ground [m]."""
    up, edges = scene.up, find_edges(clip.model)
    above = np.array([edges[c.name].stands if c.name in edges else 0.0 for c in stance])
    places = np.array([c.place for c in stance])
    source = places @ up - above
    places = places - np.outer(above, up)
    places = push_back(scene, clip, stance, places, edges)
    heights = scene.find_ground(places)
    heel, toe = (np.array([c.name.startswith(kind) for c in stance]) for kind in ("heel", "toe"))
    if heel.any() and toe.any():
        a, b = (places[which].mean(axis=0) for which in (heel, toe))
        run = np.linalg.norm((b - a) - ((b - a) @ up) * up)
        low, high = heights[heel].mean(), heights[toe].mean()
        if abs(high - low) > MOST_SLOPE * run:
            heights[:] = max(low, high)  # the sole stands out over the edge
        else:
            heights[heel], heights[toe] = low, high
    normal = find_normal(scene, places, heights)
    moved = places + np.outer(heights + above - places @ up, up)
    out = [replace(move_contact(c, x), normal=normal) for c, x in zip(stance, moved, strict=True)]
    return out, float((heights - source).mean()), float(heights.mean())


def push_back(scene: Scene, clip: Motion, stance: list[Contact], places: Floats, edges: dict[str, Edge]) -> Floats:
    """Move a stance out of the walls next to it, such as that of the next stair; unchanged if that fails."""
    up, margin = scene.up, WALL_SHARE * scene.length
    toes, heels = ([x for c, x in zip(stance, places, strict=True) if c.name.startswith(n)] for n in ("toe", "heel"))
    rear = np.mean(heels or toes or list(places), axis=0)
    along = np.mean(toes or heels or list(places), axis=0) - rear
    along = along - (along @ up) * up
    along /= max(float(np.linalg.norm(along)), 1e-12)
    low = float(scene.find_ground(rear))
    corners = place_corners(clip, stance, places, edges, max(c.start for c in stance))
    corners += np.outer(low + margin - corners @ up, up)
    most, way = MOST_SLOPE * np.maximum((corners - rear) @ along, 0.0) + margin, np.zeros(3)
    for _ in range(PUSH_STEPS):
        gaps, normals, _ = scene.measure_gaps(corners + way)
        walls = (np.abs(normals @ up) < WALL_SLOPE) & (gaps < margin)
        if walls.any():
            k = int(np.argmin(np.where(walls, gaps, np.inf)))
            way = way + (margin + 1e-6 - gaps[k]) * (normals[k] - (normals[k] @ up) * up)
        elif (scene.find_ground(corners + way) - low > most).any():
            way = way - PUSH_SHARE * scene.length * along
        else:
            moved: Floats = places + way
            return moved if np.linalg.norm(way) < MOST_PUSH_SHARE * scene.length else places
    return places


def place_corners(clip: Motion, stance: list[Contact], places: Floats, edges: dict[str, Edge], t: int) -> Floats:
    """Return the points and corners of a stance, shifted with its contacts from the pose at frame `t`, (n, 3) [m]."""
    pose, out = clip[t], list(places)
    for contact, place in zip(stance, places, strict=True):
        if contact.name in edges:
            at = pose.transform(contact.frame).apply(contact.point)
            for corner in edges[contact.name].corners:
                out.append(pose.transform(corner.frame).apply(corner.point) - at + place)
    return np.array(out)


def find_normal(scene: Scene, places: Floats, heights: Floats) -> tuple[float, float, float]:
    """Return the normal of the ground at the highest place; up next to an edge."""
    up, top = scene.up, int(np.argmax(heights))
    x = places[top] + (heights[top] - places[top] @ up) * up
    first = np.cross(up, np.eye(3)[int(np.argmin(np.abs(up)))])
    normal, probe = np.array(up), scene.step * PROBE_SHARE / 0.15
    for way in (first, np.cross(up, first)):
        ahead, behind = (scene.find_ground(x + sign * probe * way) - heights[top] for sign in (1.0, -1.0))
        rises = float(ahead) / probe, -float(behind) / probe
        slope = min(rises, key=abs) if rises[0] * rises[1] > 0.0 else 0.0
        normal -= (slope if abs(slope) < MOST_SLOPE else 0.0) * way
    x, y, z = (normal / np.linalg.norm(normal)).tolist()
    return x, y, z
