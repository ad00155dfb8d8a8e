"""Where the targets of bones lead a point of a foot: along the leg, from the hips."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from poise.arrays import Floats
from poise.motion.retargeting.bones import find_bone_start, place_of
from poise.motion.retargeting.correspondence import CarryOver

__all__ = ["Leg", "find_leg", "place_at"]


@dataclass(frozen=True, eq=False)
class Leg:
    """The way from the hips to a point of a foot, as the targets of bones tell it.

    Attributes:
        rows: Which targets are those of the hips, the pelvis, the thigh, the shank and the foot.
        start: Where the leg begins, from the middle of the hips, in the pelvis' axes [m].
        lengths: Those of the thigh and the shank [m].
        point: The point of the foot, from the ankle, in the foot's axes [m].
    """

    rows: tuple[int, ...]
    start: Floats
    lengths: tuple[float, float]
    point: Floats

    def find_place(self, targets: Floats) -> Floats:
        """Return where the targets of one frame, (goals, 12), ask the point to be."""
        hips, pelvis, thigh, shank, foot = self.rows
        place: Floats = targets[hips, 9:] + targets[pelvis, :9].reshape(3, 3) @ self.start
        place = place + self.lengths[0] * targets[thigh, 9:] + self.lengths[1] * targets[shank, 9:]
        return place + targets[foot, :9].reshape(3, 3) @ self.point


def find_leg(carrying: CarryOver, side: str, frame: str, point: tuple[float, float, float]) -> Leg | None:
    """Return what tells where bones ask a point of a foot to be; None where not all of them are asked for."""
    at = {goal.name: i for i, (goal, _, _) in enumerate(carrying.asked)}
    names = [
        "hips",
        "pelvis turned",
        f"hip_{side} to knee_{side}",
        f"knee_{side} to ankle_{side}",
        f"foot_{side} turned",
    ]
    if any(name not in at for name in names):
        return None
    model, ours = carrying.model, carrying.ours
    pelvis, foot = (model.fk(model.rest, ours[part]) for part in ("pelvis", f"foot_{side}"))
    start = place_of(model, find_bone_start(model, ours, f"hip_{side}"))
    knee, ankle = place_of(model, ours[f"knee_{side}"]), place_of(model, ours[f"ankle_{side}"])
    own = place_at(model.fk(model.rest, frame), point)
    return Leg(
        tuple(at[name] for name in names),
        pelvis[:3, :3].T @ (start - pelvis[:3, 3]) - carrying.own_middle,
        (float(np.linalg.norm(knee - start)), float(np.linalg.norm(ankle - knee))),
        foot[:3, :3].T @ (own - ankle),
    )


def place_at(T: Floats, point: tuple[float, float, float]) -> Floats:
    """Return where a point of a frame is."""
    place: Floats = T[:3, :3] @ np.array(point) + T[:3, 3]
    return place
