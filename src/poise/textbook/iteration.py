"""Steps and loops: from a Jacobian to a pose, as in the lecture notes.

Source: UCSD, "Gradient Descent" to "Iteration Step Size" and "Quaternion Joints"; DLUT, "IK Algorithm",
"Joint limits" and "Cyclic-Coordinate Descent".
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from poise.errors import InvalidValue
from poise.textbook.arguments import read_array, read_axis, read_bounds, read_positive
from poise.textbook.inverses import read_error, read_matrix, truncated_svd_inverse
from poise.textbook.rotations import Array


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
    x, beta = float(read_array(start, "start")), read_positive(beta, "beta")
    for _ in range(max_steps):
        missing = float(read_array(goal, "goal") - read_array(f(x), f"f({x:g})"))
        if abs(missing) <= tolerance:
            break
        rise = float(read_array(slope(x), f"slope({x:g})"))
        if rise == 0.0:
            raise InvalidValue(f"the slope is zero at x = {x}: no step leads on from there, start elsewhere")
        x += beta * missing / rise
    return x


@dataclass(frozen=True)
class Descent:
    """The record of :func:`trace_descent`, which `poise.plot` draws on the curve: ``f``, its goal, and every x."""

    f: Callable[[float], float]
    goal: float
    beta: float
    path: tuple[float, ...]


def trace_descent(
    f: Callable[[float], float], slope: Callable[[float], float], goal: float, start: float, **options: Any
) -> Descent:
    """Return every x of :func:`gradient_descent_1d`. Source: UCSD, "Gradient Descent for f(x)=g"."""
    path: list[float] = []

    def record(x: float) -> float:
        path.append(x)
        return f(x)

    last = gradient_descent_1d(record, slope, goal, start, **options)
    return Descent(f, goal, options.get("beta", 1.0), (*path, *([] if path[-1:] == [last] else [last])))


def transpose_step(jacobian: ArrayLike, error: ArrayLike) -> Array:
    """Return ``alpha J^T e``, with the optimal ``alpha = <e, JJ^T e> / <JJ^T e, JJ^T e>``.

    It never increases the linearised error. It is zero if ``J^T e`` is zero: the error is along a direction without
    motion. Source: UCSD, "Jacobian Transpose"; CIMAT, "Jacobian transpose method" (which leave alpha open); Buss for
    alpha.
    """
    j = read_matrix(jacobian)
    e = read_error(j, error)
    direction = j.T @ e
    moved = j @ direction
    length = float(moved @ moved)
    return np.asarray(direction * (e @ moved / length)) if length > 0.0 else np.zeros_like(direction)


def limited_step(step: ArrayLike, threshold: float) -> Array:
    """Return the step, scaled down so that no joint moves by more than ``threshold`` [rad].

    ``beta = threshold / max(threshold, max |step_i|)``. Source: UCSD, "Iteration Step Size" (5 degrees). DLUT
    ("Algorithm", 2 degrees) tests ``max(step)`` without the absolute value, and does not limit large negative steps.

    Raises:
        InvalidValue: ``threshold`` is not positive, or the step is not finite.
    """
    s, threshold = read_array(step, "step", None), read_positive(threshold, "threshold")
    return s * (threshold / max(threshold, float(np.abs(s).max(initial=0.0))))


def frozen_step(jacobian: ArrayLike, error: ArrayLike, theta: ArrayLike, lower: ArrayLike, upper: ArrayLike) -> Array:
    """Return the pseudo-inverse step within joint ranges: zero the columns of joints that would leave, solve again.

    It takes at most n rounds, since a frozen joint stays frozen; the step of a frozen joint is exactly zero. Only for
    joint coordinates with nq = nv. Source: DLUT, "Joint limits".
    """
    j = read_matrix(jacobian)
    e, n = read_error(j, error), j.shape[1]
    q, (low, high), free = read_array(theta, "theta", n), read_bounds(lower, upper, n), np.ones(n, dtype=bool)
    while True:
        step = np.where(free, truncated_svd_inverse(j * free) @ e, 0.0)
        leaving = free & ((q + step < low) | (q + step > high))
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
    r = read_array(pivot, "pivot", 3)
    arm, target = read_array(effector, "effector", 3) - r, read_array(goal, "goal", 3) - r
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
    a, r = read_axis(axis, "axis"), read_array(pivot, "pivot", 3)
    arm, target = read_array(effector, "effector", 3) - r, read_array(goal, "goal", 3) - r
    return float(np.arctan2(a @ np.cross(arm, target), arm @ target - (a @ arm) * (a @ target)))


def selectively_damped_step(jacobian: ArrayLike, error: ArrayLike, gamma_max: float = np.pi / 4) -> Array:
    """Return the step of selectively damped least squares: each singular direction is clamped by its own bound.

    ::

        N_i = sum_l |u_i,l|      M_i = sum_l sum_j |v_i,j| |J_l,j| / s_i      gamma_i = min(1, N_i / M_i) gamma_max
        step = clamp( sum_i clamp( v_i (u_i . e) / s_i, gamma_i ), gamma_max )

    l runs over the effectors, three rows each (all rows are one effector if their number is not a multiple of three).
    No joint moves by more than ``gamma_max`` [rad]. Source: DLUT, "Selectively damped least squares", after Buss and
    Kim (2005).

    Raises:
        InvalidValue: ``gamma_max`` is not positive.
        ShapeMismatch: ``error`` does not have one number per row.
    """
    j, most = read_matrix(jacobian), read_positive(gamma_max, "gamma_max")
    e, effectors = read_error(j, error), len(j) // 3 if len(j) % 3 == 0 else 1
    u, values, vt = np.linalg.svd(j, full_matrices=False)
    step = np.zeros(j.shape[1])
    for direction, value, turns in zip(u.T, values, vt, strict=True):
        if value <= 1e-9 * values[0]:
            continue
        moved = np.linalg.norm(direction.reshape(effectors, -1), axis=1).sum()
        reaches = np.linalg.norm(j.reshape(effectors, -1, j.shape[1]), axis=1)
        needed = float((np.abs(turns) * reaches).sum()) / value
        step += limited_step(turns * (direction @ e) / value, min(1.0, moved / needed) * most)
    return limited_step(step, most)
