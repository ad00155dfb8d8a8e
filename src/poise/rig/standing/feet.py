"""Feet that roll: the geometry of a planted foot, and its place in a pose.

A planted foot is a hinge. Its ball stays in place, and the heel rises about an axis across the foot:

    f   ahead, along the sole from the heel to the toes, level in the rest pose
    s = u x f                    the axis about which the heel rises, u being up
    ball                         the joint of the toes; without such a joint, the middle of the front edge

The points of the sole are those of `poise.anatomy.find_sole`; if only the ankle of a foot is known, they are estimated
from its height.

The higher a heel, the less weight it carries. Its support moves from the heel to the ball while the foot rotates by
RAISED_ANGLE: it is a point above the heel, at b / tan(RAISED_ANGLE), which is then over the ball; b is the length from
heel to ball.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from poise.anatomy import ContactPoint, find_sole
from poise.arrays import Floats, Triple
from poise.goals.contacts import LAYER
from poise.kinematics.parts import Place, find_place, find_rigid_parts, list_child_parts
from poise.model import Model
from poise.model.geometry.solids import ORIGIN, make_triple
from poise.rig.ends import is_machine
from poise.rig.targets import find_ahead
from poise.spatial import Rotation

__all__ = ["RollingFoot", "find_foot"]

EDGE_SHARE = 0.1  # of the length of a sole: distance from its foremost or rearmost point that belongs to that edge
REAR_NAMES = ("heel", "sole_3", "sole_4")
SHORTEST_SOLE = 0.01  # relative to L: a shorter sole is a point
SOLE_PER_ANKLE_HEIGHT = 0.6  # relative to the height of the ankle: a shorter sole is the end of a leg, and a point
ROUND_FOOT = 0.06  # relative to L: largest radius of a round foot
LEG_VELOCITIES = 5  # needed to hold the ball of a foot and its side; with fewer the foot is a point
ANKLE_PER_LEG = 0.09  # height of a person's ankle relative to the length of the leg
GUESSED_SOLE = ((1.6, -0.8), (0.5, -0.5))  # of the ankle's height, ahead and to the sides: an unknown sole
RAISED_ANGLE = 0.25  # rad: a heel raised by this angle carries nothing
RAISED_COSINE = math.cos(RAISED_ANGLE)


@dataclass(frozen=True, eq=False)
class RollingFoot:
    """A foot of a body that stands and rolls over its ball.

    Attributes:
        model: The body.
        handle: The frame that it was found for.
        frame: The frame that carries the foot.
        ball: The point that stays in place when the heel rises, in `frame` [m].
        toes: The frame of the toes if a joint moves them; None if the foot is one piece.
        side: The axis about which the heel rises, in `frame`; None if the foot is a point.
        up: The up direction of a flat foot, in `frame`.
        front: Points of the sole that stay on the ground when the heel rises: frames and points on them.
        heel: Points of the sole at its rear edge.
        hinged: Whether the joint of the toes is a hinge, which then fixes the side axis.
    """

    model: Model
    handle: str
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

    @property
    def is_bare(self) -> bool:
        """Whether only its last joint is known, and not its sole."""
        return self.side is None and self.frame == self.handle and self.ball == ORIGIN

    @cached_property
    def lift(self) -> float:
        """The height of its handle above its sole in the rest pose [m]."""
        at = self.model.fk(self.model.rest, self.handle)[:3, 3]
        return float(at @ self.model.up_direction) - self.find_ground(self.model.rest)

    @cached_property
    def _sole_rows(self) -> tuple[list[str], Floats]:
        """The frames of its sole, and its points: the index of the frame, x, y, z and 1."""
        frames = list(dict.fromkeys(frame for frame, _ in self.sole))
        return frames, np.array([(frames.index(frame), *point, 1.0) for frame, point in self.sole])

    def find_ground(self, q: Floats) -> float:
        """Return the height of the lowest point of its sole [m]."""
        frames, points = self._sole_rows
        rows = np.array([self.model.fk(q, frame)[self.model.up_axis] for frame in frames])
        return float((rows[points[:, 0].astype(int)] * points[:, 1:]).sum(axis=1).min())

    def find_front(self, q: Floats) -> Floats:
        """Return the transform of its toes, or of its ball for a foot in one piece, (4, 4)."""
        place: Floats = np.array(self.model.fk(q, self.toes or self.frame))
        if self.toes is None:
            place[:3, 3] += place[:3, :3] @ np.array(self.ball)
        return place

    def find_ball(self, q: Floats) -> Floats:
        """Return the transform of its toes (4, 4), or the position of its ball (3,) for a foot in one piece."""
        place = self.find_front(q)
        return place[:3, 3] if self.toes is None else place

    def find_flat(self, q: Floats) -> Floats:
        """Return its rotation after the shortest rotation that makes it flat, (3, 3)."""
        R: Floats = self.model.fk(q, self.frame)[:3, :3]
        return np.asarray(Rotation.between(R @ np.array(self.up), self.model.up_direction).matrix) @ R

    def find_side(self, q: Floats) -> Floats:
        """Return the axis about which its heel rises, in a pose."""
        assert self.side is not None, "a foot that is a point has no sides"
        side: Floats = self.model.fk(q, self.frame)[:3, :3] @ np.array(self.side)
        return side

    def is_raised(self, q: Floats) -> bool:
        """Return whether its heel is too high to carry weight."""
        x, y, z = self.model.fk(q, self.frame)[self.model.up_axis].tolist()[:3]
        return self.side is not None and x * self.up[0] + y * self.up[1] + z * self.up[2] < RAISED_COSINE

    def find_support(self, raised: bool) -> list[Place]:
        """Return its supporting points: the front of its sole, and the heel."""
        if raised or self.side is None:
            return list(self.front)
        return [*self.front, *map(self._raise_heel, self.heel)]

    def _raise_heel(self, point: Place) -> Place:
        """Return the point above a heel that is over the ball when the heel stops carrying weight."""
        T = self.model.fk(self.model.rest, self.frame)
        own = T[:3, :3].T @ (find_place(self.model, point) - T[:3, 3])
        ahead = np.cross(np.array(self.side), np.array(self.up))
        behind = float((np.array(self.ball) - own) @ ahead)
        return self.frame, make_triple(own + behind / math.tan(RAISED_ANGLE) * np.array(self.up))


def find_foot(model: Model, frame: str, q: Floats | None = None) -> RollingFoot:
    """Return the foot of a frame.

    Args:
        model: The body.
        frame: A frame of the foot.
        q: A standing pose (default: the rest pose). If the points of a sole are in one line, as in a skeleton, they do
            not determine its roll; the foot then has no roll in this pose.
    """
    parts = find_rigid_parts(model)
    own = str(parts[frame] or frame)
    toes = find_toes(model, own)
    contacts = find_sole(model, own, toes)
    points: list[Place] = [(contact.frame, contact.point) for contact in contacts]
    is_point = count_above(model, own) < LEG_VELOCITIES
    if len(points) == 1 and toes is None and not is_point:
        points += guess_sole(model, own, points[0])
    T = model.fk(model.rest, own)
    at = {point: T[:3, :3].T @ (find_place(model, point) - T[:3, 3]) for point in points}  # in the foot's own axes
    up = T[:3, :3].T @ model.up_direction
    ahead = None if is_point else find_foot_ahead(model, own, toes, points)
    if ahead is None:
        return stand_on_point(model, own, frame, list(at.values()), up)
    ahead = T[:3, :3].T @ ahead
    if q is not None and is_line(model, list(at.values()), ahead):
        up = find_upright(model, own, ahead, q)
    along = {point: float(place @ ahead) for point, place in at.items()}
    front, heel = split_sole(contacts, along)
    if toes is None:
        first = max(along.values())
        side = np.cross(up, ahead)  # about the front edge, at the height of the lowest point, no point moves below it
        low = min(float(place @ up) for place in at.values())
        ball_at = first * ahead + low * up + float(np.mean([at[point] @ side for point in front])) * side
    else:
        ball_at = T[:3, :3].T @ (find_place(model, (toes, ORIGIN)) - T[:3, 3])
        front = [(toes, ORIGIN), *(p for p in points if parts[p[0]] == toes and p != (toes, ORIGIN))]
    return RollingFoot(
        model,
        frame,
        own,
        make_triple(ball_at),
        toes,
        make_triple(np.cross(up, ahead)),
        make_triple(up),
        tuple(front),
        tuple(heel),
        hinged=toes is not None and model.joint(str(model.frame(toes).joint)).nv == 1,
    )


def split_sole(contacts: Sequence[ContactPoint], along: dict[Place, float]) -> tuple[list[Place], list[Place]]:
    """Return the front and the rear points of a sole: by their names, otherwise those at its two ends."""
    first, last = max(along.values()), min(along.values())
    edge, middle = EDGE_SHARE * (first - last), 0.5 * (first + last)
    rear = {(contact.frame, contact.point) for contact in contacts if contact.name.startswith(REAR_NAMES)}
    fore = {(contact.frame, contact.point) for contact in contacts} - rear
    named = len(contacts) > 1 and all(along[p] < middle for p in rear) and all(along[p] > middle for p in fore)
    if not (named and rear and fore):
        rear = {point for point, at in along.items() if at <= last + edge}
        fore = {point for point, at in along.items() if at >= first - edge}
    return [p for p in along if p in fore], [p for p in along if p in rear]


def stand_on_point(model: Model, own: str, frame: str, places: list[Floats], up: Floats) -> RollingFoot:
    """Return a foot that is a point: its handle if that is near the ground, otherwise the centre of its lowest points.

    The handle of a round foot is its middle, which stays in place while the foot rolls.
    """
    T = model.fk(model.rest, own)
    handle = T[:3, :3].T @ (model.fk(model.rest, frame)[:3, 3] - T[:3, 3])
    low = min(float(place @ up) for place in places)
    ends = [place for place in places if float(place @ up) < low + LAYER * model.length]
    touch = np.mean(ends, axis=0)
    ball = handle if float(np.linalg.norm(handle - touch)) < ROUND_FOOT * model.length else touch
    point = make_triple(ball)
    return RollingFoot(model, frame, own, point, None, None, make_triple(up), ((own, point),), ())


def is_line(model: Model, places: list[Floats], ahead: Floats) -> bool:
    """Return whether the points of a sole are almost in a line, so that they do not determine its roll."""
    across = np.array([place - (place @ ahead) * ahead for place in places])
    return float(np.linalg.norm(np.ptp(across, axis=0))) < LAYER * model.length


def find_upright(model: Model, own: str, ahead: Floats, q: Floats) -> Floats:
    """Return the up direction, in the foot's axes, of a foot that has no sideways roll in a pose."""
    up = model.fk(q, own)[:3, :3].T @ model.up_direction
    across = up - (up @ ahead) * ahead
    size = float(np.linalg.norm(across))
    out: Floats = across / size if size > 0.1 else model.fk(model.rest, own)[:3, :3].T @ model.up_direction
    return out


