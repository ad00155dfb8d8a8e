"""A Gaussian of poses: a mean and a spread in the coordinates of a chart, as a curved posture.

    cost  (x(q) - m)^T S^-1 (x(q) - m) / 2
    g = Jx^T S^-1 (x - m),   H = Jx^T S^-1 Jx         Jx = dx/dv, exact (see `kinematics.charts`)

Its likeliest pose among those that serve the goals is found by the kernels (`kernels/loop/gaussian.h`): there a
Gaussian is conditioned on what is known of it, which needs no inverse of the spread.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from poise.kinematics.charts import Chart

__all__ = ["Gaussian"]

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Gaussian:
    """A local Gaussian.

    Attributes:
        chart: The coordinates; it is about those that count, (d,), and the others are free.
        mean: Of those, (d,).
        spread: Their covariance, (d, d), positive definite.
    """

    chart: Chart
    mean: Floats
    spread: Floats

    @cached_property
    def precision(self) -> Floats:
        """The inverse of the spread."""
        return np.asarray(np.linalg.inv(self.spread), dtype=np.float64)

    def find_cost(self, q: Floats) -> float:
        """Return half the squared distance from the mean, in standard deviations."""
        away = self.chart.measure(q)[self.chart.counts] - self.mean
        return 0.5 * float(away @ self.precision @ away)

    def find_slope(self, q: Floats) -> tuple[Floats, Floats]:
        """Return the gradient and the second derivative per velocity, (nv,) and (nv, nv)."""
        away = self.chart.measure(q)[self.chart.counts] - self.mean
        J = self.chart.differentiate(q)[self.chart.counts]
        return J.T @ (self.precision @ away), J.T @ self.precision @ J
