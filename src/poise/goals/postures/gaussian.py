"""A Gaussian of poses: a mean and a covariance in the coordinates of a chart, as a curved posture.

    cost  (x(q) - m)^T S^-1 (x(q) - m) / 2
    g = Jx^T S^-1 (x - m),   H = Jx^T S^-1 Jx         Jx = dx/dv, exact (see `kinematics.charts`)

The kernels find its most likely pose among those that reach the goals (`kernels/loop/gaussian.h`): they condition the
Gaussian on the known coordinates, which needs no inverse of the covariance.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from poise.arrays import Floats, Ints
from poise.goals.postures.rest import measure_units
from poise.kinematics.charts import Chart
from poise.kinematics.samples import SampleLayout
from poise.model import Model

__all__ = ["DiagonalPosture", "Gaussian"]

LEAST = 1e-12  # the weight that replaces zero
DAMPING = 1e-6  # of the mean curvature, for directions without any


@dataclass(frozen=True, eq=False)
class Gaussian:
    """A local Gaussian of poses.

    Attributes:
        chart: The coordinates; the Gaussian covers those that count, (d,), and the others are free.
        mean: The mean of those, (d,).
        spread: Their covariance, (d, d), positive definite.
    """

    chart: Chart
    mean: Floats
    spread: Floats

    @cached_property
    def precision(self) -> Floats:
        """The inverse of the covariance."""
        return np.asarray(np.linalg.inv(self.spread), dtype=np.float64)

    @classmethod
    def merge(cls, parts: Sequence[tuple[float, Gaussian]]) -> Gaussian:
        """Return the Gaussian whose cost is the weighted sum of others over the same chart, up to a constant."""
        out, *others = (one if w == 1.0 else replace(one, spread=one.spread / max(w, LEAST)) for w, one in parts)
        for other in others:  # G = S (S + T)^-1; the product has the mean m + G (n - m), the covariance S - G S
            gain = out.spread @ np.linalg.inv(out.spread + other.spread)
            spread = out.spread - gain @ out.spread
            out = cls(out.chart, out.mean + gain @ (other.mean - out.mean), 0.5 * (spread + spread.T))
        return out

    @classmethod
    def approximate(cls, model: Model, q: Floats, slope: Floats, bend: Floats) -> Gaussian:
        """Return the Gaussian whose cost has a gradient and a second derivative per velocity at a pose."""
        chart, unit = Chart.about(SampleLayout.read_model(model), q), measure_units(model)
        least = DAMPING * max(float(np.trace(bend * np.outer(unit, unit))) / model.nv, LEAST)
        J, inverse = chart.differentiate(q), np.linalg.inv(bend + np.diag(least / unit**2))
        return cls(chart, -J @ (inverse @ slope), J @ inverse @ J.T)

    def hold(self, held: Ints, q: Floats) -> Gaussian:
        """Return the Gaussian conditioned on the coordinates `held` of a pose: m + S_:h S_hh^-1 (x_h - m_h), ..."""
        if not len(held):
            return self
        x = self.chart.measure(q)[self.chart.counts]
        gain = np.linalg.solve(self.spread[np.ix_(held, held)], self.spread[held]).T
        mean, spread = self.mean + gain @ (x - self.mean)[held], self.spread - gain @ self.spread[held]
        mean[held], spread[held], spread[:, held] = x[held], 0.0, 0.0
        return replace(self, mean=mean, spread=0.5 * (spread + spread.T))

    def find_cost(self, _: Model, q: Floats) -> float:
        """Return half the squared Mahalanobis distance from the mean; see `Rest.find_cost`."""
        away = self.chart.measure(q)[self.chart.counts] - self.mean
        return 0.5 * float(away @ self.precision @ away)

    def find_slope(self, _: Model, q: Floats) -> tuple[Floats, Floats]:
        """Return the gradient and the second derivative; see `Rest.find_slope`."""
        away = self.chart.measure(q)[self.chart.counts] - self.mean
        J = self.chart.differentiate(q)[self.chart.counts]
        return J.T @ (self.precision @ away), J.T @ self.precision @ J


@dataclass(frozen=True, eq=False)
class DiagonalPosture:
    """A diagonal posture in addition to a Gaussian, sum_v gain_v d_v^2 / 2 with d the difference from a target pose.

    The kernels step as if the Jacobian of the velocities with respect to the chart were constant, K = dv/dx; the
    gradient is exact, and so is the pose to which the steps converge:

        D = K^T diag(gain) K;  the weight of the Gaussian is B = (1 + S D)^-1;  the combined covariance is B S

    Attributes:
        shrink: B, (d, d).
        spread: The combined covariance, (d, d).
        loose: The variance of coordinates that the Gaussian does not cover, (n + 3 r,).
        pull: The gains, (nv,).
        wanted: The target pose, (nq,).
    """

    shrink: Floats
    spread: Floats
    loose: Floats
    pull: Floats
    wanted: Floats

    @classmethod
    def join(cls, gaussian: Gaussian, q: Floats, pull: Floats, wanted: Floats) -> DiagonalPosture:
        """Combine gains towards a target pose with a Gaussian, with K evaluated at q."""
        chart = gaussian.chart
        blocks = chart.native.blocks(q)
        turned = np.swapaxes(blocks, 1, 2)
        K = np.linalg.solve(turned @ blocks + 1e-6 * np.eye(3), turned)
        n = len(chart.velocities) - 3 * len(blocks)
        D = np.diag(pull[chart.velocities])
        at = n + np.arange(3 * len(blocks)).reshape(-1, 3)
        gains = pull[chart.velocities[at]]
        D[at[:, :, None], at[:, None, :]] = np.swapaxes(K, 1, 2) @ (gains[:, :, None] * K)
        inside = D[np.ix_(chart.counts, chart.counts)]
        shrink: Floats = np.asarray(np.linalg.inv(np.eye(len(inside)) + gaussian.spread @ inside), dtype=np.float64)
        spread = shrink @ gaussian.spread
        loose = chart.loose / (1.0 + chart.loose * np.diag(D))
        return cls(shrink, 0.5 * (spread + spread.T), loose, pull, wanted)
