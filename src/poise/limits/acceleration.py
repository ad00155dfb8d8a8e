"""Acceleration: how fast joints may change their speed.

    rule   |v_i - v_i before| <= max_i dt      radians per second squared; metres per second squared for slides

It is about time, so it holds in `Solver.step`, from one call to the next, and is rejected by `solve`. A joint must also
be able to stop before its range ends: v_i <= sqrt(2 max_i (upper_i - q_i)).
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
    """Keep joints from changing their speed faster than this.

    Attributes:
        max: One number for all joints, or {joint: number, or one for each of its velocities}; joints that are not named
            are free [rad/s^2, m/s^2].
    """

    max: Any
    timed: ClassVar[bool] = True

    def __post_init__(self) -> None:
        self.settle("acceleration", max=read_most(self.max, "Acceleration"))

    def bounds(self, model: Model) -> NDArray[np.float64]:
        """Return the largest change of rate of every velocity, per second; infinite if unbounded."""
        return bound_each(model, self.max, "Acceleration")

    def bound_rates(self, model: Model) -> RateBounds:
        """See Limit.bound_rates."""
        return RateBounds(acceleration=self.bounds(model))
