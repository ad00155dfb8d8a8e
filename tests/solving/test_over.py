"""The methods on residuals without a body."""

from __future__ import annotations

import numpy as np
import pytest

import poise
from poise import methods
from poise.errors import InvalidValue, ShapeMismatch
from poise.goals import Custom, Reach
from poise.methods import Minimum
from poise.solvers.status import Status


def valley(x):
    """Rosenbrock's valley as residuals; zero at (1, 1)."""
    return np.array([10.0 * (x[1] - x[0] ** 2), 1.0 - x[0]])


def slope(x):
    return np.array([[-20.0 * x[0], 10.0], [-1.0, 0.0]])


NEWTON_LIKE = ("inverse", "pseudoinverse", "svd", "qr", "dls", "lm", "halley")


@pytest.mark.parametrize("method", NEWTON_LIKE)
@pytest.mark.parametrize("jacobian", [slope, None], ids=["exact", "differences"])
def test_every_newton_like_method_finds_the_valley(method, jacobian):
    found = methods.over(valley, jacobian, [-1.2, 1.0], method=method)
    assert isinstance(found, Minimum)
    assert found.reached
    assert found.x == pytest.approx([1.0, 1.0], abs=1e-6)
    assert found.cost < 1e-15
    assert found.method == method


def test_all_methods_at_once_need_no_bones():
    found = methods.over(valley, slope, [0.5, 0.5], method="all", max_steps=20000)
    assert set(found) >= {*NEWTON_LIKE, "transpose", "gradient", "sdls"}
    assert not {"ccd", "fabrik", "two_bone"} & set(found)
    assert all(one.cost < methods.over(valley, slope, [0.5, 0.5], max_steps=1).cost for one in found.values())


def test_scipy_joins():
    pytest.importorskip("scipy")
    found = methods.over(valley, slope, [-1.2, 1.0], method=methods.Scipy("trf"))
    assert found.x == pytest.approx([1.0, 1.0], abs=1e-6)


def test_bounds_hold_at_every_point():
    found = methods.over(valley, slope, [-1.2, 1.0], upper=[0.5, np.inf], record=True)
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
        ((valley, None, [[0.0, 0.0]]), {}, ShapeMismatch, "x0"),
        ((valley, None, [np.nan, 0.0]), {}, ShapeMismatch, "x0"),
        ((valley, None, [0.0, 0.0]), {"lower": [0.0, 0.0, 0.0]}, ShapeMismatch, "lower"),
        ((valley, lambda _: np.eye(2), [0.0, 0.0]), {}, InvalidValue, "differences"),
        ((valley, None, [0.0, 0.0]), {"method": "ccd"}, InvalidValue, "custom"),
    ],
)
def test_misuse_is_named(arguments, options, error, words):
    with pytest.raises(error, match=words):
        methods.over(*arguments, **options)


def test_a_misspelt_option_is_named_by_the_function_that_was_called():
    with pytest.raises(TypeError, match=r"^methods.over\(\) has no argument 'metod'; did you mean 'method'\?$"):
        methods.over(valley, slope, [0.5, 0.5], metod="lm")
    with pytest.raises(TypeError, match=r"^methods.over\(\) has no argument 'tol'; type tolerance=0.1.$"):
        methods.over(valley, slope, [0.5, 0.5], tol=0.1)
    with pytest.raises(TypeError, match=r"^methods.over\(\) has no argument 'zzz'; it has: "):
        methods.over(valley, slope, [0.5, 0.5], zzz=0.1)
