"""The product of exponentials: forward kinematics and the body Jacobian from twists at zero.

Source: Rabbani section 1.2, eq. 7 to 10, after Murray, Li and Sastry.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from poise.model import Model
from poise.textbook.bodies import path
from poise.textbook.joints import CurveMotion, joint_motions
from poise.textbook.rotations import Array
from poise.textbook.twists import adjoint, inverse, twist_exponential


@dataclass(frozen=True)
class Exponential:
    """One factor ``exp(zeta theta)`` of eq. 7.

    Attributes:
        twists: ``(6, k)`` zeta in world coordinates, with every joint at zero (k = 3 for a ball joint, otherwise 1).
        amounts: ``(k,)`` theta; a ball joint's rotation vector.
        columns: the columns of the Jacobian that the factor contributes to.
        gain: d theta / d velocity: 1, or the ratio of a mimic follower.
    """

    twists: Array
    amounts: Array
    columns: slice
    gain: float
    placed: Array | None = None

    @property
    def transform(self) -> Array:
        """Return ``exp(zeta theta)``, ``(4, 4)``; for a path, which is not an exponential, its pose."""
        return self.placed if self.placed is not None else twist_exponential(self.twists @ self.amounts)


def exponentials(model: Model, q: ArrayLike, frame: str) -> tuple[tuple[Exponential, ...], Array]:
    """Return the factors of eq. 7 from the root to ``frame``, and ``g(0)``, the frame's transform at zero.

    Zero means zero of every joint's own coordinate (a ball at the identity), so a mimic follower's offset is part of
    its theta.

    Raises:
        NameNotFound, ShapeMismatch, InvalidValue: see :func:`poise.textbook.path`.
    """
    factors: list[Exponential] = []
    zero = np.eye(4)
    for step in path(model, q, frame):
        zero = zero @ step.offset
        if step.joint is None:
            continue
        for motion in joint_motions(step.joint, step.value):
            first = step.joint.v.start + motion.first
            columns = slice(first, first + motion.count)
            placed = zero @ motion.transform @ inverse(zero) if isinstance(motion, CurveMotion) else None
            factors.append(Exponential(adjoint(zero) @ motion.twists, motion.amounts, columns, step.gain, placed))
    return tuple(factors), zero


def product_of_exponentials(model: Model, q: ArrayLike, frame: str) -> Array:
    """Return ``T_world_frame``, ``(4, 4)``: ``g = exp(zeta_1 theta_1) ... exp(zeta_n theta_n) g(0)``.

    It supports all joint kinds. Source: Rabbani eq. 7.

    Raises:
        NameNotFound, ShapeMismatch, InvalidValue: see :func:`poise.textbook.path`.
    """
    factors, zero = exponentials(model, q, frame)
    product = np.eye(4)
    for factor in factors:
        product = product @ factor.transform
    return product @ zero


def exponential_jacobian(model: Model, q: ArrayLike, frame: str) -> Array:
    """Return the body Jacobian ``(6, nv)`` [m, rad per unit velocity], column by column from eq. 10.

    ::

        column_j = Ad^-1( exp(zeta_j+1 theta_j+1) ... exp(zeta_n theta_n) g(0) ) zeta_j

    Eq. 10 as printed starts the product at j. For a hinge or a slide that is the same, since ``exp(zeta theta)`` does
    not change its own zeta; for a ball joint, whose velocity is in body axes, it must start after j.

    Raises:
        NameNotFound, ShapeMismatch, InvalidValue: see :func:`poise.textbook.path`.
    """
    factors, after = exponentials(model, q, frame)
    jacobian = np.zeros((6, model.nv))
    for factor in reversed(factors):
        jacobian[:, factor.columns] += factor.gain * adjoint(inverse(after)) @ factor.twists
        after = factor.transform @ after
    return jacobian
