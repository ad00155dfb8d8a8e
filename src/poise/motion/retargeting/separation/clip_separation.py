"""Separation: limbs of a clip that collide with the body, or with each other, are moved out of it.

1. The collisions of all frames are found with the convex parts of the body (`poise.limits.convex_parts`).
2. Around the frames that collide, arms and the neck are solved again: parts that are near each other stay on their
   sides of planes (`planes`), and the motion is otherwise as near to the given one as possible. Legs also move if the
   body lies and their feet are not in contact.
3. The planes are updated and the frames solved again, until nothing collides.

All other frames and joints stay exactly as they are, and so do contacts. Legs that stand are kept apart before, while
their contacts are held (`list_leg_goals`). Source: Schulman et al., Finding locally optimal, collision-free
trajectories with sequential convex optimization, 2013.
"""

from __future__ import annotations

from collections.abc import Sequence, Set
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from poise.arrays import Floats
from poise.kinematics import Motion
from poise.limits import Limit
from poise.limits.convex_parts import ConvexParts, Overlaps, Ways, find_convex_parts
from poise.limits.support_points import PointClearance
from poise.motion.clips.clip_limits import find_broken, part_limits
from poise.motion.clips.edit import keep_paths
from poise.motion.clips.result import HOLD_ERROR
from poise.motion.clips.whole_clip import ClipGoal, Kernel, solve_whole
from poise.motion.contact.body_heights import measure_heights
from poise.motion.contact.cuts import find_cuts, part_at_cuts
from poise.motion.contact.detector import find_runs
from poise.motion.contact.floors import STAIR_DEPTH_M, list_swinging
from poise.motion.contact.ledger import Contacts
from poise.motion.contact.soles import measure_giant, measure_size
from poise.motion.retargeting.body_floor import NEAR_FLOOR_M, make_floor_limits
from poise.motion.retargeting.correspondence import CarryOver
from poise.motion.retargeting.separation.limbs import list_arms, list_legs, list_movable
from poise.motion.retargeting.separation.planes import bound_shot, list_plane_goals
from poise.motion.retargeting.touch.keeper import list_arm_joints

Flags = NDArray[np.bool_]

__all__ = ["DEEP_M", "MEASURED_FPS", "NEAR_M", "SPREAD_S", "list_leg_goals", "separate_parts"]

# lengths are for a body of 1.75 m
DEEP_M = 3e-3  # depth of a collision that is corrected
NEAR_M = 0.01  # gap of parts that must not collide after the correction either
MEASURED_FPS = 40.0  # collisions are measured about this often; planes between them are interpolated
SPREAD_S = 0.25  # time before and after a collision in which limbs may move
FROZEN_FRAMES = 3  # beyond it, for a smooth end
ROUNDS, STEPS = 5, 6  # updates of the planes, and steps between them
MOST_FRAMES = 300  # solved at once: memory grows with the square of longer windows
FLOOR_ROUNDS, MOST_SINK_M = 2, 1e-3  # solutions of a window that sinks into the floor by more
FASTER_RAD_S = 20.0  # speed of a joint beyond those of a window before that is a jump
SAME_GAP = 1e-9  # rounding of the gap of a limit


def separate_parts(
    motion: Motion, carrying: CarryOver, ledger: Contacts, limits: Sequence[Limit], smooth: float, *, legs: bool = False
) -> Motion:
    """Return a motion whose limbs collide with nothing, as near to the given one as possible.

    Args:
        motion: The motion of the target, with its contacts.
        carrying: The retargeting.
        ledger: The contacts; points of hands keep their paths while they are in contact.
        limits: The limits of the motion.
        smooth: The spread of changes in time.
        legs: Whether legs move out of collisions as well, while their feet are not in contact.
    """
    parts, arms = find_convex_parts(motion.model), list_arms(carrying)
    if parts is None or not arms:
        return motion
    return Separation(motion, parts, arms, list_legs(carrying) if legs else [], ledger, limits, smooth).run()


