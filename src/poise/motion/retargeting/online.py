"""Retargeter: retarget a live stream to another body, one frame at a time.

Each frame is solved from the two before it by the kernel for whole clips: contacts are exact, changes spread over time,
and there is no look-ahead. The first frames of a stream are therefore identical, bit for bit, whatever follows.
"""

from collections.abc import Iterable, Iterator, Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from poise.arguments import check_positive
from poise.arrays import Floats
from poise.errors import InvalidValue
from poise.kinematics import Motion, Pose
from poise.kinematics.carriers import Root
from poise.limits import Limit
from poise.limits.near_pairs import keeps_parts_apart
from poise.model import Model
from poise.motion.clips.clip_limits import part_limits, read_floor, read_limits, read_number
from poise.motion.clips.result import Track
from poise.motion.clips.whole_clip import Progress, Window
from poise.motion.contact.body_floor import StreamFloor
from poise.motion.contact.detector import find_runs
from poise.motion.contact.ledger import Contact, Contacts
from poise.motion.retargeting.arms.hinges import FASTEST_LEG_RAD_S
from poise.motion.retargeting.arms.recovery import ArmRecovery
from poise.motion.retargeting.correspondence import CarryOver
from poise.motion.retargeting.footholds import StreamFoothold, list_leg_hinges
from poise.motion.retargeting.frame_targets import FrameTargets
from poise.motion.retargeting.hands.goals import has_hand
from poise.motion.retargeting.mapping import Mapping
from poise.motion.retargeting.options import check_switch, read_frame
from poise.motion.retargeting.result import HOLD_WEIGHT, Retargeted, make_result, prepare
from poise.motion.retargeting.separation.limbs import list_arms
from poise.motion.retargeting.separation.stream_separation import StreamSeparation
from poise.motion.retargeting.stream_contacts import StreamContacts
from poise.motion.retargeting.stream_ground import StreamGround

__all__ = ["Retargeter", "carry_online"]

FRAME_STEPS, LOW_STEPS = 4, 8  # of a frame, and of one with a part near the floor
MORE_STEPS = 40  # of the first frame, which has no previous frame, and if a contact is missed
NEAR_MISS_M = 1e-5  # a contact with a larger error gets more steps,
OUT_OF_REACH_M = 2e-3  # and a contact with a larger error after them is released
SIDE_TURN_RAD_S = 2.0  # of an elbow or knee that turns out to bend to the other side
HELD_M = 1e-6  # largest error of contacts in such frames
STILLNESS = 30.0, 300.0, 3000.0  # costs of the motion of hinges in frames in which they are too fast
SUNK_M = 2e-3  # depth of a part that lifts the whole body
LIFT_M_S = 2.0  # largest speed at which a part below the floor lifts the body
STILL_M, TIPPED_STILL_M = 1e-4, 1e-3  # horizontal travel of a sole that stands still, and of one on a corner


