"""Exercises 9, 11 and 12: steps that keep joint limits, use the null space, and serve two goals in order."""

import numpy as np

from grader.arm import draw_arm, name_arm
from grader.case import ExerciseCase
from poise.textbook.control import controlled_step, null_space_projector
from poise.textbook.inverses import truncated_svd_inverse
from poise.textbook.iteration import frozen_step
from poise.textbook.jacobians import simple_jacobian
from poise.textbook.rotations import Array


def ask_limited_step(rng: np.random.Generator, joints: int) -> ExerciseCase:
    """Create exercise 9: ``limited_step(jacobian, error, angles, lower, upper) -> (n,)``, some joints at their ends."""
    while True:  # until the joints that stay can do it: most arms
        arm, error = draw_arm(rng, joints), rng.uniform(-0.3, 0.3, 3)
        jacobian = simple_jacobian(arm.model, arm.angles, "tip")
        free = truncated_svd_inverse(jacobian) @ error
        most = np.abs(free).argsort()[::-1]
        room = 20.0 * np.abs(free) + 2.0
        room[most[:3]] = np.array([0.3, 0.3, 1.02]) * np.abs(free[most[:3]])  # two leave at once, one perhaps later
        lower, upper = arm.angles - room, arm.angles + room
        right = frozen_step(jacobian, error, arm.angles, lower, upper)
        if np.allclose(jacobian @ right, error):
            break
    once = truncated_svd_inverse(jacobian * (np.abs(free) <= room)) @ error

    def make_slips() -> dict[str, Array]:
        return {
            "the limits are ignored: this is the pseudo-inverse's step.": free,
            "the step is clamped after the solve; zero the columns of the joints that leave, and solve again.": np.clip(
                free, -room, room
            ),
            "the joints that leave stay, but the others do not take over: solve again without their columns.": free
            * (np.abs(free) <= room),
            "after the second solve another joint leaves: repeat until none does.": once,
        }

    given = {"jacobian": jacobian, "error": error, "angles": arm.angles, "lower": lower, "upper": upper}
    return ExerciseCase(name_arm(joints), given, right, make_slips)


def ask_null_space_step(rng: np.random.Generator, joints: int) -> ExerciseCase:
    """Create exercise 11: ``null_space_step(jacobian, error, wish) -> (n,)``: J^+ e + (I - J^+ J) wish."""
    arm, error, wish = draw_arm(rng, joints), rng.uniform(-0.1, 0.1, 3), rng.uniform(-0.5, 0.5, joints)
    jacobian = simple_jacobian(arm.model, arm.angles, "tip")
    served, kept = truncated_svd_inverse(jacobian) @ error, null_space_projector(jacobian) @ wish

    def make_slips() -> dict[str, Array]:
        return {
            "the wish is added without the projector I - J^+ J, so the tip moves.": served + wish,
            "the sign of the projector is wrong: it is I - J^+ J.": served - kept,
            "the wish is missing: this is the pseudo-inverse's step.": served,
            "this is J^+ J wish, the part that moves the tip; the projector is I - J^+ J.": served + wish - kept,
        }

    given = {"jacobian": jacobian, "error": error, "wish": wish}
    return ExerciseCase(name_arm(joints), given, controlled_step(jacobian, error, wish), make_slips)


def ask_two_goals(rng: np.random.Generator, joints: int) -> ExerciseCase:
    """Create exercise 12: ``two_goals(first, first_error, second, second_error) -> (n,)``."""
    arm, error, other = draw_arm(rng, joints), rng.uniform(-0.1, 0.1, 3), rng.uniform(-0.1, 0.1, 2)
    first = simple_jacobian(arm.model, arm.angles, "tip")
    second = simple_jacobian(arm.model, arm.angles, f"joint_{joints - 1}")[:2]
    served, left = truncated_svd_inverse(first) @ error, null_space_projector(first)
    inverse = truncated_svd_inverse(second @ left)
    right, projected = served + inverse @ (other - second @ served), left @ truncated_svd_inverse(second)
    late = "N_1 J_2^+ e_2 projects the second step after it is computed, so it misses: invert second @ (I - J^+ J)"

    def make_slips() -> dict[str, Array]:
        both = truncated_svd_inverse(np.vstack([first, second])) @ np.concatenate([error, other])
        return {
            "both goals are stacked: neither comes first, and each spoils the other.": both,
            "the second step is not kept in the null space of the first: invert second @ (I - J^+ J).": served
            + truncated_svd_inverse(second) @ (other - second @ served),
            "the first step already moves the second goal: subtract second @ step from its error.": served
            + inverse @ other,
            f"{late}, not second alone.": served + projected @ other,
            f"{late}.": served + projected @ (other - second @ served),
            "the second goal is ignored.": served,
        }

    given = {"first": first, "first_error": error, "second": second, "second_error": other}
    return ExerciseCase(name_arm(joints), given, right, make_slips)
