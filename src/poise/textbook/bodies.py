"""Paths through a body: from the root to a frame, forward kinematics, and a step on the manifold.

Source: Rabbani section 2.1 ("Identifying the main path"), DLUT slides ("A Chain of Transformations").
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from poise.model import Joint, Model
from poise.model.memo import keep_with_model
from poise.textbook.arguments import read_array
from poise.textbook.joints import joint_transform
from poise.textbook.rotations import Array, quaternion_exponential, quaternion_product, quaternion_rotation
from poise.textbook.twists import rigid


@dataclass(frozen=True)
class Step:
    """One step of a path: a fixed offset, then a joint (unless it leads to a frame without a joint).

    Attributes:
        offset: ``(4, 4)``, from the previous frame to the joint's frame (or to the frame without a joint).
        joint: the joint that follows the offset, or None.
        value: the joint's own coordinates, with mimics resolved.
        gain: motion of the joint per unit of the velocity in its slice: 1, or a follower's ratio.
        motion: ``T_joint_child``, the identity for a frame without a joint.
    """

    offset: Array
    joint: Joint | None
    value: Array
    gain: float
    motion: Array


def configuration(model: Model, q: ArrayLike) -> Array:
    """Return ``q`` as a float64 vector of length ``model.nq``.

    Raises:
        ShapeMismatch: ``q`` has another shape. The textbook takes one configuration at a time.
        InvalidValue: ``q`` is not finite.
    """
    return read_array(q, "q", model.nq)


def path(model: Model, q: ArrayLike, frame: str) -> tuple[Step, ...]:
    """Return the steps from the world to ``frame``: the joints *on the path*, root first.

    Other joints do not move the frame, and their Jacobian columns are zero.

    Raises:
        NameNotFound: the model has no such frame.
        ShapeMismatch, InvalidValue: see :func:`configuration`.
    """
    vector = configuration(model, q)
    steps: list[Step] = []
    name: str | None = model.frame(frame).name
    while name is not None:
        place = model.frame(name)
        joint = None if place.joint is None else model.joint(place.joint)
        value, gain = (np.zeros(0), 1.0) if joint is None else joint_value(model, joint, vector)
        motion = np.eye(4) if joint is None else joint_transform(joint, value)
        steps.append(Step(read_offset(model, name), joint, value, gain, motion))
        name = place.parent
    return tuple(reversed(steps))


@keep_with_model
def read_offset(model: Model, frame: str) -> Array:
    """Return the ``(4, 4)`` offset of a frame, read-only."""
    offset = model.frame(frame).offset
    transform = rigid(quaternion_rotation(offset.rotation.wxyz), offset.translation)
    transform.setflags(write=False)
    return transform


def joint_value(model: Model, joint: Joint, q: Array) -> tuple[Array, float]:
    """Return a joint's own coordinates, and their rate per unit of the velocity in ``joint.v``.

    A mimic follower has ``value = ratio * leader + offset``; followers of followers are resolved in turn.
    """
    q = configuration(model, q)
    if joint.mimic is None:
        return q[joint.q], 1.0
    value, gain = joint_value(model, model.joint(joint.mimic.joint), q)
    return joint.mimic.ratio * value + joint.mimic.offset, joint.mimic.ratio * gain


def forward_kinematics(model: Model, q: ArrayLike, frame: str) -> Array:
    """Return ``T_world_frame``, ``(4, 4)``: the product of offsets and joint transforms along the path.

    Raises:
        NameNotFound, ShapeMismatch, InvalidValue: see :func:`path`.
    """
    transform = np.eye(4)
    for step in path(model, q, frame):
        transform = transform @ step.offset @ step.motion
    return transform


def integrate(model: Model, q: ArrayLike, step: ArrayLike) -> Array:
    """Return ``q`` moved along ``step`` (length nv): coordinates add, quaternions are multiplied on the right.

    A ball joint becomes ``q * exp(step)`` with the step in body axes; a free joint adds its translation in the parent's
    axes and rotates as a ball. Other joints add their rates (Parent, "simple Euler integration").

    Raises:
        ShapeMismatch: ``q`` or ``step`` has the wrong length.
        InvalidValue: one of them is not finite.
    """
    start, delta = configuration(model, q), read_array(step, "step", model.nv)
    result = start.copy()
    for joint in model.joints:
        if joint.mimic is not None or joint.kind == "fixed":
            continue
        value, change = start[joint.q], delta[joint.v]
        plain = {"ball": 0, "free": 3}.get(joint.kind, joint.nv)
        moved = value[:plain] + change[:plain]
        if plain < joint.nv:
            moved = np.concatenate([moved, quaternion_product(value[plain:], quaternion_exponential(change[plain:]))])
        result[joint.q] = moved
    return result
