"""Contacts of a retargeted stream, decided from the frames so far.

Which points of the source stand is found by `ContactDetector`. A point of the target stands where the target had it
when its contact began, and comes down to its height with the speed that it had (`settle`); so does the corner of its
edge, until the edge lies flat. Two points of one foot keep their distance.

A point on its way has the place as its target to which the bones lead it, even where the other foot holds the hips
back: so it lands there, and the next step begins where this one ended. A point that is released does not jump there,
nor do the hips that it held back: the difference fades over a few frames. A point that cannot be held is released once,
and stands again where that has brought it.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import exp

import numpy as np

from poise.arrays import Floats
from poise.kinematics import Motion
from poise.motion.contact.detector import FOOT_RULE, ContactDetector
from poise.motion.contact.footholds import Leg, StreamFoothold, list_footholds, measure_apart
from poise.motion.contact.soles import measure_giant
from poise.motion.retargeting.correspondence import CarryOver
from poise.spatial import Rotation

__all__ = ["SolePlaces", "StreamContacts", "follow_leg", "settle"]

TOUCH_DEPTH_M = 1e-5  # a sole that is no deeper stands on the floor
FLAT_GAP_M, TIPPED_GAP_M = 1e-4, 1e-3  # the highest above the floor of a flat sole that stands, and of one on a corner
FADE_S = 0.2  # over which a released point comes to the target of its bones
SWING_WEIGHT = 4.0  # of the target of a point on its way: bones give the pose, it gives the place
RELEASE_WEIGHT = 1.0  # in addition to that, of a point that has half faded
RELEASE_TURN_WEIGHT = 0.05  # of the turn of its foot, relative to the weight of its place
SETTLE_RATE_HZ = 24.0  # w of `settle`: after a tenth of a second a third is left
SETTLED_M = 1e-4  # a height below this is 0


@dataclass(frozen=True, eq=False)
class SolePlaces:
    """The target's soles in one pose.

    Attributes:
        places: Where the points are, (points, 3) [m].
        corners: How much lower than its middle the lower corner of an edge is, (points,) [m].
        tilts: How much higher than its middle the first corner of an edge is, (points,) [m].
        depths: How deep below the floor the edge of each point is, (points,) [m]; negative above it.
    """

    places: Floats
    corners: Floats
    tilts: Floats
    depths: Floats


class StreamContacts:
    """The points of the target of a stream that stand, and the targets of those that do not.

    Attributes:
        holds: The points.
        hip_shift: How far the hips are still held back from their target [m].
        soles: The soles in the newest pose; None before the first.
    """

    def __init__(self, carrying: CarryOver, fps: float) -> None:
        self.carrying, self.model, self.fps = carrying, carrying.model, fps
        self.up, self.pelvis = carrying.model.up_direction, carrying.ours["pelvis"]
        self.holds = list_footholds(carrying) if carrying.moves else []
        self.giant = measure_giant(Motion(self.model, self.model.rest[None], fps))
        self.apart = measure_apart(self.holds)
        self.detector = ContactDetector(len(self.holds), fps)
        self.fade_frames = max(1, round(FADE_S * fps))
        self._lay_out()
        self.forget()

    def _lay_out(self) -> None:
        """Lay out the points of both bodies in arrays."""
        holds = self.holds
        self.source_frames = np.array([self.carrying.at[hold.source.frame] for hold in holds], dtype=np.int64)
        self.source_points = np.array([hold.source.point for hold in holds]).reshape(-1, 3, 1)
        self.feet = list(dict.fromkeys(hold.frame for hold in holds))
        self.foot_of = np.array([self.feet.index(hold.frame) for hold in holds], dtype=np.int64)
        corners = [[c.point for c in hold.edge.corners] if hold.edge else [hold.point] * 2 for hold in holds]
        points = [[hold.point, *each] for hold, each in zip(holds, corners, strict=True)]
        self.points = np.array(points).reshape(-1, 3, 3).swapaxes(1, 2)
        rises = [(0.0, *(hold.edge.rises if hold.edge else (0.0, 0.0))) for hold in holds]
        self.rises = np.array(rises).reshape(-1, 3) + np.array([hold.stands for hold in holds]).reshape(-1, 1)

    def forget(self) -> None:
        """Start again: nothing stands."""
        self.detector.reset()
        self.soles: SolePlaces | None = None
        self.last_soles: SolePlaces | None = None
        self.targets: Floats | None = None
        self.hip_shift, self.drag, self.dragged = np.zeros(3), np.zeros(3), 0
        for hold in self.holds:
            hold.place, hold.offset, hold.goal, hold.fade, hold.forced = None, None, None, 0, False

    def find_source_places(self, T: Floats) -> Floats:
        """Return where the soles of the source are in one frame, (points, 3), from its transforms (parts, 4, 4)."""
        part = T[self.source_frames]
        places: Floats = (part[:, :3, :3] @ self.source_points)[..., 0] + part[:, :3, 3]
        return places

    def watch(self, places: Floats, q: Floats | None, targets: Floats, floor: float, size: float) -> None:
        """Take in one frame of the source and decide which points stand.

        Args:
            places: Where the soles of the source are, (points, 3) [m].
            q: The pose of the target at the frame before.
            targets: The targets of this frame, (goals, 12).
            floor: The height of the source's ground [m].
            size: The size of the source relative to a person.
        """
        if not self.holds:
            return
        free = np.array([not hold.forced for hold in self.holds])
        standing = self.detector.watch(places, places @ self.up - floor, size, free).tolist()
        self.dragged = self.dragged + 1 if 0 < self.dragged < self.fade_frames else 0
        for i, (hold, stands) in enumerate(zip(self.holds, standing, strict=True)):
            if stands:
                if hold.place is None:
                    self._take(hold, i)
                self._lower(hold, i)
            elif hold.place is not None:
                self._release(hold, q)
            elif hold.fade:
                hold.fade = hold.fade + 1 if hold.fade < self.fade_frames else 0
                hold.forced = hold.forced and hold.fade > 0
        self.targets, self.last_soles = targets, self.soles
        self._level()
        self._aim()

    def look(self, q: Floats) -> SolePlaces:
        """Return where the soles of the target are in its newest pose; the next frame goes on from there."""
        feet = np.array([self.model.fk(q, frame) for frame in self.feet]).reshape(-1, 4, 4)[self.foot_of]
        places = feet[:, :3, :3] @ self.points + feet[:, :3, 3:]
        heights = self.up @ places - self.rises
        low = heights[:, 1:].min(axis=1)
        self.soles = SolePlaces(
            places[..., 0], heights[:, 0] - low, heights[:, 1] - heights[:, 0], -np.minimum(heights[:, 0], low)
        )
        return self.soles

    def lift(self, soles: SolePlaces) -> bool:
        """Raise the points that stand by the depth of their edge below the floor; return whether there was one."""
        lifted = False
        for hold, depth in zip(self.holds, soles.depths.tolist(), strict=True):
            if hold.place is not None and depth > TOUCH_DEPTH_M * self.giant:
                hold.place, lifted = hold.place + depth * self.up, True
        return lifted

    def list_standing(self) -> list[Floats | None]:
        """List where each point is in the newest pose if it stands on the floor, else None.

        A foot that can be laid flat stands when it has come down and lies; one that cannot, when an edge is down.
        """
        assert self.soles is not None
        gaps, flat, tipped = -self.soles.depths, FLAT_GAP_M * self.giant, TIPPED_GAP_M * self.giant
        return [
            place if hold.place is not None and (gap < tipped if hold.tips else hold.down and gap < flat) else None
            for hold, place, gap in zip(self.holds, self.soles.places, gaps.tolist(), strict=True)
        ]

    def release(self, hold: StreamFoothold, q: Floats | None) -> None:
        """Release a point that cannot stand where it is; `q` is the pose of the frame before."""
        self._release(hold, q)
        self._aim()
        self.detector.release(self.holds.index(hold))
        hold.forced = True

    def _release(self, hold: StreamFoothold, q: Floats | None) -> None:
        """Release a point: its distance and that of the hips from their targets fade."""
        hold.place, hold.offset, hold.fade = None, None, 0
        if hold.leg is None or self.targets is None or q is None:
            return
        own, foot, pelvis = (self.model.fk(q, frame) for frame in (hold.frame, hold.foot, self.pelvis))
        stood = own[:3, :3] @ np.array(hold.point) + own[:3, 3]
        hold.offset, hold.fade = stood - follow_leg(hold.leg, self.targets), 1
        wanted = self.targets[hold.leg.rows[-1], :9].reshape(3, 3)
        hold.turn = Rotation.from_matrix(wanted.T @ foot[:3, :3]).log()
        hips = pelvis[:3, :3] @ self.carrying.own_middle + pelvis[:3, 3]
        self.drag, self.dragged = hips - self.targets[hold.leg.rows[0], 9:], 1

    def _aim(self) -> None:
        """Set the targets of points on their way, not below the floor, of feet that fade, and of the hips."""
        self.hip_shift = self.drag * self._measure_left(self.dragged) if self.dragged else np.zeros(3)
        for hold in self.holds:
            hold.goal, hold.turned = None, None
            if hold.leg is None or hold.place is not None or self.targets is None:
                continue
            goal, hold.weight = follow_leg(hold.leg, self.targets), SWING_WEIGHT
            if hold.fade:
                left = self._measure_left(hold.fade)
                hold.weight += RELEASE_WEIGHT * float(np.sqrt(left / (1.0 - left)))
                if hold.offset is not None:
                    goal = goal + left * hold.offset
            depth = hold.stands - float(goal @ self.up)
            hold.goal = goal + depth * self.up if depth > 0.0 else goal
        for row, hold in {hold.leg.rows[-1]: hold for hold in self.holds if hold.fade and hold.leg}.items():
            if hold.turn is not None and self.targets is not None:
                turn = Rotation.from_vector(self._measure_left(hold.fade) * hold.turn).matrix
                hold.turned = self.targets[row, :9].reshape(3, 3) @ turn

    def _measure_left(self, frames: int) -> float:
        """Return the share of a difference that is left so many frames after a release."""
        far = frames / (self.fade_frames + 1.0)
        return 1.0 - far * far * (3.0 - 2.0 * far)

    def _take(self, hold: StreamFoothold, i: int) -> None:
        """Let a point stand where the target had it; it goes on down as fast as it was."""
        assert self.soles is not None
        now, was = self.soles, self.last_soles or self.soles
        hold.place, hold.fade = now.places[i].copy(), 0
        hold.fall = self.fps * float((now.places[i] - was.places[i]) @ self.up)
        hold.tilt, hold.tip = 0.0, 0.0
        if hold.edge is not None and not hold.tips:
            hold.tilt, hold.tip = float(now.tilts[i]), self.fps * float(now.tilts[i] - was.tilts[i])
        self._keep_apart(hold)

    def _lower(self, hold: StreamFoothold, i: int) -> None:
        """Let a point come down, and its edge flat, no faster than a point that stands may be.

        A foot that cannot be laid flat stands on its lower corner: its point is as high as that is low.
        """
        assert hold.place is not None
        assert self.soles is not None
        stands = hold.stands
        if hold.tips:
            before = self.last_soles or self.soles
            stands += max(0.0, float(2.0 * self.soles.corners[i] - before.corners[i]))
        height = float(hold.place @ self.up)
        left, hold.fall = self._settle(height - stands, hold.fall)
        if height != stands + left:
            hold.place = hold.place + (stands + left - height) * self.up
            self._keep_apart(hold)
        hold.tilt, hold.tip = self._settle(hold.tilt, hold.tip)
        hold.down = left == 0.0 and hold.tilt == 0.0

    def _settle(self, x: float, v: float) -> tuple[float, float]:
        """Return a height and its speed one frame later; giants come down faster in proportion to their size."""
        there, speed = settle(x / self.giant, v / self.giant, 1.0 / self.fps, FOOT_RULE.stay_speed_m_s)
        return there * self.giant, speed * self.giant

    def _level(self) -> None:
        """Keep the points of a tilted foot so high that none of its corners is below the floor."""
        for hold in self.holds:
            if hold.place is not None:
                tilts = [abs(each.tilt) for each in self.holds if each.frame == hold.frame and each.place is not None]
                low = hold.stands + max(tilts) - float(hold.place @ self.up)
                if low > 0.0:
                    hold.place = hold.place + low * self.up

    def _keep_apart(self, hold: StreamFoothold) -> None:
        """Move the place of a point along the ground until its distance to the others of its foot is right."""
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


def follow_leg(leg: Leg, targets: Floats) -> Floats:
    """Return the place to which the targets of bones of one frame, (goals, 12), lead a point of a foot."""
    hips, pelvis, thigh, shank, foot = leg.rows
    place: Floats = targets[hips, 9:] + targets[pelvis, :9].reshape(3, 3) @ leg.start
    place = place + leg.lengths[0] * targets[thigh, 9:] + leg.lengths[1] * targets[shank, 9:]
    return place + targets[foot, :9].reshape(3, 3) @ leg.point


def settle(x: float, v: float, seconds: float, most: float) -> tuple[float, float]:
    """Return a height and its speed a little later, on its way to 0.

        x'' = -2 w x' - w^2 x,    x(t) = (x0 + (v0 + w x0) t) exp(-w t)

    is the quickest way that does not swing. Feet that stop at once shake the whole body, and a foot that is flat at
    once turns its ankle by a large angle in one frame.

    Args:
        x: The height [m]; a depth comes up alike.
        v: Its speed [m/s].
        seconds: The time from now [s].
        most: The highest speed [m/s].
    """
    if abs(x) <= SETTLED_M:
        return 0.0, 0.0
    pull, left = v + SETTLE_RATE_HZ * x, exp(-SETTLE_RATE_HZ * seconds)
    there = (x + pull * seconds) * left
    if there * x <= 0.0:  # it came fast: it is down, and stays there
        there = 0.0
    if abs(there - x) > most * seconds:
        speed = most if there > x else -most
        return x + speed * seconds, speed
    return there, (pull * left - SETTLE_RATE_HZ * there if there else 0.0)
