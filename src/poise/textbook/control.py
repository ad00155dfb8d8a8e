"""Redundancy: the null space, the posture cost and its gradient, and the controlled step.

Source: Parent eq. 17 to 24; CIMAT, "Adding more control" and "An algorithm".
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from poise.errors import InvalidValue, ShapeMismatch
from poise.textbook.inverses import solve_lu, truncated_svd_inverse
from poise.textbook.rotations import Array


def null_space_projector(jacobian: ArrayLike) -> Array:
    """Return ``I - J^+ J``, ``(n, n)``: the part of a joint motion that does not move the effector; ``J P = 0``.

    Symmetric, and a projector (``P P = P``). Source: CIMAT eq. 3. The slides before it and Parent's eq. 17 have ``J^+ J
    - I``, which is *minus* the projector: it applies to a gradient, this one to a desired motion.
    """
    j = np.asarray(jacobian, dtype=float)
    return np.asarray(np.eye(j.shape[1]) - truncated_svd_inverse(j) @ j)


def posture_cost(theta: ArrayLike, desired: ArrayLike, gains: ArrayLike = 1.0, power: int = 2) -> float:
    """Return ``H = sum of gain_i (theta_i - desired_i)^power``; ``power`` is even. Source: Parent eq. 19.

    Raises:
        InvalidValue: ``power`` is not an even positive number.
    """
    return float(np.sum(np.asarray(gains, dtype=float) * _find_deviation(theta, desired, power) ** power))


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
    slope: Array = power * np.asarray(gains, dtype=float) * _find_deviation(theta, desired, power) ** (power - 1)
    return slope


def mid_range(lower: ArrayLike, upper: ArrayLike) -> Array:
    """Return the middle of each joint's range, the usual ``desired``. Source: CIMAT, "Adding more control".

    Raises:
        InvalidValue: a range is not finite.
    """
    middle = 0.5 * (np.asarray(lower, dtype=float) + np.asarray(upper, dtype=float))
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
    served = truncated_svd_inverse(jacobian) @ np.asarray(error, dtype=float)
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
    pushed = np.asarray(error, dtype=float) + np.asarray(jacobian, dtype=float) @ slope
    return solve_lu(jacobian, pushed) - slope


def _find_deviation(theta: ArrayLike, desired: ArrayLike, power: int) -> Array:
    if power <= 0 or power % 2 != 0:
        raise InvalidValue(f"power is {power}; it is an even number, 2 or more, so that the cost has its least value")
    return np.asarray(np.asarray(theta, dtype=float) - np.asarray(desired, dtype=float))


def _check_columns(jacobian: ArrayLike, vector: ArrayLike, name: str) -> Array:
    array, columns = np.asarray(vector, dtype=float), np.shape(jacobian)[1]
    if array.shape != (columns,):
        raise ShapeMismatch(f"{name} has shape {array.shape}; J has {columns} columns")
    return array
