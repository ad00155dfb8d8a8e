"""Laws that every goal keeps: its rows are the written formula, and its Jacobian is their derivative.

A goal gets these tests by being listed in ``goal_cases.py``.
"""

import numpy as np
import pytest

import poise
from goal_bodies import random_body
from goal_cases import CASES, SORTED, TURNED, Rows
from poise.arrays import Floats
from poise.goals import Align, Angle, Balance, Ball, Custom, Distance, Goal, Inside, LookAt, Orient
from poise.solvers import Solver
from tiers import mostly_slow

SEEDS = mostly_slow(range(6), 2)
STEP = 1e-6


def read_kernel_rows(model: poise.Model, goal: Goal, q: Floats) -> tuple[Floats, Floats]:
    """Jacobian over all velocities, and rows."""
    J, r, velocities = Solver(model, goal).problem.rows_jacobian(q)
    whole = np.zeros((len(r), model.nv))
    whole[:, velocities] = J
    return whole, r


def find_slopes(model: poise.Model, rows: Rows, q: Floats) -> Floats:
    """The derivative of rows along every velocity, by central differences."""
    moves = STEP * np.eye(model.nv)
    ends = [(rows(model.integrate(q, move)), rows(model.integrate(q, -move))) for move in moves]
    return np.array([(ahead - behind) / (2 * STEP) for ahead, behind in ends]).T


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("name", CASES)
def test_the_residual_is_the_written_formula(name: str, seed: int) -> None:
    body, q = random_body(seed, at_pose=False)
    goal, rows = CASES[name](body)
    _, r = read_kernel_rows(body.model, goal, q)
    wanted = rows(q)
    if name in TURNED:
        assert np.linalg.norm(r) == pytest.approx(np.linalg.norm(wanted), abs=1e-12)
    else:
        np.testing.assert_allclose(np.sort(r) if name in SORTED else r, wanted, atol=1e-11)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("name", CASES)
def test_the_jacobian_gives_the_gradient_of_the_cost(name: str, seed: int) -> None:
    """J^T r is the fall of |r|^2 / 2, by differences of the formula."""
    body, q = random_body(seed, at_pose=False)
    goal, rows = CASES[name](body)
    J, r = read_kernel_rows(body.model, goal, q)
    fall = -find_slopes(body.model, lambda at: np.array([0.5 * float(rows(at) @ rows(at))]), q)[0]
    np.testing.assert_allclose(J.T @ r, fall, atol=1e-6 * (1.0 + np.abs(fall).max()))


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("name", CASES)
def test_where_the_goal_is_served_the_residual_is_zero(name: str, seed: int) -> None:
    body, q = random_body(seed, at_pose=True)
    goal, rows = CASES[name](body)
    _, r = read_kernel_rows(body.model, goal, q)
    assert np.abs(rows(q)).max() < 1e-9
    assert np.abs(r).max() < 1e-7  # a turn between two unit vectors is known to about 1e-8


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("name", [name for name in CASES if "range" not in name and "inside" not in name])
def test_where_the_goal_is_served_the_jacobian_is_exact(name: str, seed: int) -> None:
    if name in SORTED or name == "orient_within":
        pytest.skip("inside its range a goal has no slope")
    body, q = random_body(seed, at_pose=True)
    goal, rows = CASES[name](body)
    J, _ = read_kernel_rows(body.model, goal, q)
    wanted = -find_slopes(body.model, rows, q)
    if name in TURNED:  # rows along other axes have the same products
        J, wanted = J.T @ J, wanted.T @ wanted
    np.testing.assert_allclose(J, wanted, atol=2e-5 * (1.0 + np.abs(wanted).max()))


@pytest.mark.parametrize("name", CASES)
def test_errors_are_in_metres_and_radians(name: str) -> None:
    """What a solution says is left, is what the formula leaves: lengths times L, the heaviest weight made 1 again."""
    body, q = random_body(3, at_pose=False)
    goal, rows = CASES[name](body)
    if isinstance(goal, Custom) or name in SORTED or "relative_range" in name:
        pytest.skip("in units of its own")
    solution = Solver(body.model, goal, max_steps=1, restarts=0).solve(q)
    metres, radians = next(iter(solution.errors.values()))
    left = rows(solution.q)
    split = {1: 1, 3: 3, 6: 3}[len(left)] if goal.rows(body.model).weight[:3].any() else 0
    assert metres == pytest.approx(np.linalg.norm(left[:split]) * body.model.length, abs=1e-9)
    assert radians == pytest.approx(np.linalg.norm(left[split:]), abs=1e-9)


@pytest.mark.parametrize("name", CASES)
def test_a_weight_scales_the_rows(name: str) -> None:
    """Next to a heavier goal, the rows of a light one are in proportion."""
    body, q = random_body(2, at_pose=False)
    goal, _ = CASES[name](body)
    if np.ndim(goal.weight):
        pytest.skip("it has weights of its own")
    heavy = poise.goals.Reach(body.b, (0, 0, 0), weight=4.0, name="heavy")
    alone, together = Solver(body.model, goal), Solver(body.model, [heavy, goal])
    ratio = together.problem.rows_jacobian(q)[1][3:], alone.problem.rows_jacobian(q)[1]
    np.testing.assert_allclose(ratio[0], ratio[1] / 4.0, atol=1e-14)


@pytest.mark.parametrize(
    "goal",
    [
        Align("body", "y", "-y"),
        LookAt("body", (0, 0, -1)),
        Distance("body", (0, 0, 0), 0.5),
        Angle("body", "y", None, "y", 0.5),
        Angle("body", "y", None, "-y", 0.5),
        Orient("body", np.diag([1.0, -1.0, -1.0])),
        Orient("body", np.diag([1.0, -1.0, -1.0]), within=0.1),
        Balance(("base", (2.0, 0.0, 0.0))),
        Balance([("base", (1.0, 1.0, 0.0)), ("base", (2.0, 1.0, 0.0))]),
        Inside("body", Ball((0, 0, 0), 0.0)),
    ],
    ids=str,
)
def test_a_start_without_a_direction_is_left(goal: Goal) -> None:
    """Opposite axes, coincident points, a hull without an area: rows are finite there, and the goal is served."""
    builder = poise.ModelBuilder("box").add_frame("base", None)
    builder.add_joint("body", None, "free", mass=1.0)
    model = builder.build()
    J, r = read_kernel_rows(model, goal, np.array(model.rest))
    assert np.isfinite(J).all()
    assert np.isfinite(r).all()
    solution = poise.solve(model, goal)
    assert solution.reached, solution
    assert solution.searches == 1


def test_a_target_at_the_eye_is_not_a_direction() -> None:
    model = poise.ModelBuilder("eye").add_joint("eye", None, "ball").build()
    J, r = read_kernel_rows(model, LookAt("eye", (0, 0, 0)), np.array(model.rest))
    assert np.isfinite(J).all()
    assert np.isfinite(r).all()
    assert np.isfinite(poise.solve(model, LookAt("eye", (0, 0, 0))).q).all()
