"""Redundancy: the null space, the posture cost and its gradient, and the controlled step.

Source: Parent eq. 17 to 24; CIMAT, "Adding more control" and "An algorithm".
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from poise.errors import InvalidValue
from poise.textbook.arguments import read_array, read_bounds
from poise.textbook.inverses import read_error, read_matrix, solve_lu, truncated_svd_inverse
from poise.textbook.rotations import Array


def null_space_projector(jacobian: ArrayLike) -> Array:
    """Return ``I - J^+ J``, ``(n, n)``: the part of a joint motion that does not move the effector; ``J P = 0``.

    Symmetric, and a projector (``P P = P``). Source: CIMAT eq. 3. The slides before it and Parent's eq. 17 have ``J^+ J
    - I``, which is *minus* the projector: it applies to a gradient, this one to a desired motion.
    """
    j = read_matrix(jacobian)
    return np.asarray(np.eye(j.shape[1]) - truncated_svd_inverse(j) @ j)


def posture_cost(theta: ArrayLike, desired: ArrayLike, gains: ArrayLike = 1.0, power: int = 2) -> float:
    """Return ``H = sum of gain_i (theta_i - desired_i)^power``; ``power`` is even. Source: Parent eq. 19.

    Raises:
        InvalidValue: ``power`` is not an even positive number.
    """
    away = _find_deviation(theta, desired, power)
    return float(np.sum(_fill(gains, "gains", away) * away**power))


def posture_gradient(theta: ArrayLike, desired: ArrayLike, gains: ArrayLike = 1.0, power: int = 2) -> Array:
    """Return the gradient of :func:`posture_cost`: ``power * gain_i (theta_i - desired_i)^(power - 1)``.

    Parent's eq. 20 keeps the sum of eq. 19 in front, which would make it a number. CIMAT uses ``gain (theta -
    desired)^2``, the cost itself: it is never negative, so it pushes every joint the same way on both sides of its
    desired value.

    ``theta - desired`` are angles [rad] or distances [m]; for a body with ball joints give
    ``model.difference(desired, q)`` as ``theta`` and 0 as ``desired``.

    Raises:
        InvalidValue: ``power`` is not an even positive number.
    """
    away = _find_deviation(theta, desired, power)
    return np.asarray(power * _fill(gains, "gains", away) * away ** (power - 1))


def mid_range(lower: ArrayLike, upper: ArrayLike) -> Array:
    """Return the middle of each joint's range, the usual ``desired``. Source: CIMAT, "Adding more control".

    Raises:
        InvalidValue: a range is not finite.
    """
    low, high = read_bounds(lower, upper, None)
    middle = 0.5 * (low + high)
    if not np.isfinite(middle).all():
        raise InvalidValue("a joint without limits has no middle: give finite lower and upper ranges")
    return np.asarray(middle)


def control_term(jacobian: ArrayLike, gradient: ArrayLike) -> Array:
    """Return ``(J^+ J - I) grad H``, length n: downhill in H, without moving the effector.

    Source: Parent eq. 17 and 18.
    """
    return -null_space_projector(jacobian) @ _check_columns(jacobian, gradient, "gradient")


def controlled_step(jacobian: ArrayLike, error: ArrayLike, variation: ArrayLike) -> Array:
    """Return ``J^+ e + (I - J^+ J) variation``, length n: the effector's error first, then a desired motion.

    To go downhill in a posture cost, ``variation = -posture_gradient(...)``. Source: CIMAT eq. 2.

    Raises:
        ShapeMismatch: ``variation`` does not have one number per column.
    """
    wanted = _check_columns(jacobian, variation, "variation")
    served = truncated_svd_inverse(jacobian) @ read_error(read_matrix(jacobian), error)
    return np.asarray(served + null_space_projector(jacobian) @ wanted)


def controlled_step_by_elimination(jacobian: ArrayLike, error: ArrayLike, gradient: ArrayLike) -> Array:
    """Return Parent's step ``J^+ e + (J^+ J - I) grad H``, without forming ``J^+``.

    ::

        (J J^T) beta = e + J grad H          step = J^T beta - grad H

    Equal to :func:`controlled_step` with ``variation = -gradient``. Source: Parent eq. 21 to 24.

    Raises:
        InvalidValue: J does not have full row rank.
        ShapeMismatch: ``error`` or ``gradient`` has the wrong length.
    """
    slope = _check_columns(jacobian, gradient, "gradient")
    j = read_matrix(jacobian)
    pushed = read_error(j, error) + j @ slope
    return solve_lu(jacobian, pushed) - slope


def priority_step(jacobians: Sequence[ArrayLike], errors: Sequence[ArrayLike]) -> Array:
    """Return the step that serves several levels strictly: each in the null space of all levels before it.

    ::

        step <- step + (J_i P)^+ (e_i - J_i step)          P <- P - (J_i P)^+ (J_i P)          P = I at first

    With two levels, the second of them a desired motion (``J_2 = I``), it is :func:`controlled_step`. Source: CIMAT,
    "An algorithm" and figures 18 and 21 (four levels), after Baerlocher and Boulic.

    Raises:
        ShapeMismatch: the Jacobians differ in their columns, or an error does not have one number per row.
        InvalidValue: there is no level, or not one error for each Jacobian.
    """
    levels = [read_matrix(jacobian) for jacobian in jacobians]
    if not levels or len(levels) != len(errors):
        raise InvalidValue(f"{len(levels)} jacobians and {len(errors)} errors; give one of each for every level.")
    n = levels[0].shape[1]
    step, projector = np.zeros(n), np.eye(n)
    for level, error in zip(levels, errors, strict=True):
        j = read_array(level, "jacobian", None, n)
        free = j @ projector
        served = truncated_svd_inverse(free, 1e-6) if np.abs(free).max(initial=0.0) > 1e-9 else np.zeros(j.T.shape)
        step = step + served @ (read_error(j, error) - j @ step)
        projector = projector - served @ free
    return step


def _find_deviation(theta: ArrayLike, desired: ArrayLike, power: int) -> Array:
    if not isinstance(power, (int, np.integer)) or power <= 0 or power % 2 != 0:
        raise InvalidValue(f"power is {power!r}; it is an even number, 2 or more, so that the cost has its least value")
    angles = read_array(theta, "theta", None)
    return np.asarray(angles - _fill(desired, "desired", angles))


def _fill(values: ArrayLike, what: str, like: Array) -> Array:
    """Return one number for each joint, from one for all or one for each."""
    return np.full_like(like, read_array(values, what)) if np.ndim(values) == 0 else read_array(values, what, len(like))


def _check_columns(jacobian: ArrayLike, vector: ArrayLike, name: str) -> Array:
    return read_array(vector, name, read_matrix(jacobian).shape[1])
