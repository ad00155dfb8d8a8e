"""The gain of the Jacobian methods: the share of the error that a step is to remove."""

import numpy as np
import pytest

import poise
from poise.errors import InvalidValue
from poise.goals import Orient, Reach
from poise.methods import DLS, LM, QR, SDLS, SVD, Gradient, Halley, Inverse, Method, Pseudoinverse, Transpose
from poise.solvers.status import Status

METHODS = (Transpose, Gradient, Inverse, Pseudoinverse, SVD, QR, DLS, SDLS, Halley)
FEW_STEPS = (Pseudoinverse, SVD, QR, DLS, SDLS, Halley)
GOAL = Reach("panda_hand_tcp", (0.45, 0.25, 0.55))


def solve_square(method: Method, **options) -> poise.Solution:
    """Two joints, two rows: every method serves."""
    goal = Reach("tip", (0.9, 0.8), weight=(1, 1, 0))
    return poise.solve(poise.load("planar2"), goal, (0.4, 0.6), method=method, restarts=0, **options)


@pytest.mark.parametrize("method", METHODS)
def test_a_step_removes_its_share_of_the_error(method) -> None:
    """Near the goal the whole step and its half are in proportion."""
    model = poise.load("planar2")
    start = np.array([0.4, 0.6])
    target = model.fk(start + np.array([1e-4, -2e-4]), "tip")[:2, 3]
    goal = Reach("tip", target, weight=(1, 1, 0), tolerance=1e-12)
    whole, half = (
        poise.solve(model, goal, start, method=method(gain=gain), max_steps=1, restarts=0).q - start
        for gain in (1.0, 0.5)
    )
    assert np.abs(whole).max() > 1e-6
    assert np.allclose(half, 0.5 * whole, rtol=1e-2, atol=1e-9)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("gain", [0.05, 0.5, 1.5])
def test_every_stable_gain_reaches(method, gain) -> None:
    assert solve_square(method(gain=gain), max_steps=5000).reached


@pytest.mark.parametrize("method", FEW_STEPS)
def test_less_gain_takes_more_steps(method) -> None:
    steps = [poise.solve(poise.load("panda"), GOAL, method=method(gain=gain)).steps for gain in (1.0, 0.5, 0.1)]
    assert steps[0] < steps[1] < steps[2]


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("handling", ["active", "freeze", "penalty", "clamp", "off"])
def test_small_gains_do_not_stall(method, handling) -> None:
    """Progress is measured by the share that was to be removed."""
    solution = solve_square(method(gain=1e-3), max_steps=100, limit_handling=handling)
    assert solution.status is Status.OUT_OF_STEPS


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("gain", [0, -0.5, 2.0, 3.0, np.nan, np.inf, "1", True, None])
def test_gains_that_are_not_stable_are_rejected(method, gain) -> None:
    with pytest.raises(InvalidValue, match=rf"{method.__name__}: gain"):
        method(gain=gain)


def test_the_default_keeps_every_bit() -> None:
    model, rng = poise.load("panda"), np.random.default_rng(2)
    for method in FEW_STEPS:
        T = model.fk(model.random(rng), "panda_hand_tcp")
        goals = [Reach("panda_hand_tcp", T[:3, 3]), Orient("panda_hand_tcp", T[:3, :3], weight=0.2)]
        one, other = (poise.solve(model, goals, method=m, restarts=0).q for m in (method(), method(gain=1)))
        assert np.array_equal(one, other)


def test_the_default_method_has_none() -> None:
    with pytest.raises(TypeError, match="gain"):
        LM(gain=0.5)  # type: ignore[call-arg]


def test_alpha_is_the_scalar_of_the_transpose() -> None:
    """dq = alpha J^T e in metres, as the text writes it."""
    model, start = poise.load("planar3"), np.array([0.3, 0.4, 0.5])
    goal = model.fk(start, "tip")[:3, 3] + (0.02, -0.01, 0)
    alpha = 0.05
    method = Transpose(alpha=alpha * model.length**2)
    step = poise.solve(model, Reach("tip", goal[:2]), start, method=method, max_steps=1, restarts=0).q - start
    J = model.jacobian(start, "tip")[:3]
    assert np.allclose(step, alpha * J.T @ (goal - model.fk(start, "tip")[:3, 3]))
    assert poise.solve(model, Reach("tip", goal[:2]), start, method=method, max_steps=2000, restarts=0).reached
    for bad in (0, -1, np.nan, "a"):
        with pytest.raises(InvalidValue, match="Transpose: alpha"):
            Transpose(alpha=bad)
