"""The floor below the source of a stream, estimated from the frames so far.

The first frame gives a guess: the floor is at height 0 if a foot is near it, otherwise at the lowest foot, and the
ankle height is that of this frame. Three rules correct it:

- A stream that begins above height 0 may begin in the air: its floor and standing ankles are the lowest heights of
  soles and ankles since then.
- If the speed of the lowest height of the soles, and that of a sole itself, change faster than a person can change
  them, the stream was cut, as after the T-pose that many recordings begin with: the floor is estimated again. (In a
  cartwheel the first one alone changes, as one foot becomes lower than the other.)
- If the soles of the last second were at another height than in the first frame, as after a T-pose or on a floor that
  is not level, the floor moves there at a walking foot's pace, at most 0.1 m up.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections import deque
from collections.abc import Sequence

import numpy as np

from poise.anatomy import ContactPoint
from poise.arrays import Floats
from poise.kinematics import Motion
from poise.motion.contact.level_soles import flag_level
from poise.motion.contact.soles import measure_size
from poise.motion.retargeting.correspondence import CarryOver
from poise.motion.retargeting.goal_targets import Ground

__all__ = ["StreamGround"]

# lengths and speeds are for a body of 1.75 m
NEAR_FLOOR_M = 0.1  # a first frame that is nearer to a floor stands on it
ABOVE_ZERO_M = 0.02  # a first frame that is less above height 0 stands on a floor at 0
OFF_LEVEL_M = 0.02  # soles that are off by less do not move the floor
CUT_SPEED_M_S = 8.0  # change of the vertical speed of the lowest sole in a frame that only a cut explains
LEVEL_SPEED_M_S = 0.2  # of the floor on its way to the soles
WINDOW_S, LEAST_S = 1.0, 0.1  # window over which soles are observed, and time after which they count
WINDOW_SHARE = 0.1  # share of the frames in the window that may be lower than the floor


class StreamGround:
    """The estimate of a stream's floor.

    Attributes:
        floor: The height of the floor of contacts [m].
        level: The height of standing soles [m].
        ankle: The height of standing ankles [m].
        size: The size of the source relative to a person.
        soles: The positions of the source's soles in the newest frame [m].
        heights: Their heights [m], then the lowest one.
        pelvis: The position of its pelvis [m].
        cut: Whether the stream was cut before the newest frame.
        faces_floor: Whether the foot of each sole is level enough to stand on it.

    Args:
        carrying: The two bodies.
        points: The points of the source's soles.
        fps: Frames per second.
        given: The height of the floor [m]; estimated if None.
    """

    def __init__(self, carrying: CarryOver, points: Sequence[ContactPoint], fps: float, given: float | None) -> None:
        self.carrying, self.fps, self.given, self.up_axis = carrying, fps, given, carrying.model.up_axis
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
        self.floor, self.level, self.ankle, self.size, self.first = 0.0, 0.0, 0.0, 1.0, 0.0
        self.begun, self.in_air, self.moving = False, False, False
        self.heights = list[float]()
        self.steps = list[float]()
        self.cut = False
        self.recent, self.ordered = deque[float](), list[float]()
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
        heights = [place[self.up_axis] for place in self.soles]
        lowest = min(heights, default=0.0)
        ankle = min((place[self.up_axis] for place in ankles), default=0.0)
        self.cut = self._is_cut([*heights, lowest])
        if self.cut:  # nothing before it says where the floor is
            self.recent.clear()
            self.ordered.clear()
            self.moving, self.steps = False, []
        if self.cut or not self.begun:
            self._begin(q, lowest, ankle)
        elif self.given is None:
            self._follow(lowest, ankle)
        return Ground(self.floor, self.ankle - self.floor)

    def _is_cut(self, heights: list[float]) -> bool:
        """Return whether speeds changed more than a person can change them; heights of soles, then their lowest one."""
        steps = [now - was for now, was in zip(heights, self.heights, strict=False)]  # empty in the first frame
        last, self.steps, self.heights = self.steps, steps, heights
        if self.given is not None or not steps or not last:
            return False
        most = CUT_SPEED_M_S * self.size / self.fps
        *changes, lowest = (abs(step - was) > most for step, was in zip(steps, last, strict=True))
        return lowest and any(changes)

    def _begin(self, q: Floats, lowest: float, ankle: float) -> None:
        """Estimate the floor from the first frame."""
        size = measure_size(Motion(self.carrying.source, q[None], self.fps))
        self.begun, self.size = True, max(self.size, size) if self.begun else size  # a body may lie after a cut
        at_zero = -NEAR_FLOOR_M < lowest / self.size < ABOVE_ZERO_M  # a foot below 0 is weaker evidence than one above
        self.floor = (0.0 if at_zero else lowest) if self.given is None else self.given
        stands = abs(lowest - self.floor) < NEAR_FLOOR_M * self.size
        self.ankle = ankle if stands else ankle - lowest + self.floor
        self.level = self.first = lowest if stands else self.floor
        self.in_air = self.given is None and self.floor > 0.0

    def _follow(self, lowest: float, ankle: float) -> None:
        """Correct the floor with one more frame."""
        if self.in_air and lowest < self.level:
            self.floor, self.level, self.first = max(0.0, min(self.floor, lowest)), lowest, lowest
            self.ankle = min(self.ankle, ankle)
        usual = self._watch_soles(lowest)
        if usual is None:
            return
        off = min(usual, self.first + NEAR_FLOOR_M * self.size) - self.level
        self.moving = abs(off) > (0.0 if self.moving else OFF_LEVEL_M * self.size)
        if self.moving:
            most = LEVEL_SPEED_M_S * self.size / self.fps
            step = min(max(off, -most), most)
            self.level, self.ankle = self.level + step, self.ankle + step
            self.floor = self.level

    def _watch_soles(self, lowest: float) -> float | None:
        """Return the height of the soles over the last second [m], or None in the first frames."""
        self.recent.append(lowest)
        insort(self.ordered, lowest)
        if len(self.recent) > max(1, round(WINDOW_S * self.fps)):
            del self.ordered[bisect_left(self.ordered, self.recent.popleft())]
        count = len(self.ordered)
        return self.ordered[int(WINDOW_SHARE * count)] if count >= LEAST_S * self.fps else None