def count_above(model: Model, frame: str) -> int:
    """Return the number of velocities that move a frame relative to the root of the body."""
    above = [joint for joint in model.joints_above(frame) if joint.parent is not None and not joint.mimic]
    return sum(joint.nv for joint in above if joint.kind != "free")


def guess_sole(model: Model, own: str, low: Place) -> list[Place]:
    """Return the corners of an unknown sole: a rectangle sized by the height of the ankle.

    If the foot of a figure ends at the ankle, the height is that of a person with such legs. Empty if the forward
    direction of the body is unknown.
    """
    up, ahead = model.up_direction, find_ahead(model)
    T = model.fk(model.rest, own)
    height = float((T[:3, 3] - find_place(model, low)) @ up)
    if height < SHORTEST_SOLE * model.length and not is_machine(model):
        height = ANKLE_PER_LEG * measure_leg(model, own)
    if ahead is None or height < SHORTEST_SOLE * model.length:
        return []
    middle = T[:3, 3] - height * up
    side = np.cross(up, ahead)
    corners = [middle + height * (x * ahead + y * side) for x in GUESSED_SOLE[0] for y in GUESSED_SOLE[1]]
    return [(own, make_triple(T[:3, :3].T @ (corner - T[:3, 3]))) for corner in corners]


def measure_leg(model: Model, own: str) -> float:
    """Return the length of the leg above a foot, from its hip to its ankle [m]; 0 without these roles."""
    for side in ("l", "r"):
        hip, knee = model.roles.get(f"hip_{side}"), model.roles.get(f"knee_{side}")
        if hip is not None and knee in model.ancestors(own)[1:]:
            places = [model.fk(model.rest, frame)[:3, 3] for frame in (hip, str(knee), own)]
            return float(sum(np.linalg.norm(np.diff(places, axis=0), axis=1)))
    return 0.0


