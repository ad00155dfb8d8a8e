"""Rotations: the wedge, one axis, quaternions, Euler angles, and the conversions between them.

Rotation matrices are ``(3, 3)``, quaternions ``wxyz``, angles radians. These functions repeat ``poise.spatial`` on
purpose: the textbook shares no arithmetic with the code that it checks.
"""

from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from poise.errors import InvalidValue
from poise.textbook.arguments import read_array, read_axis, read_rotation

Array: TypeAlias = NDArray[np.float64]

LETTERS = {"X": (1.0, 0.0, 0.0), "Y": (0.0, 1.0, 0.0), "Z": (0.0, 0.0, 1.0)}


def skew(p: ArrayLike) -> Array:
    """Return the wedge of a 3-vector: ``skew(p) @ u == cross(p, u)``.

    Source: Rabbani eq. 6; the CIMAT slides derive it as ``S = Rdot R^T``.
    """
    x, y, z = read_array(p, "p", 3)
    return np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])


def unskew(matrix: ArrayLike) -> Array:
    """Return the 3-vector whose wedge is the skew-symmetric part of ``matrix``: the inverse of :func:`skew`."""
    s = read_array(matrix, "matrix", 3, 3)
    return 0.5 * np.array([s[2, 1] - s[1, 2], s[0, 2] - s[2, 0], s[1, 0] - s[0, 1]])


def axis_rotation(axis: ArrayLike, angle: float) -> Array:
    """Return the rotation by ``angle`` [rad] about a unit ``axis`` (Rodrigues): ``I + sin K + (1 - cos) K^2``.

    ``1 - cos`` is written ``2 sin^2(angle / 2)``, which is accurate at small angles.
    """
    if float(read_array(angle, "angle")) == 0.0:  # about any axis, also of length zero
        return np.eye(3) + 0.0 * skew(axis)
    wedge = skew(read_axis(axis, "axis"))
    return np.asarray(np.eye(3) + np.sin(angle) * wedge + 2.0 * np.sin(angle / 2.0) ** 2 * wedge @ wedge)


def euler_rotation(order: str, angles: ArrayLike) -> Array:
    """Return the rotation of an Euler joint, intrinsic: order ``"ZXY"`` is ``Rz(a0) Rx(a1) Ry(a2)``.

    Source: Rabbani eq. 22. Two misprints are corrected here: Rabbani eq. 25 names the order zyx and writes ``Rz Rx Ry``
    (it is ``Rz Ry Rx``), and the UCSD ball joint that rotates about x first, then y, then z is printed ``Rz Ry Rz`` (it
    is ``Rz Ry Rx``, order ``"ZYX"``).

    Raises:
        InvalidValue: a letter of ``order`` is not X, Y or Z, or an angle is not finite.
        ShapeMismatch: ``angles`` does not have one number per letter.
    """
    product = np.eye(3)
    for axis, angle in _list_turns(order, angles):
        product = product @ axis_rotation(axis, angle)
    return product


def euler_axes(order: str, angles: ArrayLike) -> Array:
    """Return the axes of an Euler joint in its parent's frame, one column per letter, as ``(3, len(order))``.

    An axis is rotated only by the angles to its left: for ``"XYZ"`` the columns are ``x``, ``Rx y`` and ``Rx Ry z``.
    Source: Rabbani eq. 21 to 26 (the matrix R' of eq. 30).

    Raises:
        InvalidValue: a letter of ``order`` is not X, Y or Z, or an angle is not finite.
        ShapeMismatch: ``angles`` does not have one number per letter.
    """
    product, columns = np.eye(3), []
    for axis, angle in _list_turns(order, angles):
        columns.append(product @ axis)
        product = product @ axis_rotation(axis, angle)
    return np.stack(columns, axis=1)


