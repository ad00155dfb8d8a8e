"""Contacts of a stream: told from the frames that have come, never from those that will.

A point begins to stand when it is slow and low, and stands until it is neither (hysteresis, as in `finding`). It stands
where the target had it, and comes down to its height as it was moving (`settling`); so does the corner of its edge,
until the edge lies flat. Two points of one foot keep their distance.

A point on its way is led to where bones ask it to be, even where the other foot holds the hips back: so it lands there,
and the next step begins where this one ended. A point that is let go does not jump there, nor do the hips that it held
back: what is between the two fades over a few frames. One that cannot stand where it is, is let go once, and stands
again where that has brought it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from poise.arrays import Floats
from poise.kinematics import Motion
from poise.motion.contact.detector import FOOT_RULE, ContactDetector
from poise.motion.contact.edges import Edge, find_edges
from poise.motion.contact.floors import list_soles
from poise.motion.contact.height_filter import settle
from poise.motion.contact.soles import SolePoint, measure_giant
from poise.motion.retargeting.correspondence import CarryOver
from poise.motion.retargeting.strides import Leg, find_leg, place_at
from poise.spatial import Rotation

__all__ = ["Foothold", "Treading", "place_at"]

TOUCHES = 1e-5  # m: a sole that is no deeper stands on the floor
DOWN, TIPPED = 1e-4, 1e-3  # m above the floor: a sole that lies stands no higher, nor does one on a corner
FADE = 0.2  # s: over so long a point that was let go comes to where bones ask it to be
LED = 4.0  # what a point on its way weighs: bones tell the pose, it tells where that is
STIFF = 1.0  # what a point weighs beside that when it is half let go
STIFF_TURN = 0.05  # and how its foot is turned


@dataclass(eq=False)
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
        fall: The speed at which it comes to its height [m/s], downwards below 0.
        tip: That of its tilt [m/s].
        down: Whether it has come to its height, and its edge flat.
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
    fall: float = 0.0
    tip: float = 0.0
    down: bool = False

    @property
    def stands(self) -> float:
        """How high it is where its sole lies flat on the floor [m]."""
        return 0.0 if self.edge is None else self.edge.stands

    @property
    def tips(self) -> bool:
        """Whether its foot cannot be laid flat: it stands on the lower corner of its edge."""
        return self.edge is not None and not self.edge.lies


@dataclass(frozen=True, eq=False)
class Seen:
    """What was seen of the target's soles in one pose.

    Attributes:
        places: Where the points are, (points, 3) [m].
        corners: How much lower than its middle the lower corner of an edge is, (points,) [m].
        tilts: How much higher than its middle the first corner of an edge is, (points,) [m].
        heights: Of the middle and both corners, (points, 3) [m]; less than they are high on a flat sole.
    """

    places: Floats
    corners: Floats
    tilts: Floats
    heights: Floats

    @property
    def depths(self) -> Floats:
        """How deep below the floor the edge of each point is, (points,) [m]; above it below 0."""
        out: Floats = -self.heights.min(axis=1)
        return out


class Treading:
    """Which points of the target stand, and where."""

    def __init__(self, carrying: CarryOver, fps: float) -> None:
        self.carrying, self.fps, self.up = carrying, fps, carrying.model.up_direction
        self.holds = list_holds(carrying) if carrying.moves else []
        self.giant = measure_giant(Motion(carrying.model, carrying.model.rest[None], fps))
        self.frames = np.array([carrying.at[hold.source.frame] for hold in self.holds], dtype=np.int64)
        self.points = np.array([hold.source.point for hold in self.holds]).reshape(-1, 3, 1)
        self.feet = list(dict.fromkeys(hold.frame for hold in self.holds))
        self.foot_of = np.array([self.feet.index(hold.frame) for hold in self.holds], dtype=np.int64)
        corners = [[c.point for c in hold.edge.corners] if hold.edge else [hold.point] * 2 for hold in self.holds]
        points = [[hold.point, *each] for hold, each in zip(self.holds, corners, strict=True)]
        self.own = np.array(points).reshape(-1, 3, 3).swapaxes(1, 2)
        rises = [(0.0, *(hold.edge.rises if hold.edge else (0.0, 0.0))) for hold in self.holds]
        self.rises = np.array(rises).reshape(-1, 3) + np.array([hold.stands for hold in self.holds]).reshape(-1, 1)
        self.long = max(1, round(FADE * fps))
        self.apart = {
            (a.name, b.name): measure_apart(a, b)
            for a in self.holds
            for b in self.holds
            if a is not b and a.frame == b.frame
        }
        self.detector = ContactDetector(len(self.holds), fps)
        self.forget()

    def forget(self) -> None:
        """Begin again: nothing stands."""
        self.detector.reset()
        self.now: Seen | None = None
        self.was: Seen | None = None
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
        free = np.array([not hold.forced for hold in self.holds])
        standing = self.detector.watch(now, now @ self.up - floor, size, free).tolist()
        self.dragged = self.dragged + 1 if 0 < self.dragged < self.long else 0
        for i, (hold, stands) in enumerate(zip(self.holds, standing, strict=True)):
            if stands:
                if hold.place is None:
                    self._take(hold, i)
                self._lower(hold, i)
            elif hold.place is not None:
                self._release(hold, q)
            elif hold.fade:
                hold.fade = hold.fade + 1 if hold.fade < self.long else 0
                hold.forced = hold.forced and hold.fade > 0
        self.targets = targets
        self._level()
        self._fade()

    def find_lowest(self, T: Floats) -> float:
        """Return how high the lowest sole of the source is in a frame of it, (parts, 4, 4); 0 where it has none."""
        part = T[self.frames]
        heights = ((part[:, :3, :3] @ self.points)[..., 0] + part[:, :3, 3]) @ self.up
        return float(heights.min()) if heights.size else 0.0

    def look(self, q: Floats) -> Seen:
        """Look where the points of the target are in a pose, and how deep."""
        feet = np.array([self.carrying.model.fk(q, frame) for frame in self.feet]).reshape(-1, 4, 4)[self.foot_of]
        places = feet[:, :3, :3] @ self.own + feet[:, :3, 3:]
        heights = self.up @ places - self.rises
        return Seen(places[..., 0], heights[:, 0] - heights[:, 1:].min(axis=1), heights[:, 1] - heights[:, 0], heights)

    def keep(self, seen: Seen) -> None:
        """Keep what was seen of the newest pose: the next frame goes on from there."""
        self.was, self.now = self.now, seen

    def lift(self, seen: Seen) -> bool:
        """Raise the points that stand by how deep their edge is below the floor; tell whether there was one."""
        depths, lifted = seen.depths, False
        for hold, depth in zip(self.holds, depths.tolist(), strict=True):
            if hold.place is not None and depth > TOUCHES * self.giant:
                hold.place, lifted = hold.place + depth * self.up, True
        return lifted

    def list_standing(self) -> list[Floats | None]:
        """List where each point is in the newest pose if it stands on the floor, else None.

        A foot that can be laid flat stands when it has come down and lies; one that cannot, when an edge is down.
        """
        assert self.now is not None
        gaps, down, tipped = -self.now.depths, DOWN * self.giant, TIPPED * self.giant
        return [
            place if hold.place is not None and (gap < tipped if hold.tips else hold.down and gap < down) else None
            for hold, place, gap in zip(self.holds, self.now.places, gaps.tolist(), strict=True)
        ]

    def drag_hips(self) -> Floats:
        """Return how far from where they are asked to be the hips may still be [m]."""
        drag: Floats = self.drag * self._tell_left(self.dragged) if self.dragged else np.zeros(3)
        return drag

    def let_go(self, hold: Foothold, q: Floats | None) -> None:
        """Let a point go that cannot stand where it is; `q` is the pose of the frame before."""
        self._release(hold, q)
        self._fade()
        self.detector.release(self.holds.index(hold))
        hold.forced = True

    def weigh(self, hold: Foothold) -> float:
        """Return what a point on its way counts: much at first, where it was let go."""
        if not hold.fade:
            return LED
        left = self._tell_left(hold.fade)
        return LED + STIFF * float(np.sqrt(left / (1.0 - left)))

    def turn_foot(self, hold: Foothold) -> tuple[Floats, float]:
        """Return how the foot of a point that fades is asked to be turned, (3, 3), and what that counts."""
        assert hold.leg is not None
        assert hold.turn is not None
        assert self.targets is not None
        wanted = self.targets[hold.leg.rows[-1], :9].reshape(3, 3)
        turned: Floats = wanted @ Rotation.from_vector(self._tell_left(hold.fade) * hold.turn).matrix
        return turned, STIFF_TURN * self.weigh(hold)

    def _tell_left(self, frames: int) -> float:
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
        """Write where points on their way are asked to be: where bones lead, but not below the floor."""
        for hold in self.holds:
            hold.goal = None
            if hold.leg is None or hold.place is not None or self.targets is None:
                continue
            goal = hold.leg.find_place(self.targets)
            if hold.fade and hold.off is not None:
                goal = goal + self._tell_left(hold.fade) * hold.off
            depth = hold.stands - float(goal @ self.up)
            hold.goal = goal + depth * self.up if depth > 0.0 else goal

    def _take(self, hold: Foothold, i: int) -> None:
        """Let a point stand where the target had it; it goes on down as fast as it was."""
        assert self.now is not None
        now, was = self.now, self.now if self.was is None else self.was
        hold.place, hold.fade = now.places[i].copy(), 0
        hold.fall = self.fps * float((now.places[i] - was.places[i]) @ self.up)
        hold.tilt, hold.tip = 0.0, 0.0
        if hold.edge is not None and hold.edge.lies:
            hold.tilt, hold.tip = float(now.tilts[i]), self.fps * float(now.tilts[i] - was.tilts[i])
        self._keep_apart(hold)

    def _lower(self, hold: Foothold, i: int) -> None:
        """Let a point come down, and its edge flat, no faster than what is said to stand.

        A foot that cannot be laid flat stands on its lower corner: its point is as high as that is low.
        """
        assert hold.place is not None
        assert self.now is not None
        stands = hold.stands
        if hold.tips:
            before = self.now if self.was is None else self.was
            stands += max(0.0, float(2.0 * self.now.corners[i] - before.corners[i]))
        height = float(hold.place @ self.up)
        left, hold.fall = self._settle(height - stands, hold.fall)
        if height != stands + left:
            hold.place = hold.place + (stands + left - height) * self.up
            self._keep_apart(hold)
        hold.tilt, hold.tip = self._settle(hold.tilt, hold.tip)
        hold.down = left == 0.0 and hold.tilt == 0.0

    def _settle(self, x: float, v: float) -> tuple[float, float]:
        """Return a height and its speed one frame later; a giant comes down as many times as fast as it is large."""
        there, speed = settle(x / self.giant, v / self.giant, 1.0 / self.fps, FOOT_RULE.stay_speed_m_s)
        return there * self.giant, speed * self.giant

    def _level(self) -> None:
        """Keep the points of a foot that is tilted so high that none of its corners is below the floor."""
        for hold in self.holds:
            if hold.place is not None:
                tilts = [abs(each.tilt) for each in self.holds if each.frame == hold.frame and each.place is not None]
                low = hold.stands + max(tilts) - float(hold.place @ self.up)
                if low > 0.0:
                    hold.place = hold.place + low * self.up

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


def measure_apart(a: Foothold, b: Foothold) -> float:
    """Return how far apart two points of one frame are."""
    return float(np.linalg.norm(np.array(a.point) - np.array(b.point)))
