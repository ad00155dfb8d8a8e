"""Directions in which a body can move in some pose. Other directions count neither as equations nor as singular."""

from __future__ import annotations

import numpy as np

from poise.arrays import Floats
from poise.solvers.solution import Solution

__all__ = ["DEPENDENT", "find_attainable", "find_rank", "linearise_widely"]

POSES = 8
DEPENDENT = 1e-9  # relative to the largest singular value: a dependent direction


def linearise_widely(solution: Solution) -> list[Floats]:
    """Return the goals' Jacobian at the answer and in random poses.

    The poses are drawn inside the ranges with a fixed seed; a singular one among them does no harm.
    """
    solver, model = solution.copy_solver(), solution.model
    poses = [np.array(solution.q), *model.random(np.random.default_rng(0), POSES)]
    return [np.asarray(solver.linearise(q)[0]) for q in poses]


def find_attainable(jacobians: list[Floats], rows: slice) -> Floats:
    """Return an orthonormal basis, one per column, of the directions among some rows in which the body can move."""
    joined = np.concatenate([J[rows] for J in jacobians], axis=1)
    u, values, _ = np.linalg.svd(joined, full_matrices=False)
    return np.asarray(u[:, values > DEPENDENT * max(float(values.max(initial=0.0)), 1e-300)])


def find_rank(J: Floats) -> int:
    """Return the rank of a matrix, up to rounding."""
    values = np.linalg.svd(J, compute_uv=False)
    return int((values > DEPENDENT * max(float(values.max(initial=0.0)), 1e-300)).sum())
