"""Conversion of quaternions to Euler angles, and parsing of axis orders."""

import numpy as np

from poise.errors import InvalidValue
from poise.spatial.arrays import Array

__all__ = ["find_euler_angles", "read_order", "wrap_angle"]

LOCKED = 1e-14  # sine or cosine of half the middle angle below which the rotation counts as gimbal lock


def read_order(order: str) -> tuple[int, int, int]:
    """Return the axis indices of an order such as "ZXY". Raises `InvalidValue` for other text."""
    axes = tuple("XYZ".find(letter) for letter in str(order).upper())
    if len(axes) != 3 or -1 in axes or axes[0] == axes[1] or axes[1] == axes[2]:
        wanted = "three of the letters X, Y, Z, none twice in a row, such as 'ZXY'"
        raise InvalidValue(f"order is {order!r}; it must be {wanted}.")
    return axes


def find_euler_angles(wxyz: Array, axes: tuple[int, int, int]) -> Array:
    """Return the Euler angles of unit quaternions ``(..., 4)`` [rad].

    For axes i, j, i, with k the third one and e = (i x j) . k::

        w   = cos(a1/2) cos((a0 + a2)/2)      q_j =   sin(a1/2) cos((a0 - a2)/2)
        q_i = cos(a1/2) sin((a0 + a2)/2)      q_k = e sin(a1/2) sin((a0 - a2)/2)

    Axes i, j, k are reduced to this by a quarter turn about j on the right: ``Rk(a2) Rj(pi/2) = Rj(pi/2) Ri(-e a2)``.
    Source: Bernardes and Viollet, Quaternion to Euler angles conversion, PLoS ONE 17(11), 2022; signs ours.
    """
    i, j = axes[0], axes[1]
    k = 3 - i - j
    e = 1.0 if (j - i) % 3 == 1 else -1.0
    w, qi, qj, qk = wxyz[..., 0], wxyz[..., 1 + i], wxyz[..., 1 + j], wxyz[..., 1 + k]
    three = axes[2] == k
    if three:
        w, qi, qj, qk = (x * np.sqrt(0.5) for x in (w - qj, qi - e * qk, qj + w, qk + e * qi))

    # at gimbal lock one of the two is undefined; it is set to the other, and the last angle is zero
    cosine, sine = np.hypot(w, qi), np.hypot(qj, qk)
    half_sum, half_difference = np.arctan2(qi, w), np.arctan2(e * qk, qj)
    half_sum = np.where(cosine < LOCKED, half_difference, half_sum)
    half_difference = np.where(sine < LOCKED, half_sum, half_difference)

    middle = 2.0 * np.arctan2(sine, cosine)
    angles = np.stack([half_sum + half_difference, middle, half_sum - half_difference], axis=-1)
    return wrap_angle(angles * [1.0, 1.0, -e] - [0.0, np.pi / 2.0, 0.0] if three else angles)


def wrap_angle(angle: Array) -> Array:
    """Return the angle wrapped to (-pi, pi]; an angle in that range is returned bit for bit."""
    turned = angle - 2.0 * np.pi * np.ceil((angle - np.pi) / (2.0 * np.pi))
    return np.where((angle > -np.pi) & (angle <= np.pi), angle, turned) + 0.0
