"""Ranges of bones: Limit Rotation constraints and IK limits as Euler ranges.

Blender's order "XYZ" turns about x first, about fixed axes; Poise's orders are intrinsic, so the letters are reversed.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

__all__ = ["BoneRange", "read_range"]


@dataclass(frozen=True)
class BoneRange:
    """The range of a bone's Euler angles.

    Attributes:
        order: The axes from the first rotation to the last, as Poise reads them.
        lower: The lower bounds in that order [rad].
        upper: The upper bounds.
    """

    order: str
    lower: tuple[float, ...]
    upper: tuple[float, ...]


def read_range(bone: Any) -> BoneRange | None:
    """Return the range of a pose bone, or None if it turns freely.

    A Limit Rotation constraint in local space at full influence counts, and so do IK limits and IK locks, which hold
    the present angle. Where both limit an axis, the narrower range holds.
    """
    order = bone.rotation_mode if bone.rotation_mode in EULER_MODES else "XYZ"
    lower, upper = dict.fromkeys("XYZ", -np.inf), dict.fromkeys("XYZ", np.inf)
    for constraint in bone.constraints:
        if is_local_limit(constraint):
            order = order if constraint.euler_order == "AUTO" else constraint.euler_order
            for axis in "xyz":
                if getattr(constraint, f"use_limit_{axis}"):
                    narrow(lower, upper, axis, getattr(constraint, f"min_{axis}"), getattr(constraint, f"max_{axis}"))
    angles = bone.matrix_basis.to_euler(order)
    for axis in "xyz":
        if getattr(bone, f"lock_ik_{axis}"):
            narrow(lower, upper, axis, getattr(angles, axis), getattr(angles, axis))
        elif getattr(bone, f"use_ik_limit_{axis}"):
            narrow(lower, upper, axis, getattr(bone, f"ik_min_{axis}"), getattr(bone, f"ik_max_{axis}"))
    if not np.isfinite([*lower.values(), *upper.values()]).any():
        return None
    letters = order[::-1]
    return BoneRange(letters, tuple(lower[axis] for axis in letters), tuple(upper[axis] for axis in letters))


EULER_MODES = ("XYZ", "XZY", "YXZ", "YZX", "ZXY", "ZYX")


def is_local_limit(constraint: Any) -> bool:
    """Return whether a constraint limits the rotation of its bone in the bone's own axes."""
    active = not constraint.mute and constraint.influence == 1.0
    return active and constraint.type == "LIMIT_ROTATION" and constraint.owner_space == "LOCAL"


def narrow(lower: dict[str, float], upper: dict[str, float], axis: str, least: float, most: float) -> None:
    """Narrow the range of an axis; a range that would be empty stays as it is."""
    key = axis.upper()
    low, high = max(lower[key], least), min(upper[key], most)
    if low <= high:
        lower[key], upper[key] = low, high
