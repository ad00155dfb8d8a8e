"""Planes between parts of the body that are near each other: goals that keep them on their sides.

A goal is about a point of one part, and about planes in the frame of the other part, which move with it. It is soft, so
that the motion stays smooth; a part that turns is held by the planes of several rounds. Meetings of a pair at nearly
the same point share a goal, however often it meets.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from poise.arrays import Floats
from poise.goals import Range, Reach
from poise.limits.convex_parts import ConvexParts, Overlaps
from poise.motion.clips.whole_clip import ClipGoal

__all__ = ["PlaneGoal", "cut_planes", "find_plane_goals"]

EDGE = 5e-3  # of L: depths that differ by less share the point of a contact
SAME_POINT = 0.02  # of L: points that are nearer to each other are one
FAR = 1e6  # stands for infinity, which kernels do not read
NO_PLANE = np.array([*np.eye(3).ravel(), 0.0, 0.0, 0.0, -FAR, -FAR, *4 * [0.0], FAR, FAR, FAR, 0.0, 0.0, 0.0])
BEYOND = (Range(-FAR, FAR), Range(-FAR, FAR), Range(0.0, FAR))


@dataclass(frozen=True, eq=False)
class PlaneGoal:
    """A point of a part, and the planes that keep it on its side in some frames.

    Attributes:
        goal: The goal.
        frames: The frames with a plane, (n,), in ascending order.
        planes: The planes, as the kernel reads them, (n, 24).
    """

    goal: Reach
    frames: NDArray[np.intp]
    planes: Floats

    def cut(self, frames: range, weights: Floats) -> ClipGoal | None:
        """Return the goal in some frames, with the weights of these, (frames,), or None if it has no plane there."""
        first, end = np.searchsorted(self.frames, [frames.start, frames.stop])
        at = self.frames[first:end] - frames.start
        if not weights[at].any():
            return None
        targets, use = np.tile(NO_PLANE, (len(frames), 1)), np.zeros(len(frames))
        targets[at], use[at] = self.planes[first:end], weights[at]
        return ClipGoal(self.goal, targets, use)


def find_plane_goals(parts: ConvexParts, rows: Overlaps, name: str = "") -> list[PlaneGoal]:
    """Return the goals that keep near parts on their sides of planes.

    Args:
        parts: The parts of the body.
        rows: The pairs that are near each other.
        name: A part of the names of the goals.
    """
    if not len(rows.pair):
        return []
    length = parts.model.length
    begins = np.flatnonzero((np.diff(rows.pair, prepend=-1) != 0) | (np.diff(rows.pose, prepend=-2) != 1))
    counts = np.diff([*begins, len(rows.pair)])
    deepest = np.maximum.reduceat(rows.depth, begins)
    shares = np.exp((rows.depth - np.repeat(deepest, counts)) / (EDGE * length))
    points = np.add.reduceat(shares[:, None] * rows.point, begins) / np.add.reduceat(shares, begins)[:, None]
    chosen, own = [], np.zeros((len(rows.pair), 3))
    for pair in np.unique(rows.pair).tolist():
        at = np.flatnonzero(rows.pair[begins] == pair)  # its meetings
        centres, of = choose_points(points[at], deepest[at], SAME_POINT * length)
        meeting = np.repeat(np.arange(len(at)), counts[at])
        first = int(begins[at[0]])
        for k, centre in enumerate(centres):
            held = first + np.flatnonzero(of[meeting] == k)
            own[held] = points[at[centre]]
            chosen.append((pair, k, held))
    planes, out = pack_planes(rows.normal, rows.place(own) + rows.depth[:, None] * rows.normal), list[PlaneGoal]()
    for pair, k, held in chosen:
        one, other = (parts.solids[i].frame for i in parts.pairs[pair])
        goal = Reach(one, BEYOND, point=own[held[0]], relative_to=other, name=f"pair {pair} point {k} {name}")
        out.append(PlaneGoal(goal, rows.pose[held], planes[held]))
    return out


def cut_planes(goals: Sequence[PlaneGoal], frames: range, weights: Floats) -> list[ClipGoal]:
    """List the goals that have a plane in some frames, with the weights of these, (frames,)."""
    found = (goal.cut(frames, weights) for goal in goals)
    return [goal for goal in found if goal is not None]


def choose_points(points: Floats, depths: Floats, near: float) -> tuple[list[int], NDArray[np.intp]]:
    """Choose some of points (n, 3), each the farthest from those before; the deepest one is first.

    Points nearer than `near` [m] to a chosen one are left out. Returns the indices of the chosen points, and which of
    them is nearest to each point, (n,).
    """
    chosen = [int(depths.argmax())]
    away = np.linalg.norm(points - points[chosen[0]], axis=1)
    of = np.zeros(len(points), dtype=np.intp)
    while away.max() > near:
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
