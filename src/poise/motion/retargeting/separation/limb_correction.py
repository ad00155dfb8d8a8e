"""Correction of the limbs of a clip: they leave parts that they collide with, and hands keep touching other parts.

1. The collisions of all frames are found with the convex parts of the body (`poise.limits.convex_parts`), and the hands
   that do not touch other parts as in the source (`touch`).
2. Around these frames, arms and the neck are solved again: parts that are near each other stay on their sides of planes
   (`planes`), hands have goals where they touch, and the motion is otherwise as near to the given one as possible. Legs
   also move if the body lies and their feet are not in contact.
3. Planes and goals are updated and the frames solved again, until nothing collides and all hands touch.

All other frames and joints stay exactly as they are, and so do contacts. Legs that stand are kept apart before, while
their contacts are held (`leg_goals`). Source: Schulman et al., Finding locally optimal, collision-free
trajectories with sequential convex optimization, 2013.
"""

from collections.abc import Collection, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from poise.arrays import Floats
from poise.goals import Align, Goal, Orient
from poise.kinematics import Motion
from poise.limits import Limit
from poise.limits.convex_parts import ConvexParts, Overlaps, Ways, find_convex_parts
from poise.limits.support_points import PointClearance
from poise.model import Model
from poise.motion.clips.clip_limits import find_broken, part_limits
from poise.motion.clips.edit import keep_paths
from poise.motion.clips.result import HOLD_ERROR
from poise.motion.clips.whole_clip import ClipGoal, Kernel, solve_whole
from poise.motion.contact.body_floor import make_floor_limits, measure_heights
from poise.motion.contact.cuts import find_cuts, part_at_cuts
from poise.motion.contact.detector import find_runs
from poise.motion.contact.ledger import Contacts
from poise.motion.contact.soles import measure_giant, measure_size
from poise.motion.contact.standing_heights import STAIR_DEPTH_M, list_swinging
from poise.motion.problem.near_parts import (
    DEEP_M,
    MISSED_M,
    NEAR_M,
    bound_shot,
    cut_goals,
    flag_around,
    measure_near,
)
from poise.motion.problem.planes import list_plane_goals
from poise.motion.retargeting.correspondence import CarryOver
from poise.motion.retargeting.goal_targets import keep_directions
from poise.motion.retargeting.separation.limbs import list_arms, list_legs, list_movable
from poise.motion.retargeting.touch.keeper import TouchKeeper

Flags = NDArray[np.bool_]

__all__ = ["SPREAD_S", "correct_limbs"]

# lengths are for a body of 1.75 m
SPREAD_S = 0.25  # time before and after a collision in which limbs may move
FROZEN_FRAMES = 3  # beyond it, for a smooth end
PATIENT_ROUNDS = 3  # before collisions take precedence over touch
MOST_FAILURES = 6  # rounds that do not improve a run of frames before it is left as it is
ROUNDS, STEPS = 8, 3  # updates of the planes, and steps between them
MOST_FRAMES = 300  # solved at once: memory grows with the square of longer windows
FLOOR_STEPS, MOST_SINK_M = (6, 18), 1e-3  # of a window near the floor, and again if it jumps or sinks by more
TURN_WEIGHT, HOLD_WEIGHT = 3.0, 0.3  # of the directions of arms, and of a displacement
FREE_TURNS = 3.5  # factor on the weight of directions while no hand touches: planes of drawn shapes push limbs aside
PLANE_WEIGHT = 100.0  # of a plane [1 / L]
SMOOTHNESS = 1.5  # factor on `smooth`
JUMP = 2.0  # of a step, relative to those before and after: a jump of the posture
FASTER_RAD_S = 20.0  # speed of a joint beyond those of a window before that is a jump
DEPTH_COST = 6.0  # of a depth, relative to a distance of a hand from where it touches
LEAST_GAIN = 1e-3  # of both in a round, relative to the one before
SAME_GAP = 1e-9  # rounding of the gap of a limit


