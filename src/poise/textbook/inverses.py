"""Inverses of a Jacobian that is not square or not regular, from the five texts.

``jacobian`` is ``(m, n)``, for m controlled numbers and n joint velocities. An ``..._inverse`` returns ``(n, m)``; a
``solve_...`` takes the error (length m) and returns the step (length n). The step is in rad and m, like the columns.
Poise's ``damping`` is lambda in ``J J^T + lambda^2 I``, as in CIMAT and DLUT; Rabbani's eq. 35 has ``lambda I``, so
*his* lambda is the square of ours.
"""

import numpy as np
from numpy.typing import ArrayLike

from poise.errors import InvalidValue
from poise.textbook.arguments import read_array, read_positive
from poise.textbook.rotations import Array


def left_pseudoinverse(jacobian: ArrayLike) -> Array:
    """Return ``(J^T J)^-1 J^T``: the least-squares solution for n <= m; then ``J^+ J = I``.

    It needs full *column* rank (n <= m). It is not the same matrix as :func:`right_pseudoinverse`, although
    Parent's eq. 13 sets the two equal: for a J that is not square, only one of them exists. For the same
    reason ``J^+ J = I`` and ``J J^+ = I`` (UCSD, "Pseudo-Inverse") hold together for square J alone.

    Raises:
        InvalidValue: J does not have full column rank.
    """
    j = read_matrix(jacobian)
    _need_rank(j, j.shape[1], "column", "right_pseudoinverse")
    return np.asarray(np.linalg.solve(j.T @ j, j.T), dtype=float)


def right_pseudoinverse(jacobian: ArrayLike) -> Array:
    """Return ``J^T (J J^T)^-1``: the solution of least norm for m <= n; then ``J J^+ = I``.

    It needs full *row* rank (m <= n), which a redundant body has away from its singular poses. Source:
    Rabbani eq. 34; Parent eq. 14; CIMAT, "Redundant mechanisms".

    Raises:
        InvalidValue: J does not have full row rank.
    """
    j = read_matrix(jacobian)
    _need_rank(j, j.shape[0], "row", "left_pseudoinverse")
    return np.asarray(np.linalg.solve(j @ j.T, j).T, dtype=float)


def truncated_svd_inverse(jacobian: ArrayLike, threshold: float = 1e-9) -> Array:
    """Return the pseudo-inverse of any matrix: ``sum of v_i u_i^T / s_i`` over ``s_i > threshold * s_max``.

    It gives the least-squares solution of least norm, for any rank. Source: Rabbani figure 8; CIMAT eq. 4 and 5; DLUT,
    "Pseudoinverse using SVD" (the threshold is relative to the largest singular value).

    Raises:
        InvalidValue: ``threshold`` is not in [0, 1).
    """
    if not 0.0 <= read_array(threshold, "threshold") < 1.0:
        raise InvalidValue(f"threshold is {threshold}; it is a fraction of the largest singular value, in [0, 1)")
    u, values, vt = np.linalg.svd(read_matrix(jacobian), full_matrices=False)
    keep = values > threshold * values.max(initial=0.0)
    return np.asarray(vt[keep].T / values[keep] @ u[:, keep].T)


def damped_inverse(jacobian: ArrayLike, damping: float) -> Array:
    """Return the damped least-squares inverse ``J^T (J J^T + lambda^2 I)^-1`` with lambda = ``damping``.

    Its step minimises ``|J x - e|^2 + lambda^2 |x|^2``, and stays bounded at singularities. DLUT prints ``J^T (J^T J +
    lambda^2 I)^-1``, whose sizes do not match; either ``J^T (J J^T + ...)^-1`` or ``(J^T J + ...)^-1 J^T`` is meant,
    and those are equal.

    Source: Rabbani eq. 35 (``lambda I`` there is our ``lambda^2 I``); CIMAT, "Handling singularities".

    Raises:
        InvalidValue: ``damping`` is not positive.
    """
    j = read_matrix(jacobian)
    damping = read_positive(damping, "damping")
    return np.asarray(np.linalg.solve(j @ j.T + damping**2 * np.eye(j.shape[0]), j).T, dtype=float)


