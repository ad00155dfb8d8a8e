"""Targets of one frame of a stream as kernel parameters: bones, standing points, soles that lie flat.

The arrays are allocated once; each frame writes its numbers into them.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from poise.arrays import Floats
from poise.goals import Goal, HalfSpace, Inside, OnPlane, Reach
from poise.goals.on_plane import pack_axis
from poise.motion.retargeting.arms.recovery import ArmRecovery
from poise.motion.retargeting.correspondence import CarryOver
from poise.motion.retargeting.footholds import Leg, PawRow, StreamFoothold
from poise.motion.retargeting.stream_contacts import RELEASE_TURN_WEIGHT, StreamContacts

__all__ = ["FrameTargets"]

CORNER_WEIGHT = 0.1  # weight of keeping a corner above the floor in the first steps, while other goals settle


class FrameTargets:
    """The goals of a stream and their targets at the newest frame.

    Attributes:
        goals: Goals of bones and parts, then standing points, edges that lie flat, and corners kept above the floor.
        numbers: Targets of all goals except the corners, (goals, 12).
        weights: The weights of the goals, (goals,).
        hard: Whether each goal is held exactly, (goals,): 1 or 0.
        points: The rows of the points that may stand.
    """

    def __init__(self, carrying: CarryOver, contacts: StreamContacts, arms: ArmRecovery) -> None:
        self.contacts, self.arms, self.up = contacts, arms, carrying.model.up_direction
        self.goal_targets, self.own = carrying.targets, np.zeros((len(carrying.goals), 12))
        holds = contacts.holds
        held = [Reach(h.frame, np.zeros(3), point=h.point, name=f"{h.name} stands") for h in holds]
        edges, corners = list_edges(self.up, holds), list_corners(self.up, holds)
        self.goals: list[Goal] = [*carrying.goals, *held, *(g for g, _ in edges), *(g for g, _ in corners)]
        ends = np.cumsum([len(carrying.goals), len(held), len(edges), len(corners)])
        self.first, self.first_edge, self.first_corner = int(ends[0]), int(ends[1]), int(ends[2])
        self.points = slice(self.first, self.first_edge)
        self.numbers = np.zeros((self.first_corner, 12))
        self.numbers[:, [0, 4, 8]] = 1.0
        self.numbers[self.first_edge :] = pack_axis((0.0, 0.0, 0.0), tuple(self.up.tolist()))
        self.weights, self.hard = np.zeros(ends[3]), np.zeros(ends[3])
        self.hard[self.first_edge :] = 1.0
        names = [hold.name for hold in holds]
        self.above = np.array([i for _, i in corners], dtype=np.int64)
        self.lying = [(i, find_other(names, names[i])) for _, i in edges]

    def write(self, targets: Floats | None = None) -> None:
        """Write the targets of bones and parts, (goals, 12), and those of feet; only those of feet if None."""
        if targets is not None:
            self.own = targets
        self.numbers[: self.first], self.weights[: self.first] = self.own, self.goal_targets.weights
        self.weights[self.arms.left_out] = 0.0
        if self.goal_targets.hips is not None:
            self.numbers[self.goal_targets.hips, 9:] += self.contacts.hip_shift
        stands = np.array([hold.place is not None for hold in self.contacts.holds], dtype=bool)
        self.hard[self.points] = stands
        for i, hold in enumerate(self.contacts.holds, self.first):
            place, weight = (hold.goal, hold.weight) if hold.place is None else (hold.place, 1.0)
            self.weights[i] = 0.0 if place is None else weight
            if isinstance(hold.leg, PawRow) and hold.goal is not None:  # it has a goal of its own
                self.numbers[hold.leg.row, 9:], self.weights[i] = hold.goal, 0.0
            elif place is not None:
                self.numbers[i, 9:] = place
            if hold.turned is not None and isinstance(hold.leg, Leg):
                foot = hold.leg.foot
                self.numbers[foot, :9] = hold.turned.ravel()
                self.weights[foot] = RELEASE_TURN_WEIGHT * hold.weight + self.goal_targets.weights[foot]
        self._lay_flat(stands)
        self.weights[self.first_corner :] = CORNER_WEIGHT * (1.0 - stands[self.above])

    def _lay_flat(self, stands: NDArray[np.bool_]) -> None:
        """Set the targets and weights of edges that lie flat; if heel and toe stand, one edge is enough."""
        for i, (own, other) in enumerate(self.lying, self.first_edge):
            hold = self.contacts.holds[own]
            if hold.place is None or hold.edge is None or (other is not None and stands[other]):
                self.weights[i] = 0.0
            else:
                level = float(hold.place @ self.up) + hold.edge.rises[0] + hold.tilt
                self.numbers[i, 9:], self.weights[i] = level * self.up, 1.0


def find_other(names: Sequence[str], name: str) -> int | None:
    """Return the index of the toe that belongs to a heel, or None."""
    other = name.replace("heel", "toe")
    return names.index(other) if other != name and other in names else None


def list_corners(up: Floats, holds: Sequence[StreamFoothold]) -> list[tuple[Goal, int]]:
    """List the goals that keep corners of soles, or points without corners, above the floor, each with its point."""
    out: list[tuple[Goal, int]] = []
    for i, hold in enumerate(holds):
        corners = zip(hold.edge.corners, hold.edge.rises, strict=True) if hold.edge else ((hold, 0.0),)
        for corner, rise in corners:
            region = HalfSpace((hold.stands + rise) * up, -up)
            goal = Inside(corner.frame, region, point=corner.point, name=f"{corner.name} above the floor")
            out.append((goal, i))
    return out


def list_edges(up: Floats, holds: Sequence[StreamFoothold]) -> list[tuple[Goal, int]]:
    """List the goals that lay edges of soles flat, each with the index of its middle."""
    out: list[tuple[Goal, int]] = []
    for i, edge in enumerate(hold.edge for hold in holds):
        if edge is not None and edge.lies:
            corner = edge.corners[0]
            out.append((OnPlane(corner.frame, np.zeros(3), up, at=corner.point, name=f"{edge.name} lies flat"), i))
    return out
