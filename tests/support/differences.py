"""Derivatives by fourth-order differences on the manifold, as a reference for analytic ones."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

import poise
from operations import Case, Floats

STEP = 2e-4


def difference_quotient(model: poise.Model, q: Floats, along: Floats, f: Callable[[Floats], Floats]) -> Floats:
    """Return the derivative of f along velocities ``(n, nv)``, first axis n, by fourth-order central differences.

    The error is about STEP^4 and 1e-16 / STEP; fast followers get a smaller step.
    """
    h = STEP / max([1.0, *(abs(j.mimic.ratio) for j in model.joints if j.mimic)])
    f1, b1, f2, b2 = (f(model.integrate(q, k * h * along)) for k in (1, -1, 2, -2))
    quotient: Floats = (8.0 * (f1 - b1) - (f2 - b2)) / (12.0 * h)
    return quotient


def numeric_jacobian(case: Case, reference: str) -> Floats:
    """Return the Jacobian from differences of fk."""
    here = case.model.fk(case.q, case.frame)
    arm = np.append(case.point, 1.0)
    rates = difference_quotient(case.model, case.q, np.eye(case.model.nv), lambda q: case.model.fk(q, case.frame))
    turning = rates[:, :3, :3] @ here[:3, :3].T
    angular = np.stack([turning[:, 2, 1], turning[:, 0, 2], turning[:, 1, 0]])
    linear = (rates @ arm)[:, :3].T
    if reference == "body":
        linear, angular = here[:3, :3].T @ linear, here[:3, :3].T @ angular
    if reference == "spatial":
        linear = linear + np.cross((here @ arm)[:3], angular, axis=0)
    return np.concatenate([linear, angular])
