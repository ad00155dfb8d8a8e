"""The kinds of joints, described in three ways: transform, axes, and chain of simple motions.

The three descriptions are written separately and the tests compare them, because the recipes start from different ones:
the cross products and the adjusted Jacobian from axes, the product of exponentials and the derivative from simple
motions, forward kinematics from the transform.

"The joint's frame" is the frame after the joint's offset and before its motion.
"""

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike

from poise.errors import InvalidValue
from poise.model import Joint
from poise.model.joints.kinds import KINDS
from poise.textbook.arguments import read_array, read_axis
from poise.textbook.rotations import (
    LETTERS,
    Array,
    axis_rotation,
    euler_axes,
    euler_rotation,
    quaternion_product,
    quaternion_rotation,
    quaternion_vector,
)
from poise.textbook.twists import rigid, twist_exponential


@dataclass(frozen=True)
class SimpleMotion:
    """One simple motion of a joint: a hinge, a slide, a screw, or a ball.

    Attributes:
        twists: ``(6, k)`` unit twists in the frame after the motion; a hinge, slide or screw has the same ones in
            the frame before it.
        amounts: ``(k,)`` amount along each [rad or m]; for a ball, its rotation vector.
        first: index of the first twist's velocity within the joint.
    """

    twists: Array
    amounts: Array
    first: int = 0

    @property
    def transform(self) -> Array:
        """Return the motion as a ``(4, 4)`` transform: ``exp(sum of twists * amounts)``."""
        return twist_exponential(self.twists @ self.amounts)

    @property
    def change(self) -> Array:
        """The derivative of the twists ``(6, k)`` with respect to their own amounts: zero except along a curve."""
        return np.zeros_like(self.twists)

    @property
    def count(self) -> int:
        """The number of velocities: three for a ball, otherwise one."""
        return len(self.amounts)


@dataclass(frozen=True)
class CurveMotion(SimpleMotion):
    """The motion along a curve: its twist per metre varies along the curve, and its transform is not an exponential.

    Attributes:
        placed: ``(4, 4)`` pose on the curve.
        bend: ``(6, 1)`` derivative of the twist per metre.
    """

    placed: Array = field(default_factory=lambda: np.eye(4))
    bend: Array = field(default_factory=lambda: np.zeros((6, 1)))

    @property
    def transform(self) -> Array:
        """The motion as a ``(4, 4)`` transform."""
        return self.placed

    @property
    def change(self) -> Array:
        """The derivative of the twist per metre."""
        return self.bend


def joint_transform(joint: Joint, value: Array) -> Array:
    """Return ``T_joint_child`` of one joint at ``value``, its own coordinates.

    Raises:
        InvalidValue: the kind is unknown, or a coordinate is not finite.
        ShapeMismatch: ``value`` does not have the joint's number of coordinates.
    """
    value = _read_value(joint, value)
    match joint.kind:
        case "fixed":
            return np.eye(4)
        case "revolute" | "continuous":
            return rigid(axis_rotation(joint.axis, value[0]))
        case "prismatic":
            return rigid(translation=value[0] * joint.axis)
        case "scale":
            return rigid(translation=joint.length * value[0] * joint.axis)
        case "path":
            return curve_motion(joint, value[0]).placed
        case "screw":
            return rigid(axis_rotation(joint.axis, value[0]), joint.pitch * value[0] * joint.axis)
        case "cylindrical":
            return rigid(axis_rotation(joint.axis, value[1]), value[0] * joint.axis)
        case "universal":
            return rigid(axis_rotation(joint.axis, value[0]) @ axis_rotation(joint.axis2, value[1]))
        case "euler":
            return rigid(euler_rotation(joint.order, value))
        case "ball":
            return rigid(quaternion_rotation(value))
        case "planar":
            return rigid(axis_rotation(joint.axis, value[2]), plane_axes(joint.axis) @ value[:2])
        case "translation3":
            return rigid(translation=value)
        case "free":
            return rigid(quaternion_rotation(value[3:]), value[:3])
        case _:
            raise _unknown(joint)


