"""Rotations and twists of the textbook: laws, over the whole range of angles, with full-size translations."""

import numpy as np
import pytest

from bodies import EULER_ORDERS, random_axis, random_transform
from poise import textbook

ANGLES = (0.0, 1e-12, 1e-9, 1e-6, 9e-6, 2e-5, 1e-3, 0.0099, 0.0101, 0.5, 2.0, 3.0, np.pi - 1e-9, np.pi)
SERIES_TERMS = 60


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(7)


def sum_exponential(matrix):
    """exp of a matrix by its power series: slow, and right for the small norms of these tests."""
    term = total = np.eye(len(matrix))
    for k in range(1, SERIES_TERMS):
        term = term @ matrix / k
        total = total + term
    return total


def compare_up_to_sign(back, vector):
    """At pi both signs are the same rotation, and rounding picks one."""
    return -back if np.linalg.norm(vector) > 3.1415926535 and back @ vector < 0 else back


def test_skew_is_the_cross_product(rng):
    p, u = rng.normal(size=(2, 3))
    np.testing.assert_allclose(textbook.skew(p) @ u, np.cross(p, u), atol=1e-15)
    np.testing.assert_array_equal(textbook.unskew(textbook.skew(p)), p)


@pytest.mark.parametrize("angle", ANGLES)
def test_axis_rotation_is_the_exponential_of_the_wedge(rng, angle):
    axis = np.array(random_axis(rng))
    expected = sum_exponential(textbook.skew(axis) * angle)
    np.testing.assert_allclose(textbook.axis_rotation(axis, angle), expected, atol=1e-14)


@pytest.mark.parametrize("angle", ANGLES)
def test_rotation_vector_comes_back(rng, angle):
    for _ in range(20):
        vector = angle * np.array(random_axis(rng))
        back = textbook.rotation_vector(textbook.axis_rotation(vector / (angle or 1.0), angle))
        atol = 2e-15 if angle < 1e-3 else 1e-8
        np.testing.assert_allclose(compare_up_to_sign(back, vector), vector, rtol=0, atol=atol)


@pytest.mark.parametrize("angle", ANGLES)
def test_quaternion_routes_agree(rng, angle):
    vector = angle * np.array(random_axis(rng))
    wxyz = textbook.quaternion_exponential(vector)
    rotation = textbook.axis_rotation(vector / (angle or 1.0), angle)
    np.testing.assert_allclose(textbook.quaternion_rotation(wxyz), rotation, atol=1e-14)
    for same in (wxyz, -wxyz):
        np.testing.assert_allclose(compare_up_to_sign(textbook.quaternion_vector(same), vector), vector, atol=1e-14)


def test_quaternion_product_composes(rng):
    a, b = rng.normal(size=(2, 4))
    together = textbook.quaternion_rotation(textbook.quaternion_product(a, b))
    one_by_one = textbook.quaternion_rotation(a) @ textbook.quaternion_rotation(b)
    np.testing.assert_allclose(together, one_by_one, atol=1e-14)


@pytest.mark.parametrize("order", EULER_ORDERS)
def test_euler_axes_are_the_derivative_of_the_rotation(rng, order):
    angles, eps = rng.uniform(-3, 3, 3), 1e-6
    rotation, axes = textbook.euler_rotation(order, angles), textbook.euler_axes(order, angles)
    for i in range(3):
        ahead, behind = (textbook.euler_rotation(order, angles + s * eps * np.eye(3)[i]) for s in (1, -1))
        rate = textbook.unskew((ahead - behind) / (2 * eps) @ rotation.T)
        np.testing.assert_allclose(axes[:, i], rate, atol=1e-9)


def test_rotation_error_is_what_is_still_to_turn(rng):
    current, desired = (random_transform(rng)[:3, :3] for _ in range(2))
    error = textbook.rotation_error(desired, current)
    angle = np.linalg.norm(error)
    np.testing.assert_allclose(textbook.axis_rotation(error / angle, angle) @ current, desired, atol=1e-13)


@pytest.mark.parametrize("angle", ANGLES)
def test_twist_exponential_is_the_exponential_of_the_matrix(rng, angle):
    for _ in range(10):
        twist = np.concatenate([rng.normal(size=3), angle * np.array(random_axis(rng))])
        expected = sum_exponential(textbook.twist_matrix(twist))
        np.testing.assert_allclose(textbook.twist_exponential(twist), expected, atol=1e-14)


def test_twist_exponential_scales_by_amount(rng):
    twist = rng.normal(size=6)
    np.testing.assert_allclose(
        textbook.twist_exponential(twist, 0.3), textbook.twist_exponential(0.3 * twist), atol=1e-15
    )


def test_adjoint_is_a_homomorphism_and_moves_twists(rng):
    a, b = random_transform(rng), random_transform(rng)
    twist = rng.normal(size=6)
    np.testing.assert_allclose(textbook.adjoint(a @ b), textbook.adjoint(a) @ textbook.adjoint(b), atol=1e-14)
    np.testing.assert_allclose(textbook.adjoint(textbook.inverse(a)), np.linalg.inv(textbook.adjoint(a)), atol=1e-13)
    moved = textbook.twist_matrix(textbook.adjoint(a) @ twist)
    np.testing.assert_allclose(moved, a @ textbook.twist_matrix(twist) @ np.linalg.inv(a), atol=1e-13)


def test_adjoint_derivative_against_differences(rng):
    transform, twist, eps = random_transform(rng), rng.normal(size=6), 1e-6
    ahead, behind = (textbook.adjoint(textbook.twist_exponential(twist, s * eps) @ transform) for s in (1, -1))
    expected = (ahead - behind) / (2 * eps)
    np.testing.assert_allclose(textbook.adjoint_derivative(transform, twist), expected, atol=1e-9)


def test_inverse_undoes(rng):
    transform = random_transform(rng)
    np.testing.assert_allclose(textbook.inverse(transform) @ transform, np.eye(4), atol=1e-15)
