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
from poise.motion.clips.clip_limits import part_limits
from poise.motion.clips.edit import keep_paths
from poise.motion.clips.whole_clip import ClipGoal, solve_whole
from poise.motion.contact.body_heights import SOLE_SLACK, list_ankles, measure_heights
from poise.motion.contact.detector import find_runs
from poise.motion.contact.ledger import Contacts
from poise.motion.contact.soles import measure_size
from poise.motion.retargeting.body_floor import NEAR_FLOOR_M, make_floor_limits
from poise.motion.retargeting.correspondence import CarryOver
from poise.motion.retargeting.separation.limbs import list_arms, list_legs, list_movable
from poise.motion.retargeting.separation.planes import list_plane_goals
from poise.motion.retargeting.touch.keeper import list_arm_joints

__all__ = ["DEEP_M", "MEASURED_FPS", "NEAR_M", "SPREAD_S", "list_leg_goals", "separate_parts"]

# lengths are for a body of 1.75 m
DEEP_M = 3e-3  # depth of a collision that is corrected
NEAR_M = 0.01  # gap of parts that must not collide after the correction either
MEASURED_FPS = 40.0  # collisions are measured about this often; planes between them are interpolated
SPREAD_S = 0.25  # time before and after a collision in which limbs may move
FROZEN_FRAMES = 3  # beyond it, for a smooth end
ROUNDS, STEPS = 5, 6  # updates of the planes, and steps between them


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
        self.ledger, self.limits, self.smooth = ledger, tuple(limits), smooth
        self.parts = list_movable(parts, [*arms, *(name for leg in legs for name in leg)])
        by_arms = {(int(i), int(j)) for i, j in list_movable(parts, arms).pairs}
        self.by_arms = np.array([(int(i), int(j)) in by_arms for i, j in self.parts.pairs], dtype=bool)
        self.held = list_held(ledger, motion, arms)
        self.size, self.every = measure_size(motion), max(1, round(motion.fps / MEASURED_FPS))
        self.found = list[Overlaps]()  # the near pairs of each round
        self.moves = np.zeros(len(motion), dtype=bool)  # frames that may change

    def run(self) -> Motion:
        """Return the motion of the round with the least collisions."""
        q, ways = np.array(self.motion.q), Ways()
        every, reach = np.ones(len(q), dtype=bool), round(SPREAD_S * self.motion.fps)
        deep = self.drop_standing(measure_near(self.parts, q, every, self.every, -DEEP_M * self.size))
        best, least = q, float(deep.depth.sum())
        for _ in range(ROUNDS if len(deep.pose) else 0):
            self.moves |= flag_around(len(q), deep.pose, reach)
            if not self.found:
                self.found = [measure_near(self.parts, q, self.moves, self.every, NEAR_M * self.size)]
            ways = self.parts.list_ways(self.found[-1]) | ways  # limbs that are on their way out do not turn back
            q, solved = self.solve(q, deep)
            self.found.append(measure_near(self.parts, q, solved, self.every, NEAR_M * self.size, ways))
            deep = self.drop_standing(self.found[-1].drop_apart(-DEEP_M * self.size))
            if deep.depth.sum() >= least:
                break
            best, least = q, float(deep.depth.sum())
            if not len(deep.pose):
                break
        return Motion(self.motion.model, best, self.motion.fps)

    def solve(self, q: Floats, deep: Overlaps) -> tuple[Floats, NDArray[np.bool_]]:
        """Solve the windows with collisions; return all frames, and flags of those that were solved."""
        out, solved = np.array(q), np.zeros(len(q), dtype=bool)
        for first, end in find_runs(self.moves):
            if ((deep.pose >= first) & (deep.pose < end)).any():
                a, b = max(first - FROZEN_FRAMES, 0), min(end + FROZEN_FRAMES, len(q))
                out[first:end], solved[first:end] = self.solve_window(q, a, b)[first - a : end - a], True
        return out, solved

    def solve_window(self, q: Floats, a: int, b: int) -> Floats:
        """Solve frames a to b, of which those flagged in `moves` change."""
        window, joints = self.motion[a:b], [*self.arms, *self.list_loose(a, b)]
        planes = [  # those of earlier rounds hold the other ends of a part
            goal
            for k, rows in enumerate(self.found)
            for goal in list_plane_goals(self.parts, rows, range(a, b), self.every, k)
        ]
        answer = solve_whole(
            window,
            [*planes, *keep_paths(window, self.held, a)],
            start=q[a:b],
            smooth=self.smooth,
            frozen=~self.moves[a:b],
            joints=joints,
            limits=(*self.limits, *list_floor(window, joints, self.size)),
            steps=None if part_limits(self.limits)[1] else STEPS,
        )
        return answer.q

    def drop_standing(self, rows: Overlaps) -> Overlaps:
        """Return the rows that arms can change, or legs that are not in contact around their frames."""
        reach, kept = round(SPREAD_S * self.motion.fps) + FROZEN_FRAMES, self.by_arms[rows.pair]
        for t in np.unique(rows.pose[~kept]).tolist():
            kept[(rows.pose == t) & bool(self.list_loose(t - reach, t + reach + 1))] = True
        return rows.select(kept)

    def list_loose(self, a: int, b: int) -> list[str]:
        """List the joints of the legs that are not in contact in frames a to b."""
        active = tuple(contact for contact in self.ledger if contact.start < b and contact.end > a)
        near = replace(self.ledger, intervals=active)
        return [name for leg in self.legs if not len(list_held(near, self.motion, leg)) for name in leg]