def joint_axes(joint: Joint, value: Array) -> tuple[Array, Array]:
    """Return the velocity of a joint's child frame per unit of each of its velocities, in the joint's frame.

    Returns ``(linear, angular)``, each ``(3, k)`` for k degrees of freedom: the velocity of the child's origin, and the
    angular velocity of the child. For Euler joints the angular columns are Rabbani eq. 21 to 26; a ball's are the
    child's own three axes; a prismatic joint's linear column is its axis (UCSD, "Translational DOFs").

    Raises:
        InvalidValue: the kind is unknown, or a coordinate is not finite.
        ShapeMismatch: ``value`` does not have the joint's number of coordinates.
    """
    value = _read_value(joint, value)
    match joint.kind:
        case "fixed":
            return np.zeros((3, 0)), np.zeros((3, 0))
        case "revolute" | "continuous":
            return np.zeros((3, 1)), joint.axis[:, None]
        case "prismatic":
            return joint.axis[:, None], np.zeros((3, 1))
        case "scale":
            return joint.length * joint.axis[:, None], np.zeros((3, 1))
        case "path":
            along = curve_motion(joint, value[0])
            turn = along.placed[:3, :3]
            return turn @ along.twists[:3], turn @ along.twists[3:]
        case "screw":
            return joint.pitch * joint.axis[:, None], joint.axis[:, None]
        case "cylindrical":
            axis, none = joint.axis[:, None], np.zeros((3, 1))
            return np.hstack([axis, none]), np.hstack([none, axis])
        case "universal":
            second = axis_rotation(joint.axis, value[0]) @ joint.axis2
            return np.zeros((3, 2)), np.stack([joint.axis, second], axis=1)
        case "euler":
            return np.zeros((3, 3)), euler_axes(joint.order, value)
        case "ball":
            return np.zeros((3, 3)), quaternion_rotation(value)
        case "planar":
            slides, normal = plane_axes(joint.axis), joint.axis[:, None]
            return np.hstack([slides, np.zeros((3, 1))]), np.hstack([np.zeros((3, 2)), normal])
        case "translation3":
            return np.eye(3), np.zeros((3, 3))
        case "free":
            turns = quaternion_rotation(value[3:])
            return np.hstack([np.eye(3), np.zeros((3, 3))]), np.hstack([np.zeros((3, 3)), turns])
        case _:
            raise _unknown(joint)


def joint_motions(joint: Joint, value: Array) -> tuple[SimpleMotion, ...]:
    """Return a joint as a chain of simple motions, connected by links of zero length.

    Euler and universal joints become hinges, planar and translation joints slides, a free joint three slides
    and a ball. Source: the DLUT slides, "zero-length linkages".

    Raises:
        InvalidValue: the kind is unknown, or a coordinate is not finite.
        ShapeMismatch: ``value`` does not have the joint's number of coordinates.
    """
    value = _read_value(joint, value)
    match joint.kind:
        case "fixed":
            return ()
        case "revolute" | "continuous":
            return (_hinge(joint.axis, value[0]),)
        case "prismatic":
            return (_slide(joint.axis, value[0]),)
        case "scale":
            return (_simple(joint.length * joint.axis, np.zeros(3), value[0], 0),)
        case "path":
            return (curve_motion(joint, value[0]),)
        case "screw":
            return (_simple(joint.pitch * joint.axis, joint.axis, value[0], 0),)
        case "cylindrical":
            return (_slide(joint.axis, value[0]), _hinge(joint.axis, value[1], 1))
        case "universal":
            return (_hinge(joint.axis, value[0]), _hinge(joint.axis2, value[1], 1))
        case "euler":
            return tuple(_hinge(LETTERS[c], value[i], i) for i, c in enumerate(joint.order))
        case "ball":
            return (_ball(value),)
        case "planar":
            first, second = plane_axes(joint.axis).T
            return (_slide(first, value[0]), _slide(second, value[1], 1), _hinge(joint.axis, value[2], 2))
        case "translation3":
            return tuple(_slide(np.eye(3)[i], value[i], i) for i in range(3))
        case "free":
            return (*(_slide(np.eye(3)[i], value[i], i) for i in range(3)), _ball(value[3:], 3))
        case _:
            raise _unknown(joint)


