"""The textbook's null space, posture terms, steps and loops."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import poise
from bodies import random_model
from poise import textbook
from poise.errors import InvalidValue, ShapeMismatch

SEEDS = st.integers(0, 2**32 - 1)


def draw_wide(rng, rows=3, columns=7):
    return rng.normal(size=(rows, columns))


@given(seed=SEEDS)
def test_projector_is_a_projector_that_the_effector_does_not_feel(seed):
    j = draw_wide(np.random.default_rng(seed))
    projector = textbook.null_space_projector(j)
    np.testing.assert_allclose(j @ projector, 0.0, atol=1e-11)
    np.testing.assert_allclose(projector @ projector, projector, atol=1e-11)
    np.testing.assert_allclose(projector, projector.T, atol=1e-11)
    assert np.trace(projector) == pytest.approx(4.0)


@given(seed=SEEDS, power=st.sampled_from([2, 4, 6]))
def test_posture_gradient_is_the_gradient_of_the_cost(seed, power):
    rng = np.random.default_rng(seed)
    theta, desired, gains, eps = rng.normal(size=5), rng.normal(size=5), rng.uniform(0, 2, 5), 1e-6
    gradient = textbook.posture_gradient(theta, desired, gains, power)
    numeric = [
        (
            textbook.posture_cost(theta + eps * e, desired, gains, power)
            - textbook.posture_cost(theta - eps * e, desired, gains, power)
        )
        / (2 * eps)
        for e in np.eye(5)
    ]
    np.testing.assert_allclose(gradient, numeric, rtol=1e-5, atol=1e-5)


@given(seed=SEEDS)
def test_control_term_goes_downhill_without_moving_the_effector(seed):
    rng = np.random.default_rng(seed)
    j, theta, desired = draw_wide(rng), rng.normal(size=7), rng.normal(size=7)
    gradient = textbook.posture_gradient(theta, desired)
    term = textbook.control_term(j, gradient)
    np.testing.assert_allclose(j @ term, 0.0, atol=1e-10)
    assert term @ gradient < 0.0
    assert textbook.posture_cost(theta + 1e-4 * term, desired) < textbook.posture_cost(theta, desired)


@given(seed=SEEDS)
def test_controlled_step_serves_the_effector_and_equals_elimination(seed):
    rng = np.random.default_rng(seed)
    j, error, gradient = draw_wide(rng), rng.normal(size=3), rng.normal(size=7)
    step = textbook.controlled_step(j, error, -gradient)
    np.testing.assert_allclose(j @ step, error, atol=1e-9)
    eliminated = textbook.controlled_step_by_elimination(j, error, gradient)
    np.testing.assert_allclose(eliminated, step, rtol=1e-7, atol=1e-7)
    plain = textbook.right_pseudoinverse(j) @ error
    np.testing.assert_allclose(step, plain + textbook.control_term(j, gradient), atol=1e-9)


def test_mid_range():
    np.testing.assert_allclose(textbook.mid_range([-1.0, 0.0], [3.0, 1.0]), [1.0, 0.5])
    with pytest.raises(InvalidValue, match="without limits"):
        textbook.mid_range([-np.inf, 0.0], [1.0, 1.0])


def test_misuse_is_reported():
    with pytest.raises(InvalidValue, match="even"):
        textbook.posture_gradient([1.0], [0.0], power=3)
    with pytest.raises(ShapeMismatch, match="gradient"):
        textbook.control_term(draw_wide(np.random.default_rng(0)), np.ones(3))
    with pytest.raises(ShapeMismatch, match="variation"):
        textbook.controlled_step(draw_wide(np.random.default_rng(0)), np.ones(3), np.ones(3))
    with pytest.raises(InvalidValue, match="threshold"):
        textbook.limited_step([1.0], 0.0)


def test_gradient_descent_finds_a_root_and_rejects_a_flat_place():
    root = textbook.gradient_descent_1d(lambda x: x**3, lambda x: 3 * x * x, 8.0, 1.0)
    assert root == pytest.approx(2.0)
    slow = textbook.gradient_descent_1d(np.sin, np.cos, 0.5, 0.0, beta=0.3)
    assert slow == pytest.approx(np.pi / 6)
    with pytest.raises(InvalidValue, match="slope is zero"):
        textbook.gradient_descent_1d(np.cos, lambda x: -np.sin(x), 0.0, 0.0)


@given(seed=SEEDS)
def test_transpose_step_has_the_best_length(seed):
    rng = np.random.default_rng(seed)
    j, error = draw_wide(rng), rng.normal(size=3)
    step = textbook.transpose_step(j, error)
    left = np.linalg.norm(error - j @ step)
    assert left < np.linalg.norm(error)
    for other in (0.9, 1.1):
        assert left <= np.linalg.norm(error - other * j @ step)


def test_transpose_step_of_a_dead_direction_is_zero():
    assert not textbook.transpose_step([[1.0, 1.0], [0.0, 0.0]], [0.0, 1.0]).any()


def test_limited_step_keeps_the_direction():
    np.testing.assert_allclose(textbook.limited_step([0.2, -0.4], 0.1), [0.05, -0.1])
    np.testing.assert_array_equal(textbook.limited_step([0.02, -0.04], 0.1), [0.02, -0.04])


@given(seed=SEEDS)
def test_frozen_step_stays_inside(seed):
    rng = np.random.default_rng(seed)
    j, theta = draw_wide(rng), rng.uniform(-0.5, 0.5, 7)
    lower, upper = -np.ones(7) * 0.6, np.ones(7) * 0.6
    step = textbook.frozen_step(j, rng.normal(size=3), theta, lower, upper)
    assert (theta + step >= lower).all()
    assert (theta + step <= upper).all()


def test_frozen_joint_does_not_move_and_others_take_over():
    j = np.array([[1.0, 1.0]])
    step = textbook.frozen_step(j, [1.0], [0.0, 0.0], [-2.0, -2.0], [0.1, 2.0])
    np.testing.assert_allclose(step, [0.0, 1.0], atol=1e-15)
    assert step[0] == 0.0


@given(seed=SEEDS)
def test_best_axis_turns_straight_towards_the_goal(seed):
    pivot, effector, goal = np.random.default_rng(seed).normal(size=(3, 3))
    axis, column = textbook.best_axis_column(pivot, effector, goal)
    assert np.linalg.norm(axis) == pytest.approx(1.0)
    arm = effector - pivot
    wish = (goal - effector) - (goal - effector) @ arm / (arm @ arm) * arm
    # the column has the arm's length, and points where the error does once its part along the arm is gone
    assert np.linalg.norm(column) == pytest.approx(np.linalg.norm(arm))
    np.testing.assert_allclose(column / np.linalg.norm(column), wish / np.linalg.norm(wish), atol=1e-6)


@given(seed=SEEDS, place=st.sampled_from([-2.0, -1.0, 0.0, 0.5, 1.0, 3.0]))
def test_best_axis_in_line_is_finite_and_perpendicular(seed, place):
    pivot, arm = np.random.default_rng(seed).normal(size=(2, 3))
    axis, column = textbook.best_axis_column(pivot, pivot + arm, pivot + place * arm)
    assert np.linalg.norm(axis) == pytest.approx(1.0)
    assert axis @ arm == pytest.approx(0.0, abs=1e-12)
    assert np.linalg.norm(column) == pytest.approx(np.linalg.norm(arm))


def test_best_axis_with_no_arm_has_no_column():
    axis, column = textbook.best_axis_column((1, 2, 3), (1, 2, 3), (4, 5, 6))
    assert np.linalg.norm(axis) == 1.0
    assert not column.any()


@given(seed=SEEDS)
def test_ccd_angle_brings_the_effector_nearest(seed):
    rng = np.random.default_rng(seed)
    pivot, effector, goal, axis = rng.normal(size=(4, 3))
    axis /= np.linalg.norm(axis)

    def distance(angle):
        return np.linalg.norm(pivot + textbook.axis_rotation(axis, angle) @ (effector - pivot) - goal)

    best = textbook.ccd_angle(axis, pivot, effector, goal)
    assert all(distance(best) <= distance(best + turn) + 1e-12 for turn in (-1.0, -1e-3, 1e-3, 1.0, np.pi))


@pytest.mark.parametrize("step", [None, textbook.transpose_step, textbook.solve_lu])
def test_basic_ik_reaches(step):
    model = random_model(2, joints=6, kinds=("revolute", "ball", "euler"), mimic=False)
    rng = np.random.default_rng(0)
    goal = model.fk(model.integrate(model.rest, 0.3 * rng.normal(size=model.nv)), "j5")[:3, 3]
    trace = textbook.basic_ik(model, model.rest, "j5", goal, step=step, max_steps=500)
    assert trace.errors[-1] <= 1e-6
    np.testing.assert_allclose(model.fk(trace.q, "j5")[:3, 3], goal, atol=2e-6)


def test_basic_ik_reports_it_when_it_does_not():
    builder = poise.ModelBuilder(name="short")
    builder.add_joint("a", None, "revolute")
    builder.add_frame("tip", "a", (1, 0, 0))
    trace = textbook.basic_ik(builder.build(), [0.3], "tip", (5, 0, 0), max_steps=20)
    assert len(trace.errors) == 21
    assert trace.errors[-1] > 3.9
