"""Targets of all goals at once: what a motion asks of another body, in the kernels' numbers.

Which part of the source each goal looks at is found once; a frame then costs a few operations on arrays, whatever the
number of goals. The axes of hands and feet change as more is seen of how limbs bend, everything else stays.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

import numpy as np

from poise.arrays import Floats, Ints
from poise.motion.retargeting.trunks import watch_trunk

if TYPE_CHECKING:
    from poise.motion.retargeting.correspondence import CarryOver, Ground

__all__ = ["WEIGHTS", "Aims"]

WEIGHTS = {
    "hips": 1.0,
    "pelvis": 1.0,
    "chest": 0.5,
    "bone": 1.0,
    "clavicle": 0.3,
    "foot": 0.2,
    "head": 0.3,
    "hand": 0.2,
    "reach": 3.0,
}
ENDS = ("hand", "foot")
IDENTITY = np.array([1.0, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0])


class Aims:
    """Where the goals of a carrying-over look, by kinds of them: rows of the targets, and frames of the source."""

    def __init__(self, carrying: CarryOver) -> None:
        self.carrying, self.asked = carrying, carrying.asked
        at, kinds = carrying.at, [kind for _, kind, _ in carrying.asked]
        self.blank = np.tile(IDENTITY, (len(kinds), 1))
        self.hips = kinds.index("hips") if "hips" in kinds else None
        self.pelvis = kinds.index("pelvis") if "pelvis" in kinds else None
        self.trunk = next((i for i, (_, kind, how) in enumerate(self.asked) if kind == "chest" and how is None), None)
        bones = [(i, cast(tuple[str, str], how)) for i, how in self._list("bone", "clavicle")]
        self.bones = list_numbers([i for i, _ in bones])
        self.firsts, self.lasts = (list_numbers([at[pair[k]] for _, pair in bones]) for k in (0, 1))
        reaches = [(i, cast(tuple[str, float], how)) for i, how in self._list("reach")]
        self.reaches, self.places = (
            list_numbers([i for i, _ in reaches]),
            list_numbers([at[p] for _, (p, _) in reaches]),
        )
        self.scales = np.array([scale for _, (_, scale) in reaches])[:, None]
        turned = [(i, cast(tuple[str, Floats], how)) for i, how in self._list("pelvis", "chest", "head") if how]
        ends = [(i, str(how)) for i, how in self._list(*ENDS)]
        self.ends = [(kinds[i], side) for i, side in ends]
        self.turned = list_numbers([i for i, _ in (*turned, *ends)])
        frames = [frame for _, (frame, _) in turned] + [carrying.find_end(*end) for end in self.ends]
        self.frames = list_numbers([at[frame] for frame in frames])
        self.turns = np.array([*(turn for _, (_, turn) in turned), *(np.eye(3) for _ in ends)]).reshape(-1, 3, 3)
        self.fixed = len(turned)
        self.weights = np.array([WEIGHTS[kind] for kind in kinds])
        self.age = -1

    def _list(self, *kinds: str) -> list[tuple[int, object]]:
        return [(i, how) for i, (_, kind, how) in enumerate(self.asked) if kind in kinds]

    def refresh(self) -> None:
        """Take over how hands and feet lie as far as it is known by now; nothing is asked where it is not known."""
        bends = self.carrying.bends
        if self.age == bends.age:
            return
        self.age = bends.age
        for k, end in enumerate(self.ends, self.fixed):
            theirs, ours = bends.find(*end), self.carrying.own_bends.find(*end)
            known = theirs is not None and ours is not None
            self.weights[self.turned[k]] = WEIGHTS[end[0]] if known else 0.0
            self.turns[k] = theirs @ ours.T if known else np.eye(3)  # type: ignore[union-attr, operator]

    def aim(self, T: Floats, ground: Ground) -> Floats:
        """Return the targets of all goals in the kernels' numbers, (frames, goals, 12)."""
        self.refresh()
        out = np.empty((len(T), *self.blank.shape))
        out[:] = self.blank
        places = T[:, :, :3, 3]
        own = self.carrying.find_hips(T)
        hips = self.carrying.scale_hips(T, ground, own)
        if self.hips is not None:
            out[:, self.hips, 9:] = hips
        if len(self.reaches):
            out[:, self.reaches, 9:] = hips[:, None] + self.scales * (places[:, self.places] - own[:, None])
        way = places[:, self.lasts] - places[:, self.firsts]
        out[:, self.bones, 9:] = way / np.maximum(np.sqrt((way * way).sum(axis=2, keepdims=True)), 1e-12)
        out[:, self.turned, :9] = (T[:, self.frames, :3, :3] @ self.turns).reshape(len(T), -1, 9)
        if self.trunk is not None:
            out[:, self.trunk, :9] = self._turn_trunk(T, own).reshape(-1, 9)
        return out

    def _turn_trunk(self, T: Floats, hips: Floats) -> Floats:
        carrying = self.carrying
        assert carrying.chest is not None
        assert carrying.trunk is not None
        axes = watch_trunk(*carrying.trunk, carrying.theirs["chest"], T, carrying.at, hips)
        turned: Floats = axes @ carrying.chest.T
        return turned


def list_numbers(numbers: list[int]) -> Ints:
    """Return indices as an array; of whole numbers even where there are none."""
    return np.array(numbers, dtype=np.int64)
