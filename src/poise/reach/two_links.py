"""All poses of two parallel hinges that bring a point to a place: the elbow on either side, by the law of cosines.

With links a and b, the shoulder, elbow and tip form a triangle whose third side r is given: r^2 = a^2 + b^2 + 2 a b
cos(psi). The elbow angle is psi or -psi, and the direction of the target fixes the shoulder. There is no other pose, so
the list is complete unless the two coincide. Source: Craig, "Introduction to Robotics", chapter 4.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from poise.arrays import Floats, Indices
from poise.goals.goal import POSITION, GoalRows
from poise.model.family import TWO_LINKS, find_family
from poise.native import core
from poise.reach.bounds import Freedom, asks_for_a_place
from poise.reach.chain_poses import ChainPoses

if TYPE_CHECKING:
    from poise.model import Model

__all__ = ["TwoLinks", "find_two_links"]

MEET = 1e-6  # rad: with a smaller elbow angle the two branches count as one; of the length: a shorter link has no angle
ROUNDING = 1e-12  # of the cosine of the elbow angle


class TwoLinks(ChainPoses):
    """The poses of two parallel hinges, for a position."""

    is_exact = True

    def find_poses(self, T: Floats, values: Floats, exclude: bool = True) -> tuple[Indices, Floats, list[bool]]:
        """Return the poses of places (n, 4, 4); they are all, unless the two coincide."""
        found = [self.find_values(one[:3, 3]) for one in T]
        rows = np.repeat(np.arange(len(T)), [len(one) for one in found])
        return rows, np.concatenate(found), [len(one) != 1 for one in found]

    def find_values(self, place: Floats) -> Floats:
        """Return the joint values of a place, (0 to 2, 2)."""
        one, two = self.axes
        x = np.cross(np.eye(3)[int(np.abs(one.h).argmin())], one.h)
        plane = np.array([1.0, 1.0j]) @ np.stack([x, np.cross(one.h, x)]) / np.linalg.norm(x)
        link, reach, way = (plane @ d for d in (two.p - one.p, self.tip - two.p, place - one.p))
        if (psi := self.find_bend(place)) is None:
            return np.zeros((0, 2))
        elbow = np.array([psi, -psi] if MEET < psi < np.pi - MEET else [psi])
        tip = np.abs(link) + np.abs(reach) * np.exp(1j * elbow)  # seen from the upper arm
        shoulder = np.angle(way / link) - np.angle(tip)
        return np.stack([shoulder, np.sign(one.h @ two.h) * (elbow - np.angle(reach / link))], axis=1)

    def find_bend(self, place: Floats) -> float | None:
        """Return the elbow angle psi, 0 to pi, or None if the place is out of reach or off the plane."""
        one, two = self.axes
        a, b, r = one.from_axis(two.p), two.from_axis(self.tip), one.from_axis(place)
        cosine = (r * r - a * a - b * b) / (2.0 * a * b)
        off = abs(float(one.h @ (place - self.tip)))
        if off > core.EXACT_POSE * self.unit or abs(cosine) > 1.0 + ROUNDING:
            return None
        return float(np.arccos(np.clip(cosine, -1.0, 1.0)))


def find_two_links(model: Model, goal: GoalRows, freedom: Freedom) -> TwoLinks | None:
    """Return the poses of a position goal on two parallel hinges, or None for other goals and chains."""
    if goal.op != POSITION or not asks_for_a_place(goal) or goal.base is not None:
        return None
    q = np.asarray(model.rest) if freedom.q is None else np.frombuffer(freedom.q)
    family = find_family(model, str(goal.frame), np.frombuffer(freedom.moves, dtype=bool), q, limited=freedom.limited)
    if family.name != TWO_LINKS:
        return None
    links = TwoLinks(model, family, goal.point)
    return links if links.axes[1].from_axis(links.tip) > MEET * links.unit else None
