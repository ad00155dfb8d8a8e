"""Stance: the positions of planted feet, and the goals that keep them there.

    ball   stays exactly, with the toes if a joint moves them           level of the pins
    side   the axis about which the heel rises stays                    level of the pins
    flat   the foot lies flat unless a goal lifts the heel              level of balance, with low weight

The higher a heel, the less weight it carries. Its support moves from the heel to the ball while the foot rotates by
RAISED_ANGLE: it is a point above the heel, at b / tan(RAISED_ANGLE), which is then over the ball; b is the length from
heel to ball.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np

from poise.arrays import Floats
from poise.goals import Align, Goal, Orient, Reach
from poise.model import Model
from poise.rig.handle import Handle
from poise.rig.levels import FLAT_WEIGHT, KEPT, PINS, find_pin_tolerance
from poise.rig.places import Place, find_place
from poise.rig.standing.feet import FootGeometry, find_foot
from poise.spatial import Rotation

__all__ = ["Feet", "Flat", "PlantedFoot", "name_flat", "name_side"]

RAISED_ANGLE = 0.25  # rad: a heel raised by this angle carries nothing
RAISED_COSINE = math.cos(RAISED_ANGLE)
BALL_TOLERANCE = 0.3  # of the tolerance of a pin, since the foot may also be rotated a little


class Flat(Orient):
    """A goal for a foot to lie flat, or a body to stand upright, if possible; never counts as missed."""

    counts = False


class PlantedFoot:
    """The position of a planted foot in the world, computed on first access.

    Attributes:
        q: The pose in which the foot was planted.
        flat: The rotation of the flat foot (3, 3); None if the foot is a point.
    """

    __slots__ = ("_ball", "_feet", "_ground", "_handle", "_side", "flat", "q")

    def __init__(self, feet: Feet, handle: str, q: Floats, flat: Floats | None = None) -> None:
        self._feet, self._handle, self.q = feet, handle, q
        points = feet[handle].side is None
        self.flat = None if points else feet.find_flat(handle, q) if flat is None else flat
        self._ball: Floats | None = None
        self._side: Floats | None = None
        self._ground: float | None = None

    @property
    def ball(self) -> Floats:
        """The transform of its toes (4, 4), or the position of its ball (3,) if the foot is one piece."""
        if self._ball is None:
            self._ball = self._feet.find_ball(self._handle, self.q)
        return self._ball

    @property
    def lying(self) -> Floats:
        """The transform of the flat foot with its ball in place, (4, 4)."""
        assert self.flat is not None, "a foot that is a point does not lie"
        T = np.eye(4)
        T[:3, :3] = self.flat
        T[:3, 3] = self.ball - self.flat @ np.array(self._feet[self._handle].ball)
        return T

    @property
    def side(self) -> Floats | None:
        """The axis about which its heel rises; None if the foot is a point."""
        if self._side is None and self.flat is not None:
            self._side = self._feet.find_side(self._handle, self.q)
        return self._side

    @property
    def ground(self) -> float:
        """The height of the ground below the foot, a lower bound for its sole [m]."""
        if self._ground is None:
            self._ground = self._feet.find_ground(self._handle, self.q)
        return self._ground


class Feet:
    """The feet of a body by their handles, each found on first access.

    Args:
        model: The body.
        handles: The handles of the body; those that stand are feet.
        q: A standing pose (default: the rest pose).
    """

    def __init__(self, model: Model, handles: Mapping[str, Handle], q: Floats | None = None) -> None:
        self.model, self.handles, self.q = model, handles, q
        self._feet: dict[str, FootGeometry] = {}
        self._lifts: dict[str, float] = {}
        self._soles: dict[str, tuple[list[str], Floats]] = {}

    def __getitem__(self, handle: str) -> FootGeometry:
        if handle not in self._feet:
            self._feet[handle] = find_foot(self.model, self.handles[handle].frame, self.q)
        return self._feet[handle]

    @property
    def names(self) -> list[str]:
        """The handles that a body stands on."""
        return [name for name, handle in self.handles.items() if handle.stands]

    @property
    def toes(self) -> list[str]:
        """The frames of the toes that joints move."""
        return [toes for name in self.names if (toes := self[name].toes) is not None]

    def find_ground(self, handle: str, q: Floats) -> float:
        """Return the height of the lowest point of a foot's sole [m]."""
        frames, points = self._sole(handle)
        rows = np.array([self.model.fk(q, frame)[self.model.up_axis] for frame in frames])
        return float((rows[points[:, 0].astype(int)] * points[:, 1:]).sum(axis=1).min())

    def _sole(self, handle: str) -> tuple[list[str], Floats]:
        """Return the frames of a foot's sole, and its points: the index of the frame, x, y, z and 1."""
        if handle not in self._soles:
            sole = self[handle].sole
            frames = list(dict.fromkeys(frame for frame, _ in sole))
            self._soles[handle] = frames, np.array([(frames.index(frame), *point, 1.0) for frame, point in sole])
        return self._soles[handle]

    def find_lift(self, handle: str) -> float:
        """Return the height of a foot's handle above its sole in the rest pose [m]."""
        if handle not in self._lifts:
            at = self.model.fk(self.model.rest, self.handles[handle].frame)[:3, 3]
            self._lifts[handle] = float(at @ self.model.up_direction) - self.find_ground(handle, self.model.rest)
        return self._lifts[handle]

    def find_floor(self, q: Floats) -> float | None:
        """Return the height of the lowest foot [m], or None if the body has no feet."""
        return min((self.find_ground(name, q) for name in self.names), default=None)

    def find_ball(self, handle: str, q: Floats) -> Floats:
        """Return the transform of a foot's toes (4, 4), or the position of its ball (3,) for a foot in one piece."""
        foot = self[handle]
        if foot.toes is None:
            return find_place(self.model, (foot.frame, foot.ball), q)
        return np.array(self.model.fk(q, foot.toes))

    def find_flat(self, handle: str, q: Floats) -> Floats:
        """Return the rotation of a foot after the shortest rotation that makes it flat, (3, 3)."""
        R: Floats = self.model.fk(q, self[handle].frame)[:3, :3]
        return find_shortest_turn(R @ np.array(self[handle].up), self.model.up_direction) @ R

    def find_side(self, handle: str, q: Floats) -> Floats:
        """Return the axis about which a foot's heel rises, in a pose."""
        foot = self[handle]
        assert foot.side is not None, "a foot that is a point has no sides"
        side: Floats = self.model.fk(q, foot.frame)[:3, :3] @ np.array(foot.side)
        return side

    def is_raised(self, handle: str, q: Floats) -> bool:
        """Return whether a foot's heel is too high to carry weight."""
        foot = self[handle]
        x, y, z = self.model.fk(q, foot.frame)[self.model.up_axis].tolist()[:3]
        up = foot.up
        return foot.side is not None and x * up[0] + y * up[1] + z * up[2] < RAISED_COSINE

    def find_support(self, handle: str, raised: bool) -> list[Place]:
        """Return the supporting points of a foot: the front of its sole, and the heel."""
        foot = self[handle]
        if raised or foot.side is None:
            return list(foot.front)
        return [*foot.front, *(self.lift(foot, point) for point in foot.heel)]

    def lift(self, foot: FootGeometry, point: Place) -> Place:
        """Return the point above a heel that is over the ball when the heel stops carrying weight."""
        T = self.model.fk(self.model.rest, foot.frame)
        own = T[:3, :3].T @ (find_place(self.model, point) - T[:3, 3])
        ahead = np.cross(np.array(foot.side), np.array(foot.up))
        behind = float((np.array(foot.ball) - own) @ ahead)
        x, y, z = own + behind / math.tan(RAISED_ANGLE) * np.array(foot.up)
        return foot.frame, (float(x), float(y), float(z))

    def make_goals(self, handle: str, weight: float, *, lies: bool = False) -> list[Goal]:
        """Return the goals of a planted foot, or of one that lies flat; their targets are set later."""
        foot, (metres, radians) = self[handle], find_pin_tolerance(self.model)
        near = BALL_TOLERANCE * metres, BALL_TOLERANCE * radians
        goals: list[Goal] = []
        if lies:
            return [Reach(foot.frame, np.eye(4), weight=weight, priority=PINS, name=handle, tolerance=near)]
        if foot.toes is None:
            at = np.zeros(3)
            goals.append(
                Reach(foot.frame, at, point=foot.ball, weight=weight, priority=PINS, name=handle, tolerance=near)
            )
        else:
            goals.append(Reach(foot.toes, np.eye(4), weight=weight, priority=PINS, name=handle, tolerance=near))
        if foot.side is not None:
            if not foot.hinged:
                side = Align(foot.frame, foot.side, "x", priority=PINS, name=name_side(handle), tolerance=near[1])
                goals.append(side)
            if foot.toes is None:
                goals.append(self.make_flat(handle))
        return goals

    def make_flat(self, handle: str, weight: float = FLAT_WEIGHT) -> Goal:
        """Return the goal of a foot to lie flat."""
        return Flat(self[handle].frame, np.eye(3), weight=weight, priority=KEPT, name=name_flat(handle))


def find_shortest_turn(a: Floats, b: Floats) -> Floats:
    """Return the shortest rotation from one unit vector to another, (3, 3)."""
    axis, cosine = np.cross(a, b), float(a @ b)
    sine = float(np.linalg.norm(axis))
    if sine == 0.0:
        return np.eye(3)
    out: Floats = Rotation.from_vector(axis / sine * math.atan2(sine, cosine)).matrix
    return out


def name_side(handle: str) -> str:
    """Return the name of the goal that keeps a planted foot's side axis."""
    return f"{handle}.side"


def name_flat(handle: str) -> str:
    """Return the name of the goal of a foot to lie flat."""
    return f"{handle}.flat"