class Separation:
    """The frames of a clip that collide, and their solution.

    Args:
        motion: The motion.
        parts: The convex parts of its body.
        arms: The joints that move.
        legs: The joints of each leg that moves while it is not in contact.
        ledger: The contacts.
        limits: The limits of the motion.
        smooth: The spread of changes in time.
    """

    def __init__(
        self,
        motion: Motion,
        parts: ConvexParts,
        arms: list[str],
        legs: list[list[str]],
        ledger: Contacts,
        limits: Sequence[Limit],
        smooth: float,
    ) -> None:
        self.motion, self.arms, self.legs = motion, arms, legs
        self.limits, self.smooth = tuple(limits), smooth
        self.parts = list_movable(parts, [*arms, *(name for leg in legs for name in leg)])
        by_arms = {(int(i), int(j)) for i, j in list_movable(parts, arms).pairs}
        self.by_arms = np.array([(int(i), int(j)) in by_arms for i, j in self.parts.pairs], dtype=bool)
        self.size, self.every = measure_size(motion), max(1, round(motion.fps / MEASURED_FPS))
        self.reach = round(SPREAD_S * motion.fps)
        self.timed = bool(part_limits(self.limits)[1])
        self.cuts = [] if self.timed else find_cuts(motion)  # rates hold across cuts
        self.held = list_held(ledger, motion, arms)
        self.stands = [flag_held(list_held(ledger, motion, leg), len(motion)) for leg in legs]
        self.floor = has_level_floor(motion, ledger, self.size)
        self.found = list[Overlaps]()  # the near pairs of each round
        self.moves = np.zeros(len(motion), dtype=bool)  # frames that may change
        self.closed = np.zeros(len(motion), dtype=bool)  # frames that no round improves any more

    def run(self) -> Motion:
        """Return the motion, in which each run of frames is that of the round with the least collisions."""
        q, ways = np.array(self.motion.q), Ways()
        deep = self.find_deep(self.measure(q, np.ones(len(q), dtype=bool), -DEEP_M * self.size))
        for _ in range(ROUNDS):
            if not len(deep.pose):
                break
            self.moves |= flag_around(len(q), deep.pose, self.reach, self.cuts) & ~self.closed
            if not self.found:
                self.found = [self.measure(q, self.moves, NEAR_M * self.size)]
            ways = self.parts.list_ways(self.found[-1]) | ways  # limbs that are on their way out do not turn back
            new, solved = self.solve(q, deep)
            self.found.append(self.measure(new, solved, NEAR_M * self.size, ways))
            left = self.find_deep(self.found[-1])
            before, after = (np.bincount(each.pose, each.depth, len(q)) for each in (deep, left))
            for first, end in self.list_runs():
                if after[first:end].sum() < before[first:end].sum():
                    q[first:end] = new[first:end]
                elif before[first:end].any():
                    self.closed[first:end] = True
            self.moves &= ~self.closed
            deep = left.select(~self.closed[left.pose])
        return Motion(self.motion.model, q, self.motion.fps)

    def measure(self, q: Floats, frames: Flags, margin: float, ways: Ways | None = None) -> Overlaps:
        """Return the near pairs of flagged frames."""
        return measure_near(self.parts, q, frames, self.every, margin, ways, self.cuts)

    def find_deep(self, near: Overlaps) -> Overlaps:
        """Return the collisions that arms can end, or legs that are not in contact around their frames."""
        rows, legs = near.drop_apart(-DEEP_M * self.size), np.zeros(len(self.motion), dtype=bool)
        for stands in self.stands:
            legs |= ~flag_around(len(legs), np.flatnonzero(stands), self.reach + FROZEN_FRAMES, self.cuts)
        return rows.select(self.by_arms[rows.pair] | legs[rows.pose])

    def list_runs(self) -> list[tuple[int, int]]:
        """List the runs of frames that may change, parted at cuts."""
        return part_at_cuts(find_runs(self.moves), self.cuts, 1)

    def solve(self, q: Floats, deep: Overlaps) -> tuple[Floats, Flags]:
        """Solve the windows with collisions; return all frames, and flags of those that were solved."""
        out, solved, collides = np.array(q), np.zeros(len(q), dtype=bool), np.zeros(len(q), dtype=bool)
        collides[deep.pose] = True
        for first, end in self.list_runs():
            shot = bound_shot(first, range(len(q)), self.cuts)
            for a, b in cut_run(first, end, max(MOST_FRAMES, 4 * self.reach), 2 * self.reach):
                if collides[a:b].any():
                    window = slice(max(a - FROZEN_FRAMES, shot.start), min(b + FROZEN_FRAMES, shot.stop))
                    frozen = np.ones(window.stop - window.start, dtype=bool)
                    frozen[a - window.start : b - window.start] = False
                    out[window] = self.solve_window(out, window, frozen)
                    solved[a:b] = True
        return out, solved

    def solve_window(self, q: Floats, at: slice, frozen: Flags) -> Floats:
        """Solve some frames; they stay as they are if they would jump, sink, or break a limit or a contact."""
        window, joints = self.motion[at], [*self.arms, *self.list_loose(at)]
        planes = [  # those of earlier rounds hold the other ends of a part
            goal
            for k, rows in enumerate(self.found)
            for goal in list_plane_goals(self.parts, rows, range(at.start, at.stop), self.every, k)
        ]
        active = tuple(contact for contact in self.held if contact.start < at.stop and contact.end > at.start)
        paths = keep_paths(window, replace(self.held, intervals=active), at.start)
        near = window
        for _ in range(FLOOR_ROUNDS if self.floor else 1):  # limbs may move other points to the floor
            answer = solve_whole(
                window,
                [*planes, *paths],
                start=q[at],
                smooth=self.smooth,
                frozen=frozen,
                joints=joints,
                limits=(*self.limits, *(list_floor(near, joints, self.size) if self.floor else ())),
                steps=None if self.timed else STEPS,
            )
            sinks = self.floor and sinks_more(window, q[at], answer.q, MOST_SINK_M * self.size)
            if not sinks:
                break
            near = Motion(window.model, np.concatenate([near.q, answer.q]), window.fps)
        off = [answer.errors[goal.weights > 0.0, len(planes) + k, 0].max() for k, goal in enumerate(paths)]
        holds = max(off, default=0.0) <= HOLD_ERROR * measure_giant(window)
        fails = sinks or self.jumps(window.q, answer.q) or self.breaks_more(q[at], answer.q)
        return answer.q if holds and not fails else q[at]

    def jumps(self, before: Floats, after: Floats) -> bool:
        """Return whether a joint moves much faster than before."""
        fastest = [np.abs(self.motion.model.difference(q[:-1], q[1:])).max(initial=0.0) for q in (before, after)]
        return bool(fastest[1] > fastest[0] + FASTER_RAD_S / self.motion.fps)

    def breaks_more(self, before: Floats, after: Floats) -> bool:
        """Return whether frames break the limits of the motion more than before."""
        if not self.limits:
            return False
        model, fps, still = self.motion.model, self.motion.fps, np.ones(len(before), dtype=bool)
        gaps, broken = [], []
        for q in (before, after):
            kernel = Kernel(Motion(model, q, fps), (), 1.0, 1.0, self.smooth, None, self.limits, 0)
            gaps.append(np.minimum(kernel.solve(q, 0, len(q), still, 0)[2], 0.0))
            broken.append(find_broken(model, q, np.zeros(len(q)), kernel.rates))
        return bool((gaps[1] < gaps[0] - SAME_GAP).any() or (broken[1] & ~broken[0]).any())

    def list_loose(self, at: slice) -> list[str]:
        """List the joints of the legs that are not in contact in some frames."""
        return [
            name for leg, stands in zip(self.legs, self.stands, strict=True) if not stands[at].any() for name in leg
        ]


