"""Exercises 10 and 13: the error of an orientation, and the axes of Euler angles in any order."""

import numpy as np

from grader.case import ExerciseCase
from poise.textbook.rotations import Array, axis_rotation, euler_axes, rotation_error, rotation_vector, unskew

ORDERS = ("XYZ", "ZYX", "ZXY", "YXZ", "ZXZ")


def ask_rotation_error(rng: np.random.Generator, degrees: int) -> ExerciseCase:
    """Create exercise 10: ``rotation_error(wanted, now) -> (3,)``; `degrees` is the remaining angle."""
    axes = rng.normal(size=(2, 3))
    axes /= np.linalg.norm(axes, axis=1, keepdims=True)
    now, turn = axis_rotation(axes[0], 1.3), axis_rotation(axes[1], np.radians(degrees))
    wanted = turn @ now
    right = rotation_error(wanted, now)
    part = "this is half the antisymmetric part of R, (R - R.T) / 2"

    def make_slips() -> dict[str, Array]:
        return {
            "the rotation is expressed in the axes of the frame: wanted @ now.T, not now.T @ wanted.": rotation_vector(
                now.T @ wanted
            ),
            "the sign is wrong: it leads from wanted to now.": -right,
            f"{part}: the axis times the sine of the angle; the angle itself is wanted.": unskew(turn),
            f"{part}, but for now.T @ wanted: the sine of the angle, in the axes of the frame.": unskew(now.T @ wanted),
            "this is R - R.T: the axis times twice the sine of the angle; the angle is wanted.": 2.0 * unskew(turn),
            "this is the unit axis; multiply it by the angle.": right / max(float(np.linalg.norm(right)), 1e-12),
        }

    return ExerciseCase(f"{degrees} degrees apart", {"wanted": wanted, "now": now}, right, make_slips, tolerance=1e-6)


def ask_euler_axes(rng: np.random.Generator, order: int) -> ExerciseCase:
    """Create exercise 13: ``euler_axes(order, angles) -> (3, 3)``, an axis in each column; `order` is a number."""
    letters, angles = ORDERS[order], rng.uniform(0.4, 1.2, 3)
    right = euler_axes(letters, angles)
    own = np.eye(3)[["XYZ".index(letter) for letter in letters]].T

    def make_slips() -> dict[str, Array]:
        return {
            "the axes are not rotated: an axis is carried along by the angles before it.": own,
            "the axes are rotated by the angles after them; those to the left carry an axis along.": euler_axes(
                letters[::-1], angles[::-1]
            )[:, ::-1],
            "this is the order XYZ; the axes depend on the order.": euler_axes("XYZ", angles),
            "each axis is a column, and here it is a row.": right.T,
        }

    return ExerciseCase(f"order {letters}", {"order": letters, "angles": angles}, right, make_slips)