def quaternion_rotation(wxyz: ArrayLike) -> Array:
    """Return the rotation matrix of a quaternion, which is normalised first."""
    quaternion = _read_quaternion(wxyz)
    w, x, y, z = quaternion / np.linalg.norm(quaternion)
    wedge = skew((x, y, z))
    return np.asarray(np.eye(3) + 2.0 * w * wedge + 2.0 * wedge @ wedge)


def quaternion_product(a: ArrayLike, b: ArrayLike) -> Array:
    """Return the Hamilton product of two quaternions: the rotation ``b``, then the rotation ``a``."""
    (aw, *av), (bw, *bv) = read_array(a, "a", 4), read_array(b, "b", 4)
    vector = aw * np.array(bv) + bw * np.array(av) + np.cross(av, bv)
    return np.array([aw * bw - np.dot(av, bv), *vector])


def quaternion_exponential(vector: ArrayLike) -> Array:
    """Return the unit quaternion of a rotation vector [rad]: ``[cos t/2, sin t/2 a]`` for ``vector = t a``.

    Source: UCSD, "Desired Change in Orientation".
    """
    half = 0.5 * read_array(vector, "vector", 3)
    length = float(np.linalg.norm(half))
    return np.array([np.cos(length), *(np.sinc(length / np.pi) * half)])


def quaternion_vector(wxyz: ArrayLike) -> Array:
    """Return the rotation vector [rad] of a quaternion, of length at most pi."""
    quaternion = _read_quaternion(wxyz)
    w, *vector = quaternion * (1.0 if quaternion[0] >= 0.0 else -1.0)
    length = float(np.linalg.norm(vector))
    if length == 0.0:
        return np.zeros(3)
    return np.asarray(2.0 * np.arctan2(length, w) / length * np.array(vector))


def rotation_quaternion(rotation: ArrayLike) -> Array:
    """Return the unit quaternion of a rotation matrix, from the largest of its four components (accurate up to pi)."""
    r = read_rotation(rotation, "rotation")
    trace = np.trace(r)
    squares = np.array([1.0 + trace, *(1.0 - trace + 2.0 * np.diag(r))])
    symmetric, vector = r + r.T, 2.0 * unskew(r)
    rows = np.empty((4, 4))
    rows[0], rows[1:, 0] = [squares[0], *vector], vector
    rows[1:, 1:] = symmetric + np.diag(squares[1:] - np.diag(symmetric))
    largest = rows[np.argmax(squares)]
    return np.asarray(largest / np.linalg.norm(largest))


def rotation_vector(rotation: ArrayLike) -> Array:
    """Return the rotation vector of a matrix [rad]: its direction is the axis, its length the angle in [0, pi].

    Source: UCSD, "Scaled Rotation Axis". At exactly pi both signs are correct and one of them is returned.
    """
    return quaternion_vector(rotation_quaternion(rotation))


def rotation_error(desired: ArrayLike, current: ArrayLike) -> Array:
    """Return the rotation vector [rad], in world axes, of the remaining rotation: ``log(R_d R_e^T)``.

    Source: Rabbani section 3.3; UCSD, "Desired Change in Orientation".

    Raises:
        InvalidValue: one of the two is not a rotation.
    """
    return rotation_vector(read_rotation(desired, "desired") @ read_rotation(current, "current").T)


def _list_turns(order: str, angles: ArrayLike) -> list[tuple[Array, float]]:
    """Return the axis and angle of each letter of an Euler order."""
    if not isinstance(order, str) or not order or set(order) - set(LETTERS):
        raise InvalidValue(f"Euler order {order!r} is not known; its letters are X, Y and Z, such as 'ZXY'.")
    return [
        (np.array(LETTERS[c]), angle) for c, angle in zip(order, read_array(angles, "angles", len(order)), strict=True)
    ]


def _read_quaternion(wxyz: ArrayLike) -> Array:
    quaternion = read_array(wxyz, "wxyz", 4)
    if not quaternion.any():
        raise InvalidValue("wxyz is zero, which is not a rotation; the identity is (1, 0, 0, 0).")
    return quaternion