class Retargeter:
    """A live retargeting of a stream of poses: `live.step(frame)` returns the pose of the target.

    Args:
        source: The body of the stream.
        model: The target body; its root must be free.
        mapping: The frames that are the same part; found by default.
        scale: As in `poise.retarget`.
        joints: The only joints that may move.
        limits: Limits in addition to the joint ranges, without rate limits.
        smooth: The spread of changes in time; 1 is 0.1 s.
        fps: Frames per second of the stream.
        floor: The height of the source's floor, in its own unit. By default it is estimated from the first frame and
            corrected by the following ones (`StreamGround`).
        clearance: Whether arms are kept out of the body and of each other, as in `poise.retarget`.
        visible: Whether visual shapes that stand out are parts of the body, as in `poise.retarget`.
    """

    def __init__(
        self,
        source: Model,
        model: Model,
        mapping: Mapping | None = None,
        scale: float | str | dict[str, float | str] = "auto",
        joints: Sequence[str] | None = None,
        limits: Iterable[Limit] = (),
        smooth: float = 1.0,
        fps: float = 30.0,
        floor: float | None = None,
        clearance: bool = True,
        visible: bool = True,
    ) -> None:
        check_switch(clearance, "clearance")
        check_switch(visible, "visible")
        lasting, timed = part_limits(read_limits(limits))
        if timed:
            raise InvalidValue("limits= about time are kept over whole clips, mode='clip'; a stream keeps the others.")
        if isinstance(source, Model) and has_hand(source):
            raise InvalidValue("the source is a hand: its stream is poise.motion.HandRetargeter.")
        smooth, self.limits = read_number(smooth, "smooth", 0.0), tuple(lasting)
        self.carrying: CarryOver = prepare(source, model, mapping, scale, joints, visible=visible)
        self.source, self.model, self.fps = source, model, check_positive(fps, "fps")
        self.up = model.up_direction
        self.contacts = StreamContacts(self.carrying, self.fps)
        soles = [hold.source for hold in self.contacts.holds]
        self.ground = StreamGround(self.carrying, soles, self.fps, read_floor(floor))
        self.arms = ArmRecovery(self.carrying, self.fps, bool(lasting))
        self.targets = FrameTargets(self.carrying, self.contacts, self.arms)
        legs = list_leg_hinges(self.carrying.model, self.contacts.holds)
        self.leg_columns = np.array([joint.q.start for joint in legs], dtype=np.int64)
        self.leg_flags = np.isin(np.arange(self.carrying.model.nv), [joint.v.start for joint in legs])
        top = self.carrying.ours["pelvis"] if self.carrying.root is None else self.carrying.root.frame
        self.body = StreamFloor(self.carrying.model, top)
        joints = self.carrying.joints
        self.window = Window(
            self.carrying.model,
            self.targets.goals,
            hold=HOLD_WEIGHT,
            smooth=smooth,
            fps=self.fps,
            joints=joints,
            limits=lasting,
            guard=self.body.limits,
        )
        own = clearance and not any(map(keeps_parts_apart, lasting))
        self.separation = self._separate_arms() if own else None
        self.reset()

    @property
    def mapping(self) -> Mapping:
        """The mapping between the two bodies."""
        return self.carrying.parts

    def reset(self) -> None:
        """Reset to the state before the first frame."""
        self.frames = 0
        self.q: Floats | None = None
        self.guide: Floats | None = None
        self.low = False  # whether a part other than a foot was near the floor in the newest pose
        self.window.forget()
        self.carrying.forget(SIDE_TURN_RAD_S / self.fps)
        self.ground.forget()
        self.contacts.forget()
        self.arms.forget()
        if self.separation is not None:
            self.separation.forget()

    def step(self, frame: ArrayLike | Pose) -> Pose:
        """Return the pose of the target for the next frame of the stream.

        Raises:
            ModelMismatch: The frame is a pose of another body.
            ShapeMismatch: The frame is not a configuration of the source.
            InvalidValue: The frame has a value that is not a finite number.
        """
        q = read_frame(frame, self.source)
        T = self.carrying.watch(q[None])
        targets = self.carrying.targets.make(T, self.ground.watch(q, T[0]))
        if self.ground.estimate.cut:
            self.window.forget()
            self.contacts.forget()
            self.arms.forget()
            if self.separation is not None:
                self.separation.forget()
        self.contacts.watch(self.ground, self.q, targets[0])
        self.guide = self.carrying.initial.make(T, targets, self.guide)[0]
        self.q = self._solve(targets[0], self.guide)
        self.frames += 1
        return Pose.from_valid(self.model, self._part(self.q))

    def _separate_arms(self) -> StreamSeparation:
        model, arms = self.carrying.model, list_arms(self.carrying)
        return StreamSeparation(model, arms, self.fps, self.window.clamp)

    def _part(self, q: Floats) -> Floats:
        """Return a pose with its arms moved out of collisions, unless a limit or the floor prevents it.

        The next frames are solved from the given pose: collisions do not disturb the other goals.
        """
        if self.separation is None:
            return q
        fk = self.carrying.model.fk
        sunk = min(self.body.find_lowest(fk(q)), -SUNK_M * self.contacts.giant) if self.low else 0.0

        def allows(clear: Floats) -> bool:
            return self.window.keeps_limits(clear) and not (self.low and self.body.find_lowest(fk(clear)) < sunk)

        return self.separation.part(q, allows)

    def _solve(self, targets: Floats, guide: Floats) -> Floats:
        """Solve the next frame, with more steps if a contact is missed, and finally without contacts out of reach."""
        start, steps = (guide, MORE_STEPS) if self.q is None else (self.q, LOW_STEPS if self.low else FRAME_STEPS)
        self.targets.write(targets)
        q, errors = self._solve_once(start, guide, steps)
        if self._list_missed(errors, NEAR_MISS_M):
            q, errors = self._solve_once(start, guide, MORE_STEPS)
            far = self._list_missed(errors, OUT_OF_REACH_M)
            for hold in far:
                self.contacts.release(hold, self.q)
            if far:
                self.targets.write()
                q, errors = self._solve_once(start, guide, MORE_STEPS)
        last = None if self.ground.estimate.cut else self.q
        q, errors = self._slow_down(q, errors, last, guide)
        self.arms.watch(q, last, guide, targets, errors)
        q = self.arms.limit(q, last)
        q = self._stay_above(q, start, guide, steps)
        self.window.keep(q, guide)
        return q

    def _solve_once(
        self, start: Floats, guide: Floats, steps: int, still: tuple[float, NDArray[np.bool_]] | None = None
    ) -> tuple[Floats, Floats]:
        """Solve the next frame in at most `steps` steps; return it and its errors by goal, (goals, 2)."""
        return self.window.solve(start, guide, self.targets, steps, guarded=self.low, still=still)

    def _slow_down(self, q: Floats, errors: Floats, last: Floats | None, guide: Floats) -> tuple[Floats, Floats]:
        """Return a pose and its errors, solved again with still hinges if one is faster than motors are."""
        most = FASTEST_LEG_RAD_S / self.fps
        for cost in STILLNESS:
            if last is None or (np.abs(q - last)[self.leg_columns] <= most).all():
                break
            still = cost, self.leg_flags
            slower, off = self._solve_once(last, guide, MORE_STEPS, still)
            if not self._list_missed(off, HELD_M):
                q, errors = slower, off
        return q, errors

    def _list_missed(self, errors: Floats, most: float) -> list[StreamFoothold]:
        """List the standing points that miss their places by more than `most` [m]; errors by goal, (goals, 2)."""
        misses, most = errors[self.targets.points, 0].tolist(), most * self.contacts.giant
        pairs = zip(self.contacts.holds, misses, strict=True)
        return [hold for hold, off in pairs if hold.place is not None and off > most]

    def _stay_above(self, q: Floats, start: Floats, guide: Floats, steps: int) -> Floats:
        """Return a pose with no part below the floor: raise standing points, then the whole body.

        Limits have priority: a body that they prevent from rising stays where it is.
        """
        fk = self.carrying.model.fk
        T = fk(q)
        lowest = self.body.find_lowest(T) if self.carrying.moves else self.body.near
        falls, self.low = lowest < 0.0 and not self.low, lowest < self.body.near
        if self.contacts.raise_standing(T) or falls:
            self.targets.write()
            last = None if self.ground.estimate.cut else self.q
            q, _ = self._slow_down(*self._solve_once(start, guide, steps), last, guide)
            q = self.arms.limit(q, last)
            T = fk(q)
            self.contacts.look(T)
            lowest = self.body.find_lowest(T) if self.low else lowest
        assert self.contacts.soles is not None
        deepest = max(self.contacts.soles.depths, default=0.0)
        if -lowest > SUNK_M * self.contacts.giant:
            most = np.inf if self.q is None else LIFT_M_S * self.contacts.giant / self.fps
            deepest = max(deepest, min(-lowest, most))
        if deepest > 0.0 and self.carrying.root is not None and self.carrying.moves:
            lifted = lift_root(self.carrying.root, q, deepest * self.up)
            if self.window.keeps_limits(lifted):
                q = lifted
                self.contacts.look(fk(q))
        return q


