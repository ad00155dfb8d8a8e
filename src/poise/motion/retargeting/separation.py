"""Separation: arms that collide with the body, or with each other, are moved out of it.

1. The collisions of all frames are found with the convex parts of the body (`poise.limits.convex_parts`).
2. Around the frames that collide, arms are solved again: parts that are near each other stay on their side of a plane
   that moves with one of them, and the motion is otherwise as near to the given one as possible.
3. The planes are updated and the frames solved again, until nothing collides.

All other frames, and all joints other than those of arms, stay exactly as they are: so are contacts of feet. Source:
Schulman et al., Finding locally optimal, collision-free trajectories with sequential convex optimization, 2013.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from poise.arrays import Floats
from poise.goals import Range, Reach
from poise.kinematics import Motion
from poise.limits import Limit
from poise.limits.convex_parts import ConvexParts, Overlaps, Ways, find_convex_parts
from poise.limits.support_points import PointClearance
from poise.motion.clips.edit import keep_paths
from poise.motion.clips.whole_clip import ClipGoal, solve_whole
from poise.motion.contact.body_heights import list_ankles, measure_heights
from poise.motion.contact.detector import find_runs
from poise.motion.contact.ledger import Contacts
from poise.motion.contact.soles import measure_size
from poise.motion.retargeting.body_floor import NEAR_FLOOR_M, make_floor_limits
from poise.motion.retargeting.bones import find_limb_start
from poise.motion.retargeting.correspondence import CarryOver
from poise.motion.retargeting.touch.keeper import list_arm_joints

__all__ = ["DEEP_M", "MEASURED_FPS", "NEAR_M", "list_arms", "list_leg_goals", "list_movable", "separate_parts"]

# lengths are for a body of 1.75 m
DEEP_M = 3e-3  # depth of a collision that is corrected
NEAR_M = 0.01  # gap of parts that must not collide after the correction either
APART_M = 0.0  # gap after a correction
EDGE_M = 5e-3  # depths that differ by less share the point of a contact
MEASURED_FPS = 40.0  # collisions are measured about this often; planes between them are interpolated
SPREAD_S = 0.25  # time before and after a collision in which arms may move
FROZEN_FRAMES = 3  # beyond it, for a smooth end
WEIGHT = 50.0  # of a plane [1 / L], relative to a displacement
FAR = 1e6  # stands for infinity, which kernels do not read
ROUNDS, STEPS = 5, 6  # updates of the planes, and steps between them


def separate_parts(
    motion: Motion, carrying: CarryOver, ledger: Contacts, limits: Sequence[Limit], smooth: float, *, legs: bool = False
) -> Motion:
    """Return a motion whose arms collide with nothing, as near to the given one as possible.

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
    limbs = list_legs(carrying) if legs else []
    joints = [*arms, *(name for limb in limbs for name in limb)]
    size, q = measure_size(motion), np.array(motion.q)
    parts, every = list_movable(parts, joints), max(1, round(motion.fps / MEASURED_FPS))
    held, reach, ways = list_held(ledger, motion, arms), round(SPREAD_S * motion.fps), Ways()
    deep = measure_near(parts, q, np.ones(len(q), dtype=bool), every, -DEEP_M * size)
    if not len(deep.pose):
        return motion
    moves = flag_around(len(q), deep.pose, reach)
    found = [measure_near(parts, q, moves, every, NEAR_M * size)]
    best, least = q, deep.depth.sum()
    for _ in range(ROUNDS):
        q, again = np.array(q), np.zeros(len(q), dtype=bool)
        ways = parts.list_ways(found[-1]) | ways  # limbs that are on their way out do not turn back
        for first, end in find_runs(moves):
            if not ((deep.pose >= first) & (deep.pose < end)).any():
                continue
            a, b = max(first - FROZEN_FRAMES, 0), min(end + FROZEN_FRAMES, len(q))
            window = motion[a:b]
            planes = [
                goal
                for k, rows in enumerate(found)  # planes of earlier rounds hold the other ends of a part
                for goal in list_plane_goals(
                    parts, rows.select((rows.pose >= first) & (rows.pose < end)), range(a, b), every, APART_M * size, k
                )
            ]
            near = Contacts(tuple(c for c in ledger if c.start < b and c.end > a), ledger.frames, ledger.fps)
            loose = [name for limb in limbs if not len(list_held(near, motion, limb)) for name in limb]
            answer = solve_whole(
                window,
                [*planes, *keep_paths(window, held, a)],
                start=q[a:b],
                smooth=smooth,
                frozen=~moves[a:b],
                joints=[*arms, *loose],
                limits=(*limits, *list_floor(window, [*arms, *loose], size)),
                steps=STEPS,
            )
            q[first:end], again[first:end] = answer.q[first - a : end - a], True
        now = measure_near(parts, q, again, every, NEAR_M * size, ways)
        deep, found = now.drop_apart(-DEEP_M * size), [*found, now]
        if deep.depth.sum() >= least:
            break
        best, least = q, deep.depth.sum()
        if not len(deep.pose):
            break
        moves |= flag_around(len(q), deep.pose, reach)
    return Motion(motion.model, best, motion.fps)


