"""Steps and loops: from a Jacobian to a pose, as in the lecture notes.

Source: UCSD, "Gradient Descent" to "Iteration Step Size" and "Quaternion Joints"; DLUT, "IK Algorithm",
"Joint limits" and "Cyclic-Coordinate Descent".
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from poise.errors import InvalidValue
from poise.model import Model
from poise.textbook.bodies import configuration, forward_kinematics, integrate
from poise.textbook.inverses import truncated_svd_inverse
from poise.textbook.jacobians import simple_jacobian
from poise.textbook.rotations import Array


@dataclass(frozen=True)
class IterationTrace:
    """The record of an iteration.

    Attributes:
        q: the last configuration.
        errors: the distance to the goal [m], before each step and at the end.
    """

    q: Array
    errors: tuple[float, ...]


def gradient_descent_1d(
    f: Callable[[float], float],
    slope: Callable[[float], float],
    goal: float,
    start: float,
    *,
    beta: float = 1.0,
    tolerance: float = 1e-10,
    max_steps: int = 100,
) -> float:
    """Solve ``f(x) = goal`` by ``x += beta (goal - f) / slope``, from ``start``.

    With ``beta = 1`` this is Newton's method. The last x is returned, even if the goal is not reached. Source: UCSD,
    "Gradient Descent Algorithm".

    Raises:
        InvalidValue: the slope becomes zero, so that the step is undefined (not mentioned in the notes).
    """
    x = start
    for _ in range(max_steps):
        missing = goal - f(x)
        if abs(missing) <= tolerance:
            break
        if slope(x) == 0.0:
            raise InvalidValue(f"the slope is zero at x = {x}: no step leads on from there, start elsewhere")
        x += beta * missing / slope(x)
    return x


def transpose_step(jacobian: ArrayLike, error: ArrayLike) -> Array:
    """Return ``alpha J^T e``, with the optimal ``alpha = <e, JJ^T e> / <JJ^T e, JJ^T e>``.

    It never increases the linearised error. It is zero if ``J^T e`` is zero: the error is along a direction without
    motion. Source: UCSD, "Jacobian Transpose"; CIMAT, "Jacobian transpose method" (which leave alpha open); Buss for
    alpha.
    """
    j, e = np.asarray(jacobian, dtype=float), np.asarray(error, dtype=float)
    direction = j.T @ e
    moved = j @ direction
    length = float(moved @ moved)
    return np.asarray(direction * (e @ moved / length)) if length > 0.0 else np.zeros_like(direction)


def limited_step(step: ArrayLike, threshold: float) -> Array:
    """Return the step, scaled down so that no joint moves by more than ``threshold`` [rad].

    ``beta = threshold / max(threshold, max |step_i|)``. Source: UCSD, "Iteration Step Size" (5 degrees). DLUT
    ("Algorithm", 2 degrees) tests ``max(step)`` without the absolute value, and does not limit large negative steps.

    Raises:
        InvalidValue: ``threshold`` is not positive.
    """
    if not threshold > 0.0:
        raise InvalidValue(f"threshold is {threshold}; it must be positive (radians)")
    s = np.asarray(step, dtype=float)
    return s * (threshold / max(threshold, float(np.abs(s).max(initial=0.0))))


def frozen_step(jacobian: ArrayLike, error: ArrayLike, theta: ArrayLike, lower: ArrayLike, upper: ArrayLike) -> Array:
    """Return the pseudo-inverse step within joint ranges: zero the columns of joints that would leave, solve again.

    It takes at most n rounds, since a frozen joint stays frozen; the step of a frozen joint is exactly zero. Only for
    joint coordinates with nq = nv. Source: DLUT, "Joint limits".
    """
    j, q = np.array(jacobian, dtype=float), np.asarray(theta, dtype=float)
    free = np.ones(j.shape[1], dtype=bool)
    while True:
        step = np.where(free, truncated_svd_inverse(j * free) @ np.asarray(error, dtype=float), 0.0)
        leaving = free & ((q + step < lower) | (q + step > upper))
        if not leaving.any():
            return step
        free &= ~leaving


def best_axis_column(pivot: ArrayLike, effector: ArrayLike, goal: ArrayLike) -> tuple[Array, Array]:
    """Return the best world axis of a quaternion joint for turning ``effector`` towards ``goal``, and its column.

    ``axis = (e - r) x (g - r) / |...|``, ``column = axis x (e - r)`` [m/rad], for the pivot r. Keep the axis: the angle
    from the solve rotates the joint about it.

    If pivot, effector and goal are collinear the printed rule is 0/0. Then *any* axis perpendicular to the arm ``e -
    r`` is equally good, and one of them is returned: the column has the right length and is perpendicular to the error,
    so the joint does not help in this step but the matrix stays finite. For an arm of zero length the column is zero.

    Source: UCSD, "Quaternion Joints".
    """
    r = np.asarray(pivot, dtype=float)
    arm, target = np.asarray(effector, dtype=float) - r, np.asarray(goal, dtype=float) - r
    normal = np.cross(arm, target)
    length = float(np.linalg.norm(normal))
    if length <= 1e-12 * np.linalg.norm(arm) * np.linalg.norm(target):
        # collinear: cross the arm with the coordinate axis most perpendicular to it
        normal = np.cross(arm, np.eye(3)[np.argmin(np.abs(arm))])
        length = float(np.linalg.norm(normal))
    axis = normal / length if length > 0.0 else np.array([1.0, 0.0, 0.0])
    return axis, np.cross(axis, arm)


def ccd_angle(axis: ArrayLike, pivot: ArrayLike, effector: ArrayLike, goal: ArrayLike) -> float:
    """Return the signed angle [rad] about a hinge's world ``axis`` that brings ``effector`` closest to ``goal``.

    ``atan2(a . (e x g), e_perp . g_perp)`` with arms relative to the pivot. DLUT's ``cos a = RD . RE / |RD||RE|`` has
    no sign, and is valid only if the arms lie in the hinge's plane. It is zero if an arm is along the axis.

    Source: DLUT, "Cyclic-Coordinate Descent"; CIMAT, "Cyclic Coordinate Descent method".
    """
    a, r = np.asarray(axis, dtype=float), np.asarray(pivot, dtype=float)
    arm, target = np.asarray(effector, dtype=float) - r, np.asarray(goal, dtype=float) - r
    return float(np.arctan2(a @ np.cross(arm, target), arm @ target - (a @ arm) * (a @ target)))


def basic_ik(
    model: Model,
    q: ArrayLike,
    frame: str,
    goal: ArrayLike,
    *,
    step: Callable[[Array, Array], Array] | None = None,
    threshold: float = np.deg2rad(5.0),
    tolerance: float = 1e-6,
    max_steps: int = 200,
) -> IterationTrace:
    """Move the origin of ``frame`` to ``goal`` [m, world] by repeated Jacobian steps. Joint ranges are ignored.

    ``step(J, e)`` is any rule of this module or of ``inverses`` (default: the pseudo-inverse); its result is limited by
    :func:`limited_step`. It stops at ``tolerance`` [m] or after ``max_steps``; the errors in the trace show which.


    Source: UCSD, "Basic Jacobian IK Technique"; DLUT, "IK Algorithm".

    Raises:
        NameNotFound, ShapeMismatch, InvalidValue: see :func:`poise.textbook.path`.
    """
    rule = step or _step_by_pseudoinverse
    here, errors = configuration(model, q), []
    for count in range(max_steps + 1):
        error = np.asarray(goal, dtype=float) - forward_kinematics(model, here, frame)[:3, 3]
        errors.append(float(np.linalg.norm(error)))
        if errors[-1] <= tolerance or count == max_steps:
            break
        here = integrate(model, here, limited_step(rule(simple_jacobian(model, here, frame), error), threshold))
    return IterationTrace(here, tuple(errors))


def _step_by_pseudoinverse(jacobian: Array, error: Array) -> Array:
    return truncated_svd_inverse(jacobian) @ error
