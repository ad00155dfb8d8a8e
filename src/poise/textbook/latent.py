"""The scaled Gaussian process latent variable model, as printed.

Grochow, Martin, Hertzmann and Popovic, *Style-based inverse kinematics*, SIGGRAPH 2004. Poses y (D numbers, minus their
mean) are a smooth function of a few latent numbers x, each number of y with its own scale w_k:

    k(x, x') = alpha exp(-gamma |x - x'|^2 / 2) + [x = x'] / beta                                        (section 3)
    f(x) = mean + Y^T K^-1 k(x),    sigma^2(x) = k(x, x) - k(x)^T K^-1 k(x)                              (prediction)
    L_GP = D/2 ln|K| + 1/2 sum_k w_k^2 Y_k^T K^-1 Y_k + 1/2 sum_i |x_i|^2 + ln(alpha beta gamma / prod_k w_k^N)
    L_IK(x, y) = |W (y - f(x))|^2 / (2 sigma^2(x)) + D/2 ln sigma^2(x) + |x|^2 / 2

Training minimises L_GP over x_i, alpha, beta, gamma and w; a pose is the y (with its x) that minimises L_IK under the
constraints. Training takes O(N^3) per step and finds a local minimum; a few dozen poses are enough to see how it works.
The logarithms of the scales are optimised, so that the scales stay positive.
"""

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from poise.arrays import Floats
from poise.errors import INDEX_NAME, InvalidValue, MissingExtra
from poise.textbook.arguments import read_array

__all__ = ["LatentModel", "find_latent_cost", "train_latent_model"]


def make_kernel(X: Floats, other: Floats, alpha: float, gamma: float) -> Floats:
    """Return alpha exp(-gamma |x - x'|^2 / 2) for all pairs, (n, m); the caller adds 1 / beta on the diagonal."""
    apart = ((X[:, None] - other) ** 2).sum(axis=2)
    return np.asarray(alpha * np.exp(-0.5 * gamma * apart))


def find_latent_cost(X: Floats, Y: Floats, scales: Floats) -> tuple[float, Floats, Floats]:
    """Return L_GP and its gradients by the latent numbers (N, d) and by the logarithms of the scales.

    Args:
        X: Latent numbers, (N, d).
        Y: Poses minus their mean, (N, D).
        scales: Logarithms of alpha, beta, gamma, w_1 ... w_D.
    """
    N, D = read_array(Y, "Y", None, None).shape
    read_array(X, "X", N, None)
    alpha, beta, gamma = np.exp(read_array(scales, "scales", 3 + D)[:3])
    w2 = np.exp(2.0 * scales[3:])
    smooth = make_kernel(X, X, alpha, gamma)
    inverse = np.linalg.inv(smooth + np.eye(N) / beta)
    weighed = inverse @ Y
    cost = -0.5 * D * np.linalg.slogdet(inverse)[1] + 0.5 * float(((Y * weighed).sum(axis=0) * w2).sum())
    cost += 0.5 * float((X**2).sum()) + float(scales[:3].sum()) - N * float(scales[3:].sum())

    # dL/dK = D/2 K^-1 - 1/2 K^-1 Y W^2 Y^T K^-1, then the chain rule for every entry of K
    along = 0.5 * (D * inverse - (weighed * w2) @ weighed.T)
    pulled = along * smooth
    by_x = X - 2.0 * gamma * (pulled.sum(axis=1)[:, None] * X - pulled @ X)
    apart = ((X[:, None] - X) ** 2).sum(axis=2)
    by_kernel = [pulled.sum() + 1.0, 1.0 - np.trace(along) / beta, 1.0 - 0.5 * gamma * float((pulled * apart).sum())]
    by_w = (Y * weighed).sum(axis=0) * w2 - N
    return float(cost), by_x, np.concatenate([by_kernel, by_w])


