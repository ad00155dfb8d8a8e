"""The time derivative of the Jacobian, from the derivative of the adjoint. Source: Rabbani section 1.3."""

import numpy as np
from numpy.typing import ArrayLike

from poise.errors import InvalidValue
from poise.model import Model
from poise.textbook.arguments import read_array
from poise.textbook.bodies import forward_kinematics, path
from poise.textbook.jacobians import Reference, adjusted_jacobian
from poise.textbook.joints import joint_motions
from poise.textbook.rotations import Array
from poise.textbook.twists import adjoint, adjoint_derivative, inverse, rigid


def jacobian_derivative(
    model: Model, q: ArrayLike, v: ArrayLike, frame: str, *, reference: Reference = "body"
) -> Array:
    """Return the time derivative ``(6, nv)`` of the Jacobian at velocity ``v`` (length nv).

    A column of the body Jacobian is ``Ad(T_b_i) zeta_i`` with a constant zeta_i, if each joint is a chain of simple
    motions (:func:`poise.textbook.joint_motions`); its derivative is ``Ad_dot(T_b_i) zeta_i``. Relative to the frame b,
    the end of motion i moves only by the motions between them::

        twist of T_b_i = - sum over motions k nearer to b of (column_k v_k)

    so one pass from the frame to the root gives all columns. A path's zeta_i is not constant: its change along the
    curve is added, ``Ad(T_b_i) zeta_i' v_i``. ``reference="world"`` and ``"spatial"`` follow by the product rule on the
    change of frame. Acceleration is ``J v_dot + J_dot v``.

    Source: Rabbani section 1.3, eq. 14 and 15.

    Raises:
        ShapeMismatch: ``q`` or ``v`` has the wrong length.
        InvalidValue: ``reference`` is not ``"body"``, ``"world"`` or ``"spatial"``.
        NameNotFound: the model has no such frame.
    """
    speed = read_array(v, "v", model.nv)
    derivative = _body_derivative(model, q, speed, frame)
    if reference == "body":
        return derivative
    jacobian, transform = adjusted_jacobian(model, q, frame), forward_kinematics(model, q, frame)
    carrier, twist = _carrier(transform, jacobian @ speed, reference)
    return adjoint_derivative(carrier, twist) @ jacobian + adjoint(carrier) @ derivative


def _body_derivative(model: Model, q: ArrayLike, speed: Array, frame: str) -> Array:
    derivative = np.zeros((6, model.nv))
    T_i_b, relative = np.eye(4), np.zeros(6)
    for step in reversed(path(model, q, frame)):
        if step.joint is not None:
            for motion in reversed(joint_motions(step.joint, step.value)):
                first = step.joint.v.start + motion.first
                columns = slice(first, first + motion.count)
                T_b_i = inverse(T_i_b)
                derivative[:, columns] += step.gain * adjoint_derivative(T_b_i, relative) @ motion.twists
                own = step.gain**2 * motion.change * speed[columns]  # the twist of a path changes along the curve
                derivative[:, columns] += adjoint(T_b_i) @ own
                relative = relative - step.gain * adjoint(T_b_i) @ motion.twists @ speed[columns]
                T_i_b = motion.transform @ T_i_b
        T_i_b = step.offset @ T_i_b
    return derivative


def _carrier(transform: Array, body_twist: Array, reference: Reference) -> tuple[Array, Array]:
    """Return the transform whose adjoint maps body twists to ``reference``, and its spatial twist.

    For "world" it is the rotation of the frame alone, which rotates but does not translate.
    """
    if reference == "world":
        carrier = rigid(transform[:3, :3])
        return carrier, adjoint(carrier) @ np.concatenate([np.zeros(3), body_twist[3:]])
    if reference == "spatial":
        return transform, adjoint(transform) @ body_twist
    raise InvalidValue(f"reference is {reference!r}; it is 'body', 'world' or 'spatial'")