def list_leg_goals(free: Motion, carrying: CarryOver, lies: bool) -> tuple[ClipGoal, ...]:
    """List the goals that keep legs out of each other and of the trunk while contacts are held; empty if they are.

    If the body `lies` in some frames, these are left out: its legs move later (`separate_parts`).
    """
    parts, arms = find_convex_parts(free.model), set(list_arm_joints(carrying))
    if parts is None or not arms:
        return ()
    size, every = measure_size(free), max(1, round(free.fps / MEASURED_FPS))
    joints = [joint.name for joint in free.model.joints if joint.nv and joint.name not in arms]
    parts, stands = list_movable(parts, joints, arms), np.ones(len(free), dtype=bool)
    if lies:
        shins = {carrying.ours.get(f"knee_{side}") for side in "lr"}
        stands = ~flag_around(len(free), find_low(free, NEAR_FLOOR_M * size, shins), round(SPREAD_S * free.fps))
    found = measure_near(parts, free.q, stands, every, -DEEP_M * size)
    if not len(found.pose):
        return ()
    moves = stands & flag_around(len(free), found.pose, round(SPREAD_S * free.fps))
    rows = measure_near(parts, free.q, moves, every, NEAR_M * size)
    return tuple(list_plane_goals(parts, rows, range(len(free)), every))


def find_low(motion: Motion, height: float, without: Set[str | None]) -> NDArray[np.intp]:
    """Return the frames in which a part is lower than `height` [m], without those that hang on some frames."""
    found = measure_heights(motion)
    if found is None:
        return np.zeros(0, dtype=np.intp)
    own = [k for k, part in enumerate(found.parts) if without.isdisjoint(motion.model.ancestors(part.frame))]
    return np.flatnonzero((found.lowest[:, own] < height).any(axis=1))


def measure_near(
    parts: ConvexParts, q: Floats, frames: NDArray[np.bool_], every: int, margin: float, ways: Ways | None = None
) -> Overlaps:
    """Return the pairs with a gap below `margin` [m] in the flagged frames, one of `every` frames.

    `ways` are the preferred directions by group and frame.
    """
    at = np.flatnonzero(frames[::every]) * every
    index = {int(t): i for i, t in enumerate(at)}
    before = {(group, index[t]): way for (group, t), way in (ways or {}).items() if t in index}
    found = parts.measure(q[at], margin, before)
    return replace(found, pose=at[found.pose])


def list_held(ledger: Contacts, motion: Motion, joints: Sequence[str]) -> Contacts:
    """Return the contacts whose points some joints move."""
    names, model = set(joints), motion.model
    held = [c for c in ledger if any(joint.name in names for joint in model.joints_above(c.frame))]
    return replace(ledger, intervals=tuple(held))


def list_floor(window: Motion, joints: Sequence[str], size: float) -> tuple[Limit, ...]:
    """Return the limit that keeps the parts that some joints move above the floor; empty if none is near it.

    Soles have no slack, because those in contact do not move.
    """
    names, model, out = set(joints), window.model, list[Limit]()
    feet, slack = list_ankles(model), SOLE_SLACK * model.length
    for limit in make_floor_limits(window, size):
        assert isinstance(limit, PointClearance)
        own = [p for p in limit.points if any(joint.name in names for joint in model.joints_above(p.frame))]
        own = [p if feet.isdisjoint(model.ancestors(p.frame)) else replace(p, radius=p.radius + slack) for p in own]
        out += [replace(limit, points=tuple(own))] if own else []
    return tuple(out)


def flag_around(frames: int, deep: NDArray[np.intp], reach: int) -> NDArray[np.bool_]:
    """Flag the frames within `reach` frames of the given ones."""
    out = np.zeros(frames, dtype=bool)
    for t in np.unique(deep):
        out[max(t - reach, 0) : t + reach + 1] = True
    return out
