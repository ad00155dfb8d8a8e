"""The floor below a body: one estimate, from a whole clip or frame by frame.

A clip shows its floor at once: it is the 2nd percentile of the heights of slow points. If heels and toes stand at
different heights, each has its own floor by the same rule, up to 0.02 m higher. Where all points stay higher for a
second, the floor is locally higher, up to 0.05 m.

A stream begins with a guess and corrects it: in the first frame, the floor is at height 0 if a foot is near it,
otherwise at the lowest foot, and the ankle height is that of this frame. Then

- A stream that begins above height 0 may begin in the air: its floor and standing ankles are the lowest heights of
  soles and ankles since then.
- If the speed of the lowest height of the soles, and that of a sole itself, change faster than a person can change
  them, the stream was cut, as after the T-pose that many recordings begin with: the floor is estimated again. (In a
  cartwheel the first one alone changes, as one foot becomes lower than the other.)
- If the soles of the last second were at another height than in the first frame, as after a T-pose or on a floor that
  is not level, the floor moves there at a walking foot's pace, at most 0.1 m up.
"""

from collections import deque
from collections.abc import Callable, Sequence

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

from poise.arrays import Floats
from poise.motion.contact.ledger import find_kind

__all__ = ["FloorEstimate", "find_ground", "find_kind_floors", "find_local_floor", "measure_floor"]

FLOOR_PERCENTILE = 2.0  # of the heights of points that may stand
SLOW_SHARE = 0.1  # of the frames of all points: if fewer are slow, they do not show the floor
FLOOR_S = 0.5  # half the time over which the local floor is a minimum
# lengths and speeds are for a body of 1.75 m
NEAR_FLOOR_M = 0.1  # a first frame that is nearer to a floor stands on it
ABOVE_ZERO_M = 0.02  # a first frame that is less above height 0 stands on a floor at 0
OFF_LEVEL_M = 0.02  # soles that are off by less do not move the floor
CUT_SPEED_M_S = 8.0  # change of the vertical speed of the lowest sole in a frame that only a cut explains
LEVEL_SPEED_M_S = 0.2  # of the floor on its way to the soles
WINDOW_S, LEAST_S = 1.0, 0.1  # window over which soles are observed, and time after which they count
MOST_RECENT = 100_000  # heights in that window
WINDOW_SHARE = 0.1  # share of the frames in the window that may be lower than the floor


class FloorEstimate:
    """The floor of a stream, estimated from the frames so far.

    Attributes:
        floor: The height of the floor of contacts [m].
        level: The height of standing soles [m].
        ankle: The height of standing ankles [m].
        size: The size of the body relative to a person.
        cut: Whether the stream was cut before the newest frame.

    Args:
        fps: Frames per second.
        given: The height of the floor [m]; estimated if None.
    """

    def __init__(self, fps: float, given: float | None = None) -> None:
        self.fps, self.given = fps, given
        self.reset()

    def reset(self) -> None:
        """Return to the state before the first frame."""
        self.floor, self.level, self.ankle, self.size, self.first = 0.0, 0.0, 0.0, 1.0, 0.0
        self.begun, self.in_air, self.moving, self.cut = False, False, False, False
        self.heights, self.steps = list[float](), list[float]()
        self.recent = deque[float](maxlen=min(max(1, round(WINDOW_S * self.fps)), MOST_RECENT))

    def update(self, heights: Sequence[float], ankle: float, find_size: Callable[[], float]) -> None:
        """Process one frame.

        Args:
            heights: The heights of the soles [m].
            ankle: The height of the lower ankle [m].
            find_size: Returns the size of the body; called in the first frame and after cuts.
        """
        lowest = min(heights, default=0.0)
        self.cut = self._is_cut([*heights, lowest])
        if self.cut:  # nothing before it says where the floor is
            self.recent.clear()
            self.moving, self.steps = False, []
        if self.cut or not self.begun:
            self.size = max(self.size, find_size()) if self.begun else find_size()  # a body may lie after a cut
            self._begin(lowest, ankle)
        elif self.given is None:
            self._follow(lowest, ankle)

    def _is_cut(self, heights: list[float]) -> bool:
        """Return whether speeds changed more than a person can change them; heights of soles, then their lowest one."""
        steps = [now - was for now, was in zip(heights, self.heights, strict=False)]  # empty in the first frame
        last, self.steps, self.heights = self.steps, steps, heights
        if self.given is not None or not steps or not last:
            return False
        most = CUT_SPEED_M_S * self.size / self.fps
        *changes, lowest = (abs(step - was) > most for step, was in zip(steps, last, strict=True))
        return lowest and any(changes)

    def _begin(self, lowest: float, ankle: float) -> None:
        """Estimate the floor from the first frame."""
        at_zero = -NEAR_FLOOR_M < lowest / self.size < ABOVE_ZERO_M  # a foot below 0 is weaker evidence than one above
        self.begun, self.floor = True, (0.0 if at_zero else lowest) if self.given is None else self.given
        stands = abs(lowest - self.floor) < NEAR_FLOOR_M * self.size
        self.ankle = ankle if stands else ankle - lowest + self.floor
        self.level = self.first = lowest if stands else self.floor
        self.in_air = self.given is None and self.floor > 0.0

    def _follow(self, lowest: float, ankle: float) -> None:
        """Correct the floor with one more frame."""
        if self.in_air and lowest < self.level:
            self.floor, self.level, self.first = max(0.0, min(self.floor, lowest)), lowest, lowest
            self.ankle = min(self.ankle, ankle)
        self.recent.append(lowest)
        if len(self.recent) < LEAST_S * self.fps:
            return
        usual = sorted(self.recent)[int(WINDOW_SHARE * len(self.recent))]
        off = min(usual, self.first + NEAR_FLOOR_M * self.size) - self.level
        self.moving = abs(off) > (0.0 if self.moving else OFF_LEVEL_M * self.size)
        if self.moving:
            most = LEVEL_SPEED_M_S * self.size / self.fps
            step = min(max(off, -most), most)
            self.level, self.ankle = self.level + step, self.ankle + step
            self.floor = self.level


def find_ground(heights: Floats, slow: NDArray[np.bool_]) -> float:
    """Return the height of the floor from the heights of points in slow frames, (points, frames) [m]."""
    return measure_floor(heights[slow] if slow.mean() >= SLOW_SHARE else heights)


def measure_floor(heights: Floats) -> float:
    """Return the height of the floor under points: the 2nd percentile of all their heights."""
    return float(np.percentile(heights, FLOOR_PERCENTILE))


def find_kind_floors(names: list[str], heights: Floats, ground: float, most: float) -> Floats:
    """Return the floor height of each point, (points,): that of its kind, between `ground` and `ground + most` [m]."""
    kinds = np.array([find_kind(name) for name in names])
    own = np.array([measure_floor(heights[kinds == kind]) for kind in kinds])
    floors: Floats = np.clip(own, ground, ground + most)
    return floors


def find_local_floor(heights: Floats, fps: float, most: float) -> Floats:
    """Return the height of the lowest point within half a second, (frames,) [m], between 0 and `most`.

    Args:
        heights: The heights of points above the floor, (points, frames) [m]; inf for points that cannot stand.
        fps: The frame rate.
        most: The largest height of the local floor [m].
    """
    radius = max(1, round(FLOOR_S * fps))
    lowest = np.pad(heights.min(axis=0), radius, mode="edge")
    out: Floats = np.clip(sliding_window_view(lowest, 2 * radius + 1).min(axis=1), 0.0, most)
    return out
