"""Acceleration: a bound on the acceleration of joints.

    rule   |v_i - v_i before| <= max_i dt      radians per second squared; metres per second squared for slides

It depends on time, so it applies in `Solver.step`, from one call to the next, and is rejected by `solve`. A joint must
also be able to stop before its limit: v_i <= sqrt(2 max_i (upper_i - q_i)).
Source: Del Prete, Joint position and velocity bounds in discrete-time acceleration/torque control, 2018.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from poise.limits.limit import Limit, RateBounds
from poise.limits.speed import bound_each, read_most
from poise.model import Model

__all__ = ["Acceleration"]


@dataclass(frozen=True)
class Acceleration(Limit):
    """Bound the acceleration of joints.

    Attributes:
        max: One number for all joints, or {joint: number, or one per velocity}; other joints are unbounded
            [rad/s^2, m/s^2].
    """

    max: Any
    timed: ClassVar[bool] = True

    def __post_init__(self) -> None:
        self.settle("acceleration", max=read_most(self.max, "Acceleration"))

    def bounds(self, model: Model) -> NDArray[np.float64]:
        """Return the largest acceleration of every velocity [rad/s^2, m/s^2]; infinite if unbounded."""
        return bound_each(model, self.max, "Acceleration")

    def bound_rates(self, model: Model) -> RateBounds:
        """Return the bounds on velocities; see `Limit.bound_rates`."""
        return RateBounds(acceleration=self.bounds(model))
