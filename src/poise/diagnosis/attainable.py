"""Directions in which a body can move in some pose. The others count neither as demands nor as singularities."""

from __future__ import annotations

import numpy as np

from poise.arrays import Floats
from poise.solvers.solution import Solution

__all__ = ["DEPENDENT", "find_attainable", "find_rank", "linearise_widely"]

POSES = 8
DEPENDENT = 1e-9  # of the largest singular value: a direction that says nothing new


def linearise_widely(solution: Solution) -> list[Floats]:
    """Return the goals' Jacobian at the answer and in random poses.

    They are drawn with a fixed seed, inside the ranges: a singular one among them does no harm.
    """
    solver, model = solution.copy_solver(), solution.model
    poses = [np.array(solution.q), *model.random(np.random.default_rng(0), POSES)]
    return [np.asarray(solver.linearise(q)[0]) for q in poses]


def find_attainable(jacobians: list[Floats], rows: slice) -> Floats:
    """Return the directions among some rows in which the body can move in some pose, orthonormal, one per column."""
    joined = np.concatenate([J[rows] for J in jacobians], axis=1)
    u, values, _ = np.linalg.svd(joined, full_matrices=False)
    return np.asarray(u[:, values > DEPENDENT * max(float(values.max(initial=0.0)), 1e-300)])


def find_rank(J: Floats) -> int:
    """Return how many directions are more than rounding."""
    values = np.linalg.svd(J, compute_uv=False)
    return int((values > DEPENDENT * max(float(values.max(initial=0.0)), 1e-300)).sum())