def curve_motion(joint: Joint, x: float) -> CurveMotion:
    """Return the pose of a path joint at arc length x [m], the twist per metre in its own axes, and its derivative.

    The position p and the quaternion Q are cubic polynomials of the arc length, and R is the rotation of normalised Q::

        v = R^T p'                  w = 2 Im(Q^-1 Q')
        v' = R^T p'' - w x v        w' = 2 Im(Q^-1 Q'') - 2 w (Q . Q') / |Q|^2

    w is the frame's rotation per metre: the curvature, about the binormal, if it follows the tangent, and zero if it
    keeps its axes. Beyond its ends the curve continues straight.
    """
    path = joint.path
    assert path is not None
    at = x % path.length if path.closed else min(max(x, 0.0), path.length)
    beyond = 0.0 if path.closed else x - at
    piece = path.pieces[max(int(np.searchsorted(path.pieces[:, 0], at, side="right")) - 1, 0)]
    s, cubic = at - piece[0], piece[1:].reshape(7, 4)
    value = cubic @ np.array([1.0, s, s**2, s**3])
    slope = cubic @ np.array([0.0, 1.0, 2.0 * s, 3.0 * s**2])
    second = cubic @ np.array([0.0, 0.0, 2.0, 6.0 * s]) * (beyond == 0.0)
    value = value + beyond * slope
    Q, size = value[3:], value[3:] @ value[3:]
    back = np.array([Q[0], *-Q[1:]]) / size
    R = quaternion_rotation(Q / np.sqrt(size))
    v, w = R.T @ slope[:3], 2.0 * quaternion_product(back, slope[3:])[1:]
    v_rate = R.T @ second[:3] - np.cross(w, v)
    w_rate = 2.0 * quaternion_product(back, second[3:])[1:] - 2.0 * w * (Q @ slope[3:]) / size
    twist, bend = np.concatenate([v, w])[:, None], np.concatenate([v_rate, w_rate])[:, None]
    return CurveMotion(twist, np.array([x]), 0, rigid(R, value[:3]), bend)


def plane_axes(normal: ArrayLike) -> Array:
    """Return the two directions ``(3, 2)`` in which a planar joint slides: x and y if its normal is z.

    They are the next two coordinate axes if the unit normal n is x, y or z. Otherwise, with c the second coordinate
    axis after the normal's largest component: the first is along ``c x n``, the second is ``n x`` the first.
    """
    n = read_axis(normal, "normal")
    largest = int(np.argmax(np.abs(n)))
    after, last = np.eye(3)[(largest + 1) % 3], np.eye(3)[(largest + 2) % 3]
    if n[largest] == 1.0:
        return np.stack([after, last], axis=1)
    first = np.cross(last, n) / np.linalg.norm(np.cross(last, n))
    return np.stack([first, np.cross(n, first)], axis=1)


def _hinge(axis: ArrayLike, angle: float, first: int = 0) -> SimpleMotion:
    return _simple((0.0, 0.0, 0.0), axis, angle, first)


def _slide(axis: ArrayLike, distance: float, first: int = 0) -> SimpleMotion:
    return _simple(axis, (0.0, 0.0, 0.0), distance, first)


def _simple(linear: ArrayLike, angular: ArrayLike, amount: float, first: int) -> SimpleMotion:
    return SimpleMotion(np.concatenate([linear, angular])[:, None], np.array([amount]), first)


def _ball(wxyz: Array, first: int = 0) -> SimpleMotion:
    return SimpleMotion(np.vstack([np.zeros((3, 3)), np.eye(3)]), quaternion_vector(wxyz), first)


def _read_value(joint: Joint, value: ArrayLike) -> Array:
    return read_array(value, f"the value of joint {joint.name!r}", KINDS[joint.kind].nq)


def _unknown(joint: Joint) -> InvalidValue:
    return InvalidValue(f"joint {joint.name!r} has the kind {joint.kind!r}, which the textbook does not know")
