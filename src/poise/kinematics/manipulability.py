"""Manipulability of a frame: Yoshikawa's measure, the velocity ellipsoid, the condition number.

All are computed from the singular values s_i of the chosen rows of the world Jacobian, J = U diag(s) V^T.
Source: T. Yoshikawa, Manipulability of robotic mechanisms, IJRR 4(2), 1985.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from poise.errors import InvalidValue, ShapeMismatch
from poise.model import Frame, Model

__all__ = ["Manipulability", "manipulability"]

_ROWS = {"linear": slice(0, 3), "angular": slice(3, 6), "both": slice(0, 6)}


@dataclass(frozen=True, slots=True)
class Manipulability:
    """The singular values of a Jacobian and the derived measures.

    Attributes:
        measure: Product of the singular values (Yoshikawa); 0 at a singularity.
        singular_values: In descending order: half-lengths of the velocity ellipsoid for unit joint velocity.
        axes: Columns: the directions of those half-lengths, in world axes.
        condition: Ratio of the largest to the smallest singular value; infinite at a singularity.
    """

    measure: float
    singular_values: NDArray[np.float64]
    axes: NDArray[np.float64]
    condition: float


def manipulability(model: Model, q: ArrayLike, frame: str | Frame, *, rows: str = "linear") -> Manipulability:
    """Return the manipulability of a frame in configuration q; locked joints are excluded.

    Args:
        model: The body.
        q: One configuration, (nq,).
        frame: The frame.
        rows: "linear" [m/rad], "angular", or "both" (mixed units: compare only values of the same kind).
    """
    if not isinstance(rows, str) or rows not in _ROWS:
        raise InvalidValue(f"rows must be 'linear', 'angular' or 'both', not {rows!r}.")
    if np.ndim(q) != 1:
        raise ShapeMismatch(f"q has shape {np.shape(q)}; it must be one configuration, ({model.nq},).")
    free = [v for joint in model.joints if joint.nv and not joint.locked for v in range(joint.v.start, joint.v.stop)]
    J = model.jacobian(np.asarray(q, dtype=np.float64), frame)[_ROWS[rows]][:, free]
    axes, values, _ = np.linalg.svd(J, full_matrices=False)
    full = np.zeros(J.shape[0])
    full[: len(values)] = values
    rounding = np.finfo(float).eps * max(J.shape) * full[0]
    condition = float(full[0] / full[-1]) if full[-1] > rounding else float("inf")
    return Manipulability(float(np.prod(full)), full, axes, condition)