def list_leg_goals(free: Motion, carrying: CarryOver, lies: bool) -> tuple[ClipGoal, ...]:
    """List the goals that keep legs out of each other and of the trunk while contacts are held; empty if they are.

    If the body `lies` in some frames, these are left out: its legs move later (`separate_parts`).
    """
    parts, arms = find_convex_parts(free.model), set(list_arm_joints(carrying))
    if parts is None or not arms:
        return ()
    size, every, reach = measure_size(free), max(1, round(free.fps / MEASURED_FPS)), round(SPREAD_S * free.fps)
    cuts = find_cuts(free)
    joints = [joint.name for joint in free.model.joints if joint.nv and joint.name not in arms]
    parts, stands = list_movable(parts, joints, arms), np.ones(len(free), dtype=bool)
    if lies:
        shins = {carrying.ours.get(f"knee_{side}") for side in "lr"}
        stands = ~flag_around(len(free), find_low(free, NEAR_FLOOR_M * size, shins), reach, cuts)
    found = measure_near(parts, free.q, stands, every, -DEEP_M * size, cuts=cuts)
    if not len(found.pose):
        return ()
    moves = stands & flag_around(len(free), found.pose, reach, cuts)
    rows = measure_near(parts, free.q, moves, every, NEAR_M * size, cuts=cuts)
    return tuple(list_plane_goals(parts, rows, range(len(free)), every, cuts=cuts))


