"""What sets one Jacobian rule apart from another: order, calm, refusals, settings, published figures."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import poise
from bodies import random_model
from poise import methods
from poise.arrays import Floats
from poise.errors import InvalidValue, NameNotFound
from poise.goals import Reach
from poise.methods import DLS, QR, SDLS, SVD, Gradient, Halley, Inverse, Method, Pseudoinverse
from poise.solvers import race


def after_one_step(
    model: poise.Model, frame: str, base: str | None, q: Floats, d: Floats, method: Method
) -> list[float]:
    """What is left of the error after one step towards poses ever nearer, each at half the distance."""
    goal = Reach(frame, np.eye(4), relative_to=base)
    options: dict[str, Any] = {"limit_handling": "off", "step_limit": 1e6, "restarts": 0}
    native = poise.Solver(model, goal, method=method, **options).problem
    left = []
    for h in (0.04, 0.02, 0.01):
        there = model.integrate(q, h * d)
        T = model.fk(there, frame)
        native.restart(q, {frame: T if base is None else np.linalg.inv(model.fk(there, base)) @ T})
        for _ in range(3):
            native.advance()
        left.append(math.sqrt(native.state()["cost"]))
    return left


@pytest.mark.slow
@pytest.mark.parametrize(("method", "order"), [(Pseudoinverse(), 2), (Halley(damping=0.0, floor=1e-16), 3)])
def test_order_of_convergence(method: Method, order: int) -> None:
    """Half the distance leaves 2^-order of the error: Newton's rule is of second order, Halley's of third.

    On bodies of every joint kind, mimic joints included, with targets in the world and on another moving frame.
    """
    rng = np.random.default_rng(0)
    found = []
    for seed in range(40):
        model = random_model(seed, joints=12)
        frames = model.frames
        for base in (None, frames[len(frames) // 2]):
            d = rng.normal(size=model.nv)
            left = after_one_step(model, frames[-1], base, model.random(rng), d / np.linalg.norm(d), method)
            if base != frames[-1] and left[-1] > 1e-10:
                found.append(math.log2(left[1] / left[2]))
    assert len(found) > 50
    assert np.median(found) == pytest.approx(order, abs=0.05)
    assert np.mean(np.abs(np.array(found) - order) < 0.2) > 0.9


def test_halley_needs_fewer_steps_than_newton() -> None:
    model, rng = poise.load("iiwa14"), np.random.default_rng(2)
    frame = model.frames[-1]
    steps: dict[str, list[int]] = {"pseudoinverse": [], "halley": []}
    solvers = {name: poise.Solver(model, Reach(frame, np.eye(4)), method=name, restarts=0) for name in steps}
    for _ in range(100):
        q = model.random(rng)
        there = model.clamp(q + rng.uniform(-0.4, 0.4, model.nv))
        for name, solver in solvers.items():
            solution = solver.solve(q, {frame: model.fk(there, frame)})
            steps[name].append(solution.steps if solution.reached else 50)
    assert np.mean(steps["halley"]) < np.mean(steps["pseudoinverse"]) - 0.7


def nearly_straight(method: Method) -> float:
    """The longest joint motion of one step of a nearly straight arm that is pulled inwards."""
    model = poise.load("planar2")
    solver = poise.Solver(model, Reach("tip", (1.8, 0, 0)), method=method, step_limit=1e6, restarts=0)
    solver.problem.restart(np.array([0.0, 1e-6]), None)
    solver.problem.advance()
    solver.problem.advance()
    return float(np.abs(solver.problem.state()["dq"]).max())


def test_near_a_singular_pose_the_pseudo_inverse_jumps_and_the_damped_rules_are_calm() -> None:
    assert nearly_straight(Pseudoinverse()) > 1e3
    assert nearly_straight(QR()) > 1e3
    assert nearly_straight(SVD()) < 0.1
    assert nearly_straight(DLS()) < 0.1
    assert nearly_straight(SDLS()) < math.pi / 4 + 1e-12


def test_damping_trades_speed_for_calm() -> None:
    model = poise.load("panda")
    goal = Reach("panda_hand_tcp", (0.4, 0.25, 0.5))
    steps = [poise.solve(model, goal, method=DLS(damping=x)).steps for x in (0.05, 0.2, 0.8)]
    assert steps[0] < steps[1] < steps[2]


# ------------------------------------------------------------------------------------------------ refusals


def test_inverse_rejects_by_size_and_says_what_to_use() -> None:
    model = poise.load("panda")
    with pytest.raises(InvalidValue, match=r"6 goal rows and 7 degrees of freedom.*pseudoinverse.*joints="):
        poise.Solver(model, Reach("panda_hand_tcp", np.eye(4)), method="inverse")
    with pytest.raises(InvalidValue, match=r"2 goal rows and 3 degrees"):
        poise.Solver(poise.load("planar3"), Reach("tip", (1, 1, 0)), method="inverse")


def test_inverse_counts_the_joints_that_may_move() -> None:
    model = poise.load("panda")
    six = [joint.name for joint in model.joints if joint.nv][:6]
    poise.Solver(model, Reach("panda_hand_tcp", np.eye(4)), method="inverse", joints=six)


@pytest.mark.parametrize(
    "make",
    [
        lambda: Gradient(gain=2.0),
        lambda: Gradient(gain=0.0),
        lambda: SVD(threshold=1.0),
        lambda: DLS(damping=0.0),
        lambda: DLS(damping=math.nan),
        lambda: SDLS(gamma_max=-1.0),
        lambda: SDLS(target_clamp=0.0),
        lambda: Halley(floor=0.0),
        lambda: Inverse(stall_steps=0),
    ],
)
def test_invalid_settings_are_rejected(make: Callable[[], Method]) -> None:
    with pytest.raises(InvalidValue):
        make()


WORDS = {
    "damped least squares": "dls",
    "damped": "dls",
    "singularity robust": "dls",
    "SR": "dls",
    "selectively damped least squares": "sdls",
    "pinv": "pseudoinverse",
    "pseudo-inverse": "pseudoinverse",
    "Newton": "pseudoinverse",
    "Newton-Raphson": "pseudoinverse",
    "JT": "transpose",
    "Jacobian transpose": "transpose",
    "CCD": "ccd",
    "cyclic coordinate descent": "ccd",
    "Levenberg-Marquardt": "lm",
    "truncated SVD": "svd",
    "gradient descent": "gradient",
    "Two Bone": "two_bone",
    "conjugate gradient": "scipy",
    "AUTO": "lm",
}


@pytest.mark.parametrize(("word", "name"), WORDS.items())
def test_the_words_of_the_texts_name_methods(word: str, name: str) -> None:
    for spelled in (word, word.upper(), word.lower(), word.replace(" ", "_"), word.replace(" ", "-")):
        assert methods.find_method(spelled).name == name
    model, goal = poise.load("planar3"), Reach("tip", (1.2, 1.5))
    if name != "two_bone":
        assert poise.solve(model, goal, method=word).reached
        assert poise.Solver(model, goal, method=word).options.method == methods.find_method(word)
        assert [racer.method for racer in race(model, methods=[word], problems=1).racers] == [name]


def test_no_word_names_two_methods() -> None:
    assert not [name for name in methods.names() if methods.find_method(name.upper()) != methods.find_method(name)]
    assert methods.find_method("conjugate gradient") == methods.Scipy("CG")
    for unknown in ("", " - ", "inverze", "least"):
        with pytest.raises(NameNotFound, match="no method is called"):
            methods.find_method(unknown)


def test_the_shelf_lists_its_methods() -> None:
    rules = {"transpose", "gradient", "inverse", "pseudoinverse", "svd", "qr", "dls", "sdls", "lm", "halley"}
    assert rules < set(methods.names())
    for name in rules:
        assert methods.find_method(name).name == name
    with pytest.raises(NameNotFound, match="pseudoinverse"):
        methods.find_method("pseudoinvers")
