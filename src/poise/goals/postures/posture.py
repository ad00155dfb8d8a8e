"""GeneralPosture: the base class of postures whose cost is not a sum of squares with one term per joint.

    cost c(q),   gradient g = dc/dv,   H: a symmetric, positive semidefinite model of its second derivative

The kernels support diagonal postures only (see `Rest`); such a posture is the first guess here. From there the solver
takes Newton steps in the null space of the goals: a few target poses, each closer to the minimum. Source: Nocedal and
Wright, Numerical Optimization, 2006, section 18.1 (Newton's method on a manifold of constraints).
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np

from poise.arrays import Floats
from poise.goals.postures.gaussian import Gaussian
from poise.goals.postures.pose_targets import PoseTargets
from poise.goals.postures.rest import POSTURE, Rest
from poise.model import Model

__all__ = ["GeneralPosture", "find_rest_cost", "find_rest_slope"]


@dataclass(frozen=True, eq=False)
class GeneralPosture(Rest, words=POSTURE):
    """A posture with an arbitrary cost function."""

    curved = True
    settled = 1e-6  # relative decrease of the cost below which the search stops

    @abstractmethod
    def find_cost(self, model: Model, q: Floats) -> float:
        """Return the cost of a pose."""

    @abstractmethod
    def find_slope(self, model: Model, q: Floats) -> tuple[Floats, Floats]:
        """Return the gradient (nv,) and a positive semidefinite second derivative (nv, nv)."""

    def focus(self, model: Model, asked: PoseTargets, q: Floats) -> Any:
        """Return this posture specialised to the targets near `q`, or self if it does not depend on them."""
        return self

    def find_likely(self, model: Model, asked: PoseTargets, q: Floats) -> tuple[Gaussian, Floats] | None:
        """Return the Gaussian of this posture for the targets near `q`, and a start; otherwise None."""
        return None

    def find_seeds(self, model: Model, asked: PoseTargets, q: Floats, many: int = 4) -> Floats:
        """Return starts for a second search after a failed one, (up to many, nq)."""
        return np.zeros((0, model.nq))


def find_rest_cost(rest: Any, model: Model, q: Floats) -> float:
    """Return the cost of a posture at a pose: its own if curved, otherwise sum gain d^power, lengths in units of L."""
    if not isinstance(rest, Rest) or isinstance(rest, GeneralPosture):
        return float(rest.find_cost(model, q))
    away = model.difference(rest.find_wanted(model), q) / measure_units(model)
    return float(rest.gain(model) @ away**rest.power)


def find_rest_slope(rest: Any, model: Model, q: Floats) -> tuple[Floats, Floats]:
    """Return the gradient and the second derivative of a posture's cost per velocity."""
    if not isinstance(rest, Rest) or isinstance(rest, GeneralPosture):
        slope: tuple[Floats, Floats] = rest.find_slope(model, q)
        return slope
    unit, p = measure_units(model), int(rest.power)
    away, gain = model.difference(rest.find_wanted(model), q) / unit, rest.gain(model)
    return gain * p * away ** (p - 1) / unit, np.diag(gain * p * (p - 1) * away ** (p - 2) / unit**2)


def measure_units(model: Model) -> Floats:
    """Return the unit of each velocity: 1 rad, or the body's length."""
    return np.where(model.slides, model.length, 1.0)
