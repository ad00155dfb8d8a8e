"""Joints that deform: scale along axes and shear. Points, forward kinematics, and the Jacobian of a point.

A joint is any function ``T_local(q)`` with a derivative; the texts mention "more elaborate joint types (scaling,
translation along a path, shearing...)". Below a joint that deforms, transforms are affine: rotations there are no
longer rotations, so only *points* have a meaning, and the Jacobian has three rows::

    p = T_1(q_1) ... T_n(q_n) p_n          dp / dq_i = T_1 ... T_(i-1)  dT_i/dq_i  T_(i+1) ... T_n p_n

Poise's models stay rigid: their kinds "scale" and "uniform_scale" change distances only.

Source: UCSD CSE169, *Inverse Kinematics, part 2*, "Building the Jacobian"; DLUT slides, the same.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from poise.errors import InvalidValue, name_not_found
from poise.textbook.arguments import read_array
from poise.textbook.rotations import Array, axis_rotation, skew

Vector = tuple[float, float, float]
KINDS = ("turn", "slide", "uniform_scale", "axis_scale", "shear")


@dataclass(frozen=True)
class AffineJoint:
    """A joint with one coordinate x whose local transform may deform.

    =================  ================================================  ===================
    kind               linear part                                       derivative
    =================  ================================================  ===================
    ``turn``           rotation by x [rad] about ``axis``                ``skew(axis) R``
    ``slide``          identity; moves by x [m] along ``axis``           ``axis``
    ``uniform_scale``  ``x I``                                           ``I``
    ``axis_scale``     ``I + (x - 1) axis axis^T``                       ``axis axis^T``
    ``shear``          ``I + x axis across^T``: planes across slide      ``axis across^T``
    =================  ================================================  ===================

    Attributes:
        kind: One of the five.
        axis: The unit axis.
        across: The unit normal of the planes that a shear slides over one another, perpendicular to ``axis``.
        offset: Translation [m] from the parent, before the motion.

    Raises:
        NameNotFound: the kind is unknown.
        InvalidValue: an axis is not a unit vector, or the axes of a shear are not perpendicular.
    """

    kind: str
    axis: Vector = (0.0, 0.0, 1.0)
    across: Vector = (1.0, 0.0, 0.0)
    offset: Vector = (0.0, 0.0, 0.0)

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise name_not_found("kind of affine joint", str(self.kind), KINDS)
        for name in ("axis", "across", "offset"):
            vector = np.asarray(getattr(self, name), dtype=float)
            if vector.shape != (3,) or not np.isfinite(vector).all():
                raise InvalidValue(
                    f"{self.kind}: {name} is {getattr(self, name)!r}; it must have three finite numbers."
                )
            if name != "offset" and abs(np.linalg.norm(vector) - 1.0) > 1e-9:
                raise InvalidValue(f"{self.kind}: {name} is {getattr(self, name)!r}; it must be a unit vector.")
        if self.kind == "shear" and abs(np.dot(self.axis, self.across)) > 1e-9:
            raise InvalidValue("shear: axis and across must be perpendicular; along one axis use kind 'axis_scale'.")

    def transform(self, x: float) -> Array:
        """Return ``T_local(x)``, ``(4, 4)``."""
        slide = x * np.asarray(self.axis) if self.kind == "slide" else np.zeros(3)
        return _affine(self._linear(x)[0], self.offset + slide, 1.0)

    def derivative(self, x: float) -> Array:
        """Return ``dT_local / dx``, ``(4, 4)``; its last row is zero."""
        slide = np.asarray(self.axis) if self.kind == "slide" else np.zeros(3)
        return _affine(self._linear(x)[1], slide, 0.0)

    def _linear(self, x: float) -> tuple[Array, Array]:
        """Return the linear part ``(3, 3)`` at x, and its derivative."""
        axis, one = np.asarray(self.axis, dtype=float), np.eye(3)
        match self.kind:
            case "turn":
                turn = axis_rotation(axis, x)
                return turn, skew(axis) @ turn
            case "slide":
                return one, np.zeros((3, 3))
            case "uniform_scale":
                return x * one, one
            case "axis_scale":
                return one + (x - 1.0) * np.outer(axis, axis), np.outer(axis, axis)
            case _:
                return one + x * np.outer(axis, self.across), np.outer(axis, self.across)


def affine_transform(joints: Sequence[AffineJoint], q: ArrayLike) -> Array:
    """Return ``T_1(q_1) ... T_n(q_n)``, ``(4, 4)``: the affine transform of the last joint.

    Raises:
        ShapeMismatch, InvalidValue: ``q`` is not one finite number per joint.
    """
    product = np.eye(4)
    for joint, x in zip(joints, read_array(q, "q", len(joints)), strict=True):
        product = product @ joint.transform(x)
    return product


def affine_point(joints: Sequence[AffineJoint], q: ArrayLike, point: ArrayLike = (0.0, 0.0, 0.0)) -> Array:
    """Return the world position ``(3,)`` of a point of the last joint's frame [m]."""
    return np.asarray(affine_transform(joints, q) @ np.append(read_array(point, "point", 3), 1.0))[:3]


def affine_jacobian(joints: Sequence[AffineJoint], q: ArrayLike, point: ArrayLike = (0.0, 0.0, 0.0)) -> Array:
    """Return the Jacobian ``(3, n)`` of :func:`affine_point`: one column per joint, from ``dT_local/dq``.

    One pass from the point to the root: ``after`` is the point as joint i carries it.

    Raises:
        ShapeMismatch, InvalidValue: see :func:`affine_transform`.
    """
    values = read_array(q, "q", len(joints))
    jacobian, after = np.zeros((3, len(joints))), np.append(read_array(point, "point", 3), 1.0)
    for i in reversed(range(len(joints))):
        jacobian[:, :] = joints[i].transform(values[i])[:3, :3] @ jacobian
        jacobian[:, i] = (joints[i].derivative(values[i]) @ after)[:3]
        after = joints[i].transform(values[i]) @ after
    return jacobian


def _affine(linear: Array, translation: ArrayLike, corner: float) -> Array:
    matrix = np.zeros((4, 4))
    matrix[:3, :3], matrix[:3, 3], matrix[3, 3] = linear, translation, corner
    return matrix