def lift_root(root: Root, q: Floats, way: Floats) -> Floats:
    """Return a pose with the whole body shifted."""
    out = np.array(q)
    out[root.slide.q.start : root.slide.q.start + 3] += root.base[:3, :3].T @ way
    return out


def carry_online(live: Retargeter, clip: Motion, progress: Progress | None) -> Retargeted:
    """Retarget a clip frame by frame, like a stream."""
    q, stood = np.empty((len(clip), live.model.nq)), list[list[Floats | None]]()
    for t, frame in enumerate(clip.q):
        q[t] = live.step(frame).q
        stood.append(live.contacts.list_standing())
        if progress is not None:
            progress(t + 1, len(clip))
    ledger = list_contacts(stood, live, len(clip), clip.fps)
    track = Track(Motion(live.carrying.model, q, clip.fps), {}, {}, ledger, limits=live.limits)
    return make_result(live.carrying, live.model, track, clip, separated=live.separation is not None)


def list_contacts(stood: list[list[Floats | None]], live: Retargeter, frames: int, fps: float) -> Contacts:
    """Return the contacts of a stream: from the frame in which a point is down, as long as it stays in one place.

    Places are on the floor. A foot that cannot be laid flat rolls on the edge of its sole while it stands: its point
    stays in place horizontally and moves up and down, so the height of its place is a mean.
    """
    out, up = [], live.model.up_direction
    for i, hold in enumerate(live.contacts.holds):
        places = np.array([np.full(3, np.nan) if each[i] is None else each[i] for each in stood]).reshape(-1, 3)
        for a, b in find_runs(~np.isnan(places[:, 0])):
            most = live.contacts.giant * (TIPPED_STILL_M if hold.tips else STILL_M)
            for first, end in part_stays(places[a:b], up, most):
                mean = places[a + first : a + end].mean(axis=0)
                x, y, z = (mean if hold.tips else mean + (hold.stands - mean @ up) * up).tolist()
                out.append(Contact(hold.frame, a + first, a + end, place=(x, y, z), point=hold.point, name=hold.name))
    return Contacts(tuple(out), frames, fps, 0.0)


def part_stays(path: Floats, up: Floats, most: float) -> Iterator[tuple[int, int]]:
    """Split a path into runs (first, one past the last), each within `most` of its first point horizontally.

    Args:
        path: The positions of a point, (frames, 3) [m].
        up: The up direction.
        most: The largest horizontal distance [m].
    """
    across, first = path - np.outer(path @ up, up), 0
    for t in range(1, len(path)):
        if np.linalg.norm(across[t] - across[first]) > most:
            yield first, t
            first = t
    yield first, len(path)
