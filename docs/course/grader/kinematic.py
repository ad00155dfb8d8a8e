"""Exercises 1 to 3: forward kinematics, the Jacobian by cross products, the Jacobian by differences."""

import numpy as np

from grader.arm import Arm, draw_arm, name_arm
from grader.case import ExerciseCase
from poise.textbook.bodies import forward_kinematics
from poise.textbook.frames import world_jacobian
from poise.textbook.jacobians import generic_jacobian, numeric_jacobian
from poise.textbook.rotations import Array, axis_rotation
from poise.textbook.twists import inverse, rigid


def ask_forward_kinematics(rng: np.random.Generator, joints: int) -> ExerciseCase:
    """Create exercise 1: ``forward_kinematics(offsets, axes, angles) -> T_world_tip``."""
    arm = draw_arm(rng, joints)
    right = forward_kinematics(arm.model, arm.angles, "tip")

    def make_slips() -> dict[str, Array]:
        return {
            "the order is wrong: a joint's own rotation comes after its offset, T = T @ offset @ rotation.": _chain(
                arm, turn_first=True
            ),
            "the last offset, from the last joint to the tip, is missing.": right @ inverse(arm.offsets[-1]),
            "every rotation turns the wrong way: right-handed about the axis is positive (or R is transposed).": _chain(
                arm, sign=-1.0
            ),
            "the angles are read as degrees; they are radians.": _chain(arm, sign=np.pi / 180.0),
            "the product runs from the tip to the root: the root's offset is the first factor, on the left.": _chain(
                arm, backwards=True
            ),
            "it is the inverse: world coordinates to the tip's. T_world_tip takes the tip's to the world's.": inverse(
                right
            ),
            "all joints turn about z: each joint has its own axis, a row of axes.": _chain(arm, about_z=True),
        }

    given = {"offsets": arm.offsets, "axes": arm.axes, "angles": arm.angles}
    return ExerciseCase(name_arm(joints), given, right, make_slips)


def ask_cross_product_jacobian(rng: np.random.Generator, joints: int) -> ExerciseCase:
    """Create exercise 2: ``jacobian(axes, pivots, tip) -> (6, n)``, all in world axes, linear rows first."""
    arm = draw_arm(rng, joints)
    transform = forward_kinematics(arm.model, arm.angles, "tip")
    body = generic_jacobian(arm.model, arm.angles, "tip")
    right = world_jacobian(body, transform)
    linear, angular = right[:3], right[3:]
    axes, pivots, tip = arm.world_axes, arm.pivots, arm.tip

    def make_slips() -> dict[str, Array]:
        return {
            "the cross product's order is wrong: it is axis x (tip - pivot), and here its sign is turned.": np.vstack(
                [-linear, angular]
            ),
            "the rows are in the wrong order: the three linear rows come first, then the angular ones.": np.vstack(
                [angular, linear]
            ),
            "the arm is missing: axis x (tip - pivot), not axis x tip.": np.vstack([np.cross(axes, tip).T, angular]),
            "the arm is wrong: axis x (tip - pivot), not axis x pivot.": np.vstack([np.cross(axes, pivots).T, angular]),
            "the columns are in the order tip to root; column i belongs to joint i.": right[:, ::-1],
            "this is the Jacobian in the tip's own frame; the world's axes are wanted.": body,
            "the angular rows are zero: they are the axes themselves.": np.vstack([linear, np.zeros_like(angular)]),
        }

    return ExerciseCase(name_arm(joints), {"axes": axes, "pivots": pivots, "tip": tip}, right, make_slips)


def ask_numeric_jacobian(rng: np.random.Generator, joints: int) -> ExerciseCase:
    """Create exercise 3: ``numeric_jacobian(position, angles, step) -> (3, n)`` by central differences."""
    arm = draw_arm(rng, joints)
    step = 1e-4

    def position(angles: Array) -> Array:
        return forward_kinematics(arm.model, angles, "tip")[:3, 3]

    right = numeric_jacobian(arm.model, arm.angles, "tip", epsilon=step)[:3]
    moves = step * np.eye(joints)
    ahead = np.stack([position(arm.angles + move) for move in moves], axis=1)
    behind = np.stack([position(arm.angles - move) for move in moves], axis=1)
    here = position(arm.angles)[:, None]

    def make_slips() -> dict[str, Array]:
        return {
            "the difference is divided by step, and it spans two steps: divide by 2 * step.": 2.0 * right,
            "this is a one-sided difference, f(q + step) - f(q): correct to a step, where the central one,"
            " f(q + step) - f(q - step), is correct to its square.": (ahead - here) / step,
            "this is a one-sided difference, f(q) - f(q - step): take f(q + step) - f(q - step).": (here - behind)
            / step,
            "it is not divided by the step: a difference, not a slope.": ahead - behind,
        }

    # below the error of the one-sided difference, about 1e-4, and above that of the central one, 1e-8
    about = name_arm(joints)
    return ExerciseCase(
        about, {"position": position, "angles": arm.angles, "step": step}, right, make_slips, tolerance=1e-7
    )


def _chain(
    arm: Arm, *, turn_first: bool = False, sign: float = 1.0, backwards: bool = False, about_z: bool = False
) -> Array:
    """Multiply an arm's transforms, with an optional mistake."""
    result = np.eye(4)
    for offset, axis, angle in zip(arm.offsets[:-1], arm.axes, arm.angles, strict=True):
        turn = rigid(axis_rotation((0.0, 0.0, 1.0) if about_z else axis, sign * angle))
        part = turn @ offset if turn_first else offset @ turn
        result = part @ result if backwards else result @ part
    return np.asarray(arm.offsets[-1] @ result if backwards else result @ arm.offsets[-1])
