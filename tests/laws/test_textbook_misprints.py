"""What the five texts print wrongly, and what Poise has instead: the printed form fails, ours holds."""

import numpy as np
import pytest

import poise
from poise import textbook
from poise.errors import InvalidValue


@pytest.fixture
def redundant():
    """A 3 x 5 matrix of full row rank, and an error."""
    rng = np.random.default_rng(1)
    return rng.normal(size=(3, 5)), rng.normal(size=3)


def build_shoulder():
    """The UCSD ball joint: turns about x first, then y, then z; with an arm."""
    builder = poise.ModelBuilder(name="shoulder")
    builder.add_joint("shoulder", None, "euler", order="ZYX")
    builder.add_frame("hand", "shoulder", (0.3, 0.5, -0.2))
    return builder.build()


def test_left_and_right_pseudoinverse_are_not_equal(redundant):
    """Trap 1. Parent eq. 13 sets them equal; UCSD lists J*J = I next to JJ* = I."""
    j, _ = redundant
    right = textbook.right_pseudoinverse(j)
    np.testing.assert_allclose(j @ right, np.eye(3), atol=1e-12)
    assert np.abs(right @ j - np.eye(5)).max() > 0.1
    with pytest.raises(InvalidValue, match="column rank 5"):
        textbook.left_pseudoinverse(j)
    left = textbook.left_pseudoinverse(j.T)
    np.testing.assert_allclose(left @ j.T, np.eye(3), atol=1e-12)
    square = j[:, :3]
    np.testing.assert_allclose(textbook.left_pseudoinverse(square), textbook.right_pseudoinverse(square), atol=1e-9)


def test_damped_least_squares_has_sizes_that_match(redundant):
    """Trap 2. DLUT: J^T (J^T J + lambda^2 I)^-1 E multiplies 5 x 3 by 5 x 5."""
    j, error = redundant
    printed = np.linalg.inv(j.T @ j + 0.01 * np.eye(5))
    with pytest.raises(ValueError, match="mismatch"):
        j.T @ printed @ error
    np.testing.assert_allclose(textbook.damped_inverse(j, 0.1) @ error, printed @ j.T @ error, atol=1e-10)


def test_damping_is_lambda_squared(redundant):
    """Trap 3. Rabbani adds lambda I, CIMAT and DLUT lambda^2 I; Poise's damping is the latter's lambda."""
    j, _ = redundant
    rabbani = 0.04
    printed = j.T @ np.linalg.inv(j @ j.T + rabbani * np.eye(3))
    np.testing.assert_allclose(textbook.damped_inverse(j, np.sqrt(rabbani)), printed, atol=1e-12)
    assert np.abs(textbook.damped_inverse(j, rabbani) - printed).max() > 1e-4


def test_control_term_needs_the_gradient(redundant):
    """Trap 4. CIMAT's z is the cost itself; Parent's eq. 20 keeps a sum; two signs are about."""
    j, error = redundant
    desired = np.zeros(5)
    theta = np.array([0.5, -0.5, 0.4, -0.4, 0.3])
    gradient = textbook.posture_gradient(theta, desired, np.full(5, 0.1))
    assert gradient.shape == (5,)
    np.testing.assert_allclose(gradient, 0.2 * theta)
    # downhill on both sides of the wish; the printed cost has one sign for both
    assert (np.sign(gradient) == np.sign(theta)).all()
    assert (0.1 * (theta - desired) ** 2 > 0).all()
    # (J+J - I) with the gradient and (I - J+J) with the wanted motion are the same step
    parent = textbook.right_pseudoinverse(j) @ error + textbook.control_term(j, gradient)
    np.testing.assert_allclose(textbook.controlled_step(j, error, -gradient), parent, atol=1e-12)
    walked = theta.copy()
    for _ in range(200):
        walked += textbook.control_term(j, textbook.posture_gradient(walked, desired, 0.1))
    assert textbook.posture_cost(walked, desired) < textbook.posture_cost(theta, desired)
    np.testing.assert_allclose(textbook.null_space_projector(j) @ walked, 0.0, atol=1e-9)


def test_stiffness_is_a_norm_and_not_a_column_scale(redundant):
    """Trap 5. UCSD's larger column is stiffer under a pseudo-inverse (which misses), softer under J^T."""
    j, error = redundant
    scaled = j * np.array([4.0, 1, 1, 1, 1])
    plain, printed = textbook.right_pseudoinverse(j) @ error, textbook.right_pseudoinverse(scaled) @ error
    assert abs(printed[0]) < abs(plain[0])
    assert np.linalg.norm(j @ printed - error) > 0.01
    assert abs((scaled.T @ error)[0]) > abs((j.T @ error)[0])
    ours = textbook.weighted_pseudoinverse(j, [15.0, 0, 0, 0, 0]) @ error
    assert abs(ours[0]) < abs(plain[0])
    np.testing.assert_allclose(j @ ours, error, atol=1e-12)


