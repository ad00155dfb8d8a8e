"""The soles of the source of a stream, and the floor below them (`FloorEstimate`)."""

from collections.abc import Sequence

import numpy as np

from poise.anatomy import ContactPoint
from poise.arrays import Floats
from poise.kinematics import Motion
from poise.motion.contact.floor import FloorEstimate
from poise.motion.contact.level_soles import flag_level
from poise.motion.contact.soles import measure_size
from poise.motion.retargeting.correspondence import CarryOver
from poise.motion.retargeting.goal_targets import Ground

__all__ = ["StreamGround"]


class StreamGround:
    """The soles of a stream and the estimate of its floor.

    Attributes:
        estimate: The floor, and the heights of standing soles and ankles.
        soles: The positions of the source's soles in the newest frame [m].
        pelvis: The position of its pelvis [m].
        faces_floor: Whether the foot of each sole is level enough to stand on it.

    Args:
        carrying: The two bodies.
        points: The points of the source's soles.
        fps: Frames per second.
        given: The height of the floor [m]; estimated if None.
    """

    def __init__(self, carrying: CarryOver, points: Sequence[ContactPoint], fps: float, given: float | None) -> None:
        self.carrying, self.up_axis, self.estimate = carrying, carrying.model.up_axis, FloorEstimate(fps, given)
        self.up: list[float] = carrying.model.up_direction.tolist()
        self.frames = np.array([carrying.at[point.frame] for point in points], dtype=np.int64)
        self.points = np.array([(*point.point, 1.0) for point in points]).reshape(-1, 4, 1)
        self.trunk = carrying.at[carrying.theirs["pelvis"]]
        names = [name for name in (f"ankle_{side}" for side in "lr") if name in carrying.theirs]
        self.ankles = np.array([carrying.at[carrying.theirs[n]] for n in names], dtype=np.int64)
        at = {point.name: i for i, point in enumerate(points)}
        self.feet = [
            (at[f"heel_{side}"], at[f"toe_{side}"], names.index(f"ankle_{side}"))
            for side in "lr"
            if f"ankle_{side}" in names and f"heel_{side}" in at and f"toe_{side}" in at
        ]
        self.forget()

    def forget(self) -> None:
        """Reset to the state before the first frame."""
        self.estimate.reset()
        self.soles: list[list[float]] = [[0.0] * 3] * len(self.points)
        self.pelvis: Floats = np.zeros(3)
        self.faces_floor = [True] * len(self.points)

    def watch(self, q: Floats, T: Floats) -> Ground:
        """Process one frame and return the floor.

        Args:
            q: The configuration of the source.
            T: Its transforms in the target's world, (parts, 4, 4).
        """
        self.soles = (T[self.frames, :3] @ self.points)[..., 0].tolist()
        self.pelvis, ankles = T[self.trunk, :3, 3], T[self.ankles, :3, 3].tolist()
        for heel, toe, joint in self.feet:
            ends = flag_level(self.soles[heel], self.soles[toe], ankles[joint], self.up)
            self.faces_floor[heel], self.faces_floor[toe] = ends
        ankle = min((place[self.up_axis] for place in ankles), default=0.0)
        floor, source = self.estimate, self.carrying.source
        heights = [place[self.up_axis] for place in self.soles]
        floor.update(heights, ankle, lambda: measure_size(Motion(source, q[None], floor.fps)))
        return Ground(floor.floor, floor.ankle - floor.floor)
