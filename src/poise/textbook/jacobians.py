"""The Jacobian, by the three procedures of Rabbani's recipe and by differences.

Columns are per unit of the model's velocity (length nv); linear rows [m], angular rows [rad]. A joint that is not on
the path to the frame has zero columns. A mimic follower adds its columns, times its ratio, to its leader's. Comments
name the lines of the printed procedures, such as SetMatrixBlock.
"""

from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from poise.errors import InvalidValue
from poise.model import Joint, Model
from poise.textbook.arguments import read_array, read_positive
from poise.textbook.bodies import configuration, forward_kinematics, integrate, path
from poise.textbook.joints import joint_axes, joint_motions
from poise.textbook.rotations import Array, skew, unskew
from poise.textbook.twists import adjoint, inverse

Control: TypeAlias = Literal["both", "linear", "angular"]
Reference: TypeAlias = Literal["world", "body", "spatial"]

ROWS = {"both": slice(0, 6), "linear": slice(0, 3), "angular": slice(3, 6)}


def simple_jacobian(model: Model, q: ArrayLike, frame: str) -> Array:
    """Return the position rows ``(3, nv)`` in world axes at the frame's origin, by cross products (procedure 1).

    ::

        hinge:  w_axis x (w_p_e - w_p_j)          slide:  w_axis

    A joint's axes are first rotated according to its Euler order (:func:`poise.textbook.euler_axes`). The text covers
    revolute, continuous, universal, Euler and ball joints (a ball as the three axes of its child) and the root's
    translation (free, translation3: identity blocks); this function covers every kind, with slides by UCSD's rule.

    Source: Rabbani procedure 1, eq. 16 to 26; UCSD "Rotational" and "Translational DOFs"; Parent figure 1.

    Raises:
        NameNotFound, ShapeMismatch, InvalidValue: see :func:`poise.textbook.path`.
    """
    jacobian = np.zeros((3, model.nv))  # line 1
    effector = forward_kinematics(model, q, frame)[:3, 3]  # 2: TransformToWorld(b)
    transform = np.eye(4)
    for step in path(model, q, frame):  # 3 to 5: Parent(j), here from the root, so that transforms are shared
        # rotation of the joint's frame, before its own motion: the parent's axes in the text
        turn = (transform @ step.offset)[:3, :3]
        transform = transform @ step.offset @ step.motion  # 6: TransformToWorld(j)
        if step.joint is None:
            continue
        arm = effector - transform[:3, 3]  # 7: the rotation arm d
        linear, angular = joint_axes(step.joint, step.value)  # 8, 9: TransformAxisToWorld, after `turn @`
        block = turn @ linear + np.cross(turn @ angular, arm, axisa=0).T  # 10, 11: SetBlock; 16: MakeIdentity
        jacobian[:, step.joint.v] += step.gain * block  # 13, 14 and 17, 18: GetIndex, SetMatrixBlock
    return jacobian


def generic_jacobian(model: Model, q: ArrayLike, frame: str, *, control: Control = "both") -> Array:
    """Return the body Jacobian ``(6, nv)`` from one trimmed adjoint block per joint (procedure 2).

    From the frame to the root, joint j fills its columns with ``Ad(T_b_j) S_j``, where S_j selects the unit twists of
    the joint's degrees of freedom (all angular ones for a ball, one column for a hinge, ...). ``control`` selects the
    rows: ``"linear"`` or ``"angular"`` gives ``(3, nv)``.

    A planar or free joint is its slides followed by its rotation, at the same point. Euler and universal joints are
    rejected: their rates are not components of the joint's twist, and depend on the order of the angles, as in
    :func:`adjusted_jacobian`.

    Source: Rabbani procedure 2, eq. 11, figure 5.

    Raises:
        InvalidValue: an Euler or universal joint is on the path; ``control`` is not one of the three.
        NameNotFound, ShapeMismatch: see :func:`poise.textbook.path`.
    """
    rows = read_control(control)  # line 2: SetDim, the rows of trim; the joint's degrees of freedom are its columns
    jacobian = np.zeros((6, model.nv))  # 1
    T_j_b = np.eye(4)
    for step in reversed(path(model, q, frame)):  # 3 to 5: Parent(j)
        if step.joint is not None:
            _reject_ordered_angles(step.joint)
            for motion in reversed(joint_motions(step.joint, step.value)):
                first = step.joint.v.start + motion.first
                block = adjoint(inverse(T_j_b)) @ motion.twists  # 7: Adjoint of E^-1, trimmed to the joint's twists
                jacobian[:, first : first + motion.count] += step.gain * block  # 8, 9: GetIndex, SetMatrixBlock
                T_j_b = motion.transform @ T_j_b  # 6: TransformFromTo(b, j)
        T_j_b = step.offset @ T_j_b
    return jacobian[rows]


