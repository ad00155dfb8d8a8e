"""A Gaussian of poses: a mean and a spread in the coordinates of a chart, as a curved posture.

    cost  (x(q) - m)^T S^-1 (x(q) - m) / 2
    g = Jx^T S^-1 (x - m),   H = Jx^T S^-1 Jx         Jx = dx/dv, exact (see `kinematics.charts`)

To first order the pose of least cost that leaves the goals' rows alone needs no inverse of the spread:

    p = p0 - C J^T (J C J^T)^-1 J p0,    p0 = Jx^-1 (m - x),   C = Jx^-1 S Jx^-T

which is how a Gaussian is conditioned on what is known of it. Source: Huang, Wang, Fratarcangeli, Yan and Pelachaud,
Multi-variate Gaussian-based inverse kinematics, Computer Graphics Forum 36(8), 2017.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from poise.kinematics.charts import Chart
from poise.kinematics.samples import Samples

__all__ = ["Gaussian"]

Floats = NDArray[np.float64]
LOOSE = 1.0  # squared radians, or lengths L: the spread of what the Gaussian says nothing about, about where it is


@dataclass(frozen=True, eq=False)
class Gaussian:
    """A local Gaussian.

    Attributes:
        chart: The coordinates.
        origin: The pose at which they are zero.
        counts: Which coordinates it is about; the others are free.
        mean: Of those, (d,).
        spread: Their covariance, (d, d), positive definite.
    """

    chart: Chart
    origin: Samples
    counts: NDArray[np.int64]
    mean: Floats
    spread: Floats

    @cached_property
    def precision(self) -> Floats:
        """The inverse of the spread."""
        return np.asarray(np.linalg.inv(self.spread), dtype=np.float64)

    def read(self, q: Floats) -> Floats:
        """Return the coordinates of a pose, all of them."""
        return self.chart.measure(self.origin, q)

    def find_cost(self, q: Floats) -> float:
        """Return half the squared distance from the mean, in standard deviations."""
        away = self.read(q)[self.counts] - self.mean
        return 0.5 * float(away @ self.precision @ away)

    def find_slope(self, q: Floats) -> tuple[Floats, Floats]:
        """Return the gradient and the second derivative per velocity, (nv,) and (nv, nv)."""
        x = self.read(q)
        J = self.differentiate(q, x)[self.counts]
        weighed = self.precision @ (x[self.counts] - self.mean)
        return J.T @ weighed, J.T @ self.precision @ J

    def find_spread(self, q: Floats) -> tuple[Floats, Floats]:
        """Return the step to the mean, (nv,), and the spread of velocities, (nv, nv): p0 and C above."""
        x = self.read(q)
        model, away = self.chart.layout.model, np.zeros(len(x))
        away[self.counts] = self.mean - x[self.counts]
        inverse = self._invert(q, x)
        unit = np.where(model.slides, model.length, 1.0)
        wide = np.zeros((len(x), len(x)))
        free = np.ones(len(x), dtype=bool)
        free[self.counts] = False
        wide[np.ix_(self.counts, self.counts)] = self.spread
        wide[free, free] = LOOSE * unit[self.chart.velocities[free]] ** 2
        return inverse @ away, inverse @ wide @ inverse.T

    def differentiate(self, q: Floats, x: Floats) -> Floats:
        """Return dx/dv, (n + 3 r, nv)."""
        chart, n = self.chart, len(self.chart.number_velocities)
        out = np.zeros((len(x), chart.layout.model.nv))
        out[np.arange(n), chart.number_velocities] = 1.0
        rows = n + 3 * np.arange(len(chart.turn_velocities))
        blocks = chart.find_blocks(q, x[n:].reshape(-1, 3))
        three = np.arange(3)
        at = chart.turn_velocities[:, None, None] + three
        out[rows[:, None, None] + three[:, None], at] = blocks
        return out

    def _invert(self, q: Floats, x: Floats) -> Floats:
        """Return dv/dx, (nv, n + 3 r): block by block, calm where an Euler joint is at its singular angle."""
        chart, n = self.chart, len(self.chart.number_velocities)
        out = np.zeros((chart.layout.model.nv, len(x)))
        out[chart.number_velocities, np.arange(n)] = 1.0
        blocks = chart.find_blocks(q, x[n:].reshape(-1, 3))
        flipped = np.swapaxes(blocks, 1, 2)
        inverse = np.linalg.solve(flipped @ blocks + 1e-6 * np.eye(3), flipped)
        three = np.arange(3)
        columns = n + 3 * np.arange(len(chart.turn_velocities))
        out[chart.turn_velocities[:, None, None] + three[:, None], columns[:, None, None] + three] = inverse
        return out