def find_toes(model: Model, own: str) -> str | None:
    """Return the frame of the only child part of a foot; None without one, or with several, such as claws."""
    found = list_child_parts(model, own)
    return found.pop() if len(found) == 1 else None


def find_foot_ahead(model: Model, own: str, toes: str | None, points: Sequence[Place]) -> Floats | None:
    """Return the forward direction of a foot in the rest pose, horizontal; None if it is a point.

    It points from the ankle to the toes; for a foot in one piece along its sole, in the forward direction of the body,
    or otherwise to the end farther from the ankle.
    """
    up, at = model.up_direction, find_place(model, (own, ORIGIN))
    if toes is not None:
        parts = find_rigid_parts(model)
        tips = [find_place(model, point) - at for point in ((toes, ORIGIN), *points) if parts[point[0]] == toes]
        ways = [way - (way @ up) * up for way in tips]
        way = max(ways, key=lambda way: float(np.linalg.norm(way)))
        size = float(np.linalg.norm(way))
        return None if size < SHORTEST_SOLE * model.length else way / size
    places = np.array([find_place(model, point) for point in points])
    flat = places - np.outer(places @ up, up)
    longest = np.linalg.svd(flat - flat.mean(axis=0))[2][0]
    along = flat @ longest
    height = float((at - places.mean(axis=0)) @ up)
    if float(np.ptp(along)) < max(SHORTEST_SOLE * model.length, SOLE_PER_ANKLE_HEIGHT * height):
        return None
    body = find_ahead(model)
    mean = float(longest @ body) if body is not None else 0.0
    if abs(mean) < 0.5:  # the sole is about as wide as long, or the forward direction of the body is unknown
        mean = float(along.max() + along.min() - 2.0 * (at @ longest))
    out: Floats = longest if mean >= 0.0 else -longest
    return out