def correct_limbs(
    motion: Motion,
    carrying: CarryOver,
    ledger: Contacts,
    limits: Sequence[Limit],
    smooth: float,
    wanted: Sequence[ClipGoal] = (),
    *,
    clear: bool = True,
    legs: bool = False,
    keeper: TouchKeeper | None = None,
) -> Motion:
    """Return a motion whose limbs collide with nothing and touch as in the source, otherwise as near as possible.

    Args:
        motion: The motion of the target, with its contacts.
        carrying: The retargeting.
        ledger: The contacts; points of hands keep their paths while they are in contact.
        limits: The limits of the motion.
        smooth: The spread of changes in time.
        wanted: The goals of bones and parts: those of limbs that move keep their directions where possible.
        clear: Whether limbs move out of collisions.
        legs: Whether legs move out of collisions as well, while their feet are not in contact.
        keeper: The touches of the clip.
    """
    parts, arms = find_convex_parts(motion.model) if clear else None, list_arms(carrying)
    if not arms or (parts is None and (keeper is None or not keeper.touches)):
        return motion
    if parts is None:
        parts = ConvexParts(motion.model, (), np.zeros((0, 2), dtype=np.intp))
    loose = list_legs(carrying) if legs else []
    moving = {*arms, *(name for leg in loose for name in leg)}
    bones = [each for each in wanted if moves_with(motion.model, each.goal, moving)]
    return LimbCorrection(motion, parts, arms, loose, ledger, limits, smooth, bones, keeper).run()


