"""Rotations in 3D, as unit quaternions ``wxyz``."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from typing import Any, SupportsIndex, cast, final, overload

import numpy as np
from numpy.typing import ArrayLike

from poise.errors import InvalidValue, ShapeMismatch, UnitWarning
from poise.keywords import NotHere, refuse_unknown
from poise.native import core
from poise.spatial.arrays import (
    Array,
    Index,
    are_near,
    check_finite,
    check_shape,
    complete_index,
    join_rows,
    read_finite,
    read_reals,
    write_array,
    write_index,
)
from poise.spatial.euler import find_euler_angles, read_order

_IDENTITY = np.array([1.0, 0.0, 0.0, 0.0])
_BACK = np.array([1.0, -1.0, -1.0, -1.0])
_FAR = 2.5e-6  # tolerance for the entries of a matrix; rounding to 6 digits gives errors up to 2.2e-6
MOST_TURN = 4.0 * np.pi  # rad; whole numbers beyond it are probably degrees
_UNIT = 2e-15  # tolerance for the squared length of a unit quaternion


@final
class Rotation:
    """A rotation, or a batch of them: quaternions ``wxyz`` ``(..., 4)``, normalised on construction.

    ``a @ b`` rotates by ``b`` first, then by ``a``; ``a @ points`` rotates points ``(..., 3)``. Leading axes broadcast.
    ``==`` is exact and returns one bool; ``q`` and ``-q`` are the same rotation.

    Raises:
        ShapeMismatch: the last axis is not 4.
        InvalidValue: a quaternion is zero or not finite.
    """

    __array_ufunc__ = None  # NumPy defers to our operators
    __slots__ = ("_wxyz",)
    _wxyz: Array
    from_quat = NotHere("Rotation.from_xyzw(q), or Rotation(q) for wxyz")

    @refuse_unknown
    def __init__(self, wxyz: ArrayLike) -> None:
        self._wxyz = _normalize_wxyz(read_finite(wxyz, (4,), "wxyz"), "wxyz")
        self._wxyz.setflags(write=False)

    @classmethod
    def from_valid(cls, wxyz: Array) -> Rotation:
        """Return a rotation of unit quaternions; the array is not copied."""
        self = object.__new__(cls)
        wxyz.setflags(write=False)
        self._wxyz = wxyz
        return self

    # -------------------------------------------------------------------------------------- ways to make one

    @classmethod
    def identity(cls, shape: tuple[int, ...] = ()) -> Rotation:
        """Return the identity rotation."""
        return cls.from_valid(np.tile(_IDENTITY, (*shape, 1)) if shape else _IDENTITY.copy())

    @classmethod
    def from_matrix(cls, matrix: ArrayLike) -> Rotation:
        """Return the rotation of ``(..., 3, 3)`` matrices; entries may be rounded to 6 digits, but not to fewer.

        Raises:
            ShapeMismatch: the last axes are not 3, 3.
            InvalidValue: a matrix is not orthonormal, or mirrors (determinant -1), or is not finite.
        """
        return convert_matrix(read_finite(matrix, (3, 3), "matrix"), "matrix")

    @classmethod
    def from_vector(cls, vector: ArrayLike) -> Rotation:
        """Return the exponential: a rotation by ``|vector|`` [rad] about ``vector``, ``(..., 3)``."""
        return _exp(read_finite(vector, (3,), "vector"), "vector")

    @classmethod
    def from_axis_angle(cls, axis: ArrayLike, angle: ArrayLike) -> Rotation:
        """Return a rotation by ``angle`` [rad] about ``axis`` ``(..., 3)``, of any nonzero length."""
        turns = join_rows(_read_direction(axis, "axis"), read_finite(angle, (), "angle")[..., None], "axis and angle")
        return _exp(turns[..., :3] * turns[..., 3:], "angle")

    @classmethod
    def from_euler(cls, order: str, angles: ArrayLike) -> Rotation:
        """Return the rotation of intrinsic Euler angles [rad] ``(..., 3)``: ``"ZXY"`` is ``Rz(a0) Rx(a1) Ry(a2)``.

        Raises:
            InvalidValue: ``order`` is not three of X, Y, Z, or has a letter twice in a row.
        """
        axes = np.eye(3)[list(read_order(order))]
        turns = read_finite(angles, (3,), "angles")
        if turns.size and np.abs(turns).max() > MOST_TURN and (turns == np.round(turns)).all():
            text = f"angles is {turns.tolist()}; angles are in radians: for degrees type np.deg2rad(angles)."
            warnings.warn(text, UnitWarning, stacklevel=2)
        a, b, c = (_exp(turns[..., i, None] * axes[i], "angles") for i in range(3))
        return a @ b @ c

    @classmethod
    def from_xyzw(cls, xyzw: ArrayLike) -> Rotation:
        """Return the rotation of quaternions xyzw, with the real part last, as in glTF, ROS and SciPy."""
        return _convert_xyzw(xyzw, "xyzw")

    @classmethod
    def between(cls, a: ArrayLike, b: ArrayLike) -> Rotation:
        """Return the shortest rotation that takes direction ``a`` to direction ``b``, both ``(..., 3)``.

        For opposite directions, a half turn about some normal is returned; the choice is deterministic.
        """
        pair = join_rows(_read_direction(a, "a"), _read_direction(b, "b"), "a and b")
        u = pair[..., :3]
        middle = _bisect(u, pair[..., 3:])
        cosine = np.sum(u * middle, axis=-1, keepdims=True)
        return cls.from_valid(_normalize_wxyz(np.concatenate([cosine, np.cross(u, middle)], axis=-1), "a and b"))

    @classmethod
    def random(cls, rng: np.random.Generator, size: int | tuple[int, ...] | None = None) -> Rotation:
        """Return random rotations, uniform over all rotations."""
        lead = () if size is None else (size,) if isinstance(size, SupportsIndex) else size
        return cls.from_valid(_normalize_wxyz(rng.standard_normal((*lead, 4)), "rng"))

    # -------------------------------------------------------------------------------------- what it is

    @property
    def wxyz(self) -> Array:
        """Unit quaternions wxyz ``(..., 4)``, read-only; `Rotation.from_xyzw` reads the other order."""
        return self._wxyz

    @property
    def matrix(self) -> Array:
        """Rotation matrices ``(..., 3, 3)``."""
        return cast(Array, core.matrix_of_quaternion(self._wxyz)).reshape(*self.shape, 3, 3)

    @property
    def angle(self) -> Array:
        """The rotation angle ``(...)`` [rad], in [0, pi]."""
        vector = self.log()
        return np.minimum(np.hypot(np.hypot(vector[..., 0], vector[..., 1]), vector[..., 2]), np.pi)

    @property
    def axis(self) -> Array:
        """The unit rotation axis ``(..., 3)``; z for the identity."""
        vector = np.where(self._wxyz[..., :1] < 0.0, -self._wxyz[..., 1:], self._wxyz[..., 1:])
        still = np.all(vector == 0.0, axis=-1, keepdims=True)
        return _normalize(np.where(still, [0.0, 0.0, 1.0], vector))

    @property
    def shape(self) -> tuple[int, ...]:
        """The leading axes; ``()`` for one rotation."""
        return self._wxyz.shape[:-1]

    def log(self) -> Array:
        """Return the rotation vector ``(..., 3)``: axis times angle, with the angle in [0, pi]."""
        return cast(Array, core.log_of_quaternion(self._wxyz))

    def to_euler(self, order: str) -> Array:
        """Return intrinsic Euler angles [rad] ``(..., 3)``, one per letter: the inverse of `from_euler`.

        The outer two are in (-pi, pi]; the middle one is in [0, pi] if the first and the last letter are the same,
        otherwise in [-pi/2, pi/2]. At gimbal lock, where only a sum of the outer two is defined, the last is zero.
        """
        return find_euler_angles(self._wxyz, read_order(order))

    def adjoint(self) -> Array:
        """Return the adjoint ``(..., 3, 3)``, which maps angular velocities between frames: the rotation matrix."""
        return self.matrix

    # -------------------------------------------------------------------------------------- what it does

    def inverse(self) -> Rotation:
        """Return the inverse rotation."""
        return Rotation.from_valid(self._wxyz * _BACK)

    def apply(self, points: ArrayLike) -> Array:
        """Rotate points or directions ``(..., 3)``; leading axes broadcast."""
        rows = join_rows(self._wxyz, read_finite(points, (3,), "points"), "rotation and points")
        return cast(Array, core.rotate_vector(rows))

    def slerp(self, other: Rotation | ArrayLike, t: ArrayLike) -> Rotation:
        """Return the rotation at fraction ``t`` of the geodesic to ``other``: ``self exp(t log(self^-1 other))``."""
        way = (self.inverse() @ as_rotation(other, "other")).log()
        parts = join_rows(way, read_finite(t, (), "t")[..., None], "rotations and t")
        return self @ _exp(parts[..., :3] * parts[..., 3:], "t")

    def almost_equal(self, other: Rotation | ArrayLike, tolerance: float = 1e-9) -> bool:
        """Return whether all angles between the rotations and ``other`` are at most ``tolerance`` [rad]."""
        return bool(np.all((self.inverse() @ as_rotation(other, "other")).angle <= tolerance))

    @overload
    def __matmul__(self, other: Rotation) -> Rotation: ...
    @overload
    def __matmul__(self, other: ArrayLike) -> Array: ...
    def __matmul__(self, other: Rotation | ArrayLike) -> Rotation | Array:
        if isinstance(other, Rotation):
            rows = join_rows(self._wxyz, other._wxyz, "two rotations")
            return Rotation.from_valid(cast(Array, core.quaternion_product(rows)))
        # NumPy's convention for deferring to the reflected operator, which Transform has
        if getattr(other, "__array_ufunc__", True) is None:
            return NotImplemented
        return self.apply(other)

    # -------------------------------------------------------------------------------------- as a value

    def __getitem__(self, index: Index) -> Rotation:
        return Rotation.from_valid(self._wxyz[complete_index(index)])

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("one Rotation has no length; a batch has.")
        return self.shape[0]

    def __iter__(self) -> Iterator[Rotation]:
        return (self[i] for i in range(len(self)))

    def __bool__(self) -> bool:
        return True  # independent of the length

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        if copy is False:
            raise ValueError("a Rotation stores quaternions: converting it to matrices needs a copy.")
        return self.matrix.astype(dtype or np.float64, copy=False)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Rotation):
            return NotImplemented
        same = np.array_equal(self._wxyz, other._wxyz)
        return same or np.array_equal(self._choose_sign(), other._choose_sign())

    def __hash__(self) -> int:
        return hash((self.shape, self._choose_sign().tobytes()))

    def _choose_sign(self) -> Array:
        """Return ``q`` or ``-q`` with its first nonzero number positive, without negative zeros."""
        first = np.argmax(self._wxyz != 0.0, axis=-1)[..., None]
        return self._wxyz * np.sign(np.take_along_axis(self._wxyz, first, axis=-1)) + 0.0

    def __reduce__(self) -> tuple[Callable[[Array], Rotation], tuple[Array]]:
        return Rotation.from_valid, (np.array(self._wxyz),)

    def __repr__(self) -> str:
        return f"Rotation({write_array(self._wxyz)})"


# ---------------------------------------------------------------------------------------- what counts as one


def as_rotation(x: object, name: str = "rotation") -> Rotation:
    """Return a Rotation from a Rotation, SciPy's, ``(..., 3, 3)`` matrices or wxyz ``(..., 4)``.

    Raises:
        ShapeMismatch: an array of another shape; the message has ``name``.
        InvalidValue: not a rotation, or not numbers.
    """
    if isinstance(x, Rotation):
        return x
    if callable(as_quat := getattr(x, "as_quat", None)):
        return _convert_xyzw(as_quat(), name)
    if callable(as_matrix := getattr(x, "as_matrix", None)):
        x = as_matrix()
    array = read_reals(x, name)
    if array.shape[-2:] == (3, 3):
        return convert_matrix(check_finite(array, name), name)
    if array.shape[-1:] == (4,) and array.shape[-2:] != (4, 4):
        return Rotation.from_valid(_normalize_wxyz(check_finite(array, name), name))
    wanted = "a Rotation, (..., 3, 3) matrices or (..., 4) quaternions wxyz (Rotation.from_xyzw takes xyzw)"
    hint = " For Euler angles type Rotation.from_euler('XYZ', radians); for a place alone, Transform(None, xyz)."
    raise ShapeMismatch(f"{name} has shape {array.shape}; it must be {wanted}.{hint if array.shape == (3,) else ''}")


def convert_matrix(matrix: Array, name: str) -> Rotation:
    """Return the rotation of finite matrices; each must be close to the matrix of its quaternion."""
    rows = check_shape(matrix, (3, 3), name).reshape(*matrix.shape[:-2], 9)
    wxyz = cast(Array, core.quaternion_of_matrix(rows))
    try:
        turned = cast(Array, core.matrix_of_quaternion(wxyz))
    except InvalidValue:  # the numbers overflowed
        turned = np.where(np.abs(rows) < 2.0, rows, 0.0)
    if are_near(turned, rows, _FAR):
        return Rotation.from_valid(wxyz)
    near = np.abs(turned - rows) <= _FAR
    index = tuple(int(i) for i in np.argwhere(~near.all(axis=-1))[0])
    raise InvalidValue(f"{name}{write_index(index)} {_explain_matrix(matrix[index])}")


def _explain_matrix(matrix: Array) -> str:
    with np.errstate(all="ignore"):
        off = float(np.abs(matrix @ matrix.T - np.eye(3)).max())
        mirrors = bool(np.linalg.det(matrix) < 0.0)
    if mirrors and off < 1e-3:
        return "mirrors: its determinant is -1, that of a rotation is +1."
    return f"is not orthonormal: R R^T is off the identity by {off:.2g}, more than 6 digits explain."


def _convert_xyzw(xyzw: object, name: str) -> Rotation:
    return Rotation.from_valid(_normalize_wxyz(np.roll(read_finite(xyzw, (4,), name), 1, axis=-1), name))


def _normalize_wxyz(wxyz: Array, name: str) -> Array:
    """Normalise quaternions; those that are unit to rounding are kept bit for bit, so that the result is idempotent."""
    if wxyz.ndim == 1:
        w, x, y, z = wxyz.tolist()
        squared = w * w + x * x + y * y + z * z
        if abs(squared - 1.0) < _UNIT:
            return wxyz
        if 1e-190 < squared < 1e190:  # the same as the last line, for one quaternion
            return cast(Array, core.quaternion_product(join_rows(_IDENTITY, wxyz, name)))
    largest = np.max(np.abs(wxyz), axis=-1, keepdims=True)
    if not largest.all():
        index = tuple(int(i) for i in np.argwhere(largest[..., 0] == 0.0)[0])
        raise InvalidValue(f"{name}{write_index(index)} is a quaternion wxyz of zeros; that is not a rotation.")

    # rescale lengths whose square would overflow or underflow; the product normalises
    sane = np.where((largest > 1e-100) & (largest < 1e100), wxyz, wxyz / largest)
    w, x, y, z = np.moveaxis(sane, -1, 0)
    kept = np.abs(w * w + x * x + y * y + z * z - 1.0)[..., None] < _UNIT
    return np.where(kept, sane, cast(Array, core.quaternion_product(join_rows(_IDENTITY, sane, name))))


def _exp(vector: Array, name: str) -> Rotation:
    wxyz = cast(Array, core.quaternion_of_log(vector))
    if np.isnan(wxyz[..., 0]).any():
        raise InvalidValue(f"{name} is too large: the square of the angle overflows.")
    return Rotation.from_valid(wxyz)


# ---------------------------------------------------------------------------------------- directions


def _read_direction(x: ArrayLike, name: str) -> Array:
    vector = read_finite(x, (3,), name)
    if not vector.any(axis=-1).all():
        raise InvalidValue(f"{name} is zero; it must have a direction.")
    return _normalize(vector)


def turn_z_to(axis: Array) -> Array:
    """Return a rotation matrix whose third column is the unit vector `axis`."""
    helper = np.eye(3)[int(np.argmin(np.abs(axis)))]
    x = np.cross(helper, axis)
    x /= np.linalg.norm(x)
    return np.stack([x, np.cross(axis, x), axis], axis=1)


def _normalize(vector: Array) -> Array:
    """Return unit vectors; dividing by the largest entry first avoids overflow and underflow."""
    vector = vector / np.max(np.abs(vector), axis=-1, keepdims=True)
    length: Array = np.linalg.norm(vector, axis=-1, keepdims=True)
    return vector / length


def _bisect(u: Array, v: Array) -> Array:
    """Return the unit bisector of two unit vectors.

    For almost opposite vectors, rounding tilts ``u + v`` towards one of them, so it is made perpendicular to their
    difference; if it vanishes, the coordinate axis most perpendicular to u is used instead.
    """
    half = (v - u) / 2.0
    opposed = np.sum(half * half, axis=-1, keepdims=True)  # 0 if they are equal, 1 if they are opposite

    def levelled(x: Array) -> Array:
        share: Array = np.sum(x * half, axis=-1, keepdims=True) / np.maximum(opposed, 0.5)
        return x - half * share

    middle, spare = levelled(u + v), levelled(np.eye(3)[np.argmin(np.abs(u), axis=-1)])
    nothing = np.sum(middle * middle, axis=-1, keepdims=True) < _UNIT**2
    middle = np.where(nothing, spare, middle)
    return _normalize(np.where(opposed < 0.5, u + v, middle))
