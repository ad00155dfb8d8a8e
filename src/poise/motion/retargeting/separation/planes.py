"""Planes between parts of the body that are near each other: goals that keep them on their sides.

A goal is about a point of one part, and about planes in the frame of the other part, which move with it. It is soft, so
that the motion stays smooth; a part that turns is held by the planes of several rounds.
"""

from __future__ import annotations

import numpy as np

from poise.arrays import Floats
from poise.goals import Range, Reach
from poise.limits.convex_parts import ConvexParts, Overlaps
from poise.motion.clips.whole_clip import ClipGoal

__all__ = ["list_plane_goals"]

EDGE = 5e-3  # of L: depths that differ by less share the point of a contact
WEIGHT = 50.0  # of a plane [1 / L], relative to a displacement
FAR = 1e6  # stands for infinity, which kernels do not read
NO_PLANE = np.array([*np.eye(3).ravel(), 0.0, 0.0, 0.0, -FAR, -FAR, *4 * [0.0], FAR, FAR, FAR, 0.0, 0.0, 0.0])
LEAST_NORMAL = 0.1  # length of an interpolated normal; planes that turn further from frame to frame are left out


def list_plane_goals(parts: ConvexParts, rows: Overlaps, frames: range, every: int, name: int = 0) -> list[ClipGoal]:
    """List the goals of frames that keep near parts on their sides of planes, one for each pair and run of frames.

    Args:
        parts: The parts of the body.
        rows: The pairs that are near each other; those of other frames are ignored.
        frames: The frames of the goals.
        every: The distance of the frames that were measured.
        name: A number for the names of the goals.
    """
    out, rows = list[ClipGoal](), rows.select((rows.pose >= frames.start) & (rows.pose < frames.stop))
    for pair in np.unique(rows.pair):
        own = rows.select(rows.pair == pair)
        for run in np.split(np.arange(len(own.pose)), np.flatnonzero(np.diff(own.pose) > every) + 1):
            out.append(make_run_goal(parts, int(pair), own.select(run), frames, every, name))
    return out


def make_run_goal(parts: ConvexParts, pair: int, run: Overlaps, frames: range, every: int, name: int) -> ClipGoal:
    """Return the goal of one pair over a run of frames; planes between measured frames are interpolated."""
    weights = np.exp((run.depth - run.depth.max()) / (EDGE * parts.model.length))
    point = (weights / weights.sum()) @ run.point
    known = np.concatenate([run.normal, run.place(point) + run.depth[:, None] * run.normal], axis=1)
    at = np.arange(max(run.pose[0] - every + 1, frames.start), min(run.pose[-1] + every, frames.stop))
    planes = np.stack([np.interp(at, run.pose, column) for column in known.T], axis=1)
    kept = np.linalg.norm(planes[:, :3], axis=1) > LEAST_NORMAL
    at, planes = at[kept] - frames.start, planes[kept]
    targets, use = np.tile(NO_PLANE, (len(frames), 1)), np.zeros(len(frames))
    targets[at], use[at] = pack_planes(planes[:, :3], planes[:, 3:]), WEIGHT
    one, other = (parts.solids[i].frame for i in parts.pairs[pair])
    beyond = (Range(-FAR, FAR), Range(-FAR, FAR), Range(0.0, FAR))
    goal = Reach(one, beyond, point=point, relative_to=other, name=f"pair {pair} at {run.pose[0]} {name}")
    return ClipGoal(goal, targets, use)


def pack_planes(normals: Floats, places: Floats) -> Floats:
    """Return the numbers of planes for the kernel: axes with the normal last, a point, and the side, (n, 24)."""
    normals = normals / np.linalg.norm(normals, axis=1, keepdims=True)
    u = np.cross(normals, np.eye(3)[np.abs(normals).argmin(axis=1)])
    u /= np.linalg.norm(u, axis=1, keepdims=True)
    axes = np.stack([u, np.cross(normals, u), normals], axis=2)
    return np.concatenate([axes.reshape(-1, 9), places, np.tile(NO_PLANE[12:], (len(normals), 1))], axis=1)
