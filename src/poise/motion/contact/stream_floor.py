"""The whole body of a stream above the floor: a limit on its support points, used while a part is near the floor."""

from __future__ import annotations

import numpy as np

from poise.arrays import Floats
from poise.kinematics.regions import HalfSpace
from poise.limits import Limit
from poise.limits.support_points import PointClearance, SupportPoints, pair_points, thin_points
from poise.model import Model
from poise.motion.contact.body_heights import list_ankles, list_body_points

__all__ = ["StreamFloor"]

NEAR_SHARE = 0.02  # of the body's length: height of a part below which the limit is used


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
        self.up_axis, self.near = model.up_axis, NEAR_SHARE * model.length
        feet = list_ankles(model)
        above = [(part, model.ancestors(part.frame)) for part in list_body_points(model)]
        parts = [part for part, names in above if top in names and feet.isdisjoint(names)]
        self.parts: tuple[SupportPoints, ...] = tuple(map(thin_points, parts))
        points = tuple(ball for part in self.parts for ball in pair_points(part.frame, part.points, part.radius))
        world = [HalfSpace((0.0, 0.0, 0.0), model.up_direction)]
        self.limits: tuple[Limit, ...] = ()
        if points:
            self.limits = (PointClearance(pairs=(), world=world, points=points, name="floor"),)
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
        parts = [(self.parts[k], rows[k]) for k in np.flatnonzero(low).tolist()]
        return min(float((part.points @ row[:3] - part.radius).min() + row[3]) for part, row in parts)