def list_arms(carrying: CarryOver) -> list[str]:
    """List the joints of both arms and the neck that may move, without those of fingers; empty without arms."""
    model, names, joints = carrying.model, carrying.ours, carrying.joints
    wrists, arms = {names.get(f"wrist_{side}") for side in "lr"}, list_arm_joints(carrying)
    out = [name for name in arms if wrists.isdisjoint(model.ancestors(model.joint(name).frame)[1:])]
    if out and "head" in names and "chest" in names:
        trunk = {joint.name for joint in model.joints_above(names["chest"])}
        neck = [joint for joint in model.joints_above(names["head"]) if joint.nv and joint.name not in trunk]
        out += [joint.name for joint in neck if joints is None or joint.name in joints or joint.frame in joints]
    return out


def list_legs(carrying: CarryOver) -> list[list[str]]:
    """List the joints of each leg that may move."""
    model, names, joints = carrying.model, carrying.ours, carrying.joints
    out = []
    for side in "lr":
        if f"hip_{side}" in names:
            top = find_limb_start(model, names["pelvis"], names[f"hip_{side}"])
            own = [joint for joint in model.joints if joint.nv and top in model.ancestors(joint.frame)]
            out.append([j.name for j in own if joints is None or j.name in joints or j.frame in joints])
    return out


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
        stands = ~flag_around(len(free), find_low(free, NEAR_FLOOR_M * size), round(SPREAD_S * free.fps))
    found = measure_near(parts, free.q, stands, every, -DEEP_M * size)
    if not len(found.pose):
        return ()
    moves = stands & flag_around(len(free), found.pose, round(SPREAD_S * free.fps))
    rows = measure_near(parts, free.q, moves, every, NEAR_M * size)
    return tuple(list_plane_goals(parts, rows, range(len(free)), every, APART_M * size))


def find_low(motion: Motion, height: float) -> NDArray[np.intp]:
    """Return the frames in which a part other than a foot is lower than `height` [m]."""
    found, feet = measure_heights(motion), list_ankles(motion.model)
    if found is None:
        return np.zeros(0, dtype=np.intp)
    own = [k for k, part in enumerate(found.parts) if feet.isdisjoint(motion.model.ancestors(part.frame))]
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


def list_movable(parts: ConvexParts, joints: Collection[str], without: Collection[str] = ()) -> ConvexParts:
    """Return the pairs of parts that some joints move relative to each other, grouped by the limbs that they move.

    Parts that the joints of `without` move are left out.
    """
    model = parts.model
    above = [[joint.name for joint in model.joints_above(solid.frame)] for solid in parts.solids]
    lost = [not set(each).isdisjoint(without) for each in above]
    own = [
        [name for name in [joint.name for joint in model.joints] if name in each and name in set(joints)]
        for each in above
    ]
    kept = [k for k, (i, j) in enumerate(parts.pairs) if own[i] != own[j] and not (lost[i] or lost[j])]
    limbs = [tuple(sorted(" ".join(own[i][:1]) for i in parts.pairs[k])) for k in kept]
    known = list(dict.fromkeys(limbs))
    groups = np.array([known.index(each) for each in limbs], dtype=np.intp)
    return ConvexParts(model, parts.solids, parts.pairs[np.array(kept, dtype=np.intp)], groups)


