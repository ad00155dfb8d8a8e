"""The heights of a whole body above the floor: of all its parts except its soles.

Soles have rules of their own (`soles`, `edges`): the lower quarter of a foot with shapes belongs to its sole, and so do
a whole foot of bones and the end of the shin above it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from poise.anatomy import find_feet
from poise.arrays import Floats, Triple
from poise.kinematics import Motion
from poise.limits.skeleton import BodyCapsule
from poise.limits.support_points import SupportPoints, find_support_points, pair_points
from poise.model import Model
from poise.model.memo import keep_with_model
from poise.motion.contact.floors import is_of_foot, list_swinging
from poise.motion.contact.ledger import Contacts

__all__ = [
    "FOUR_SIDES",
    "SOLE_SLACK",
    "BodyHeights",
    "flag_paw",
    "list_ankles",
    "list_body_points",
    "list_near",
    "measure_body",
    "measure_heights",
    "measure_thickness",
]

SOLE_SHARE = 0.25  # of the height of a foot in the rest pose: its points below belong to the sole
FOUR_SIDES = ("fl", "fr", "hl", "hr")
PAW_SHARE = 0.2  # of the length of a shin: points that are nearer to its end belong to the foot
SOLE_SLACK = 3e-3  # of the body's length: depth at which the limit of a foot begins
BLOCK_FRAMES = 512  # frames whose transforms are computed at once


@dataclass(frozen=True, eq=False)
class BodyHeights:
    """The heights of the points of a body above a floor.

    Attributes:
        parts: The points, by frame.
        lowest: The height of the lowest point of each part, (frames, parts) [m].
    """

    parts: tuple[SupportPoints, ...]
    lowest: Floats

    @property
    def depths(self) -> Floats:
        """The depth of the lowest point below the floor, (frames,) [m]; negative above it."""
        out: Floats = -self.lowest.min(axis=1)
        return out

    @property
    def worst(self) -> tuple[int, str]:
        """The frame of the clip and the part that are deepest."""
        t, k = np.unravel_index(int(np.argmin(self.lowest)), self.lowest.shape)
        return int(t), self.parts[int(k)].frame


def measure_body(clip: Motion, ledger: Contacts) -> BodyHeights | None:
    """Measure a body above the floor of its contacts, or the lowest stair; None if the floor is unknown."""
    swinging, ground = list_swinging(clip.model, ledger)
    feet = any(is_of_foot(contact) for contact in ledger)
    return measure_heights(clip, ground) if ledger.floor is not None and (feet or swinging) else None


def measure_heights(clip: Motion, floor: float = 0.0) -> BodyHeights | None:
    """Measure the heights of all parts of a body above a floor [m], except its soles; None if nothing has a size."""
    parts = list_body_points(clip.model)
    if not parts or not len(clip):
        return None
    lowest = np.stack([heights.min(axis=1) for heights in place_points(clip, parts)], axis=1)
    return BodyHeights(parts, lowest - floor)


def list_near(clip: Motion, most: float, slack: float = SOLE_SLACK) -> list[BodyCapsule]:
    """List the points of a body that are nearest to a floor at height 0 in a frame, as ends of segments.

    These are the points of each part within half of `most` [m] of its lowest one, in the frames in which that is lower
    than `most`. Feet with shapes are included, with a `slack`: exact contacts would contradict an exact limit.
    """
    out = list[BodyCapsule]()
    parts = [*list_body_points(clip.model), *list_slack_soles(clip.model, slack * clip.model.length)]
    for part, heights in zip(parts, place_points(clip, parts), strict=True):
        low = heights[heights.min(axis=1) < most]
        near = (low < low.min(axis=1, keepdims=True) + 0.5 * most).any(axis=0)
        out += pair_points(part.frame, part.points[near], part.radius[near])
    return out


def measure_thickness(clip: Motion, frame: str, point: Triple) -> float:
    """Return the usual height of a point above the lowest point of the shapes of its frame [m]; 0 without shapes."""
    parts = [part for part in list_body_points(clip.model) if part.frame == frame and part.solid]
    heights = clip.positions(frame, point) @ clip.model.up_direction
    lowest = [heights, *(found.min(axis=1) for found in place_points(clip, parts))]
    return float(np.median(heights - np.min(lowest, axis=0)))


def place_points(clip: Motion, parts: Sequence[SupportPoints]) -> Iterator[Floats]:
    """Return the heights of the points of each part, (frames, n) [m]."""
    model, up = clip.model, clip.model.up_direction
    T = np.concatenate(
        [up @ model.fk(clip.q[t : t + BLOCK_FRAMES])[:, :, :3] for t in range(0, len(clip), BLOCK_FRAMES)]
    )
    for part in parts:
        rows = T[:, model.frames.index(part.frame)]
        yield rows[:, :3] @ part.points.T + rows[:, 3:] - part.radius


@keep_with_model
def list_body_points(model: Model) -> tuple[SupportPoints, ...]:
    """Return the support points of a body, without those of its soles and those of bones at its ankles."""
    tops, out, found = list_ankles(model), list[SupportPoints](), find_support_points(model)
    rest = Motion(model, model.rest[None], 1.0)
    ankles = [rest.positions(name)[0] for name in tops]
    for part, heights in zip(found, place_points(rest, found), strict=True):
        kept = np.ones(len(part.points), dtype=bool)
        if not tops.isdisjoint(model.ancestors(part.frame)):
            kept = (heights[0] > heights.min() + SOLE_SHARE * np.ptp(heights)) & part.solid
        elif not part.solid:
            T = model.fk(model.rest, part.frame)
            places = part.points @ T[:3, :3].T + T[:3, 3]
            for ankle in ankles:
                kept &= np.linalg.norm(places - ankle, axis=1) > part.radius
        kept &= ~flag_paw(model, part)
        if kept.any():
            out.append(SupportPoints(part.frame, part.points[kept], part.radius[kept], part.solid))
    return tuple(out)


def list_slack_soles(model: Model, slack: float) -> list[SupportPoints]:
    """Return the points of feet with shapes, all raised by `slack` [m]."""
    tops = list_ankles(model)
    out = []
    for part in find_support_points(model):
        own = np.full(len(part.points), not tops.isdisjoint(model.ancestors(part.frame))) | flag_paw(model, part)
        if part.solid and own.any():
            out.append(SupportPoints(part.frame, part.points[own], part.radius[own] - slack, solid=True))
    return out


def flag_paw(model: Model, part: SupportPoints, sides: Sequence[str] = FOUR_SIDES) -> NDArray[np.bool_]:
    """Flag the points at the ends of four legs: without an ankle, a round foot belongs to the shin."""
    near, above = np.zeros(len(part.points), dtype=bool), (part.frame, *model.ancestors(part.frame))
    for foot in (foot for foot in find_feet(model) if foot.side in sides):
        if foot.tip is not None and foot.knee is not None and foot.knee in above:
            own, tip, shin = model.fk(model.rest, [part.frame, foot.tip.frame, foot.knee])
            end = tip[:3, :3] @ np.array(foot.tip.point) + tip[:3, 3]
            places = part.points @ own[:3, :3].T + own[:3, 3]
            near |= np.linalg.norm(places - end, axis=1) < PAW_SHARE * np.linalg.norm(end - shin[:3, 3])
    return near


def list_ankles(model: Model) -> set[str]:
    """Return the frames that carry the feet, and those between a knee and its foot, such as the links of an ankle."""
    return {frame for foot in find_feet(model) for frame in foot.links}
