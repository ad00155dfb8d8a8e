"""Reach clouds: every place that a frame can come to, sampled, and how nimble the body is there.

    w = sqrt(det(J J^T)) over the rows of the position        Yoshikawa, Manipulability of robotic mechanisms, 1985

Joints are drawn at random inside their ranges. A joint without a range that carries the whole body (a free root) stays
where it rests: the cloud is what can be reached without walking.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from poise.errors import InvalidValue
from poise.kinematics import Pose
from poise.model import Model

__all__ = ["ReachCloud", "reach_cloud"]

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class ReachCloud:
    """Where a frame was seen.

    Attributes:
        model: The body.
        frame: The frame.
        points: Where it was, in the world [m], (n, 3).
        nimbleness: Manipulability of its position in each pose, 1 at the best of them, (n,).
    """

    model: Model
    frame: str
    points: Floats
    nimbleness: Floats

    @property
    def farthest(self) -> float:
        """The largest distance from the body's root that was seen [m]."""
        root = self.model.fk(np.array(self.model.rest))[0, :3, 3]
        return float(np.linalg.norm(self.points - root, axis=1).max())

    @property
    def pose(self) -> Pose:
        """The pose that the cloud is drawn around: the body at rest."""
        return Pose(self.model)

    def __repr__(self) -> str:
        return f"<ReachCloud of {self.frame!r} of {self.model.name!r}: {len(self.points)} points>"


def reach_cloud(model: Model, frame: str | None = None, *, samples: int = 20_000, seed: int = 0) -> ReachCloud:
    """Sample where a frame can be.

    Args:
        model: The body.
        frame: Which frame; the last one unless given.
        samples: How many poses.
        seed: Chooses them.
    """
    if isinstance(samples, bool) or not isinstance(samples, int) or samples < 1:
        raise InvalidValue(f"samples is {samples!r}; it must be 1 or more.")
    name = model.frames[-1] if frame is None else model.frame(frame).name
    q = model.random(np.random.default_rng(seed), samples)
    for joint in model.joints:
        bounded = np.isfinite(model.lower[joint.v]).all() and np.isfinite(model.upper[joint.v]).all()
        if joint.parent is None and joint.nv > 1 and not bounded:
            q[:, joint.q] = model.rest[joint.q]
    J = model.jacobian(q, name)[:, :3]
    volume = np.sqrt(np.maximum(np.linalg.det(J @ J.transpose(0, 2, 1)), 0.0))
    if not volume.any():  # a body that moves in a plane has no volume, but an area
        volume = np.sqrt(np.maximum(np.linalg.det(J[:, :2] @ J[:, :2].transpose(0, 2, 1)), 0.0))
    points: Floats = model.fk(q, name)[:, :3, 3]
    return ReachCloud(model, name, points, volume / max(float(volume.max()), 1e-300))
