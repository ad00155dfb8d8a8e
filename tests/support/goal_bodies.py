"""Random bodies for the laws of goals."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

import poise
from bodies import ALL_KINDS, random_model
from poise.arrays import Floats
from poise.kinematics.parts import find_rigid_parts


@dataclass(frozen=True)
class Body:
    """A random body, frames a and b on two of its moving parts, and numbers to make goals of."""

    model: poise.Model
    rng: np.random.Generator
    a: str
    b: str
    at: Floats | None = None

    def T(self, frame: str, q: Floats) -> Floats:
        return np.asarray(self.model.fk(q, frame))

    def p(self, frame: str, q: Floats, point: Any = None) -> Floats:
        T = self.T(frame, q)
        return T[:3, 3] if point is None else np.asarray(T[:3, :3] @ np.asarray(point) + T[:3, 3])

    def wanted(self, where: Callable[[Floats], Floats], other: Floats) -> Floats:
        """Return a value in the pose `at`, or the other value without such a pose."""
        return other if self.at is None else where(self.at)

    def place(self, frame: str, point: Any = None) -> Floats:
        return self.wanted(lambda q: self.p(frame, q, point), self.rng.normal(size=3))


def random_body(seed: int, at_pose: bool, kinds: tuple[str, ...] = ALL_KINDS) -> tuple[Body, Floats]:
    """Return a body and a pose, in which the goals of the body are reached if requested."""
    model = random_model(seed, joints=13, kinds=kinds)
    rng = np.random.default_rng(seed + 1)
    parts = find_rigid_parts(model)
    moving = [frame for frame in model.frames if parts[frame] is not None]
    a = str(rng.choice(moving))
    b = str(rng.choice([frame for frame in moving if parts[frame] != parts[a]]))
    q = np.asarray(model.random(rng))
    return Body(model, rng, a, b, q if at_pose else None), q
