"""The whole body above a floor: of all its parts except its soles, which have rules of their own (`lock`).

The lower quarter of a foot with shapes belongs to its sole, and so do a whole foot of bones and the end of the shin
above it. A clip is measured as a whole (`measure_heights`), a stream frame by frame (`StreamFloor`). Both are kept
above the floor by a limit on the support points of the parts near it. In that limit, soles get a few millimetres of
slack, because exact contacts would contradict an exact limit.

A part of a body may be thicker than that of the source of its motion. Then the hips are lifted, smoothly, by the depth
of the deepest part (`find_lift`), before the motion is solved with the limit.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from poise.anatomy import find_feet
from poise.arrays import Floats, Triple
from poise.kinematics import Motion
from poise.kinematics.regions import HalfSpace
from poise.limits import Limit
from poise.limits.skeleton import BodyCapsule
from poise.limits.support_points import PointClearance, SupportPoints, find_support_points, pair_points, thin_points
from poise.model import Model
from poise.model.memo import keep_with_model
from poise.motion.contact.curves import spread_peaks

__all__ = [
    "FOUR_SIDES",
    "NEAR_FLOOR_M",
    "SOLE_SLACK",
    "BodyHeights",
    "StreamFloor",
    "find_lift",
    "flag_paw",
    "list_body_points",
    "make_floor_limits",
    "measure_depth",
    "measure_heights",
    "measure_thickness",
]

SOLE_SHARE = 0.25  # of the height of a foot in the rest pose: its points below belong to the sole
FOUR_SIDES = ("fl", "fr", "hl", "hr")
PAW_SHARE = 0.2  # of the length of a shin: points that are nearer to its end belong to the foot
SOLE_SLACK = 3e-3  # of the body's length: depth at which the limit of a foot begins
STREAM_NEAR_SHARE = 0.02  # of the body's length: height of a part of a stream below which the limit is used
BLOCK_FRAMES = 512  # frames whose transforms are computed at once
# lengths are for a body of 1.75 m
LEAST_DEPTH_M = 1.2e-2  # of a part that makes the whole body keep above the floor; swinging shins dip by less
NEAR_FLOOR_M = 0.06  # parts of a clip that come nearer to the floor in a frame are kept above it
LIFT_S = 0.1  # half the time over which a lift begins and ends


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

    def comes_near(self, model: Model, height: float) -> bool:
        """Return whether a part other than the feet comes nearer to the floor than `height` [m]."""
        feet = list_ankles(model)
        other = [feet.isdisjoint(model.ancestors(part.frame)) for part in self.parts]
        return bool((self.lowest[:, other] < height).any())

    @property
    def deepest(self) -> float:
        """The largest depth in any frame [m]; at least 0."""
        return max(0.0, float(self.depths.max()))


def measure_heights(clip: Motion, floor: float = 0.0, *, soles: bool = False, slack: float = 0.0) -> BodyHeights | None:
    """Measure the heights of all parts of a body above a floor [m]; None if nothing has a size.

    Soles are left out, unless `soles` is given; their points are raised by `slack`, relative to the body's length.
    """
    parts = (*list_body_points(clip.model), *(list_slack_soles(clip.model, slack * clip.model.length) if soles else ()))
    if not parts or not len(clip):
        return None
    lowest = np.stack([heights.min(axis=1) for heights in place_points(clip, parts)], axis=1)
    return BodyHeights(parts, lowest - floor)


def measure_depth(motion: Motion) -> float:
    """Return the largest depth of a part, except the soles, below the floor at height 0 [m]; at least 0."""
    found = measure_heights(motion)
    return 0.0 if found is None else found.deepest


def find_lift(free: Motion, size: float) -> Floats | None:
    """Return the height by which each frame is lifted until no part is below the floor, (frames,) [m].

    It is None if no part, except the feet, is below the floor. A single deep frame, such as the T-pose that many
    recordings begin with, is lifted by itself.
    """
    found = measure_heights(free)
    if found is None or not found.comes_near(free.model, -LEAST_DEPTH_M * size):
        return None
    depths = np.maximum(found.depths, 0.0)
    padded = np.pad(depths, 1, mode="edge")
    usual = np.median(np.stack([padded[:-2], depths, padded[2:]]), axis=0)
    usual[[0, -1]] = np.minimum(depths[[0, -1]], depths[[min(1, len(depths) - 1), max(len(depths) - 2, 0)]])
    return np.maximum(spread_peaks(usual, max(1, round(LIFT_S * free.fps))), depths)


def make_floor_limits(clip: Motion, size: float, slack: float = SOLE_SLACK) -> tuple[Limit, ...]:
    """Return the limit that keeps the parts near the floor in a clip above it; empty if there are none.

    It is on the points of each part that are nearest to the floor at height 0: those within half of `NEAR_FLOOR_M` of
    its lowest one, in the frames in which the part is near. Feet with shapes are included; `slack` is the depth at
    which their limit begins, relative to the body's length.
    """
    most, out = NEAR_FLOOR_M * size, list[BodyCapsule]()
    parts = [*list_body_points(clip.model), *list_slack_soles(clip.model, slack * clip.model.length)]
    for part, heights in zip(parts, place_points(clip, parts), strict=True):
        low = heights[heights.min(axis=1) < most]
        near = (low < low.min(axis=1, keepdims=True) + 0.5 * most).any(axis=0)
        out += pair_points(part.frame, part.points[near], part.radius[near])
    return limit_points(clip.model, out)


def limit_points(model: Model, points: Iterable[BodyCapsule]) -> tuple[Limit, ...]:
    """Return the limit that keeps some points above a floor at height 0; empty without points."""
    found, world = tuple(points), [HalfSpace((0.0, 0.0, 0.0), model.up_direction)]
    return (PointClearance(pairs=(), world=world, points=found, name="floor"),) if found else ()


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
        yield measure_points(part, T[:, model.frames.index(part.frame)])


def measure_points(part: SupportPoints, rows: Floats) -> Floats:
    """Return the heights of the points of a part, (..., n) [m]; `rows` give the height in its frame, (..., 4)."""
    heights: Floats = rows[..., :3] @ part.points.T + rows[..., 3:] - part.radius
    return heights


class StreamFloor:
    """The parts of a body, except its feet, above a floor at height 0.

    Attributes:
        limits: The limit that keeps them above the floor; empty if the body has no size.
        near: The height of a part below which the limit is used [m].

    Args:
        model: The body.
        top: The frame that carries it; a file may contain other bodies.
    """

    def __init__(self, model: Model, top: str) -> None:
        self.up_axis, self.near = model.up_axis, STREAM_NEAR_SHARE * model.length
        feet = list_ankles(model)
        above = [(part, model.ancestors(part.frame)) for part in list_body_points(model)]
        parts = [part for part, names in above if top in names and feet.isdisjoint(names)]
        self.parts: tuple[SupportPoints, ...] = tuple(map(thin_points, parts))
        points = [ball for part in self.parts for ball in pair_points(part.frame, part.points, part.radius)]
        self.limits = limit_points(model, points)
        self.frames = np.array([model.frames.index(part.frame) for part in self.parts], dtype=np.int64)
        middles = [part.points.mean(axis=0) for part in self.parts]
        self.middles = np.array([(*middle, 1.0) for middle in middles]).reshape(-1, 4)
        radius = [
            (np.linalg.norm(part.points - middle, axis=1) + part.radius).max()
            for part, middle in zip(self.parts, middles, strict=True)
        ]
        self.near_heights = np.array(radius) + self.near  # of the middles of parts that may be near the floor

    def find_lowest(self, T: Floats) -> float:
        """Return the height of the lowest point above the floor [m], or `near` if no part is lower.

        Args:
            T: The transforms of all frames of the body, (frames, 4, 4).
        """
        rows: Floats = T[self.frames, self.up_axis]
        low = (rows * self.middles) @ np.ones(4) < self.near_heights
        if not low.any():
            return self.near
        return min(float(measure_points(self.parts[k], rows[k]).min()) for k in np.flatnonzero(low).tolist())


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