def list_held(ledger: Contacts, motion: Motion, joints: Sequence[str]) -> Contacts:
    """Return the contacts whose points some joints move."""
    names, model = set(joints), motion.model
    held = [c for c in ledger if any(joint.name in names for joint in model.joints_above(c.frame))]
    return replace(ledger, intervals=tuple(held))


def list_floor(window: Motion, joints: Sequence[str], size: float) -> tuple[Limit, ...]:
    """Return the limit that keeps the parts that some joints move above the floor; empty if none is near it."""
    names, model, out = set(joints), window.model, list[Limit]()
    for limit in make_floor_limits(window, size):
        assert isinstance(limit, PointClearance)
        own = [p for p in limit.points if any(joint.name in names for joint in model.joints_above(p.frame))]
        out += [replace(limit, points=tuple(own))] if own else []
    return tuple(out)


def flag_around(frames: int, deep: NDArray[np.intp], reach: int) -> NDArray[np.bool_]:
    """Flag the frames within `reach` frames of the given ones."""
    out = np.zeros(frames, dtype=bool)
    for t in np.unique(deep):
        out[max(t - reach, 0) : t + reach + 1] = True
    return out


def list_plane_goals(
    parts: ConvexParts, rows: Overlaps, frames: range, every: int, apart: float, name: int = 0
) -> list[ClipGoal]:
    """List the goals that keep near parts on their sides of planes, one for each pair and run of frames.

    Args:
        parts: The parts of the body.
        rows: The pairs that are near each other.
        frames: The frames of the goals.
        every: The distance of the frames that were measured.
        apart: The gap to keep [m].
        name: A number for the names of the goals.
    """
    out = list[ClipGoal]()
    for pair in np.unique(rows.pair):
        own = rows.select(rows.pair == pair)
        for run in np.split(np.arange(len(own.pose)), np.flatnonzero(np.diff(own.pose) > every) + 1):
            out.append(make_run_goal(parts, int(pair), own.select(run), frames, every, apart, name))
    return out


def make_run_goal(
    parts: ConvexParts, pair: int, run: Overlaps, frames: range, every: int, apart: float, name: int
) -> ClipGoal:
    """Return the goal of one pair over a run of frames; planes between measured frames are interpolated."""
    weights = np.exp((run.depth - run.depth.max()) / (EDGE_M * parts.model.length))
    point = (weights / weights.sum()) @ run.point
    planes = np.concatenate([run.normal, run.place(point) + (run.depth + apart)[:, None] * run.normal], axis=1)
    first, last = max(run.pose[0] - every + 1, frames.start), min(run.pose[-1] + every, frames.stop)
    at = np.arange(first, last)
    planes = np.stack([np.interp(at, run.pose, column) for column in planes.T], axis=1)
    targets, use = np.tile(pack_planes(np.eye(3)[2:], np.zeros((1, 3))), (len(frames), 1)), np.zeros(len(frames))
    targets[at - frames.start], use[at - frames.start] = pack_planes(planes[:, :3], planes[:, 3:]), WEIGHT
    return ClipGoal(make_plane_goal(parts, pair, point, f"pair {pair} at {run.pose[0]} {name}"), targets, use)


def make_plane_goal(parts: ConvexParts, pair: int, point: Floats, name: str) -> Reach:
    """Return the goal that keeps a point of the first solid of a pair beyond a plane in the frame of the second."""
    one, other = (parts.solids[i].frame for i in parts.pairs[pair])
    return Reach(one, (Range(-FAR, FAR), Range(-FAR, FAR), Range(0.0, FAR)), point=point, relative_to=other, name=name)


def pack_planes(normals: Floats, places: Floats) -> Floats:
    """Return the numbers of planes for the kernel: axes with the normal last, a point, and the side, (n, 24)."""
    normals = normals / np.linalg.norm(normals, axis=1, keepdims=True)
    u = np.cross(normals, np.eye(3)[np.abs(normals).argmin(axis=1)])
    u /= np.linalg.norm(u, axis=1, keepdims=True)
    axes = np.stack([u, np.cross(normals, u), normals], axis=2)
    sides = np.tile([-FAR, -FAR, 0.0, 0.0, 0.0, 0.0, FAR, FAR, FAR, 0.0, 0.0, 0.0], (len(normals), 1))
    return np.concatenate([axes.reshape(-1, 9), places, sides], axis=1)
