"""Contacts of a retargeted stream, decided from the frames so far.

`ContactDetector` finds the points of the source that stand. A point of the target stands at its position when its
contact began, and moves down to its height from its current speed (`settle`); so does the corner of its edge, until the
edge lies flat. Two points of one foot keep their distance.

The target of a swinging point is the position given by the bones, even if the other foot holds the hips back: the point
lands there, and the next step begins there. A released point does not jump to that position, and neither do the hips:
the difference fades over a few frames. A point that cannot be held is released, and stands again at its new position
after it has faded.
"""

from dataclasses import dataclass
from math import exp

import numpy as np

from poise.arrays import Floats
from poise.kinematics import Motion
from poise.motion.contact.curves import ease
from poise.motion.contact.detector import FOOT_RULE, PAW_RULE, ContactDetector
from poise.motion.contact.sole_places import find_stretch
from poise.motion.contact.soles import measure_giant
from poise.motion.retargeting.correspondence import CarryOver
from poise.motion.retargeting.footholds import Leg, PawRow, StreamFoothold, list_footholds, measure_apart
from poise.motion.retargeting.stream_ground import StreamGround
from poise.spatial import Rotation

__all__ = ["SolePlaces", "StreamContacts", "settle"]

TOUCH_DEPTH_M = 1e-5  # a sole that is less deep stands on the floor
FLAT_GAP_M, TIPPED_GAP_M = 1e-4, 1e-3  # largest heights above the floor of a standing flat sole, and of one on a corner
FADE_S = 0.2  # time in which a released point moves to the target of its bones
SWING_WEIGHT = 4.0  # of the target of a swinging point: bones determine the pose, this target the position
RELEASE_WEIGHT = 1.0  # added to it for a released point that has half faded
RELEASE_TURN_WEIGHT = 0.05  # of the rotation of its foot, relative to the weight of its position
SETTLE_RATE_HZ = 24.0  # w of `settle` [1/s]: a third is left after 0.1 s
PAW_SETTLE_RATE_HZ = 250.0  # paws stand for 0.1 to 0.3 s, and are down after one or two frames
RISE_SHARE = 0.5  # of the height at which a paw lands, in the estimate of its standing height
SETTLED_M = 1e-4  # smaller heights are set to 0


@dataclass(frozen=True, eq=False)
class SolePlaces:
    """The target's soles in one pose.

    Attributes:
        places: The positions of the points, (points, 3) [m].
        heights: The heights of the middle and both corners of each edge above those of a flat sole [m].
        depths: The depth of each edge below the floor [m]; negative above it.
    """

    places: Floats
    heights: list[list[float]]
    depths: list[float]

    def find_corner(self, i: int) -> float:
        """Return the depth of the lower corner of an edge below its middle [m]."""
        middle, *corners = self.heights[i]
        return middle - min(corners)

    def find_tilt(self, i: int) -> float:
        """Return the height of the first corner of an edge above its middle [m]."""
        return self.heights[i][1] - self.heights[i][0]


