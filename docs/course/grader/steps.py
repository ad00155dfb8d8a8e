"""Exercises 4 to 6: a step from a Jacobian and an error, by the transpose, the pseudo-inverse and damping."""

import numpy as np

from grader.arm import draw_arm, name_arm
from grader.case import ExerciseCase
from poise.textbook.inverses import damped_inverse, truncated_svd_inverse
from poise.textbook.iteration import transpose_step
from poise.textbook.jacobians import simple_jacobian
from poise.textbook.rotations import Array


def ask_transpose_step(rng: np.random.Generator, joints: int) -> ExerciseCase:
    """Create exercise 4: ``transpose_step(jacobian, error) -> (n,)`` with Buss's alpha."""
    jacobian, error = _draw_jacobian(rng, joints), rng.uniform(-0.1, 0.1, 3)
    right = transpose_step(jacobian, error)
    plain = jacobian.T @ error
    moved = jacobian @ plain

    def make_slips() -> dict[str, Array]:
        return {
            "this is J^T e without alpha. alpha = <e, J J^T e> / <J J^T e, J J^T e> (Buss).": plain,
            "alpha is upside down: <e, J J^T e> is divided by <J J^T e, J J^T e>.": plain
            * (moved @ moved)
            / (error @ moved),
            "this is the pseudo-inverse's step; the transpose needs no inverse.": truncated_svd_inverse(jacobian)
            @ error,
            "the sign is wrong: the step leads away. The error is goal - tip.": -right,
        }

    return ExerciseCase(name_arm(joints), {"jacobian": jacobian, "error": error}, right, make_slips)


def ask_transpose_of_nothing(rng: np.random.Generator, joints: int) -> ExerciseCase:
    """Create exercise 4 with ``J^T e = 0``: the step is zero, and not 0/0."""
    jacobian = np.zeros((3, joints))
    jacobian[1] = rng.uniform(0.5, 1.5, joints)
    given = {"jacobian": jacobian, "error": np.array([0.1, 0.0, 0.0])}
    return ExerciseCase("a stretched arm, its goal in line with it (J^T e = 0: no step)", given, np.zeros(joints))


def ask_pseudoinverse(rng: np.random.Generator, joints: int) -> ExerciseCase:
    """Create exercise 5 with full rank: ``pseudoinverse(jacobian) -> (n, 3)``."""
    jacobian = _draw_jacobian(rng, joints)
    return _ask_inverse(jacobian, f"a {jacobian.shape[0]} x {joints} Jacobian of full rank")


def ask_singular_pseudoinverse(rng: np.random.Generator, joints: int) -> ExerciseCase:
    """Create exercise 5 at a singularity: the third row is a combination of the others."""
    jacobian = _draw_jacobian(rng, joints)
    jacobian[2] = jacobian[:2].T @ rng.uniform(0.5, 1.0, 2)
    return _ask_inverse(jacobian, f"a 3 x {joints} Jacobian of rank 2: an arm at a singularity")


def ask_damped_step(rng: np.random.Generator, joints: int) -> ExerciseCase:
    """Create exercise 6: ``damped_step(jacobian, error, damping) -> (n,)``."""
    jacobian, error, damping = _draw_jacobian(rng, joints), rng.uniform(-0.1, 0.1, 3), float(rng.uniform(0.1, 0.4))
    right = damped_inverse(jacobian, damping) @ error

    def make_slips() -> dict[str, Array]:
        return {
            "damping is added and not its square: J^T (J J^T + damping^2 I)^-1 e.": damped_inverse(
                jacobian, np.sqrt(damping)
            )
            @ error,
            "nothing is damped: this is the pseudo-inverse's step.": truncated_svd_inverse(jacobian) @ error,
            "the damping is subtracted: J J^T + damping^2 I.": _subtract_damping(jacobian, error, damping),
            "this is J^T e: the inverse of (J J^T + damping^2 I) is missing.": jacobian.T @ error,
            "the sign is wrong: the step leads away. The error is goal - tip.": -right,
        }

    given = {"jacobian": jacobian, "error": error, "damping": damping}
    return ExerciseCase(f"{name_arm(joints)}, damping {damping:.2f}", given, right, make_slips)


def _ask_inverse(jacobian: Array, about: str) -> ExerciseCase:
    right = truncated_svd_inverse(jacobian)

    def make_slips() -> dict[str, Array]:
        return {"this is the transpose, J^T, and not the pseudo-inverse.": jacobian.T, "the sign is wrong.": -right}

    return ExerciseCase(about, {"jacobian": jacobian}, right, make_slips)


def _draw_jacobian(rng: np.random.Generator, joints: int) -> Array:
    arm = draw_arm(rng, joints)
    return simple_jacobian(arm.model, arm.angles, "tip")


def _subtract_damping(jacobian: Array, error: Array, damping: float) -> Array:
    square = jacobian @ jacobian.T - damping**2 * np.eye(len(error))
    return np.asarray(jacobian.T @ np.linalg.solve(square, error))