def adjusted_jacobian(model: Model, q: ArrayLike, frame: str, *, control: Control = "both") -> Array:
    """Return the body Jacobian ``(6, nv)`` for every joint kind and every Euler order (procedure 3).

    Like procedure 2, with the rotation in joint j's adjoint replaced by ``R' = R_b_j R*``, where ``R* = R_p_j^T A`` and
    the columns of A are the joint's axes in its parent (:func:`poise.textbook.joint_axes`). For a ball joint A is
    ``R_p_j`` itself and R* the identity, as in the generic block.

    Source: Rabbani procedure 3, eq. 30 to 32.

    Raises:
        InvalidValue: ``control`` is not ``"both"``, ``"linear"`` or ``"angular"``.
        NameNotFound, ShapeMismatch: see :func:`poise.textbook.path`.
    """
    rows = read_control(control)  # line 2: SetDim, the rows of trim; the joint's degrees of freedom are its columns
    jacobian = np.zeros((6, model.nv))  # 1
    T_j_b = np.eye(4)
    for step in reversed(path(model, q, frame)):  # 3 to 5: Parent(j)
        if step.joint is not None:
            T_b_j = inverse(T_j_b)  # 7: E^-1, whose blocks are those of the adjoint
            # 8 to 12: TransformAxisToParent, SetColumn and RotationToParent, R* = R_p_j^T A
            linear, angular = (step.motion[:3, :3].T @ axes for axes in joint_axes(step.joint, step.value))
            slides, turns = T_b_j[:3, :3] @ linear, T_b_j[:3, :3] @ angular  # 13, 14: GetRotation, R' = R_b_j R*
            block = np.vstack([slides + skew(T_b_j[:3, 3]) @ turns, turns])  # 15: Recompute
            jacobian[:, step.joint.v] += step.gain * block  # 16, 17: GetIndex, SetMatrixBlock
        T_j_b = step.offset @ step.motion @ T_j_b  # 6: TransformFromTo(b, j)
    return jacobian[rows]


def frame_velocity(model: Model, q: ArrayLike, v: ArrayLike, frame: str) -> Array:
    """Return the twist ``(6,)`` of a frame in world axes at velocity v, propagated from the root.

    ::

        w  <-  w + R A_angular v_j                 the joint adds its own rotation
        p' <-  p' + w_parent x (p - p_parent) + R A_linear v_j

    Source: UCSD, "Rotational DOFs"; CIMAT, "Geometric Jacobian" (velocities propagated along the chain).

    Raises:
        ShapeMismatch: v does not have nv numbers.
        NameNotFound, InvalidValue: see :func:`poise.textbook.path`.
    """
    rates = read_array(v, "v", model.nv)
    transform, linear, angular = np.eye(4), np.zeros(3), np.zeros(3)
    for step in path(model, q, frame):
        before = transform @ step.offset
        after = before @ step.motion
        linear = linear + np.cross(angular, after[:3, 3] - transform[:3, 3])
        transform = after
        if step.joint is not None:
            slides, turns = joint_axes(step.joint, step.value)
            rate = step.gain * rates[step.joint.v]
            linear = linear + before[:3, :3] @ slides @ rate
            angular = angular + before[:3, :3] @ turns @ rate
    return np.concatenate([linear, angular])


def unit_velocity_jacobian(model: Model, q: ArrayLike, frame: str) -> Array:
    """Return the world Jacobian ``(6, nv)``, each column from one joint at unit velocity and the others at rest.

    Exact, unlike :func:`numeric_jacobian`: it needs no epsilon.

    Source: Rabbani introduction (the unit-velocity method).

    Raises:
        NameNotFound, ShapeMismatch, InvalidValue: see :func:`poise.textbook.path`.
    """
    columns = [frame_velocity(model, q, unit, frame) for unit in np.eye(model.nv)]
    return np.stack(columns, axis=1) if columns else np.zeros((6, 0))


def numeric_jacobian(
    model: Model, q: ArrayLike, frame: str, *, epsilon: float = 6e-6, reference: Reference = "world"
) -> Array:
    """Return the Jacobian ``(6, nv)`` by central differences along each velocity, on the manifold.

    ``T_dot = (T(q + epsilon e_i) - T(q - epsilon e_i)) / (2 epsilon)``; the rows are then ``p_dot`` and the
    vector of ``R_dot R^T`` (``reference="world"``), the vector of ``T^-1 T_dot`` (``"body"``) or of ``T_dot
    T^-1`` (``"spatial"``). The error is about ``epsilon^2 + 1e-16 / epsilon``, least near the default, the
    cube root of the machine's precision: a smaller epsilon is *not* a better one.

    Source: Rabbani introduction (finite differences); UCSD and DLUT, "resort to a numerical approximation".

    Raises:
        InvalidValue: ``epsilon`` is not positive, or ``reference`` is not one of the three.
        NameNotFound, ShapeMismatch: see :func:`poise.textbook.path`.
    """
    epsilon = read_positive(epsilon, "epsilon")
    start = configuration(model, q)
    here = forward_kinematics(model, start, frame)
    jacobian = np.zeros((6, model.nv))
    for i, direction in enumerate(epsilon * np.eye(model.nv)):
        ahead = forward_kinematics(model, integrate(model, start, direction), frame)
        behind = forward_kinematics(model, integrate(model, start, -direction), frame)
        jacobian[:, i] = _rate((ahead - behind) / (2.0 * epsilon), here, reference)
    return jacobian


def _rate(rate: Array, here: Array, reference: Reference) -> Array:
    """Return the twist of a frame at ``here`` whose transform changes at ``rate``."""
    match reference:
        case "world":
            return np.concatenate([rate[:3, 3], unskew(rate[:3, :3] @ here[:3, :3].T)])
        case "body":
            matrix = inverse(here) @ rate
        case "spatial":
            matrix = rate @ inverse(here)
        case _:
            raise InvalidValue(f"reference is {reference!r}; it is 'world', 'body' or 'spatial'")
    return np.concatenate([matrix[:3, 3], unskew(matrix[:3, :3])])


def read_control(control: Control) -> slice:
    """Return the rows of "both", "linear" or "angular" control."""
    if control not in ROWS:
        raise InvalidValue(f"control is {control!r}; it is one of {', '.join(ROWS)}")
    return ROWS[control]


def _reject_ordered_angles(joint: Joint) -> None:
    if joint.kind in ("euler", "universal"):
        raise InvalidValue(
            f"joint {joint.name!r} is of kind {joint.kind!r}, whose angles act in an order: "
            "procedure 2 does not support it, use poise.textbook.adjusted_jacobian (procedure 3)"
        )
