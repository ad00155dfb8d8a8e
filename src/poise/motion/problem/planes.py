"""Planes between parts of the body that are near each other: goals that keep them on their sides.

A goal is about a point of one part, and about planes in the frame of the other part, which move with it. It is soft, so
that the motion stays smooth; a part that turns is held by the planes of several rounds. A pair of parts has few goals,
however often it meets: meetings share the goal of the nearest point.
"""

import numpy as np
from numpy.typing import NDArray

from poise.arrays import Floats
from poise.goals import Range, Reach
from poise.limits.convex_parts import ConvexParts, Overlaps
from poise.motion.clips.whole_clip import ClipGoal

__all__ = ["list_plane_goals"]

EDGE = 5e-3  # of L: depths that differ by less share the point of a contact
MOST_POINTS = 4  # of a pair
SAME_POINT = 0.02  # of L: points that are nearer to each other are one
FAR = 1e6  # stands for infinity, which kernels do not read
NO_PLANE = np.array([*np.eye(3).ravel(), 0.0, 0.0, 0.0, -FAR, -FAR, *4 * [0.0], FAR, FAR, FAR, 0.0, 0.0, 0.0])
BEYOND = (Range(-FAR, FAR), Range(-FAR, FAR), Range(0.0, FAR))


def list_plane_goals(
    parts: ConvexParts, rows: Overlaps, frames: range, weight: float, name: str = ""
) -> list[ClipGoal]:
    """List the goals of frames that keep near parts on their sides of planes, at most MOST_POINTS for each pair.

    Args:
        parts: The parts of the body.
        rows: The pairs that are near each other, in the order of frames; those of other frames are ignored.
        frames: The frames of the goals.
        weight: The weight of a plane [1 / L].
        name: A part of the names of the goals.
    """
    out, rows = list[ClipGoal](), rows.select((rows.pose >= frames.start) & (rows.pose < frames.stop))
    for pair in np.unique(rows.pair).tolist():
        own = rows.select(rows.pair == pair)
        meeting = np.cumsum(np.diff(own.pose, prepend=own.pose[0]) > 1)
        runs = [own.select(meeting == k) for k in range(meeting[-1] + 1)]
        points = np.array([find_point(run, EDGE * parts.model.length) for run in runs])
        deepest = np.array([run.depth.max() for run in runs])
        centres, of = choose_points(points, deepest, SAME_POINT * parts.model.length)
        one, other = (parts.solids[i].frame for i in parts.pairs[pair])
        for k, point in enumerate(points[centres]):
            held = own.select(of[meeting] == k)
            targets, use = np.tile(NO_PLANE, (len(frames), 1)), np.zeros(len(frames))
            at = held.pose - frames.start
            targets[at], use[at] = (
                pack_planes(held.normal, held.place(point) + held.depth[:, None] * held.normal),
                weight,
            )
            goal = Reach(one, BEYOND, point=point, relative_to=other, name=f"pair {pair} point {k} {name}")
            out.append(ClipGoal(goal, targets, use))
    return out


def find_point(run: Overlaps, edge: float) -> Floats:
    """Return the mean point of contact of the deepest frames of a run, (3,) [m]."""
    weights = np.exp((run.depth - run.depth.max()) / edge)
    out: Floats = (weights / weights.sum()) @ run.point
    return out


def choose_points(points: Floats, depths: Floats, near: float) -> tuple[list[int], NDArray[np.intp]]:
    """Choose at most MOST_POINTS of points (n, 3), each the farthest from those before; the deepest one is first.

    Points nearer than `near` [m] to a chosen one are left out. Returns the indices of the chosen points, and which of
    them is nearest to each point, (n,).
    """
    chosen = [int(depths.argmax())]
    away = np.linalg.norm(points - points[chosen[0]], axis=1)
    of = np.zeros(len(points), dtype=np.intp)
    while len(chosen) < MOST_POINTS and away.max() > near:
        chosen.append(int(away.argmax()))
        new = np.linalg.norm(points - points[chosen[-1]], axis=1)
        of[new < away], away = len(chosen) - 1, np.minimum(new, away)
    return chosen, of


def pack_planes(normals: Floats, places: Floats) -> Floats:
    """Return the numbers of planes for the kernel: axes with the normal last, a point, and the side, (n, 24)."""
    u = np.cross(normals, np.eye(3)[np.abs(normals).argmin(axis=1)])
    u /= np.linalg.norm(u, axis=1, keepdims=True)
    axes = np.stack([u, np.cross(normals, u), normals], axis=2)
    return np.concatenate([axes.reshape(-1, 9), places, np.tile(NO_PLANE[12:], (len(normals), 1))], axis=1)
