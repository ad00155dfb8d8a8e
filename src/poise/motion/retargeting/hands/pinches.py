"""Pinches: the tips of the thumb and of a finger that touch in a source touch in the target as well.

    gap wanted = s max(d - touch, 0)      d: distance of both tips in the source, s: ratio of the lengths of the fingers

The gap is that of the surfaces, the convex hulls of both last bones. Tips that are far apart have no such goal.
"""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from poise.anatomy.hands import Finger
from poise.arrays import Floats
from poise.goals import Reach
from poise.kinematics import Motion
from poise.limits.convex_parts import ConvexParts, Overlaps, find_solids
from poise.model import Model
from poise.motion.clips.whole_clip import ClipGoal
from poise.motion.retargeting.hands.goals import HandGoals
from poise.motion.retargeting.touch.keeper import KeptTouch

Indices = NDArray[np.intp]

__all__ = ["PINCH_WEIGHT", "PinchGaps", "Pinches", "ease", "make_goal"]

PINCH_WEIGHT = 100.0  # of the gap of a pinch [1 / L]
TOUCH_SHARE, APART_SHARE = 0.18, 0.45  # of the length of a finger: tips at most this far apart touch; none farther do
FAR_SHARE = 1.0  # of the length of a finger: a larger gap is not closed


class PinchGaps:
    """The gaps between the thumb and the fingers that both hands have.

    Args:
        goals: Both hands.
        model: The target.

    Attributes:
        digits: The fingers of the target that may pinch.
    """

    def __init__(self, goals: HandGoals, model: Model) -> None:
        by_name = goals.target.by_name
        self.model, self.thumb = model, by_name.get("thumb")
        self.at = {name: i for i, name in enumerate(model.frames)}
        shared = [digit for name, digit in by_name.items() if name in goals.source.rows and name != "thumb"]
        self.digits = shared if self.thumb is not None and "thumb" in goals.source.rows else []
        rows = goals.source.rows
        self.tips = [rows[digit.name].stop - 1 for digit in self.digits]
        self.thumb_tip = [rows["thumb"].stop - 1] if self.digits else []
        self.parts = pair_tips(model, self.thumb, self.digits)
        self.size, self.scale = goals.source.length, goals.target.length / goals.source.length
        self.most = FAR_SHARE * goals.target.length

    def read(self, points: Floats) -> tuple[Floats, Floats]:
        """Return how near each pinch of the source is, 0 to 1, and the gap wanted [m], each (digits, frames)."""
        away = np.linalg.norm(points[:, self.tips] - points[:, self.thumb_tip], axis=2).T
        near = np.clip((APART_SHARE * self.size - away) / ((APART_SHARE - TOUCH_SHARE) * self.size), 0.0, 1.0)
        return near, self.scale * np.maximum(away - TOUCH_SHARE * self.size, 0.0)

    def find_places(self, q: Floats, wanted: Floats) -> Iterator[tuple[int, Indices, Floats, Floats]]:
        """Find where the tip of the thumb must go, in the frame of the last bone of each finger.

        Args:
            q: Poses of the target, (poses, nq).
            wanted: The gaps, (digits, poses) [m].

        Yields:
            The number of a finger, the poses in which it is near, the places (n, 3) [m], and how much wider the gap
            must become, (n,) [m].
        """
        if self.thumb is None:
            return
        tip, T, rows = self.thumb.tip, np.array(self.model.fk(q)), self.parts.measure(q, self.most)
        thumb = T[:, self.at[tip.frame], :3] @ np.array((*tip.point, 1.0))
        for k, digit in enumerate(self.digits):
            own = choose_nearest(rows.select(self.parts.groups[rows.pair] == k))
            base, more = T[own.pose][:, self.at[digit.bones[-1]]], wanted[k, own.pose] + own.depth
            back = np.swapaxes(base[:, :3, :3], 1, 2)
            ways = (back @ own.axes @ own.normal[..., None])[..., 0]
            from_base = (back @ (thumb[own.pose] - base[:, :3, 3])[..., None])[..., 0]
            yield k, own.pose, from_base + more[:, None] * ways, more


