"""Rigid transforms and twists: the adjoint, the exponential, and the adjoint's derivative.

A transform is ``(4, 4)`` and ``T_a_b`` maps b's coordinates to a's. A twist is ``[linear; angular]``
[m/s; rad/s]. Source: Rabbani section 1, after Murray, Li and Sastry.
"""

import numpy as np
from numpy.typing import ArrayLike

from poise.textbook.arguments import read_array, read_rotation, read_transform
from poise.textbook.rotations import Array, skew


def rigid(rotation: ArrayLike | None = None, translation: ArrayLike = (0.0, 0.0, 0.0)) -> Array:
    """Return the ``(4, 4)`` transform of a rotation matrix and a translation [m]: ``[R p; 0 1]``.

    Rabbani eq. 19 prints the two upper blocks in the other order, ``[P R; 0 1]``.
    """
    transform = np.eye(4)
    transform[:3, :3] = np.eye(3) if rotation is None else read_rotation(rotation, "rotation")
    transform[:3, 3] = read_array(translation, "translation", 3)
    return transform


def inverse(transform: ArrayLike) -> Array:
    """Return the inverse of a transform, without a solver: ``[R^T, -R^T p; 0 1]``."""
    t = read_transform(transform, "transform")
    return rigid(t[:3, :3].T, -t[:3, :3].T @ t[:3, 3])


def twist_matrix(twist: ArrayLike) -> Array:
    """Return the ``(4, 4)`` form of a twist: ``[skew(w) v; 0 0]``. Source: Rabbani eq. 8."""
    xi = read_array(twist, "twist", 6)
    matrix = np.zeros((4, 4))
    matrix[:3, :3], matrix[:3, 3] = skew(xi[3:]), xi[:3]
    return matrix


def twist_exponential(twist: ArrayLike, amount: float = 1.0) -> Array:
    """Return the rigid transform ``exp(twist * amount)``, ``(4, 4)``: a screw of any pitch, a rotation, or a slide.

    With ``phi = w * amount`` of length t, and ``K = skew(phi)``::

        R = I + sin(t)/t K + (1 - cos t)/t^2 K^2
        p = (I + (1 - cos t)/t^2 K + (t - sin t)/t^3 K^2) v * amount

    Source: Rabbani eq. 7 and 8. Accurate at any angle: near zero the last ratio is a series, and a full-size linear
    part keeps all of its digits there.
    """
    xi = read_array(twist, "twist", 6) * float(read_array(amount, "amount"))
    angle = float(np.linalg.norm(xi[3:]))
    wedge = skew(xi[3:])
    half = 0.5 * np.sinc(angle / (2.0 * np.pi)) ** 2
    rotation = np.eye(3) + np.sinc(angle / np.pi) * wedge + half * wedge @ wedge
    return rigid(rotation, (np.eye(3) + half * wedge + _third_ratio(angle) * wedge @ wedge) @ xi[:3])


def adjoint(transform: ArrayLike) -> Array:
    """Return the ``(6, 6)`` matrix that maps a twist from frame i to frame j, from ``T_j_i``.

    ::

        Ad = [ R   skew(p) R ]
             [ 0       R     ]

    Source: Rabbani eq. 4 and 5.
    """
    t = read_transform(transform, "transform")
    rotation, matrix = t[:3, :3], np.zeros((6, 6))
    matrix[:3, :3] = matrix[3:, 3:] = rotation
    matrix[:3, 3:] = skew(t[:3, 3]) @ rotation
    return matrix


def adjoint_derivative(transform: ArrayLike, twist: ArrayLike) -> Array:
    """Return the time derivative of :func:`adjoint` of a moving transform, ``(6, 6)``.

    ::

        Ad_dot = [ skew(w)  skew(v) ]  Ad
                 [   0      skew(w) ]

    ``twist = [v; w]`` is the *spatial* twist, the vector of ``T_dot T^-1``. Its v is the velocity of the point that
    coincides with the origin of j, and not the velocity of p: those two differ by ``w x p``, and with the latter the
    equation is wrong. Source: Rabbani eq. 14 and 15.
    """
    return twist_bracket(twist) @ adjoint(transform)


def twist_bracket(twist: ArrayLike) -> Array:
    """Return the ``(6, 6)`` matrix ``[skew(w) skew(v); 0 skew(w)]`` of a twist. Source: Rabbani eq. 14."""
    xi = read_array(twist, "twist", 6)
    matrix = np.zeros((6, 6))
    matrix[:3, :3] = matrix[3:, 3:] = skew(xi[3:])
    matrix[:3, 3:] = skew(xi[:3])
    return matrix


def _third_ratio(angle: float) -> float:
    """Return ``(t - sin t) / t^3``, 1/6 at zero; the first omitted term of the series is below 1e-16."""
    if angle > 1e-2:
        return float((angle - np.sin(angle)) / angle**3)
    square = angle * angle
    return (1.0 - square / 20.0 * (1.0 - square / 42.0 * (1.0 - square / 72.0))) / 6.0