@dataclass(frozen=True)
class LatentModel:
    """A trained model.

    Attributes:
        X: Latent numbers of the poses, (N, d).
        Y: The poses minus their mean, (N, D).
        mean: Their mean, (D,).
        alpha, beta, gamma: Size, precision and width of the kernel.
        w: The scale of every number of a pose, (D,).
        costs: L_GP after every step of the training.
    """

    X: Floats
    Y: Floats
    mean: Floats
    alpha: float
    beta: float
    gamma: float
    w: Floats
    costs: tuple[float, ...] = ()

    @property
    def inverse(self) -> Floats:
        """The inverse K^-1 of the kernel matrix."""
        K = make_kernel(self.X, self.X, self.alpha, self.gamma) + np.eye(len(self.X)) / self.beta
        return np.asarray(np.linalg.inv(K))

    def predict(self, x: ArrayLike) -> tuple[Floats, float]:
        """Return the pose at a latent point and its variance: f(x) and sigma^2(x)."""
        k = make_kernel(read_array(x, "x", self.X.shape[1])[None], self.X, self.alpha, self.gamma)[0]
        across = self.inverse @ k
        return self.mean + self.Y.T @ across, float(self.alpha + 1.0 / self.beta - k @ across)

    def find_cost(self, x: Floats, y: Floats) -> tuple[float, Floats, Floats]:
        """Return L_IK of a pose y at a latent point x, and its gradients by x and by y (appendix A)."""
        x, y = read_array(x, "x", self.X.shape[1]), read_array(y, "y", len(self.mean))
        k = make_kernel(x[None], self.X, self.alpha, self.gamma)[0]
        by_x = -self.gamma * (x - self.X) * k[:, None]  # dk/dx, (N, d)
        across = self.inverse @ k
        variance = float(self.alpha + 1.0 / self.beta - k @ across)
        away = y - self.mean - self.Y.T @ across
        weighed = self.w**2 * away
        size, D = float(away @ weighed), len(y)
        cost = size / (2.0 * variance) + 0.5 * D * np.log(variance) + 0.5 * float(x @ x)
        place = self.Y.T @ (self.inverse @ by_x)  # df/dx, (D, d)
        spread = -2.0 * (across @ by_x)  # dsigma^2/dx
        slope = -(place.T @ weighed) / variance + spread * (D - size / variance) / (2.0 * variance) + x
        return float(cost), slope, weighed / variance

    def solve(
        self, miss: Callable[[Floats], Floats], jacobian: Callable[[Floats], Floats], *, start: int | None = None
    ) -> tuple[Floats, Floats]:
        """Return the pose y that minimises L_IK with miss(y) = 0, and its latent point x.

        Args:
            miss: The residual of the constraints at y, (m,).
            jacobian: Its derivative, (m, D).
            start: Index of the training pose to start from; by default the one with the smallest residual.
        """
        if start is None:
            start = int(np.argmin([float((miss(self.mean + y) ** 2).sum()) for y in self.Y]))
        d = self.X.shape[1]

        # scale each number of the pose by its variation in the clip
        unit = 1.0 / self.w

        def find(z: Floats) -> tuple[float, Floats]:
            cost, by_x, by_y = self.find_cost(z[:d], self.mean + unit * z[d:])
            return cost, np.concatenate([by_x, unit * by_y])

        first = np.concatenate([self.X[start], self.Y[start] * self.w])
        held = {
            "type": "eq",
            "fun": lambda z: miss(self.mean + unit * z[d:]),
            "jac": lambda z: np.pad(jacobian(self.mean + unit * z[d:]) * unit, ((0, 0), (d, 0))),
        }
        found = find_optimizer()(find, first, jac=True, method="SLSQP", constraints=held, options={"maxiter": 300}).x
        return self.mean + unit * found[d:], found[:d]


def train_latent_model(Y: ArrayLike, *, size: int = 2, steps: int = 100) -> LatentModel:
    """Train the model of poses (N, D): minimise L_GP from the principal components.

    Raises:
        InvalidValue: Fewer than three poses, or fewer than `size` numbers per pose.
        MissingExtra: SciPy is not installed.
    """
    poses = read_array(Y, "Y", None, None)
    if len(poses) < 3 or not 1 <= size <= min(poses.shape):
        raise InvalidValue(f"Y has shape {poses.shape}; give three poses or more, finite, with {size} numbers or more.")
    mean = poses.mean(axis=0)
    away = poses - mean
    left = np.linalg.svd(away, full_matrices=False)[0]
    X = np.sqrt(len(away)) * left[:, :size]
    spread = np.maximum(away.std(axis=0), 1e-3 * max(float(away.std()), 1e-12))
    scales = np.concatenate([[0.0, np.log(100.0), 0.0], -np.log(spread)])
    costs: list[float] = []

    def find(z: Floats) -> tuple[float, Floats]:
        cost, by_x, by_scales = find_latent_cost(z[: X.size].reshape(X.shape), away, z[X.size :])
        return cost, np.concatenate([by_x.ravel(), by_scales])

    first = np.concatenate([X.ravel(), scales])
    bounds = [(None, None)] * X.size + [(-3.0, 3.0), (0.0, 7.0), (-3.0, 3.0)] + [(s - 5.0, s + 5.0) for s in scales[3:]]
    found = find_optimizer()(
        find,
        first,
        jac=True,
        method="L-BFGS-B",
        bounds=bounds,
        callback=lambda z: costs.append(find(z)[0]),
        options={"maxiter": steps},
    ).x
    alpha, beta, gamma = (float(x) for x in np.exp(found[X.size : X.size + 3]))
    return LatentModel(
        found[: X.size].reshape(X.shape), away, mean, alpha, beta, gamma, np.exp(found[X.size + 3 :]), tuple(costs)
    )


def find_optimizer() -> Any:
    """Return SciPy's `minimize`."""
    try:
        return import_module("scipy.optimize").minimize
    except ImportError:
        raise MissingExtra(f"the latent model is trained by SciPy: pip install '{INDEX_NAME}[scipy]'.") from None
