"""The textbook's inverses and steps, and its latent model."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from poise import textbook
from poise.errors import InvalidValue, ShapeMismatch
from poise.textbook.latent import find_latent_cost

SEEDS = st.integers(0, 2**32 - 1)
SIZES = st.tuples(st.integers(1, 6), st.integers(1, 8))


def draw_matrix(seed, rows, columns, rank=None):
    rng = np.random.default_rng([seed, 1])
    u, _ = np.linalg.qr(rng.normal(size=(rows, rows)))
    v, _ = np.linalg.qr(rng.normal(size=(columns, columns)))
    values = np.zeros((rows, columns))
    count = min(rows, columns) if rank is None else rank
    values[range(count), range(count)] = rng.uniform(0.5, 2.0, count)
    return u @ values @ v.T


@given(seed=SEEDS, rows=st.integers(1, 6), extra=st.integers(0, 5))
def test_right_pseudoinverse_is_the_shortest_solution(seed, rows, extra):
    j = draw_matrix(seed, rows, rows + extra)
    inverse = textbook.right_pseudoinverse(j)
    np.testing.assert_allclose(j @ inverse, np.eye(rows), atol=1e-12)
    np.testing.assert_allclose(inverse, np.linalg.pinv(j), atol=1e-12)


@given(seed=SEEDS, columns=st.integers(1, 6), extra=st.integers(0, 5))
def test_left_pseudoinverse_undoes_the_columns(seed, columns, extra):
    j = draw_matrix(seed, columns + extra, columns)
    inverse = textbook.left_pseudoinverse(j)
    np.testing.assert_allclose(inverse @ j, np.eye(columns), atol=1e-12)
    np.testing.assert_allclose(inverse, np.linalg.pinv(j), atol=1e-12)


@given(seed=SEEDS, size=SIZES, missing=st.integers(0, 3))
def test_truncated_svd_meets_the_four_conditions_of_penrose(seed, size, missing):
    j = draw_matrix(seed, size[0], size[1], rank=max(min(size) - missing, 0))
    inverse = textbook.truncated_svd_inverse(j)
    for left, right in (
        (j @ inverse @ j, j),
        (inverse @ j @ inverse, inverse),
        ((j @ inverse).T, j @ inverse),
        ((inverse @ j).T, inverse @ j),
    ):
        np.testing.assert_allclose(left, right, atol=1e-12)


def test_truncation_is_relative():
    j = np.diag([1e6, 1.0, 1e-3])
    np.testing.assert_allclose(textbook.truncated_svd_inverse(j, 1e-5), np.diag([1e-6, 0.0, 0.0]))
    np.testing.assert_allclose(textbook.truncated_svd_inverse(1e9 * j, 1e-5), np.diag([1e-15, 0.0, 0.0]))
    with pytest.raises(InvalidValue, match="threshold"):
        textbook.truncated_svd_inverse(j, 1.0)


@given(seed=SEEDS, size=SIZES, missing=st.integers(0, 3), damping=st.floats(1e-3, 10.0))
def test_damped_inverse_three_ways(seed, size, missing, damping):
    j = draw_matrix(seed, size[0], size[1], rank=max(min(size) - missing, 0))
    inverse = textbook.damped_inverse(j, damping)
    other_side = np.linalg.inv(j.T @ j + damping**2 * np.eye(size[1])) @ j.T
    np.testing.assert_allclose(inverse, textbook.damped_svd_inverse(j, damping), atol=1e-10)
    np.testing.assert_allclose(inverse, other_side, atol=1e-8)
    assert np.linalg.norm(inverse, 2) <= 0.5 / damping * (1 + 1e-9)


@given(seed=SEEDS, size=SIZES, damping=st.floats(0.01, 3.0))
def test_damped_step_minimises_error_and_length(seed, size, damping):
    j = draw_matrix(seed, *size)
    error = np.random.default_rng(seed).normal(size=size[0])
    step = textbook.damped_inverse(j, damping) @ error
    gradient = j.T @ (j @ step - error) + damping**2 * step
    np.testing.assert_allclose(gradient, 0.0, atol=1e-10)


@given(seed=SEEDS, size=SIZES)
def test_qr_and_lu_are_the_pseudoinverse(seed, size):
    j = draw_matrix(seed, *size)
    error = np.random.default_rng(seed).normal(size=size[0])
    expected = np.linalg.pinv(j) @ error
    np.testing.assert_allclose(textbook.solve_qr(j, error), expected, atol=1e-11)
    damped = textbook.damped_inverse(j, 0.3) @ error
    np.testing.assert_allclose(textbook.solve_lu(j, error, 0.3), damped, atol=1e-11)
    if size[0] <= size[1]:
        np.testing.assert_allclose(textbook.solve_lu(j, error), expected, atol=1e-11)


@given(seed=SEEDS, rows=st.integers(1, 4), extra=st.integers(1, 4))
def test_weighted_pseudoinverse_is_exact_and_spares_stiff_joints(seed, rows, extra):
    j = draw_matrix(seed, rows, rows + extra)
    error = np.random.default_rng(seed).normal(size=rows)
    stiffness = np.zeros(rows + extra)
    soft = textbook.weighted_pseudoinverse(j, stiffness) @ error
    np.testing.assert_allclose(soft, np.linalg.pinv(j) @ error, atol=1e-11)
    stiffness[0] = 50.0
    stiff = textbook.weighted_pseudoinverse(j, stiffness) @ error
    np.testing.assert_allclose(j @ stiff, error, atol=1e-10)
    assert abs(stiff[0]) <= abs(soft[0]) + 1e-12


def test_short_rank_is_rejected_with_a_way_out():
    flat = draw_matrix(0, 3, 3, rank=2)
    for call in (
        lambda: textbook.left_pseudoinverse(flat),
        lambda: textbook.right_pseudoinverse(flat),
        lambda: textbook.solve_qr(flat, np.ones(3)),
        lambda: textbook.solve_lu(flat, np.ones(3)),
        lambda: textbook.left_pseudoinverse(draw_matrix(0, 2, 3)),
        lambda: textbook.right_pseudoinverse(draw_matrix(0, 3, 2)),
    ):
        with pytest.raises(InvalidValue, match="rank 2"):
            call()


def test_misuse_is_reported():
    j = draw_matrix(0, 3, 4)
    for call in (lambda: textbook.damped_inverse(j, 0.0), lambda: textbook.damped_svd_inverse(j, -1.0)):
        with pytest.raises(InvalidValue, match="damping"):
            call()
    with pytest.raises(InvalidValue, match="damping"):
        textbook.solve_lu(j, np.ones(3), -0.1)
    with pytest.raises(ShapeMismatch, match="error"):
        textbook.solve_qr(j, np.ones(4))
    with pytest.raises(ShapeMismatch, match="stiffness"):
        textbook.weighted_pseudoinverse(j, np.ones(3))
    with pytest.raises(InvalidValue, match="stiffness"):
        textbook.weighted_pseudoinverse(j, -np.ones(4))
    with pytest.raises(ShapeMismatch, match="jacobian"):
        textbook.damped_inverse(np.ones(3), 0.1)


# ------ The latent model of the textbook: its gradients, its training, its reconstructions, and poses under constraints


def make_clip(frames=24, numbers=7):
    """Return poses along a loop: harmonics of one phase, each number with a size of its own."""
    phase = np.linspace(0.0, 2.0 * np.pi, frames, endpoint=False)
    rng = np.random.default_rng(0)
    waves = np.stack([np.cos(phase), np.sin(phase), np.cos(2 * phase), np.sin(2 * phase)], axis=1)
    return 0.3 + waves @ (rng.normal(size=(4, numbers)) * np.array([[0.5], [0.5], [0.1], [0.1]]))


@pytest.fixture(scope="module")
def latent():
    pytest.importorskip("scipy")
    return textbook.train_latent_model(make_clip())


def differentiate(f, z, h=1e-6):
    return np.array([(f(z + h * e) - f(z - h * e)) / (2 * h) for e in np.eye(len(z))])


@pytest.mark.parametrize("seed", range(4))
def test_gradient_of_training_is_that_of_differences(seed):
    rng = np.random.default_rng(seed)
    N, D, d = 6, 4, 2
    X, Y, scales = rng.normal(size=(N, d)), rng.normal(size=(N, D)), 0.3 * rng.normal(size=3 + D)
    _, by_x, by_scales = find_latent_cost(X, Y, scales)
    numeric = differentiate(lambda z: find_latent_cost(z.reshape(N, d), Y, scales)[0], X.ravel())
    assert by_x.ravel() == pytest.approx(numeric, rel=1e-5, abs=1e-6)
    assert by_scales == pytest.approx(differentiate(lambda s: find_latent_cost(X, Y, s)[0], scales), rel=1e-5, abs=1e-6)


@pytest.mark.parametrize("seed", range(4))
def test_gradient_of_a_pose_is_that_of_differences(seed):
    # with noise enough that the variance is no difference of nearly equal numbers: differences can be taken then
    rng = np.random.default_rng(seed)
    X, Y, mean, w = rng.normal(size=(6, 2)), rng.normal(size=(6, 4)), rng.normal(size=4), rng.uniform(0.5, 2.0, 4)
    latent = textbook.LatentModel(X, Y, mean, 1.3, 20.0, 0.8, w)
    x, y = rng.normal(size=2), mean + rng.normal(size=4)
    _, by_x, by_y = latent.find_cost(x, y)
    assert by_x == pytest.approx(differentiate(lambda z: latent.find_cost(z, y)[0], x), rel=1e-5, abs=1e-6)
    assert by_y == pytest.approx(differentiate(lambda z: latent.find_cost(x, z)[0], y), rel=1e-5, abs=1e-6)


@pytest.mark.slow
def test_training_makes_the_cost_fall_step_by_step(latent):
    assert len(latent.costs) > 5
    assert (np.diff(latent.costs) <= 1e-9 * np.abs(latent.costs[0])).all()
    assert latent.costs[-1] < latent.costs[0] - 10.0


@pytest.mark.slow
def test_a_line_through_the_latent_places_reproduces_the_clip(latent):
    Y = make_clip()
    for i in range(len(Y)):
        assert latent.predict(latent.X[i])[0] == pytest.approx(Y[i], abs=0.05)
    between = [latent.predict((latent.X[i] + latent.X[i + 1]) / 2)[0] for i in range(len(Y) - 1)]
    halves = make_clip(2 * len(Y))[1:-1:2]
    assert np.abs(np.array(between) - halves).max() < 0.1
    sure, unsure = latent.predict(latent.X[3])[1], latent.predict(latent.X[3] + 50.0)[1]
    assert sure < 0.1 * unsure
    assert unsure == pytest.approx(latent.alpha + 1.0 / latent.beta)


@pytest.mark.slow
def test_poses_hold_their_constraints_and_look_like_the_clip(latent):
    truth = make_clip(2 * 24)[1::8]
    asked = np.eye(latent.Y.shape[1])[:3]
    for pose in truth:
        y, x = latent.solve(lambda y: asked @ (y - pose), lambda _: asked)  # noqa: B023
        assert asked @ y == pytest.approx(asked @ pose, abs=1e-8)
        assert np.abs(y - pose).max() < 0.1
        assert x.shape == (2,)
