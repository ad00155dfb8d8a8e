"""Contacts of a stream: told from the frames that have come, never from those that will.

A point begins to stand when it is slow and low, and stands until it is neither (hysteresis, as in `finding`). It stands
where the target had it, and comes down to its height within a few frames. Two points of one foot keep their distance.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from poise.errors import InvalidValue
from poise.model import Model
from poise.motion.carry_over import CarryOver
from poise.motion.finding import LOW, SLOW, SLOW_ENOUGH_TO_STAY
from poise.motion.soles import SolePoint, find_soles

__all__ = ["Foothold", "Treading", "place_at"]

Floats = NDArray[np.float64]
FALL = 0.5  # of its height that a point keeps from frame to frame while it comes down
FLAT = 1e-4  # m: lower than that it is down


@dataclass
class Foothold:
    """A point of the target that may stand.

    Attributes:
        name: "heel_l", "toe_r".
        source: The point of the source that says when.
        frame: What it is fixed to in the target.
        point: Where, in the frame's own axes [m].
        place: Where it stands [m]; None while it does not.
        last: Where the source's point was.
    """

    name: str
    source: SolePoint
    frame: str
    point: tuple[float, float, float]
    place: Floats | None = None
    last: Floats | None = None


class Treading:
    """Which points of the target stand, and where."""

    def __init__(self, carrying: CarryOver, fps: float) -> None:
        self.carrying, self.fps, self.up = carrying, fps, carrying.model.up_direction
        known = carrying.roles[0].contacts
        self.holds: list[Foothold] = []
        if carrying.moves:
            for sole in list_soles(carrying.source):
                own = known.get(sole.name) or known.get(f"sole_1_{sole.name[-1:]}")
                if own is not None and all(own.point != h.point or own.frame != h.frame for h in self.holds):
                    self.holds.append(Foothold(sole.name, sole, own.frame, own.point))
        self.apart = {
            (a.name, b.name): measure_apart(a, b)
            for a in self.holds
            for b in self.holds
            if a is not b and a.frame == b.frame
        }

    def forget(self) -> None:
        """Begin again: nothing stands."""
        for hold in self.holds:
            hold.place = hold.last = None

    def watch(self, T: Floats, q: Floats | None, floor: float, size: float) -> None:
        """Look at the source's frame, (parts, 4, 4), and at the pose of the target before it."""
        for hold in self.holds:
            now = place_at(T[self.carrying.at[hold.source.frame]], hold.source.point)
            speed = np.inf if hold.last is None else float(np.linalg.norm(now - hold.last)) * self.fps
            hold.last = now
            low = now @ self.up - floor < LOW * size
            if not low or speed >= SLOW_ENOUGH_TO_STAY * size:
                hold.place = None
            elif hold.place is None and speed < SLOW * size and q is not None:
                hold.place = place_at(self.carrying.model.fk(q, hold.frame), hold.point)
                self._keep_apart(hold)
            elif hold.place is not None:
                self._lower(hold)

    def let_go(self, hold: Foothold) -> None:
        """Let a point go that cannot stand where it is."""
        hold.place = None

    def _lower(self, hold: Foothold) -> None:
        assert hold.place is not None
        height = float(hold.place @ self.up)
        kept = FALL * height if abs(height) > FLAT else 0.0
        hold.place = hold.place + (kept - height) * self.up
        self._keep_apart(hold)

    def _keep_apart(self, hold: Foothold) -> None:
        """Move the place of a point along the ground, until it is as far from the other one of its foot as it is."""
        for other in self.holds:
            far = self.apart.get((hold.name, other.name))
            if far is None or other.place is None or hold.place is None:
                continue
            way = hold.place - other.place
            rise = float(way @ self.up)
            level = way - rise * self.up
            length, wanted = float(np.linalg.norm(level)), np.sqrt(max(far * far - rise * rise, 0.0))
            if length > 1e-9:
                hold.place = other.place + rise * self.up + level * (wanted / length)


def list_soles(model: Model) -> list[SolePoint]:
    """List the points with which a body stands; none where it has no feet."""
    try:
        return find_soles(model)
    except InvalidValue:
        return []


def measure_apart(a: Foothold, b: Foothold) -> float:
    """Return how far apart two points of one frame are."""
    return float(np.linalg.norm(np.array(a.point) - np.array(b.point)))


def place_at(T: Floats, point: tuple[float, float, float]) -> Floats:
    """Return where a point of a frame is."""
    place: Floats = T[:3, :3] @ np.array(point) + T[:3, 3]
    return place
