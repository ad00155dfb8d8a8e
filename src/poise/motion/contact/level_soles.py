"""Level soles: a foot stands on its heel or its toes only while its sole faces the floor.

With h, t and a the heel, the toe and the ankle of a foot, and u up:

    along = (t - h) / |t - h|        normal = a - h, without its part along the foot        across = normal x along
    pitch = asin(along . u)          lean = asin(across . u)          faces = normal . u

A heel stands up to a pitch of 38 degrees and a toe down to -84, both up to a lean of 38 degrees while the sole does not
face up: walking feet stay far inside, and so do the toes of a person who kneels. The heel of a person who lies on the
back, and the toes of one who lies face down, stay outside.
"""

from collections.abc import Iterable
from math import radians, sin
from typing import Any

import numpy as np
from numpy.typing import NDArray

from poise.anatomy import find_feet
from poise.kinematics import Motion

__all__ = ["flag_level", "flag_level_soles"]

Flags = NDArray[np.bool_]
MOST_LEAN = sin(radians(38.0))
MOST_HEEL_PITCH, LEAST_TOE_PITCH = sin(radians(38.0)), sin(radians(-84.0))
LEAST_FACING = -0.05  # sine: soles of upright feet face the horizon, and their normal is a few degrees off
LEAST_LENGTH_M = 1e-12  # of a foot: shorter ones have no direction
LEAST_HEIGHT = 0.05  # of an ankle above its sole, relative to the sole's length: a lower ankle does not show the lean


def flag_level_soles(clip: Motion) -> dict[str, Flags]:
    """Flag the frames in which each heel and toe of a body with two legs may stand, by name, (frames,)."""
    out = dict[str, Flags]()
    for foot in find_feet(clip.model):
        ends = [foot.points[word] for word in ("heel", "toe") if word in foot.points]
        if foot.ankle is not None and len(ends) == 2 and not foot.is_paw:
            heel, toe = (clip.positions(end.frame, end.point) for end in ends)
            flags = flag_level(heel.T, toe.T, clip.positions(foot.ankle).T, clip.model.up_direction)
            out.update(zip([end.name for end in ends], flags, strict=True))
    return out


def flag_level(heel: Iterable[Any], toe: Iterable[Any], ankle: Iterable[Any], up: Iterable[float]) -> tuple[Any, Any]:
    """Return whether a heel and a toe may stand, from their coordinates [m]: three numbers, or three arrays of them."""
    (a, b, c), (ux, uy, uz) = heel, up
    (x, y, z), (u, v, w) = ((i - a, j - b, k - c) for i, j, k in (toe, ankle))
    length = (x * x + y * y + z * z + LEAST_LENGTH_M**2) ** 0.5
    x, y, z = x / length, y / length, z / length
    along = u * x + v * y + w * z
    u, v, w = u - along * x, v - along * y, w - along * z
    height = (u * u + v * v + w * w) ** 0.5
    lean = abs(u * (y * uz - z * uy) + v * (z * ux - x * uz) + w * (x * uy - y * ux))
    level = (lean <= MOST_LEAN * height) & (u * ux + v * uy + w * uz >= LEAST_FACING * height)
    faces = level | (height < LEAST_HEIGHT * length)
    pitch = x * ux + y * uy + z * uz
    return faces & (pitch <= MOST_HEEL_PITCH), faces & (pitch >= LEAST_TOE_PITCH)
