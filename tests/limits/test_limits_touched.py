"""A start that touches its limits exactly, as zeros often do: the body moves off them in every mode."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import poise
from poise.goals import Reach
from poise.limits import Coupled, Speed

LIMITS = [
    Coupled({"r0": 1.0}, lower=0.0),
    Coupled({"r1": 1.0, "r0": -0.5}, lower=0.0),
    Coupled({"r2": 1.0, "r1": -0.6}, lower=0.0),
]


def finger() -> poise.Model:
    """Three hinges, each of which bends at least so much of the one before."""
    builder = poise.ModelBuilder("finger")
    for k, above in enumerate((None, "r0", "r1")):
        builder.add_joint(
            f"r{k}", above, "revolute", axis=(0, 0, 1), offset=(0.04 * (k > 0), 0, 0), lower=-0.1, upper=2.0
        )
    return builder.add_frame("tip", "r2", (0.03, 0, 0)).build()


def kept(q: np.ndarray) -> bool:
    return bool(min(q[0], q[1] - 0.5 * q[0], q[2] - 0.6 * q[1]) >= 0)


def whole(solver: poise.Solver, q: np.ndarray) -> poise.Solution:
    return solver.solve(q)


def timed(solver: poise.Solver, q: np.ndarray) -> poise.Solution:
    return solver.step(q, dt=0.05)


@pytest.mark.parametrize(("mode", "go"), [("nearest", whole), ("continuous", whole), ("continuous", timed)])
def test_it_moves_off(mode: str, go: Callable[[poise.Solver, np.ndarray], poise.Solution]) -> None:
    model = finger()
    target = model.fk(np.array([0.5, 0.4, 0.4]), "tip")[:3, 3]
    rules = [*LIMITS, Speed(2.0)] if go is timed else LIMITS
    solver = poise.Solver(model, [Reach("tip", target)], mode=mode, limits=rules)
    q = np.zeros(3)
    for _ in range(15):
        solution = go(solver, q)
        q = solution.q
        assert kept(q)
    assert solution.reached