class StreamContacts:
    """The standing points of the target of a stream, and the targets of the others.

    Attributes:
        holds: The points.
        hip_shift: The remaining displacement of the hips from their target [m].
        soles: The soles in the newest pose; None before the first.
    """

    def __init__(self, carrying: CarryOver, fps: float) -> None:
        self.carrying, self.model, self.fps = carrying, carrying.model, fps
        self.up, self.up_axis = carrying.model.up_direction, carrying.model.up_axis
        self.pelvis = carrying.ours["pelvis"]
        self.holds = list_footholds(carrying) if carrying.moves else []
        self.giant = measure_giant(Motion(self.model, self.model.rest[None], fps))
        self.apart = measure_apart(self.holds)
        self.rule = PAW_RULE if carrying.tips else FOOT_RULE
        self.detector = ContactDetector(len(self.holds), fps, rule=self.rule)
        self.fade_frames = max(1, round(FADE_S * fps))
        self._lay_out()
        self.forget()

    def _lay_out(self) -> None:
        """Store the points in arrays."""
        holds = self.holds
        self.foot_of = np.array([self.model.frames.index(hold.frame) for hold in holds], dtype=np.int64)
        corners = [[c.point for c in hold.edge.corners] if hold.edge else [hold.point] * 2 for hold in holds]
        points = [[(*x, 1.0) for x in (hold.point, *each)] for hold, each in zip(holds, corners, strict=True)]
        self.points = np.array(points).reshape(-1, 3, 4).swapaxes(1, 2)
        rises = [(0.0, *(hold.edge.rises if hold.edge else (0.0, 0.0))) for hold in holds]
        self.rises = np.array(rises).reshape(-1, 3) + np.array([hold.stands for hold in holds]).reshape(-1, 1)

    def forget(self) -> None:
        """Reset to the state before the first frame: no point stands."""
        self.detector.reset()
        self.soles: SolePlaces | None = None
        self.last_soles: SolePlaces | None = None
        self.targets: Floats | None = None
        self.source_soles, self.source_floor = [[0.0] * 3] * len(self.holds), 0.0
        self.hip_shift, self.drag, self.dragged = np.zeros(3), np.zeros(3), 0
        for hold in self.holds:
            hold.place, hold.offset, hold.goal, hold.fade, hold.forced, hold.rise = None, None, None, 0, False, 0.0

    def watch(self, ground: StreamGround, q: Floats | None, targets: Floats) -> None:
        """Process one frame of the source, and begin and end contacts.

        Args:
            ground: The floor and the soles of the source in this frame.
            q: The pose of the target in the previous frame.
            targets: The targets of this frame, (goals, 12).
        """
        if not self.holds:
            return
        free = [faces and not hold.forced for hold, faces in zip(self.holds, ground.faces_floor, strict=True)]
        floor = ground.estimate.floor
        heights = [place[self.up_axis] - floor for place in ground.soles]
        pelvis = ground.pelvis.tolist() if self.rule.pelvis_share else None
        standing = self.detector.watch(ground.soles, heights, ground.estimate.size, free, pelvis)
        self.dragged = self.dragged + 1 if 0 < self.dragged < self.fade_frames else 0
        for i, (hold, stands) in enumerate(zip(self.holds, standing, strict=True)):
            if stands:
                if hold.place is None:
                    self._take(hold, i)
                    if isinstance(hold.leg, PawRow):
                        above = hold.leg.follow(targets).item(self.up_axis) - hold.stands
                        hold.rise += (RISE_SHARE if hold.rise else 1.0) * (above - hold.rise)
                self._lower(hold, i)
            elif hold.place is not None:
                self._release(hold, q)
            elif hold.fade:
                hold.fade = hold.fade + 1 if hold.fade < self.fade_frames else 0
                hold.forced = hold.forced and hold.fade > 0
        self.targets, self.last_soles = targets, self.soles
        self.source_soles, self.source_floor = ground.soles, floor
        self._level()
        self._aim()

    def look(self, T: Floats) -> SolePlaces:
        """Return the soles of the target in its newest pose, and keep them for the next frame.

        Args:
            T: The transforms of all frames of the target, (frames, 4, 4).
        """
        places = T[self.foot_of, :3] @ self.points
        heights = (places[:, self.up_axis] - self.rises).tolist()
        self.soles = SolePlaces(places[..., 0], heights, [-min(each) for each in heights])
        return self.soles

    def raise_standing(self, T: Floats) -> bool:
        """Raise standing points that are below the floor in a pose (`look`); return whether any was raised."""
        lifted = False
        for hold, depth in zip(self.holds, self.look(T).depths, strict=True):
            if hold.place is not None and depth > TOUCH_DEPTH_M * self.giant:
                hold.place, lifted = hold.place + depth * self.up, True
        return lifted

    def list_standing(self) -> list[Floats | None]:
        """List the position of each point in the newest pose, or None if it does not stand on the floor.

        A foot that can be laid flat stands when it is down and flat; any other foot, when an edge is down.
        """
        assert self.soles is not None
        flat, tipped = -FLAT_GAP_M * self.giant, -TIPPED_GAP_M * self.giant
        return [
            place if hold.place is not None and (low > tipped if hold.tips else hold.down and low > flat) else None
            for hold, place, low in zip(self.holds, self.soles.places, self.soles.depths, strict=True)
        ]

    def release(self, hold: StreamFoothold, q: Floats | None) -> None:
        """Release a point that cannot be held at its place; `q` is the pose of the previous frame."""
        self._release(hold, q)
        self._aim()
        self.detector.release(self.holds.index(hold))
        hold.forced = True

    def _release(self, hold: StreamFoothold, q: Floats | None) -> None:
        """Release a point: its offset and that of the hips from their targets fade out."""
        hold.place, hold.offset, hold.turn, hold.fade = None, None, None, 0
        if self.targets is None or q is None:
            return
        own, foot, pelvis = self.model.fk(q, [hold.frame, hold.foot, self.pelvis])
        stood = own[:3, :3] @ np.array(hold.point) + own[:3, 3]
        hold.offset, hold.fade = stood - self._follow(hold, self.targets), 1
        if hold.leg is None:
            return
        hips = pelvis[:3, :3] @ self.carrying.own_middle + pelvis[:3, 3]
        self.drag, self.dragged = hips - self.targets[hold.leg.hips, 9:], 1
        if isinstance(hold.leg, Leg):
            wanted = self.targets[hold.leg.foot, :9].reshape(3, 3)
            hold.turn = Rotation.from_matrix(wanted.T @ foot[:3, :3]).log()

    def _follow(self, hold: StreamFoothold, targets: Floats) -> Floats:
        """Return the position of a point without contacts; without known bones, that of the source, scaled [m]."""
        if hold.leg is None:
            place = np.array(self.source_soles[self.holds.index(hold)]) - self.source_floor * self.up
            return np.asarray(self.carrying.scales.path * place)
        place = hold.leg.follow(targets)
        place[self.up_axis] -= hold.rise
        return place

    def _aim(self) -> None:
        """Set the targets of swinging points (not below the floor), of fading feet, and of the hips."""
        self.hip_shift = self.drag * self._measure_left(self.dragged) if self.dragged else np.zeros(3)
        for hold in self.holds:
            hold.goal, hold.turned = None, None
            if hold.place is not None or self.targets is None or (hold.leg is None and not hold.fade):
                continue
            goal, hold.weight = self._follow(hold, self.targets), SWING_WEIGHT if hold.leg else 0.0
            if hold.fade:
                left = self._measure_left(hold.fade)
                hold.weight += RELEASE_WEIGHT * float(np.sqrt(left / (1.0 - left)))
                if hold.offset is not None:
                    goal = goal + left * hold.offset
                if hold.turn is not None and isinstance(hold.leg, Leg):
                    turn = Rotation.from_vector(left * hold.turn).matrix
                    hold.turned = self.targets[hold.leg.foot, :9].reshape(3, 3) @ turn
            goal[self.up_axis] = max(goal.item(self.up_axis), hold.stands)
            hold.goal = goal

    def _measure_left(self, frames: int) -> float:
        """Return the share of a difference that remains `frames` frames after a release."""
        return 1.0 - ease(frames / (self.fade_frames + 1.0))

    def _take(self, hold: StreamFoothold, i: int) -> None:
        """Begin a contact at the point's current position; it continues down at its current speed."""
        assert self.soles is not None
        now, was = self.soles, self.last_soles or self.soles
        hold.place, hold.fade = now.places[i].copy(), 0
        hold.fall = self.fps * float(now.places[i, self.up_axis] - was.places[i, self.up_axis])
        hold.tilt, hold.tip = 0.0, 0.0
        if hold.edge is not None and not hold.tips:
            hold.tilt = now.find_tilt(i)
            hold.tip = self.fps * (hold.tilt - was.find_tilt(i))
        self._keep_apart(hold)

    def _lower(self, hold: StreamFoothold, i: int) -> None:
        """Lower a point and lay its edge flat, no faster than a standing point may move.

        A foot that cannot be laid flat stands on its lower corner: its point is higher by the depth of that corner.
        """
        assert hold.place is not None
        assert self.soles is not None
        stands = hold.stands
        if hold.tips:
            before = self.last_soles or self.soles
            stands += max(0.0, 2.0 * self.soles.find_corner(i) - before.find_corner(i))
        height = hold.place.item(self.up_axis)
        left, hold.fall = self._settle(height - stands, hold.fall)
        if height != stands + left:
            hold.place = hold.place.copy()
            hold.place[self.up_axis] = stands + left
            self._keep_apart(hold)
        hold.tilt, hold.tip = self._settle(hold.tilt, hold.tip)
        hold.down = left == 0.0 and hold.tilt == 0.0

    def _settle(self, x: float, v: float) -> tuple[float, float]:
        """Return a height and its speed one frame later; the speed scales with the size of a giant."""
        rate, most = PAW_SETTLE_RATE_HZ if self.carrying.tips else SETTLE_RATE_HZ, self.rule.stay_speed_m_s
        there, speed = settle(x / self.giant, v / self.giant, 1.0 / self.fps, most, rate)
        return there * self.giant, speed * self.giant

    def _level(self) -> None:
        """Raise the points of a tilted foot so that none of its corners is below the floor."""
        for hold in self.holds:
            if hold.place is not None:
                tilts = [abs(each.tilt) for each in self.holds if each.frame == hold.frame and each.place is not None]
                low = hold.stands + max(tilts)
                if low > hold.place.item(self.up_axis):
                    hold.place = hold.place.copy()
                    hold.place[self.up_axis] = low

    def _keep_apart(self, hold: StreamFoothold) -> None:
        """Move the place of a point horizontally until its distances to the other points of its foot are right."""
        for other in self.holds:
            far = self.apart.get((hold.name, other.name))
            if far is None or other.place is None or hold.place is None:
                continue
            hold.place = hold.place + find_stretch(other.place, hold.place, far, self.up)


def settle(x: float, v: float, seconds: float, most: float, rate: float) -> tuple[float, float]:
    """Return a height and its speed after a time step, on its way to 0.

        x'' = -2 w x' - w^2 x,    x(t) = (x0 + (v0 + w x0) t) exp(-w t)

    is the fastest approach without overshoot. Feet that stop at once shake the whole body, and a foot that is flat at
    once turns its ankle by a large angle in one frame.

    Args:
        x: The height [m]; a negative height rises in the same way.
        v: Its speed [m/s].
        seconds: The time step [s].
        most: The highest speed [m/s].
        rate: w [1/s].
    """
    if abs(x) <= SETTLED_M:
        return 0.0, 0.0
    pull, left = v + rate * x, exp(-rate * seconds)
    there = (x + pull * seconds) * left
    if there * x <= 0.0:  # overshoot: it is down, and stays there
        there = 0.0
    if abs(there - x) > most * seconds:
        speed = most if there > x else -most
        return x + speed * seconds, speed
    return there, (pull * left - rate * there if there else 0.0)
