"""The latent model of the textbook: its gradients, its training, its reconstructions, and poses under constraints."""

from __future__ import annotations

import numpy as np
import pytest

from poise import textbook
from poise.textbook.latent import find_latent_cost


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
