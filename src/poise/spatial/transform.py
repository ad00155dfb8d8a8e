"""Rigid transforms in 3D: a rotation and a translation."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, cast, final, overload

import numpy as np
from numpy.typing import ArrayLike

from poise.errors import InvalidValue, ShapeMismatch
from poise.keywords import NotHere, refuse_unknown
from poise.native import core
from poise.spatial.arrays import (
    Array,
    Index,
    are_near,
    check_finite,
    complete_index,
    find_common_shape,
    join_rows,
    read_finite,
    read_reals,
    write_array,
)
from poise.spatial.rotation import _FAR, Rotation, as_rotation, convert_matrix

_BOTTOM = np.array([0.0, 0.0, 0.0, 1.0])


@final
class Transform:
    """A rigid transform ``x -> R x + p``, or a batch: a `Rotation` and translations ``(..., 3)`` [m].

    ``T_world_hand`` maps hand coordinates to world. ``a @ b`` applies ``b`` first, then ``a``; one of them may be a
    Rotation or a 4x4 matrix. ``a @ points`` moves points ``(..., 3)``. Leading axes broadcast. ``==`` is exact and
    returns one bool; see `almost_equal`.

    Args:
        rotation: any input of `as_rotation`; None is the identity.
        translation: ``(..., 3)`` [m]; None is zero.

    Raises:
        ShapeMismatch: shapes are wrong or do not broadcast together.
        InvalidValue: not a rotation, or not finite.
    """

    __array_ufunc__ = None  # NumPy defers to our operators
    __slots__ = ("_rotation", "_translation")
    __mul__, inv = NotHere("T_a_b @ T_b_c, or T_a_b @ points"), NotHere("T.inverse()")
    position, from_xyz = NotHere("T.translation"), NotHere("Transform(None, (x, y, z))")
    _rotation: Rotation
    _translation: Array

    @refuse_unknown
    def __init__(self, rotation: object = None, translation: ArrayLike | None = None) -> None:
        turn = Rotation.identity() if rotation is None else as_rotation(rotation, "rotation")
        shift = np.zeros(3) if translation is None else read_finite(translation, (3,), "translation")
        if turn.shape != shift.shape[:-1]:
            turn, shift = _broadcast_parts(turn, shift)
        shift.setflags(write=False)
        self._rotation = turn
        self._translation = shift

    @classmethod
    def from_valid(cls, rotation: Rotation, translation: Array) -> Transform:
        """Return a transform of checked parts of the same shape; the array is not copied."""
        self = object.__new__(cls)
        translation.setflags(write=False)
        self._rotation = rotation
        self._translation = translation
        return self

    # -------------------------------------------------------------------------------------- ways to make one

    @classmethod
    def identity(cls, shape: tuple[int, ...] = ()) -> Transform:
        """Return the identity transform."""
        return cls.from_valid(Rotation.identity(shape), np.zeros((*shape, 3)))

    @classmethod
    def from_matrix(cls, matrix: ArrayLike) -> Transform:
        """Return the transform of ``(..., 4, 4)`` matrices ``[[R, p], [0, 1]]``.

        Raises:
            ShapeMismatch: the last axes are not 4, 4.
            InvalidValue: the bottom row is not ``0 0 0 1``, or the upper left block is not a rotation.
        """
        return _convert_matrix(read_finite(matrix, (4, 4), "matrix"), "matrix")

    @classmethod
    def from_translation(cls, translation: ArrayLike) -> Transform:
        """Return a translation by ``(..., 3)`` [m]."""
        return cls(None, translation)

    @classmethod
    def from_rotation(cls, rotation: Rotation | ArrayLike) -> Transform:
        """Return a rotation about the origin."""
        return cls(rotation, None)

    @classmethod
    def from_euler(cls, order: str, angles: ArrayLike, translation: ArrayLike | None = None) -> Transform:
        """Return a rotation by Euler angles [rad], see `Rotation.from_euler`, and a translation [m]."""
        return cls(Rotation.from_euler(order, angles), translation)

    @classmethod
    def exp(cls, twist: ArrayLike) -> Transform:
        """Return the exponential of a twist ``[linear; angular]`` ``(..., 6)``: its motion over one unit of time.

        ``R = exp([w]x)`` and ``p = V(w) v``, with V the left Jacobian of SO(3).
        """
        return _exp(read_finite(twist, (6,), "twist"), "twist")

    # -------------------------------------------------------------------------------------- what it is

    @property
    def rotation(self) -> Rotation:
        """Its rotation, of the same leading shape."""
        return self._rotation

    @property
    def translation(self) -> Array:
        """The translation ``(..., 3)`` [m], read-only."""
        return self._translation

    @property
    def matrix(self) -> Array:
        """Homogeneous matrices ``(..., 4, 4)``."""
        matrix = np.zeros((*self.shape, 4, 4))
        matrix[..., :3, :3] = self._rotation.matrix
        matrix[..., :3, 3] = self._translation
        matrix[..., 3, 3] = 1.0
        return matrix

    @property
    def shape(self) -> tuple[int, ...]:
        """The leading axes; ``()`` for one transform."""
        return self._translation.shape[:-1]

    def log(self) -> Array:
        """Return the twist ``[linear; angular]`` ``(..., 6)``, the inverse of `exp`, with its angle in [0, pi]."""
        rows = join_rows(self._rotation.wxyz, self._translation, "rotation and translation")
        return cast(Array, core.log_of_transform(rows))

    def adjoint(self) -> Array:
        """Return the adjoint ``(..., 6, 6)``, which maps twists between frames: ``[[R, [p]x R], [0, R]]``.

        ``T exp(x) T^-1 = exp(Ad x)``: ``T_world_hand`` maps a hand's twist in its own axes to world axes.
        """
        turn = self._rotation.matrix
        adjoint = np.zeros((*self.shape, 6, 6))
        adjoint[..., :3, :3] = turn
        adjoint[..., 3:, 3:] = turn
        adjoint[..., :3, 3:] = np.cross(self._translation[..., None], turn, axis=-2)
        return adjoint

    # -------------------------------------------------------------------------------------- what it does

    def inverse(self) -> Transform:
        """Return the inverse transform: ``R^T, -R^T p``."""
        back = self._rotation.inverse()
        return Transform.from_valid(back, 0.0 - back.apply(self._translation))

    def apply(self, points: ArrayLike) -> Array:
        """Move points ``(..., 3)`` [m]: ``R x + p``; leading axes broadcast."""
        return self._move(read_finite(points, (3,), "points"), "transform and points")

    def _move(self, points: Array, names: str) -> Array:
        rows = join_rows(self._rotation.wxyz, points, names)
        return cast(Array, core.rotate_vector(rows)) + self._translation

    def interpolate(self, other: Transform | ArrayLike, t: ArrayLike) -> Transform:
        """Return the transform at fraction ``t`` of the screw motion to ``other``: ``self exp(t log(self^-1 other))``.

        The twist is constant, so a rotation curves the path. For a straight path interpolate the parts:
        `Rotation.slerp` and the line between the translations.
        """
        way = (self.inverse() @ as_transform(other, "other")).log()
        parts = join_rows(way, read_finite(t, (), "t")[..., None], "transforms and t")
        return self @ _exp(parts[..., :6] * parts[..., 6:], "t")

    def almost_equal(self, other: object, tolerance: float | tuple[float, float] = 1e-9) -> bool:
        """Return whether all transforms are within ``tolerance`` of ``other``: a number, or ``(metres, radians)``."""
        metres, radians = tolerance if isinstance(tolerance, tuple) else (tolerance, tolerance)
        there = as_transform(other, "other")
        find_common_shape(self.shape, there.shape, "two transforms")
        apart = np.linalg.norm(self._translation - there._translation, axis=-1)
        return bool(np.all(apart <= metres)) and self._rotation.almost_equal(there._rotation, radians)

    @overload
    def __matmul__(self, other: Transform | Rotation) -> Transform: ...
    @overload
    def __matmul__(self, other: ArrayLike) -> Any: ...
    def __matmul__(self, other: Transform | Rotation | ArrayLike) -> Any:
        if isinstance(other, Transform):
            return _compose(self, other)
        if isinstance(other, Rotation):
            return _compose(self, Transform(other))
        array = read_reals(other, "right-hand side")
        if array.shape[-2:] == (4, 4):
            return _compose(self, _convert_matrix(check_finite(array, "right-hand side"), "right-hand side"))
        return self.apply(array)

    def __rmatmul__(self, other: Rotation | ArrayLike) -> Transform:
        if isinstance(other, Rotation):
            return _compose(Transform(other), self)
        return _compose(_convert_matrix(read_finite(other, (4, 4), "left-hand side"), "left-hand side"), self)

    # -------------------------------------------------------------------------------------- as a value

    def __getitem__(self, index: Index) -> Transform:
        return Transform.from_valid(self._rotation[index], self._translation[complete_index(index)])

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("one Transform has no length; a batch has.")
        return self.shape[0]

    def __iter__(self) -> Iterator[Transform]:
        return (self[i] for i in range(len(self)))

    def __bool__(self) -> bool:
        return True  # independent of the length

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        if copy is False:
            raise ValueError("a Transform stores rotation and translation: converting it to matrices needs a copy.")
        return self.matrix.astype(dtype or np.float64, copy=False)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Transform):
            return NotImplemented
        return self._rotation == other._rotation and np.array_equal(self._translation, other._translation)

    def __hash__(self) -> int:
        return hash((self._rotation, (self._translation + 0.0).tobytes()))

    def __reduce__(self) -> tuple[Callable[[Rotation, Array], Transform], tuple[Rotation, Array]]:
        return Transform.from_valid, (self._rotation, np.array(self._translation))

    def __repr__(self) -> str:
        return f"Transform({write_array(self._rotation.wxyz)}, {write_array(self._translation)})"


# ---------------------------------------------------------------------------------------- what counts as one


def as_transform(x: object, name: str = "target") -> Transform:
    """Return a Transform from any supported type.

    Supported: Transform, matrices ``(..., 4, 4)``, translations ``(..., 3)``, or an object with ``.rotation`` and
    ``.translation`` (Pinocchio's SE3, SciPy's RigidTransform), ``.homogeneous`` or ``.as_matrix()``.

    Raises:
        ShapeMismatch: an array of another shape; the message has ``name``.
        InvalidValue: not a rigid transform, or not numbers.
    """
    if isinstance(x, Transform):
        return x
    if isinstance(x, Rotation):
        raise InvalidValue(f"{name} is a Rotation, without a place; type Transform(rotation, translation).")
    if type(x) is np.ndarray:
        parts = core.transform_of_matrix(x, _FAR)
        if parts is not None:  # fast path for one plain matrix
            return Transform.from_valid(Rotation.from_valid(parts[0]), parts[1])
    else:
        turn, shift = _read_field(x, "rotation"), _read_field(x, "translation")
        if turn is not None and shift is not None:
            rotation = as_rotation(turn, f"{name}.rotation")
            return Transform(rotation, read_finite(shift, (3,), f"{name}.translation"))
        x = _find_matrix(x)
    array = read_reals(x, name)
    if array.shape[-2:] == (4, 4):
        return _convert_matrix(check_finite(array, name), name)
    if array.shape[-1:] == (3,):
        return Transform(None, check_finite(array, name))
    wanted = "a Transform, (..., 4, 4) matrices or (..., 3) translations"
    raise ShapeMismatch(f"{name} has shape {array.shape}; it must be {wanted}.")


def _read_field(x: object, field: str) -> object:
    """Return an attribute of an object, or None if it is a method."""
    value = getattr(x, field, None)
    return None if callable(value) else value


def _find_matrix(x: object) -> object:
    """Return the matrix of an object that has one, otherwise the object itself."""
    if (matrix := _read_field(x, "homogeneous")) is not None:
        return matrix
    as_matrix = getattr(x, "as_matrix", None)
    return as_matrix() if callable(as_matrix) else x


def _convert_matrix(matrix: Array, name: str) -> Transform:
    """Return the transform of finite matrices ``(..., 4, 4)``."""
    bottom = matrix[..., 3, :]
    if not are_near(bottom, _BOTTOM, 1e-9):
        wrong = bottom.reshape(-1, 4)[(np.abs(bottom - _BOTTOM) > 1e-9).any(axis=-1).argmax()]
        raise InvalidValue(f"{name} has the bottom row {wrong.tolist()}; it must be [0, 0, 0, 1].")
    rotation = convert_matrix(matrix[..., :3, :3], f"the rotation in {name}")
    return Transform.from_valid(rotation, matrix[..., :3, 3].copy())


# ---------------------------------------------------------------------------------------- the group


def _compose(a: Transform, b: Transform) -> Transform:
    return Transform.from_valid(a._rotation @ b._rotation, a._move(b._translation, "two transforms"))


def _exp(twist: Array, name: str) -> Transform:
    rows = cast(Array, core.exp_of_twist(twist))
    if np.isnan(rows).any():
        raise InvalidValue(f"{name} is too large: the motion overflows.")
    return Transform.from_valid(Rotation.from_valid(rows[..., :4].copy()), rows[..., 4:].copy())


def _broadcast_parts(rotation: Rotation, translation: Array) -> tuple[Rotation, Array]:
    """Return both parts broadcast to their common leading shape."""
    lead = find_common_shape(rotation.shape, translation.shape[:-1], "rotation and translation")
    wxyz = np.broadcast_to(rotation.wxyz, (*lead, 4))
    return Rotation.from_valid(wxyz), np.broadcast_to(translation, (*lead, 3))