class LimbCorrection:
    """The frames of a clip that collide or do not touch, and their solution.

    Args:
        motion: The motion.
        parts: The convex parts of its body.
        arms: The joints that move.
        legs: The joints of each leg that moves while it is not in contact.
        ledger: The contacts.
        limits: The limits of the motion.
        smooth: The spread of changes in time.
        bones: The goals of their bones and parts.
        keeper: The touches.
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
        bones: Sequence[ClipGoal],
        keeper: TouchKeeper | None,
    ) -> None:
        self.motion, self.arms, self.legs, self.keeper = motion, arms, legs, keeper
        self.limits, self.smooth = tuple(limits), smooth
        moving = [*arms, *(name for leg in legs for name in leg)]
        self.parts = list_movable(parts, moving)
        by_arms = {(int(i), int(j)) for i, j in list_movable(parts, arms).pairs}
        self.by_arms = np.array([(int(i), int(j)) in by_arms for i, j in self.parts.pairs], dtype=bool)
        self.size = measure_size(motion)
        self.reach = round(SPREAD_S * motion.fps)
        self.timed = bool(part_limits(self.limits)[1])
        self.cuts = [] if self.timed else find_posture_cuts(motion, moving)  # rates hold across cuts
        self.held = list_held(ledger, motion, arms)
        self.stands = [flag_held(list_held(ledger, motion, leg), len(motion)) for leg in legs]
        self.floor = has_level_floor(motion, ledger, self.size)
        self.found = list[Overlaps]()  # the near pairs of each round
        self.planes = dict[tuple[int, int, int], list[ClipGoal]]()  # their goals, by round and frames
        self.turns = list(keep_directions(motion, bones, TURN_WEIGHT))
        self.touch = list[ClipGoal]()  # of the last round
        self.share = np.ones(len(motion))  # of the weight of touch: less where it leads into other parts
        self.moves = np.zeros(len(motion), dtype=bool)  # frames that may change
        self.failures = np.zeros(len(motion), dtype=np.intp)  # rounds that did not improve a frame

    def run(self) -> Motion:
        """Return the motion, in which each run of frames is the best of all rounds, by collisions and touch."""
        q, ways = np.array(self.motion.q), Ways()
        deep = self.sum_depths(self.measure(q, np.ones(len(q), dtype=bool), -DEEP_M * self.size))
        self.touch, away = self.find_missed(q)
        for round_ in range(ROUNDS):
            wrong = np.flatnonzero(((deep > 0.0) | (away > 0.0)) & (self.failures < MOST_FAILURES))
            if not len(wrong):
                break
            self.moves = flag_around(len(q), wrong, self.reach, self.cuts)
            if not self.found:
                self.found = [self.measure(q, self.moves, NEAR_M * self.size)]
            ways = self.parts.list_ways(self.found[-1]) | ways  # limbs that are on their way out do not turn back
            new, solved = self.solve(q, wrong)
            self.found.append(self.measure(new, solved, NEAR_M * self.size, ways))
            new_deep, (goals, new_away) = self.sum_depths(self.found[-1]), self.find_missed(new)
            new_deep = np.where(solved, new_deep, deep)
            before, after = DEPTH_COST * deep + away, DEPTH_COST * new_deep + new_away
            failed = False
            for first, end in self.list_runs():
                run = slice(first, end)
                if after[run].sum() < (1.0 - LEAST_GAIN) * before[run].sum():
                    q[run], deep[run] = new[run], new_deep[run]
                else:
                    self.failures[run] += 1
                    failed = True
            self.touch, away = self.find_missed(q) if failed else (goals, new_away)
            if round_ >= PATIENT_ROUNDS:
                self.share[flag_around(len(q), np.flatnonzero(deep), self.reach, self.cuts)] *= 0.5
        return Motion(self.motion.model, q, self.motion.fps)

    def find_missed(self, q: Floats) -> tuple[list[ClipGoal], Floats]:
        """Return the goals of touch, and the distance of hands from where they touch, (frames,) [m]; 0 if small."""
        if self.keeper is None or not self.keeper.touches:
            return [], np.zeros(len(q))
        goals, away = self.keeper.make_goals(Motion(self.motion.model, q, self.motion.fps))
        return goals, np.where(away > MISSED_M * self.size, away, 0.0)

    def measure(self, q: Floats, frames: Flags, margin: float, ways: Ways | None = None) -> Overlaps:
        """Return the near pairs of flagged frames."""
        return measure_near(self.parts, q, frames, margin, ways, self.cuts)

    def sum_depths(self, near: Overlaps) -> Floats:
        """Return the depths of collisions that arms can end, or legs that are not in contact, summed, (frames,) [m]."""
        rows, legs = near.drop_apart(-DEEP_M * self.size), np.zeros(len(self.motion), dtype=bool)
        for stands in self.stands:
            legs |= ~flag_around(len(legs), np.flatnonzero(stands), self.reach + FROZEN_FRAMES, self.cuts)
        rows = rows.select(self.by_arms[rows.pair] | legs[rows.pose])
        depths: Floats = np.bincount(rows.pose, rows.depth, len(legs)).astype(np.float64)
        return depths

    def list_runs(self) -> list[tuple[int, int]]:
        """List the runs of frames that may change, parted at cuts."""
        return part_at_cuts(find_runs(self.moves), self.cuts, 1)

    def solve(self, q: Floats, wrong: NDArray[np.intp]) -> tuple[Floats, Flags]:
        """Solve the windows with wrong frames; return all frames, and flags of those that were solved."""
        out, solved, asks = np.array(q), np.zeros(len(q), dtype=bool), np.zeros(len(q), dtype=bool)
        asks[wrong] = True
        for first, end in self.list_runs():
            shot = bound_shot(first, range(len(q)), self.cuts)
            for a, b in cut_run(first, end, max(MOST_FRAMES, 4 * self.reach), 2 * self.reach):
                if asks[a:b].any():
                    window = slice(max(a - FROZEN_FRAMES, shot.start), min(b + FROZEN_FRAMES, shot.stop))
                    frozen = np.ones(window.stop - window.start, dtype=bool)
                    frozen[a - window.start : b - window.start] = False
                    out[window] = self.solve_window(out, window, frozen)
                    solved[a:b] = True
        return out, solved

    def solve_window(self, q: Floats, at: slice, frozen: Flags) -> Floats:
        """Solve some frames; they stay as they are if they would jump, sink, or break a limit or a contact."""
        window, joints = self.motion[at], [*self.arms, *self.list_loose(at)]
        # those of earlier rounds hold the other ends of a part
        planes = [goal for k in range(len(self.found)) for goal in self.list_planes(k, at)]
        active = tuple(contact for contact in self.held if contact.start < at.stop and contact.end > at.start)
        paths = keep_paths(window, replace(self.held, intervals=active), at.start)
        touching = np.flatnonzero(sum((goal.weights for goal in self.touch), np.zeros(len(q))))
        most = FREE_TURNS if any(solid.seen for solid in self.parts.solids) else 1.0
        free = np.where(flag_around(len(q), touching, self.reach, self.cuts), 1.0, most)
        others = [*cut_goals(self.turns, at, free), *cut_goals(self.touch, at, self.share)]
        near = window
        for steps in FLOOR_STEPS if self.floor else (STEPS,):  # limbs may move other points to the floor
            floor = list_floor(near, joints, self.size) if self.floor else ()
            answer = solve_whole(
                window,
                [*planes, *paths, *others],
                start=q[at],
                hold=HOLD_WEIGHT,
                smooth=SMOOTHNESS * self.smooth,
                frozen=frozen,
                joints=joints,
                limits=(*self.limits, *floor),
                steps=None if self.timed else steps if floor else STEPS,
            )
            sinks = self.floor and sinks_more(window, answer.q, MOST_SINK_M * self.size)
            fails = sinks or self.jumps(window.q, answer.q)
            if not fails:
                break
            near = Motion(window.model, np.concatenate([near.q, answer.q]), window.fps)
        off = [answer.errors[goal.weights > 0.0, len(planes) + k, 0].max() for k, goal in enumerate(paths)]
        holds = max(off, default=0.0) <= HOLD_ERROR * measure_giant(window)
        return answer.q if holds and not fails and not self.breaks_more(q[at], answer.q) else q[at]

    def list_planes(self, round_: int, at: slice) -> list[ClipGoal]:
        """List the goals of some frames that keep the near pairs of a round apart."""
        key = round_, at.start, at.stop
        if key not in self.planes:
            frames, rows = range(at.start, at.stop), self.found[round_]
            self.planes[key] = list_plane_goals(self.parts, rows, frames, PLANE_WEIGHT, str(round_))
        return self.planes[key]

    def jumps(self, before: Floats, after: Floats) -> bool:
        """Return whether a joint moves much faster than before."""
        model, fps = self.motion.model, self.motion.fps
        fastest = [np.abs(model.difference(q[:-1], q[1:])).max(axis=0, initial=0.0) for q in (before, after)]
        return bool((fastest[1] > fastest[0] + FASTER_RAD_S / fps).any())

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


def moves_with(model: Model, goal: Goal, joints: Collection[str]) -> bool:
    """Return whether some joints move the frame of a goal."""
    return isinstance(goal, (Align, Orient)) and any(joint.name in joints for joint in model.joints_above(goal.frame))


def find_posture_cuts(motion: Motion, joints: Collection[str]) -> list[int]:
    """List the cuts of a motion at which some joints jump: a body that is only turned or moved keeps its posture."""
    model, cuts = motion.model, find_cuts(motion)
    moving = np.concatenate([np.arange(model.nv)[model.joint(name).v] for name in joints])
    steps = np.abs(model.difference(motion.q[:-1], motion.q[1:]))[:, moving].max(axis=1, initial=0.0)
    around = np.maximum(np.append(0.0, steps[:-1]), np.append(steps[1:], 0.0))
    return [cut for cut in cuts if steps[cut - 1] > JUMP * around[cut - 1]]


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


def sinks_more(window: Motion, after: Floats, most: float) -> bool:
    """Return whether a part is deeper below the floor than before, by more than `most` [m]."""
    one, other = (measure_heights(Motion(window.model, q, window.fps)) for q in (window.q, after))
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


def cut_run(first: int, end: int, most: int, overlap: int) -> list[tuple[int, int]]:
    """Cut a run into windows of at most `most` frames, each of which solves the last frames of the one before again.

    A window ends at the given motion, so its last frames are not those of the whole run.
    """
    out, a = list[tuple[int, int]](), first
    while a + most < end:
        out.append((a, a + most))
        a += most - overlap
    return [*out, (a, end)]