def find_low(motion: Motion, height: float, without: Set[str | None]) -> NDArray[np.intp]:
    """Return the frames in which a part is lower than `height` [m], without those that hang on some frames."""
    found = measure_heights(motion)
    if found is None:
        return np.zeros(0, dtype=np.intp)
    own = [k for k, part in enumerate(found.parts) if without.isdisjoint(motion.model.ancestors(part.frame))]
    return np.flatnonzero((found.lowest[:, own] < height).any(axis=1))


def measure_near(
    parts: ConvexParts,
    q: Floats,
    frames: Flags,
    every: int,
    margin: float,
    ways: Ways | None = None,
    cuts: Sequence[int] = (),
) -> Overlaps:
    """Return the pairs with a gap below `margin` [m] in the flagged frames, one of `every` frames.

    `ways` are the preferred directions by group and frame. Directions before and after gaps and cuts are unrelated.
    """
    at = np.flatnonzero(frames[::every]) * every
    index = {int(t): i for i, t in enumerate(at)}
    before = {(group, index[t]): way for (group, t), way in (ways or {}).items() if t in index}
    times = at // every + np.searchsorted(cuts, at, side="right")
    found = parts.measure(q[at], margin, before, times=times)
    return replace(found, pose=at[found.pose])


def list_held(ledger: Contacts, motion: Motion, joints: Sequence[str]) -> Contacts:
    """Return the contacts whose points some joints move."""
    names, model = set(joints), motion.model
    held = [c for c in ledger if any(joint.name in names for joint in model.joints_above(c.frame))]
    return replace(ledger, intervals=tuple(held))


def flag_held(ledger: Contacts, frames: int) -> Flags:
    """Flag the frames with a contact."""
    out = np.zeros(frames, dtype=bool)
    for contact in ledger:
        out[contact.start : contact.end] = True
    return out


def has_level_floor(motion: Motion, ledger: Contacts, size: float) -> bool:
    """Return whether the floor is known at height 0: feet on stairs below it say nothing of the ground elsewhere."""
    return ledger.floor is not None and list_swinging(motion.model, ledger)[1] >= -STAIR_DEPTH_M * size


def sinks_more(window: Motion, before: Floats, after: Floats, most: float) -> bool:
    """Return whether a part is deeper below the floor than before, by more than `most` [m]."""
    one, other = (measure_heights(Motion(window.model, q, window.fps)) for q in (before, after))
    return one is not None and other is not None and bool((other.lowest < np.minimum(one.lowest, 0.0) - most).any())


def list_floor(window: Motion, joints: Sequence[str], size: float) -> tuple[Limit, ...]:
    """Return the limit that keeps the parts that some joints move above the floor; empty if none is near it.

    Soles have no slack, because those in contact do not move.
    """
    names, model, out = set(joints), window.model, list[Limit]()
    for limit in make_floor_limits(window, size, slack=0.0):
        assert isinstance(limit, PointClearance)
        own = [p for p in limit.points if any(joint.name in names for joint in model.joints_above(p.frame))]
        out += [replace(limit, points=tuple(own))] if own else []
    return tuple(out)


def flag_around(frames: int, deep: NDArray[np.intp], reach: int, cuts: Sequence[int] = ()) -> Flags:
    """Flag the frames within `reach` frames of the given ones that no cut separates from them."""
    out = np.zeros(frames, dtype=bool)
    for t in np.unique(deep).tolist():
        shot = bound_shot(t, range(frames), cuts)
        out[max(t - reach, shot.start) : min(t + reach + 1, shot.stop)] = True
    return out


def cut_run(first: int, end: int, most: int, overlap: int) -> list[tuple[int, int]]:
    """Cut a run into windows of at most `most` frames, each of which solves the last frames of the one before again.

    A window ends at the given motion, so its last frames are not those of the whole run.
    """
    out, a = list[tuple[int, int]](), first
    while a + most < end:
        out.append((a, a + most))
        a += most - overlap
    return [*out, (a, end)]
