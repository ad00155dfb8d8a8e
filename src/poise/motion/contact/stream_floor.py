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
        self.model, self.up, self.near = model, model.up_direction, NEAR_SHARE * model.length
        feet = list_ankles(model)
        above = [(part, model.ancestors(part.frame)) for part in list_body_points(model)]
        parts = [part for part, names in above if top in names and feet.isdisjoint(names)]
        self.parts: tuple[SupportPoints, ...] = tuple(map(thin_points, parts))
        points = tuple(ball for part in self.parts for ball in pair_points(part.frame, part.points, part.radius))
        world = [HalfSpace((0.0, 0.0, 0.0), self.up)]
        self.limits: tuple[Limit, ...] = ()
        if points:
            self.limits = (PointClearance(pairs=(), world=world, points=points, name="floor"),)
        self.frames = np.array([model.frames.index(part.frame) for part in self.parts], dtype=np.int64)
        self.middles = np.array([part.points.mean(axis=0) for part in self.parts]).reshape(-1, 3)
        self.radius = np.array(
            [
                (np.linalg.norm(part.points - middle, axis=1) + part.radius).max()
                for part, middle in zip(self.parts, self.middles, strict=True)
            ]
        )

    def find_lowest(self, q: Floats) -> float:
        """Return the height of the lowest point of a pose above the floor [m], or `near` if no part is lower."""
        if not self.parts:
            return self.near
        rows: Floats = self.up @ self.model.fk(q)[self.frames, :3]
        low = np.flatnonzero((rows[:, :3] * self.middles).sum(axis=1) + rows[:, 3] < self.radius + self.near)
        heights = [self.parts[k].points @ rows[k, :3] + rows[k, 3] - self.parts[k].radius for k in low.tolist()]
        return min((float(each.min()) for each in heights), default=self.near)