class Pinches:
    """The pinches of a clip, and the goals that keep them.

    Args:
        goals: Both hands.
        model: The target.
        clip: The clip of the source.
    """

    def __init__(self, goals: HandGoals, model: Model, clip: Motion) -> None:
        self.gaps, self.frames = PinchGaps(goals, model), len(clip)
        near, self.wanted = self.gaps.read(goals.source.place(np.array(clip.model.fk(clip.q))))
        self.weights, self.touching = ease(near), near >= 1.0

    def make_goals(self, moved: Motion) -> tuple[list[ClipGoal], Floats]:
        """Return the goals that correct a motion, and the largest error of a gap in each frame, weighted [m]."""
        goals, most, used = list[ClipGoal](), np.zeros(self.frames), np.flatnonzero(self.weights.any(axis=0))
        for k, poses, places, more in self.gaps.find_places(moved.q[used], self.wanted[:, used]):
            frames, targets, weights = used[poses], np.zeros((self.frames, 12)), np.zeros(self.frames)
            targets[:, [0, 4, 8]], targets[frames, 9:] = 1.0, places
            weights[frames] = PINCH_WEIGHT * self.weights[k, frames]
            goals.append(ClipGoal(make_goal(self.gaps, k), targets, weights))
            most[frames] = np.maximum(most[frames], self.weights[k, frames] * np.abs(more))
        return goals, most

    def list_kept(self, moved: Motion) -> tuple[KeptTouch, ...]:
        """List the pinches of a motion, with the differences of their gaps from those wanted."""
        gaps = self.gaps.parts.measure_gaps(np.array(moved.model.fk(moved.q)), self.gaps.most)
        return tuple(
            KeptTouch("thumb", digit.name, touching, own - wanted)
            for digit, touching, own, wanted in zip(self.gaps.digits, self.touching, gaps, self.wanted, strict=True)
            if touching.any()
        )


def make_goal(gaps: PinchGaps, k: int) -> Reach:
    """Return the goal of a pinch: the place of the thumb's tip in the frame of the last bone of a finger."""
    assert gaps.thumb is not None
    tip, digit = gaps.thumb.tip, gaps.digits[k]
    return Reach(tip.frame, np.zeros(3), point=tip.point, relative_to=digit.bones[-1], name=f"pinch of {digit.name}")


def ease(near: Floats) -> Floats:
    """Return a share of 0 to 1 that begins and ends smoothly."""
    return near * near * (3.0 - 2.0 * near)


def pair_tips(model: Model, thumb: Finger | None, digits: list[Finger]) -> ConvexParts:
    """Return the solids of the last bones of a thumb and of other digits, as pairs grouped by digit."""
    solids, rows = find_solids(model), list[tuple[int, int, int]]()
    for k, digit in enumerate(digits):
        rows += [(i, j, k) for i in list_ends(model, thumb) for j in list_ends(model, digit)]
    table = np.array(rows, dtype=np.intp).reshape(-1, 3)
    return ConvexParts(model, solids, table[:, :2], table[:, 2])


def list_ends(model: Model, digit: Finger | None) -> list[int]:
    """List the indices of the solids of a digit's last bone, and of what is fixed to it: its shapes, else its bones."""
    if digit is None:
        return []
    every = list(enumerate(find_solids(model)))
    own = [(i, s) for i, s in every if digit.bones[-1] in (s.frame, *model.ancestors(s.frame))]
    return [i for i, s in own if s.solid] or [i for i, _ in own]


def choose_nearest(rows: Overlaps) -> Overlaps:
    """Return the row with the smallest gap of each pose."""
    ordered = rows.select(np.lexsort((-rows.depth, rows.pose)))
    return ordered.select(np.unique(ordered.pose, return_index=True)[1])
