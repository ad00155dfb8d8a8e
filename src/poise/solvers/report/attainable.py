"""Directions in which a body can move in some pose. Other directions count neither as equations nor as singular."""

from typing import Any

import numpy as np

from poise.arrays import Floats
from poise.model import Model

__all__ = ["DEPENDENT", "count_sizes", "find_attainable", "find_rank", "linearise_widely"]

POSES = 8
DEPENDENT = 1e-9  # relative to the largest singular value: a dependent direction


def linearise_widely(model: Model, native: Any, q: Floats) -> list[Floats]:
    """Return the Jacobian of a prepared problem at `q` and in random poses.

    The poses are drawn inside the ranges with a fixed seed; a singular one among them does no harm.
    """
    return [np.asarray(native.rows_jacobian(p)[0]) for p in (q, *model.random(np.random.default_rng(0), POSES))]


def count_sizes(model: Model, native: Any) -> tuple[int, int]:
    """Return the rows of a prepared problem in which the body can move, and the velocities that move them.

    A point gives a planar arm two rows, not three: no joint changes the third coordinate.
    """
    rows, velocities = native.sizes()
    return min(rows, find_attainable(linearise_widely(model, native, model.rest), slice(None)).shape[1]), velocities


def find_attainable(jacobians: list[Floats], rows: slice) -> Floats:
    """Return an orthonormal basis, one per column, of the directions among some rows in which the body can move."""
    joined = np.concatenate([J[rows] for J in jacobians], axis=1)
    u, values, _ = np.linalg.svd(joined, full_matrices=False)
    return np.asarray(u[:, values > DEPENDENT * max(float(values.max(initial=0.0)), 1e-300)])


def find_rank(J: Floats) -> int:
    """Return the rank of a matrix, up to rounding."""
    values = np.linalg.svd(J, compute_uv=False)
    return int((values > DEPENDENT * max(float(values.max(initial=0.0)), 1e-300)).sum())
