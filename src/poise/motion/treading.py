"""Contacts of a stream: told from the frames that have come, never from those that will.

A point begins to stand when it is slow and low, and stands until it is neither (hysteresis, as in `finding`). It stands
where the target had it, and comes down to its height within a few frames; so does the corner of its edge, until the
edge lies flat. Two points of one foot keep their distance.

A point that is let go does not jump to where the bones ask it to be, nor do the hips that it held back: what is between
the two fades over a few frames. One that cannot stand where it is, is let go once, and stands again where that has
brought it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from poise.errors import InvalidValue
from poise.model import Model
from poise.motion.bones import find_bone_start, place_of
from poise.motion.carry_over import CarryOver
from poise.motion.edges import Edge, find_edges
from poise.motion.finding import LOW, SLOW, SLOW_ENOUGH_TO_STAY
from poise.motion.soles import SolePoint, find_soles
from poise.spatial import Rotation

__all__ = ["Foothold", "Treading", "place_at"]

Floats = NDArray[np.float64]
FALL = 0.5  # of its height that a point keeps from frame to frame while it comes down
FASTEST = 0.6  # m/s on a body of 1.75 m: no faster does it come down
FLAT = 1e-4  # m: lower than that it is down
FADE = 0.2  # s: over so long a point that was let go comes to where bones ask it to be
STIFF_TURN = 0.5  # and how its foot is turned
STIFF = 3.0  # what a point weighs that is half let go: bones and it pull it as much


@dataclass(frozen=True, eq=False)
class Leg:
    """The way from the hips to a point of a foot, as the targets of bones tell it.

    Attributes:
        rows: Which targets are those of the hips, the pelvis, the thigh, the shank and the foot.
        start: Where the leg begins, from the middle of the hips, in the pelvis' axes [m].
        lengths: Those of the thigh and the shank [m].
        point: The point of the foot, from the ankle, in the foot's axes [m].
    """

    rows: tuple[int, ...]
    start: Floats
    lengths: tuple[float, float]
    point: Floats

    def find_place(self, targets: Floats) -> Floats:
        """Return where the targets of one frame, (goals, 12), ask the point to be."""
        hips, pelvis, thigh, shank, foot = self.rows
        place: Floats = targets[hips, 9:] + targets[pelvis, :9].reshape(3, 3) @ self.start
        place = place + self.lengths[0] * targets[thigh, 9:] + self.lengths[1] * targets[shank, 9:]
        return place + targets[foot, :9].reshape(3, 3) @ self.point


@dataclass
class Foothold:
    """A point of the target that may stand.

    Attributes:
        name: "heel_l", "toe_r".
        source: The point of the source that says when.
        frame: What it is fixed to in the target.
        point: Where, in the frame's own axes [m].
        place: Where it stands [m]; None while it does not.
        edge: The edge of the sole that it is the middle of, if it has corners.
        tilt: How much higher than flat the corner of the edge is while it stands [m].
        fade: Frames since it was let go; 0 while it stands, or is free.
        leg: What tells where bones ask it to be.
        off: How far from there it stood when it was let go [m].
        turn: By how much its foot was turned otherwise than it was asked to, as a rotation vector in the foot's axes.
        goal: Where it is asked to be while it fades [m].
        forced: Whether it was let go because it could not stand: then it does not stand again until it has faded.
    """

    name: str
    source: SolePoint
    frame: str
    point: tuple[float, float, float]
    edge: Edge | None = None
    place: Floats | None = None
    tilt: float = 0.0
    fade: int = 0
    leg: Leg | None = None
    off: Floats | None = None
    turn: Floats | None = None
    goal: Floats | None = None
    forced: bool = False


class Treading:
    """Which points of the target stand, and where."""

    def __init__(self, carrying: CarryOver, fps: float) -> None:
        self.carrying, self.fps, self.up = carrying, fps, carrying.model.up_direction
        self.holds = list_holds(carrying) if carrying.moves else []
        self.frames = np.array([carrying.at[hold.source.frame] for hold in self.holds], dtype=np.int64)
        self.points = np.array([hold.source.point for hold in self.holds]).reshape(-1, 3, 1)
        self.long = max(1, round(FADE * fps))
        self.apart = {
            (a.name, b.name): measure_apart(a, b)
            for a in self.holds
            for b in self.holds
            if a is not b and a.frame == b.frame
        }
        self.forget()

    def forget(self) -> None:
        """Begin again: nothing stands."""
        self.last: Floats | None = None
        self.targets: Floats | None = None
        self.drag, self.dragged = np.zeros(3), 0
        for hold in self.holds:
            hold.place, hold.off, hold.goal, hold.fade, hold.forced = None, None, None, 0, False

    def watch(self, T: Floats, q: Floats | None, targets: Floats, floor: float, size: float) -> None:
        """Look at the source's frame, (parts, 4, 4), at the pose of the target before it, and at what is asked of it.

        `targets` are those of the carrying-over, (goals, 12).
        """
        if not self.holds:
            return
        part = T[self.frames]
        now: Floats = (part[:, :3, :3] @ self.points)[..., 0] + part[:, :3, 3]
        moved = np.full_like(now, np.inf) if self.last is None else now - self.last
        speeds = (self.fps * np.sqrt((moved * moved).sum(axis=1))).tolist()
        heights = (now @ self.up - floor).tolist()
        self.dragged = self.dragged + 1 if 0 < self.dragged < self.long else 0
        for hold, speed, height in zip(self.holds, speeds, heights, strict=True):
            low = height < LOW * size
            if hold.place is not None:
                if low and speed < SLOW_ENOUGH_TO_STAY * size:
                    self._lower(hold, FASTEST * size / self.fps)
                else:
                    self._release(hold, q)
            elif low and speed < SLOW * size and q is not None and not hold.forced:
                self._take(hold, q)
            elif hold.fade:
                hold.fade = hold.fade + 1 if hold.fade < self.long else 0
                hold.forced = hold.forced and hold.fade > 0
        self.last, self.targets = now, targets
        self._level()
        self._fade()

    def drag_hips(self) -> Floats:
        """Return how far from where they are asked to be the hips may still be [m]."""
        drag: Floats = self.drag * self._left(self.dragged) if self.dragged else np.zeros(3)
        return drag

    def let_go(self, hold: Foothold, q: Floats | None) -> None:
        """Let a point go that cannot stand where it is; `q` is the pose of the frame before."""
        self._release(hold, q)
        self._fade()
        hold.forced = True

    def weigh(self, hold: Foothold) -> float:
        """Return what a point that fades counts: much at first, next to nothing at last."""
        left = self._left(hold.fade)
        return STIFF * float(np.sqrt(left / (1.0 - left)))

    def turn_foot(self, hold: Foothold) -> tuple[Floats, float]:
        """Return how the foot of a point that fades is asked to be turned, (3, 3), and what that counts."""
        assert hold.leg is not None
        assert hold.turn is not None
        assert self.targets is not None
        wanted = self.targets[hold.leg.rows[-1], :9].reshape(3, 3)
        turned: Floats = wanted @ Rotation.from_vector(self._left(hold.fade) * hold.turn).matrix
        return turned, STIFF_TURN / STIFF * self.weigh(hold)

    def _left(self, frames: int) -> float:
        """Return which share is left so many frames after a point was let go."""
        far = frames / (self.long + 1.0)
        return 1.0 - far * far * (3.0 - 2.0 * far)

    def _release(self, hold: Foothold, q: Floats | None) -> None:
        """Let a point go: what fades is how far it and the hips were from where they were asked to be."""
        hold.place, hold.off, hold.fade = None, None, 0
        if hold.leg is None or self.targets is None or q is None:
            return
        stood = place_at(self.carrying.model.fk(q, hold.frame), hold.point)
        hold.off, hold.fade = stood - hold.leg.find_place(self.targets), 1
        foot = self.carrying.model.fk(q, self.carrying.ours[f"foot_{hold.name[-1]}"])[:3, :3]
        wanted = self.targets[hold.leg.rows[-1], :9].reshape(3, 3)
        hold.turn = Rotation.from_matrix(wanted.T @ foot).log()
        T = self.carrying.model.fk(q, self.carrying.ours["pelvis"])
        hips = T[:3, :3] @ self.carrying.own_middle + T[:3, 3]
        self.drag, self.dragged = hips - self.targets[self.carrying.aims.hips, 9:], 1

    def _fade(self) -> None:
        """Write where points that fade are asked to be."""
        for hold in self.holds:
            if hold.fade and hold.off is not None and hold.leg is not None and self.targets is not None:
                hold.goal = hold.leg.find_place(self.targets) + self._left(hold.fade) * hold.off
            else:
                hold.goal = None

    def _take(self, hold: Foothold, q: Floats) -> None:
        """Let a point stand where the target had it."""
        T = self.carrying.model.fk(q, hold.frame)
        hold.place, hold.fade = place_at(T, hold.point), 0
        if hold.edge is not None:
            corner = place_at(T, hold.edge.corners[0].point)
            hold.tilt = float((corner - hold.place) @ self.up) - hold.edge.rises[0]
        self._keep_apart(hold)

    def _lower(self, hold: Foothold, fastest: float) -> None:
        assert hold.place is not None
        height = float(hold.place @ self.up)
        left = come_down(height, fastest)
        if height != 0.0:
            hold.place = hold.place + (left - height) * self.up
            self._keep_apart(hold)
        hold.tilt = come_down(hold.tilt, fastest)

    def _level(self) -> None:
        """Let no edge tilt by more than the lowest point of its foot is high: a corner would be below the floor."""
        for hold in self.holds:
            if hold.place is not None and hold.tilt != 0.0:
                points = [each.place for each in self.holds if each.frame == hold.frame and each.place is not None]
                most = max(0.0, min(float(place @ self.up) for place in points))
                hold.tilt = min(max(hold.tilt, -most), most)

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


def come_down(height: float, fastest: float) -> float:
    """Return what is left of a height after a frame; a depth comes up alike."""
    if abs(height) <= FLAT:
        return 0.0
    fall = min((1.0 - FALL) * abs(height), fastest)
    return height - fall if height > 0.0 else height + fall


def list_holds(carrying: CarryOver) -> list[Foothold]:
    """List the points of the target that play the parts of the source's soles, each once."""
    known, holds = carrying.roles[0].contacts, list[Foothold]()
    edges = {edge.name: edge for side in "lr" for edge in find_edges(carrying.model, side)}
    for sole in list_soles(carrying.source):
        own = known.get(sole.name) or known.get(f"sole_1_{sole.name[-1:]}")
        if own is not None and all(own.point != h.point or own.frame != h.frame for h in holds):
            leg = find_leg(carrying, sole.name[-1:], own.frame, own.point)
            holds.append(Foothold(sole.name, sole, own.frame, own.point, edges.get(sole.name), leg=leg))
    return holds


def find_leg(carrying: CarryOver, side: str, frame: str, point: tuple[float, float, float]) -> Leg | None:
    """Return what tells where bones ask a point of a foot to be; None where not all of them are asked for."""
    at = {goal.name: i for i, (goal, _, _) in enumerate(carrying.asked)}
    names = [
        "hips",
        "pelvis turned",
        f"hip_{side} to knee_{side}",
        f"knee_{side} to ankle_{side}",
        f"foot_{side} turned",
    ]
    if any(name not in at for name in names):
        return None
    model, ours = carrying.model, carrying.ours
    pelvis, foot = (model.fk(model.rest, ours[part]) for part in ("pelvis", f"foot_{side}"))
    start = place_of(model, find_bone_start(model, ours, f"hip_{side}"))
    knee, ankle = place_of(model, ours[f"knee_{side}"]), place_of(model, ours[f"ankle_{side}"])
    own = place_at(model.fk(model.rest, frame), point)
    return Leg(
        tuple(at[name] for name in names),
        pelvis[:3, :3].T @ (start - pelvis[:3, 3]) - carrying.own_middle,
        (float(np.linalg.norm(knee - start)), float(np.linalg.norm(ankle - knee))),
        foot[:3, :3].T @ (own - ankle),
    )


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
