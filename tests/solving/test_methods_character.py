"""What sets one Jacobian rule apart from another: order, calm, gains, settings, and residuals without a body."""

import math
from typing import Any

import numpy as np
import pytest

import poise
from bodies import random_model
from poise import methods
from poise.arrays import Floats
from poise.errors import InvalidValue, NameNotFound, ShapeMismatch
from poise.goals import Custom, Orient, Reach
from poise.methods import DLS, QR, SDLS, SVD, Gradient, Halley, Inverse, Method, Minimum, Pseudoinverse, Transpose
from poise.solvers import race
from poise.solvers.status import Status


def measure_one_step(
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
            left = measure_one_step(model, frames[-1], base, model.random(rng), d / np.linalg.norm(d), method)
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


def measure_nearly_straight(method: Method) -> float:
    """The longest joint motion of one step of a nearly straight arm that is pulled inwards."""
    model = poise.load("planar2")
    solver = poise.Solver(model, Reach("tip", (1.8, 0, 0)), method=method, step_limit=1e6, restarts=0)
    solver.problem.restart(np.array([0.0, 1e-6]), None)
    solver.problem.advance()
    solver.problem.advance()
    return float(np.abs(solver.problem.state()["dq"]).max())


def test_near_a_singular_pose_the_pseudo_inverse_jumps_and_the_damped_rules_are_calm() -> None:
    assert measure_nearly_straight(Pseudoinverse()) > 1e3
    assert measure_nearly_straight(QR()) > 1e3
    assert measure_nearly_straight(SVD()) < 0.1
    assert measure_nearly_straight(DLS()) < 0.1
    assert measure_nearly_straight(SDLS()) < math.pi / 4 + 1e-12


def test_damping_trades_speed_for_calm() -> None:
    model = poise.load("panda")
    goal = Reach("panda_hand_tcp", (0.4, 0.25, 0.5))
    steps = [poise.solve(model, goal, method=DLS(damping=x)).steps for x in (0.05, 0.2, 0.8)]
    assert steps[0] < steps[1] < steps[2]


# ------------------------------------------------------------------------------------------------ refusals


def test_inverse_counts_the_joints_that_may_move() -> None:
    model = poise.load("panda")
    six = [joint.name for joint in model.joints if joint.nv][:6]
    poise.Solver(model, Reach("panda_hand_tcp", np.eye(4)), method="inverse", joints=six)


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


# ------------------------------------ The gain of the Jacobian methods: the share of the error that a step is to remove


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


# ------------------------------------------------------------------------------ The methods on residuals without a body


def measure_valley(x):
    """Rosenbrock's valley as residuals; zero at (1, 1)."""
    return np.array([10.0 * (x[1] - x[0] ** 2), 1.0 - x[0]])


def find_slope(x):
    return np.array([[-20.0 * x[0], 10.0], [-1.0, 0.0]])


NEWTON_LIKE = ("inverse", "pseudoinverse", "svd", "qr", "dls", "lm", "halley")


@pytest.mark.parametrize("method", NEWTON_LIKE)
@pytest.mark.parametrize("jacobian", [find_slope, None], ids=["exact", "differences"])
def test_every_newton_like_method_finds_the_valley(method, jacobian):
    found = methods.over(measure_valley, jacobian, [-1.2, 1.0], method=method)
    assert isinstance(found, Minimum)
    assert found.reached
    assert found.x == pytest.approx([1.0, 1.0], abs=1e-6)
    assert found.cost < 1e-15
    assert found.method == method


def test_all_methods_at_once_need_no_bones():
    found = methods.over(measure_valley, find_slope, [0.5, 0.5], method="all", max_steps=2000)
    assert set(found) >= {*NEWTON_LIKE, "transpose", "gradient", "sdls"}
    assert not {"ccd", "fabrik", "two_bone"} & set(found)
    first = methods.over(measure_valley, find_slope, [0.5, 0.5], max_steps=1).cost
    assert all(one.cost < first for one in found.values())


def test_scipy_joins():
    pytest.importorskip("scipy")
    found = methods.over(measure_valley, find_slope, [-1.2, 1.0], method=methods.Scipy("trf"))
    assert found.x == pytest.approx([1.0, 1.0], abs=1e-6)


def test_bounds_hold_at_every_point():
    found = methods.over(measure_valley, find_slope, [-1.2, 1.0], upper=[0.5, np.inf], record=True)
    assert not found.reached
    assert found.path[:, 0].max() <= 0.5
    assert found.x == pytest.approx([0.5, 0.25], abs=1e-5)


def test_a_nonzero_minimum_is_reported():
    line = methods.over(lambda x: np.array([x[0] - 1.0, x[0] + 1.0]), None, [5.0])
    assert not line.reached
    assert line.status is Status.STALLED
    assert line.x == pytest.approx([0.0], abs=1e-6)


def test_halley_needs_fewer_steps_than_newton_where_f_bends():
    def f(x):
        return np.array([np.exp(x[0]) + x[1] ** 3 - 3.0, x[0] * x[1] - 0.5, x[2] ** 3 + x[0] - 9.0])

    def steps(method):
        found = methods.over(f, None, [1.5, 1.2, 3.0], method=method, tolerance=1e-11)
        assert found.reached
        return found.steps

    assert steps("halley") < steps("pseudoinverse")


@pytest.mark.parametrize("seed", range(5))
def test_halley_bends_a_custom_goal_as_it_bends_its_own(seed):
    model = poise.load("ur5e")
    rng = np.random.default_rng(seed)
    q = np.clip(rng.normal(size=6), -2, 2)
    target = model.fk(q + 0.2 * rng.normal(size=6), "tool0")[:3, 3]
    own = Reach("tool0", target, tolerance=1e-9)
    custom = Custom(
        lambda q: (model.fk(q, "tool0")[:3, 3] - target) / model.length,
        lambda q: model.jacobian(q, "tool0")[:3] / model.length,
        size=3,
        tolerance=1e-9 / model.length,
    )
    answers = [poise.solve(model, goal, q, method="halley", restarts=0) for goal in (own, custom)]
    assert answers[0].reached
    assert answers[0].steps == answers[1].steps
    assert answers[1].q == pytest.approx(answers[0].q, abs=1e-6)


def test_a_line_of_unknowns_may_be_large_and_far():
    wanted = np.linspace(-1e3, 1e3, 40)
    found = methods.over(lambda x: np.sinh((x - wanted) / 500.0), None, np.zeros(40))
    assert found.x == pytest.approx(wanted, abs=1e-4)


@pytest.mark.parametrize(
    ("arguments", "options", "error", "words"),
    [
        ((3, None, [0.0]), {}, InvalidValue, "functions"),
        ((measure_valley, None, [[0.0, 0.0]]), {}, ShapeMismatch, "x0"),
        ((measure_valley, None, [np.nan, 0.0]), {}, ShapeMismatch, "x0"),
        ((measure_valley, None, [0.0, 0.0]), {"lower": [0.0, 0.0, 0.0]}, ShapeMismatch, "lower"),
        ((measure_valley, lambda _: np.eye(2), [0.0, 0.0]), {}, InvalidValue, "differences"),
        ((measure_valley, None, [0.0, 0.0]), {"method": "ccd"}, InvalidValue, "custom"),
    ],
)
def test_misuse_is_named(arguments, options, error, words):
    with pytest.raises(error, match=words):
        methods.over(*arguments, **options)


def test_a_misspelt_option_is_named_by_the_function_that_was_called():
    with pytest.raises(TypeError, match=r"^methods.over\(\) has no argument 'metod'; did you mean 'method'\?$"):
        methods.over(measure_valley, find_slope, [0.5, 0.5], metod="lm")
    with pytest.raises(TypeError, match=r"^methods.over\(\) has no argument 'tol'; type tolerance=0.1.$"):
        methods.over(measure_valley, find_slope, [0.5, 0.5], tol=0.1)
    with pytest.raises(TypeError, match=r"^methods.over\(\) has no argument 'zzz'; it has: "):
        methods.over(measure_valley, find_slope, [0.5, 0.5], zzz=0.1)
