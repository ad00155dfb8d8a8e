"""What is asked of one frame of a stream, in the kernels' numbers: bones, points that stand, soles that lie flat.

All of it lies in arrays that are made once; a frame writes its numbers into them.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from poise.arrays import Floats
from poise.goals import Goal, HalfSpace, Inside, OnPlane, Reach
from poise.goals.on_plane import pack_axis
from poise.motion.contact.stream import Foothold, Treading
from poise.motion.retargeting.correspondence import CarryOver

__all__ = ["Asked"]

ABOVE = 0.1  # what keeping a corner above the floor counts in the first steps, in which the others settle


class Asked:
    """The goals of a stream, and what they ask of the newest frame.

    Attributes:
        goals: Those of bones and parts, then points that stand, edges that lie flat, corners that stay above the floor.
        numbers: Targets of all but the corners, (goals, 12).
        weights: How much each goal counts, (goals,).
        hard: Which of them are held exactly, (goals,): 1 or 0.
    """

    def __init__(self, carrying: CarryOver, treading: Treading) -> None:
        self.carrying, self.treading, self.up = carrying, treading, carrying.model.up_direction
        self.hips, self.aimed = carrying.aims.hips, np.zeros(3)
        held = [Reach(h.frame, np.zeros(3), point=h.point, name=f"{h.name} stands") for h in treading.holds]
        edges, corners = list_edges(self.up, treading.holds), list_corners(self.up, treading.holds)
        self.goals: list[Goal] = [*carrying.goals, *held, *(g for g, _ in edges), *(g for g, _ in corners)]
        ends = np.cumsum([len(carrying.goals), len(held), len(edges), len(corners)])
        self.first, self.first_edge, self.first_corner = int(ends[0]), int(ends[1]), int(ends[2])
        self.numbers = np.zeros((self.first_corner, 12))
        self.numbers[:, [0, 4, 8]] = 1.0
        self.numbers[self.first_edge :] = pack_axis((0.0, 0.0, 0.0), tuple(self.up.tolist()))
        self.weights, self.hard = np.zeros(ends[3]), np.zeros(ends[3])
        self.hard[self.first_edge :] = 1.0
        names = [hold.name for hold in treading.holds]
        self.above = np.array([i for _, i in corners], dtype=np.int64)
        self.lying = [(i, find_other(names, names[i])) for _, i in edges]

    def aim(self, targets: Floats) -> None:
        """Write what bones and parts are asked for, (goals, 12)."""
        self.numbers[: self.first] = targets
        self.aimed = targets[self.hips, 9:]
        self.weights[: self.first] = self.carrying.weights

    def hold(self) -> None:
        """Write which points stand and which fade, what lies flat and what stays above the floor."""
        holds, a, b, c = self.treading.holds, self.first, self.first_edge, self.first_corner
        if self.hips is not None:
            self.numbers[self.hips, 9:] = self.aimed + self.treading.drag_hips()
        stands = np.array([hold.place is not None for hold in holds], dtype=bool)
        self.hard[a:b] = stands
        for i, hold in enumerate(holds):
            if hold.place is not None:
                self.numbers[a + i, 9:], self.weights[a + i] = hold.place, 1.0
            elif hold.goal is not None:
                self.numbers[a + i, 9:], self.weights[a + i] = hold.goal, self.treading.weigh(hold)
            else:
                self.weights[a + i] = 0.0
        for i, (own, other) in enumerate(self.lying, b):
            hold = holds[own]
            if hold.place is None or hold.edge is None or (other is not None and stands[other]):
                self.weights[i] = 0.0
            else:
                level = float(hold.place @ self.up) + hold.edge.rises[0] + hold.tilt
                self.numbers[i, 9:], self.weights[i] = level * self.up, 1.0
        self.weights[c:] = ABOVE * (1.0 - stands[self.above])
        self._turn_feet()

    def _turn_feet(self) -> None:
        """Ask feet that were let go to turn from how they stood to how they are asked to."""
        for foot, hold in {hold.leg.rows[-1]: hold for hold in self.treading.holds if hold.fade and hold.leg}.items():
            if hold.goal is not None and hold.turn is not None:
                turned, weight = self.treading.turn_foot(hold)
                self.numbers[foot, :9] = turned.ravel()
                self.weights[foot] = weight + self.carrying.weights[foot]

    def list_missed(self, errors: Floats, most: float) -> list[Foothold]:
        """List the points that stand further than so far from where they are asked to; errors by goal, (goals, 2)."""
        far = errors[self.first : self.first_edge, 0].tolist()
        holds = self.treading.holds
        return [h for h, off in zip(holds, far, strict=True) if h.place is not None and off > most]


def find_other(names: Sequence[str], name: str) -> int | None:
    """Return which point is the toe of a heel: where both stand, one edge that lies flat is enough."""
    other = name.replace("heel", "toe")
    return names.index(other) if other != name and other in names else None


def list_corners(up: Floats, holds: Sequence[Foothold]) -> list[tuple[Goal, int]]:
    """List what keeps the corners of soles above the floor, or points without them, with the number of the point."""
    out: list[tuple[Goal, int]] = []
    for i, hold in enumerate(holds):
        corners = zip(hold.edge.corners, hold.edge.rises, strict=True) if hold.edge else ((hold, 0.0),)
        for corner, rise in corners:
            region = HalfSpace((hold.stands + rise) * up, -up)
            goal = Inside(corner.frame, region, point=corner.point, name=f"{corner.name} above the floor")
            out.append((goal, i))
    return out


def list_edges(up: Floats, holds: Sequence[Foothold]) -> list[tuple[Goal, int]]:
    """List what lays edges of soles flat, with the number of their middle."""
    out: list[tuple[Goal, int]] = []
    for i, edge in enumerate(hold.edge for hold in holds):
        if edge is not None and edge.lies:
            corner = edge.corners[0]
            out.append((OnPlane(corner.frame, np.zeros(3), up, at=corner.point, name=f"{edge.name} lies flat"), i))
    return out
