"""Stance: the positions of planted feet, and the goals that keep them there.

ball   stays exactly, with the toes if a joint moves them           level of the pins
side   the axis about which the heel rises stays                    level of the pins
flat   the foot lies flat unless a goal lifts the heel              level of balance, with low weight
"""

from collections.abc import Mapping
from functools import cached_property

import numpy as np

from poise.arrays import Floats
from poise.goals import Align, Goal, Orient, Reach
from poise.model import Model
from poise.rig.handle import Handle
from poise.rig.levels import FLAT_WEIGHT, KEPT, PINS, find_pin_tolerance
from poise.rig.standing.feet import RollingFoot, find_foot

__all__ = ["Feet", "Flat", "PlantedFoot", "name_flat", "name_side"]

BALL_TOLERANCE = 0.3  # of the tolerance of a pin, since the foot may also be rotated a little


class Flat(Orient):
    """A goal for a foot to lie flat, or a body to stand upright, if possible; never counts as missed."""

    counts = False


class PlantedFoot:
    """The position of a planted foot in the world, computed on first access.

    Attributes:
        foot: The foot.
        q: The pose in which the foot was planted.
        flat: The rotation of the flat foot (3, 3); None if the foot is a point.
    """

    def __init__(self, foot: RollingFoot, q: Floats, flat: Floats | None = None) -> None:
        self.foot, self.q = foot, q
        self.flat = None if foot.side is None else foot.find_flat(q) if flat is None else flat

    @cached_property
    def ball(self) -> Floats:
        """The transform of its toes (4, 4), or the position of its ball (3,) if the foot is one piece."""
        return self.foot.find_ball(self.q)

    @cached_property
    def lying(self) -> Floats:
        """The transform of the flat foot with its ball in place, (4, 4)."""
        assert self.flat is not None, "a foot that is a point does not lie"
        T = np.eye(4)
        T[:3, :3] = self.flat
        T[:3, 3] = self.ball - self.flat @ np.array(self.foot.ball)
        return T

    @cached_property
    def side(self) -> Floats | None:
        """The axis about which its heel rises; None if the foot is a point."""
        return None if self.flat is None else self.foot.find_side(self.q)

    @cached_property
    def ground(self) -> float:
        """The height of the ground below the foot, a lower bound for its sole [m]."""
        return self.foot.find_ground(self.q)


class Feet:
    """The feet of a body by their handles, each found on first access.

    Args:
        model: The body.
        handles: The handles of the body; those that stand are feet.
        q: A standing pose (default: the rest pose).
    """

    def __init__(self, model: Model, handles: Mapping[str, Handle], q: Floats | None = None) -> None:
        self.model, self.handles, self.q = model, handles, q
        self._feet: dict[str, RollingFoot] = {}

    def __getitem__(self, handle: str) -> RollingFoot:
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

    def find_floor(self, q: Floats) -> float | None:
        """Return the height of the lowest foot [m], or None if the body has no feet."""
        return min((self[name].find_ground(q) for name in self.names), default=None)

    def make_goals(self, handle: str, weight: float, *, lies: bool = False) -> list[Goal]:
        """Return the goals of a planted foot, or of one that lies flat; their targets are set later."""
        foot, (metres, radians) = self[handle], find_pin_tolerance(self.model)
        near = BALL_TOLERANCE * metres, BALL_TOLERANCE * radians
        if lies:
            return [Reach(foot.frame, np.eye(4), weight=weight, priority=PINS, name=handle, tolerance=near)]
        frame, at, point = (foot.frame, np.zeros(3), foot.ball) if foot.toes is None else (foot.toes, np.eye(4), None)
        goals: list[Goal] = [Reach(frame, at, point=point, weight=weight, priority=PINS, name=handle, tolerance=near)]
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


def name_side(handle: str) -> str:
    """Return the name of the goal that keeps a planted foot's side axis."""
    return f"{handle}.side"


def name_flat(handle: str) -> str:
    """Return the name of the goal of a foot to lie flat."""
    return f"{handle}.flat"