def damped_svd_inverse(jacobian: ArrayLike, damping: float) -> Array:
    """Return :func:`damped_inverse` by singular values: ``sum of s_i / (s_i^2 + lambda^2) v_i u_i^T``.

    Each direction's gain ``1/s`` is reduced to at most ``1 / (2 lambda)``, and a singular direction gets zero.
    Source: CIMAT eq. 6.

    Raises:
        InvalidValue: ``damping`` is not positive.
    """
    damping = read_positive(damping, "damping")
    u, values, vt = np.linalg.svd(read_matrix(jacobian), full_matrices=False)
    return np.asarray(vt.T * (values / (values**2 + damping**2)) @ u.T)


def weighted_pseudoinverse(jacobian: ArrayLike, stiffness: ArrayLike) -> Array:
    """Return the inverse of least norm with joint i weighted by ``1 + stiffness_i``: stiff joints move less.

    With ``W = diag(1 + s)``: ``J^+ = W^-1 J^T (J W^-1 J^T)^-1``. UCSD ("Units & Scaling") makes a joint stiff by
    scaling its column up. With an unscaled pseudo-inverse it moves less, but the effector then misses; with the
    transpose the same joint moves *more*. A norm has the same meaning for all methods.

    Raises:
        InvalidValue: a stiffness is negative, or J does not have full row rank.
        ShapeMismatch: ``stiffness`` does not have one number per column.
    """
    j = read_matrix(jacobian)
    s = read_array(stiffness, "stiffness", j.shape[1])
    if not (s >= 0.0).all():
        raise InvalidValue("stiffness holds a number below zero; 0 is a free joint, larger moves less")
    root = 1.0 / np.sqrt(1.0 + s)
    return root[:, None] * right_pseudoinverse(j * root)


def solve_qr(jacobian: ArrayLike, error: ArrayLike) -> Array:
    """Return the step ``J^+ e`` by QR factors and back-substitution.

    Tall or square J: ``J = Q R``, ``R x = Q^T e``, as in Rabbani's figure 8. A wide J has no square R: then ``J^T = Q
    R`` and ``x = Q R^-T e``, the solution of least norm.

    Raises:
        InvalidValue: J does not have full rank.
        ShapeMismatch: ``error`` does not have one number per row.
    """
    j = read_matrix(jacobian)
    e = read_error(j, error)
    _need_rank(j, min(j.shape), "full", "truncated_svd_inverse")
    if j.shape[0] >= j.shape[1]:
        q, r = np.linalg.qr(j)
        return _substitute_back(r, q.T @ e)
    q, r = np.linalg.qr(j.T)
    # R^T is lower triangular: reverse it to substitute backwards
    return np.asarray(q @ _substitute_back(r.T[::-1, ::-1], e[::-1])[::-1])


def solve_lu(jacobian: ArrayLike, error: ArrayLike, damping: float = 0.0) -> Array:
    """Return the step by elimination, without an inverse: ``(J J^T + lambda^2 I) beta = e``, then ``x = J^T beta``.

    ``numpy.linalg.solve`` is an LU factorisation with pivots. Source: Parent eq. 14 to 16; Rabbani section
    3.2.

    Raises:
        InvalidValue: ``damping`` is negative, or zero although J does not have full row rank.
        ShapeMismatch: ``error`` does not have one number per row.
    """
    j = read_matrix(jacobian)
    e = read_error(j, error)
    if damping == 0.0:
        _need_rank(j, j.shape[0], "row", "truncated_svd_inverse")
    else:
        damping = read_positive(damping, "damping")
    beta = np.linalg.solve(j @ j.T + damping**2 * np.eye(j.shape[0]), e)
    return np.asarray(j.T @ beta)


def _substitute_back(upper: Array, right: Array) -> Array:
    solution = np.zeros_like(right)
    for i in range(len(right) - 1, -1, -1):
        solution[i] = (right[i] - upper[i, i + 1 :] @ solution[i + 1 :]) / upper[i, i]
    return solution


def read_matrix(jacobian: ArrayLike) -> Array:
    """Return one matrix (m, n)."""
    return read_array(jacobian, "jacobian", None, None)


def read_error(jacobian: Array, error: ArrayLike) -> Array:
    """Return one number per row of a Jacobian."""
    return read_array(error, "error", len(jacobian))


def _need_rank(jacobian: Array, needed: int, which: str, instead: str) -> None:
    rank = int(np.linalg.matrix_rank(jacobian))
    if rank < needed:
        raise InvalidValue(
            f"J is {jacobian.shape[0]} x {jacobian.shape[1]} and has rank {rank};"
            f" {which} rank {needed} is needed here. Try {instead}, or damped_inverse, which works for any rank"
        )
