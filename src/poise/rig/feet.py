"""Feet: what a body stands on, and how a foot rolls.

A planted foot is a hinge. Its ball stays, and the heel rises about an axis across the foot:

    f   ahead, along the sole from the heel to the toes, level in the rest pose
    s = u x f                    the axis about which the heel rises, u being up
    ball                         the joint of the toes; of a foot without such a joint, the middle of the front edge

The points of the sole are the lowest places of the foot and of its toes (`poise.goals.contacts`). Where a skeleton has
no point at the heel, it is put under the ankle and behind it by BEHIND of the way from there to the tip.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from poise.goals.contacts import LAYER, Contact, drop_repeated, find_parent, list_corners
from poise.kinematics.parts import find_rigid_parts
from poise.model import Model
from poise.rig.targets import find_ahead

__all__ = ["Foot", "Place", "find_foot"]

Floats = NDArray[np.float64]
Triple = tuple[float, float, float]
Place = tuple[str, Triple]

ORIGIN: Triple = (0.0, 0.0, 0.0)
BEHIND = 0.3  # of the way from the ankle to the tip: how far behind the ankle a heel is that no frame marks
FRONT = 0.1  # of the length of a sole: so near to its foremost point is its front edge, to the last its rear edge
SHORT = 0.01  # of L: a sole that is shorter is a point
MOST = 8  # points of a sole


@dataclass(frozen=True, slots=True)
class Foot:
    """A foot of a body.

    Attributes:
        frame: The frame that carries the foot.
        ball: Where it stays when the heel rises, a point of `frame` [m].
        toes: The frame of the toes where a joint moves them; None where the foot is one piece.
        side: The axis about which the heel rises, in `frame`; None where the foot is a point.
        up: What is up on a flat foot, in `frame`.
        front: Points of the sole that stay on the ground when the heel rises: frames and points on them.
        heel: Points of the sole at its rear edge.
        hinged: Whether the joint of the toes is a hinge, which then holds the side axis by itself.
    """

    frame: str
    ball: Triple
    toes: str | None
    side: Triple | None
    up: Triple
    front: tuple[Place, ...]
    heel: tuple[Place, ...]
    hinged: bool = False

    @property
    def sole(self) -> tuple[Place, ...]:
        """All points of the sole."""
        return (*self.front, *self.heel)


def find_foot(model: Model, frame: str, q: Floats | None = None) -> Foot:
    """Return the foot that a frame is on.

    Args:
        model: The body.
        frame: A frame of the foot.
        q: A pose in which it stands, the rest pose unless given. The points of a sole say how it lies; where they are
            in one line, as of a skeleton, they say nothing of how it rolls to a side: in this pose it does not.
    """
    parts = find_rigid_parts(model)
    own = str(parts[frame] or frame)
    toes = find_toes(model, parts, own)
    near = {parts[frame], parts[toes or frame]}
    points = find_sole(model, {name for name in model.frames if parts[name] in near})
    T = model.fk(model.rest, own)
    at = {point: T[:3, :3].T @ (place_of(model, point) - T[:3, 3]) for point in points}  # in the foot's own axes
    up = T[:3, :3].T @ model.up_direction
    ahead = find_foot_ahead(model, own, toes, points)
    if ahead is None:
        ball = min(points, key=lambda point: float(at[point] @ up))
        return Foot(own, triple(at[ball]), None, None, triple(up), (ball,), ())
    ahead = T[:3, :3].T @ ahead
    if q is not None and is_line(model, list(at.values()), ahead):
        up = find_upright(model, own, ahead, q)
    along = {point: float(place @ ahead) for point, place in at.items()}
    first, last = max(along.values()), min(along.values())
    if toes is None:
        front = [point for point in points if along[point] >= first - FRONT * (first - last)]
        ball_at = np.mean([at[point] for point in front], axis=0)
    else:
        ball_at = T[:3, :3].T @ (place_of(model, (toes, ORIGIN)) - T[:3, 3])
        front = [point for point in points if parts[point[0]] == toes]
    heel = [point for point in points if along[point] <= last + FRONT * (first - last)]
    if not min(last, float(ball_at @ ahead)) < 0.0 or set(heel) & set(front):
        low = min(float(place @ up) for place in at.values())
        heel = [(own, triple(low * up - BEHIND * first * ahead))]
    return Foot(
        own,
        triple(ball_at),
        toes,
        triple(np.cross(up, ahead)),
        triple(up),
        tuple(front),
        tuple(heel),
        hinged=toes is not None and model.joint(str(model.frame(toes).joint)).nv == 1,
    )


def is_line(model: Model, places: list[Floats], ahead: Floats) -> bool:
    """Return whether the points of a sole are about in one line, so that they do not say how it rolls to a side."""
    beside = np.array([place - (place @ ahead) * ahead for place in places])
    return float(np.linalg.norm(np.ptp(beside, axis=0))) < LAYER * model.length


def find_upright(model: Model, own: str, ahead: Floats, q: Floats) -> Floats:
    """Return what is up on a foot that rolls to no side in a pose, across where it points to; in its own axes."""
    up = model.fk(q, own)[:3, :3].T @ model.up_direction
    across = up - (up @ ahead) * ahead
    size = float(np.linalg.norm(across))
    out: Floats = across / size if size > 0.1 else model.fk(model.rest, own)[:3, :3].T @ model.up_direction
    return out


def find_toes(model: Model, parts: dict[str | None, str | None], own: str) -> str | None:
    """Return the frame of the one part that hangs on a foot; None where nothing does, or several do, as claws."""
    found = {root for root in parts.values() if root is not None and parts[find_parent(model, root)] == own}
    return found.pop() if len(found) == 1 else None


def find_sole(model: Model, frames: set[str]) -> list[Place]:
    """Return the lowest places of some frames in the rest pose: their origins and the corners of their solids."""
    origins: list[Contact] = [(name, np.zeros(3)) for name in model.frames if name in frames]
    places = [(frame, triple(point)) for frame, point in (*origins, *list_corners(model, frames))]
    heights = [float(place_of(model, place) @ model.up_direction) for place in places]
    ground = min(heights) + LAYER * model.length
    low = [(frame, np.array(point)) for (frame, point), h in zip(places, heights, strict=True) if h <= ground]
    return keep_corners(model, [(frame, triple(point)) for frame, point in drop_repeated(model, low)])


def keep_corners(model: Model, points: list[Place]) -> list[Place]:
    """Return the outermost points, at most MOST of them."""
    if len(points) <= MOST:
        return points
    one, other = across(model.up_direction)
    at = np.array([place_of(model, point) for point in points])
    turns = np.arange(MOST) * (2.0 * np.pi / MOST)
    outermost = {int(np.argmax(at @ (np.cos(turn) * one + np.sin(turn) * other))) for turn in turns}
    return [points[k] for k in sorted(outermost)]


def find_foot_ahead(model: Model, own: str, toes: str | None, points: Sequence[Place]) -> Floats | None:
    """Return where a foot points to in the rest pose, level; None where it is a point.

    From the ankle to the toes; of a foot in one piece along its sole, to the side to which the body looks, or which is
    farther away from the ankle.
    """
    up, at = model.up_direction, place_of(model, (own, ORIGIN))
    if toes is not None:
        parts = find_rigid_parts(model)
        tips = [place_of(model, point) - at for point in ((toes, ORIGIN), *points) if parts[point[0]] == toes]
        ways = [way - (way @ up) * up for way in tips]
        way = max(ways, key=lambda way: float(np.linalg.norm(way)))
        size = float(np.linalg.norm(way))
        return None if size < SHORT * model.length else way / size
    places = np.array([place_of(model, point) for point in points])
    flat = places - np.outer(places @ up, up)
    longest = np.linalg.svd(flat - flat.mean(axis=0))[2][0]
    along = flat @ longest
    if float(np.ptp(along)) < SHORT * model.length:
        return None
    body = find_ahead(model)
    mean = float(longest @ body) if body is not None else 0.0
    if abs(mean) < 0.5:  # the sole is about as wide as long, or nobody knows where the body looks
        mean = float(along.max() + along.min() - 2.0 * (at @ longest))
    out: Floats = longest if mean >= 0.0 else -longest
    return out


def across(up: Floats) -> tuple[Floats, Floats]:
    """Return two directions across a direction."""
    one = np.cross(up, np.eye(3)[int(np.argmin(np.abs(up)))])
    one /= np.linalg.norm(one)
    return one, np.cross(up, one)


def place_of(model: Model, point: Place, q: Floats | None = None) -> Floats:
    """Return where a point of a frame is, in the rest pose unless q is given."""
    T = model.fk(model.rest if q is None else q, point[0])
    out: Floats = T[:3, :3] @ np.array(point[1]) + T[:3, 3]
    return out


def triple(x: Floats) -> Triple:
    """Return three plain numbers."""
    return float(x[0]), float(x[1]), float(x[2])
