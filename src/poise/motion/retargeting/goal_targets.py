"""Targets of all goals of a retargeted motion, as kernel parameters.

The part of the source that each goal follows is found once; a frame then costs a few array operations for any number
of goals. Only the axes of hands and feet change, as more bends of the limbs are seen.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, cast

import numpy as np

from poise.arrays import Floats, Ints
from poise.goals import Align, Orient
from poise.kinematics import Motion
from poise.motion.clips.whole_clip import ClipGoal
from poise.motion.retargeting.bones import make_axes

if TYPE_CHECKING:
    from poise.motion.retargeting.correspondence import CarryOver

__all__ = ["GOAL_WEIGHTS", "GoalTargets", "Ground", "keep_directions"]

GOAL_WEIGHTS = {
    "hips": 1.0,
    "pelvis": 1.0,
    "chest": 0.8,
    "bone": 1.0,
    "clavicle": 0.3,
    "foot": 0.2,
    "head": 0.3,
    "hand": 0.2,
    "reach": 3.0,
    "paw": 3.0,
}
LIMB_ENDS = {"hand": "wrist_{}", "foot": "foot_{}"}
IDENTITY = np.array([1.0, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0])


@dataclass(frozen=True, slots=True)
class Ground:
    """The ground of a source: the height of the floor, and of standing ankles above it [m]."""

    floor: float
    ankle: float


class GoalTargets:
    """The rows of the targets by kind of goal, and the frames of the source that they follow.

    Attributes:
        hips: The row of the hips; None if the root is fixed.
        pelvis: The row of the pelvis; None if its axes are unknown.
        weights: The weights of the goals, (goals,); 0 until the bend axis of a limb is known.
    """

    def __init__(self, carrying: CarryOver) -> None:
        self.carrying, self.goal_rows, self.up = carrying, carrying.goal_rows, carrying.model.up_direction
        at, kinds = carrying.at, [kind for _, kind, _ in carrying.goal_rows]
        self.blank = np.tile(IDENTITY, (len(kinds), 1))
        self.hips = kinds.index("hips") if "hips" in kinds else None
        self.pelvis = kinds.index("pelvis") if "pelvis" in kinds else None
        self.pelvis_frame, self.up_axis = at[carrying.theirs["pelvis"]], carrying.model.up_axis
        self.middle = np.array((*carrying.middle, 1.0))
        self.trunk = next(
            (i for i, (_, kind, how) in enumerate(self.goal_rows) if kind == "chest" and how is None), None
        )
        if carrying.trunk is not None:
            self.tops, self.left = [at[top] for top in carrying.trunk[0]], carrying.trunk[1]
            self.chest = at[carrying.theirs["chest"]]
        bones = [(i, cast(tuple[str, str], how)) for i, how in self._list("bone", "clavicle")]
        self.bones = list_numbers([i for i, _ in bones])
        self.bone_ends = np.array([[at[pair[k]] for _, pair in bones] for k in (0, 1)], dtype=np.int64)
        reaches = [(i, cast(tuple[str, float], how)) for i, how in self._list("reach")]
        self.reaches, self.places = (
            list_numbers([i for i, _ in reaches]),
            list_numbers([at[p] for _, (p, _) in reaches]),
        )
        self.scales = np.array([scale for _, (_, scale) in reaches])[:, None]
        turned = [(i, cast(tuple[str, Floats], how)) for i, how in self._list("pelvis", "chest", "head") if how]
        ends = [(i, str(how)) for i, how in self._list(*LIMB_ENDS)]
        self.ends = [(kinds[i], side) for i, side in ends]
        self.turned = list_numbers([i for i, _ in (*turned, *ends)])
        frames = [frame for _, (frame, _) in turned]
        frames += [carrying.theirs[LIMB_ENDS[end].format(side)] for end, side in self.ends]
        self.frames = list_numbers([at[frame] for frame in frames])
        self.turns = np.array([*(turn for _, (_, turn) in turned), *(np.eye(3) for _ in ends)]).reshape(-1, 3, 3)
        self.fixed = len(turned)
        self.weights = np.array([GOAL_WEIGHTS[kind] for kind in kinds])

    def _list(self, *kinds: str) -> list[tuple[int, object]]:
        return [(i, how) for i, (_, kind, how) in enumerate(self.goal_rows) if kind in kinds]

    def refresh(self) -> None:
        """Update the axes of hands and feet from the bends so far; unknown ones get weight 0."""
        carrying = self.carrying
        for k, end in enumerate(self.ends, self.fixed):
            theirs, ours = carrying.bends.find(*end), carrying.own_bends.find(*end)
            known = theirs is not None and ours is not None
            self.weights[self.turned[k]] = GOAL_WEIGHTS[end[0]] if known else 0.0
            self.turns[k] = theirs @ ours.T if known else np.eye(3)  # type: ignore[union-attr, operator]

    def make(self, T: Floats, ground: Ground) -> Floats:
        """Return the targets of all goals, (frames, goals, 12), for source transforms `T`, (frames, parts, 4, 4)."""
        out = self.blank[None].repeat(len(T), axis=0)
        places = T[:, :, :3, 3]
        own = T[:, self.pelvis_frame, :3] @ self.middle
        hips = self._scale_hips(own, ground)
        if self.hips is not None:
            out[:, self.hips, 9:] = hips
        if len(self.reaches):
            out[:, self.reaches, 9:] = hips[:, None] + self.scales * (places[:, self.places] - own[:, None])
        ends = places[:, self.bone_ends]
        way = ends[:, 1] - ends[:, 0]
        out[:, self.bones, 9:] = way / np.maximum(np.sqrt(np.einsum("tbi,tbi->tb", way, way)), 1e-12)[..., None]
        out[:, self.turned, :9] = (T[:, self.frames, :3, :3] @ self.turns).reshape(len(T), -1, 9)
        if self.trunk is not None:
            out[:, self.trunk, :9] = self._turn_trunk(T, own).reshape(-1, 9)
        return out

    def _scale_hips(self, hips: Floats, ground: Ground) -> Floats:
        """Return the path of the target's hips [m]: positions scaled, heights measured from the standing ankles."""
        path: Floats = self.carrying.scales.path * hips
        path[:, self.up_axis] += self.carrying.ankle - self.carrying.scales.path * (ground.floor + ground.ankle)
        return path

    def _turn_trunk(self, T: Floats, hips: Floats) -> Floats:
        """Return the rotation of a trunk of one piece: up is from the hips to the start of the arms."""
        assert self.carrying.chest is not None
        top = 0.5 * (T[:, self.tops[0], :3, 3] + T[:, self.tops[1], :3, 3])
        turned: Floats = make_axes(T[:, self.chest, :3, :3] @ self.left, top - hips) @ self.carrying.chest.T
        return turned


def list_numbers(numbers: list[int]) -> Ints:
    """Return indices as an integer array, also if the list is empty."""
    return np.array(numbers, dtype=np.int64)


def keep_directions(motion: Motion, wanted: Sequence[ClipGoal], weight: float) -> Iterator[ClipGoal]:
    """List the goals of bones and parts, with their directions in a motion as targets, and `weight` times theirs."""
    for each in wanted:
        if each.targets is None or not isinstance(each.goal, (Align, Orient)):
            continue
        turned, targets = np.array(motion.model.fk(motion.q, each.goal.frame))[:, :3, :3], each.targets.copy()
        if isinstance(each.goal, Align):
            targets[:, 9:] = turned @ np.array(each.goal.axis)
        else:
            targets[:, :9] = turned.reshape(-1, 9)
        yield replace(each, targets=targets, weights=weight * each.weights)