def test_ball_joint_matrix_and_axes():
    """Trap 6. UCSD prints Rz Ry Rz for the local matrix; it is Rz Ry Rx."""
    x, y, z = np.eye(3)
    angles = np.array([0.4, -0.7, 1.1])
    rz, ry, rx = (textbook.axis_rotation(a, t) for a, t in zip((z, y, x), angles, strict=True))
    model = build_shoulder()
    np.testing.assert_allclose(model.fk(angles, "shoulder")[:3, :3], rz @ ry @ rx, atol=1e-15)
    assert np.abs(rz @ ry @ rz - rz @ ry @ rx).max() > 0.1
    axes = textbook.euler_axes("ZYX", angles)
    np.testing.assert_allclose(axes, np.stack([z, rz @ y, rz @ ry @ x], axis=1), atol=1e-15)
    np.testing.assert_allclose(model.jacobian(angles, "hand")[3:], axes, atol=1e-15)


def test_order_zyx_is_z_then_y_then_x():
    """Trap 6, second half. Rabbani eq. 25 names the order zyx and writes z, x, y."""
    x, y, z = np.eye(3)
    rz, ry, rx = (textbook.axis_rotation(a, t) for a, t in zip((z, y, x), (0.4, -0.7, 1.1), strict=True))
    ours = textbook.euler_rotation("ZYX", (0.4, -0.7, 1.1))
    np.testing.assert_allclose(ours, rz @ ry @ rx, atol=1e-15)
    assert np.abs(rz @ rx @ ry - ours).max() > 0.1


def test_best_axis_in_line_is_not_a_number_as_printed():
    """Trap 7. UCSD's axis of a quaternion joint is 0/0 when pivot, effector and goal are in line."""
    pivot, effector, goal = np.zeros(3), np.array([1.0, 0, 0]), np.array([2.0, 0, 0])
    with np.errstate(invalid="ignore"):
        normal = np.cross(effector - pivot, goal - pivot)
        assert np.isnan(normal / np.linalg.norm(normal)).all()
    axis, column = textbook.best_axis_column(pivot, effector, goal)
    assert np.isfinite(axis).all()
    assert np.linalg.norm(column) == pytest.approx(1.0)


def test_world_jacobian_uses_the_rotation_alone():
    """Rabbani eq. 13 and 29 with the whole adjoint give velocities at the world origin, not procedure 1's."""
    model, q = build_shoulder(), np.array([0.4, -0.7, 1.1])
    body, transform = textbook.adjusted_jacobian(model, q, "hand"), model.fk(q, "hand")
    simple = textbook.simple_jacobian(model, q, "hand")
    np.testing.assert_allclose(textbook.world_jacobian(body, transform)[:3], simple, atol=1e-15)
    assert np.abs(textbook.spatial_jacobian(body, transform)[:3] - simple).max() > 0.1


def test_adjoint_derivative_needs_the_spatial_velocity():
    """Rabbani eq. 14: v is that of T_dot T^-1; the velocity of the origin, p_dot, is another vector."""
    rng = np.random.default_rng(3)
    twist, eps = rng.normal(size=6), 1e-6
    transform = textbook.rigid(textbook.axis_rotation((0, 0, 1), 0.3), (1.0, 2.0, 3.0))
    ahead, behind = (textbook.twist_exponential(twist, s * eps) @ transform for s in (1, -1))
    expected = (textbook.adjoint(ahead) - textbook.adjoint(behind)) / (2 * eps)
    np.testing.assert_allclose(textbook.adjoint_derivative(transform, twist), expected, atol=1e-8)
    origin = np.concatenate([(ahead - behind)[:3, 3] / (2 * eps), twist[3:]])
    assert np.abs(textbook.adjoint_derivative(transform, origin) - expected).max() > 0.1


def test_step_limit_looks_at_size():
    """DLUT's max(step) > 2 degrees lets a step of minus 90 degrees through."""
    step, two = np.array([0.01, -np.pi / 2]), np.deg2rad(2)
    assert step.max() < two
    assert np.abs(textbook.limited_step(step, two)).max() == pytest.approx(two)


def test_qr_of_a_wide_matrix_goes_through_its_transpose(redundant):
    """Rabbani figure 8 solves R x = Q^T e, where R of a redundant body's J is not square."""
    j, error = redundant
    _, r = np.linalg.qr(j)
    assert r.shape == (3, 5)
    np.testing.assert_allclose(textbook.solve_qr(j, error), np.linalg.pinv(j) @ error, atol=1e-12)
