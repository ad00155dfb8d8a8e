"""Acceleration: a bound on the acceleration of joints.

    rule   |v_i - v_i before| <= max_i dt      radians, or for slides the unit of the body, per s^2

It depends on time, so it applies in `Solver.step`, from one call to the next, and is rejected by `solve`. A joint must
also be able to stop before its limit: v_i <= sqrt(2 max_i (upper_i - q_i)).
Source: Del Prete, Joint position and velocity bounds in discrete-time acceleration/torque control, 2018.
"""

from dataclasses import dataclass
from typing import Any, ClassVar

from poise.limits.speed import RateLimit

__all__ = ["Acceleration"]


@dataclass(frozen=True)
class Acceleration(RateLimit):
    """Bound the acceleration of joints.

    Attributes:
        max: One number for all joints, or {joint: number, or one per velocity}; other joints are unbounded
            [rad/s^2, or for slides the unit of the body per s^2].
    """

    max: Any
    rate: ClassVar[str] = "acceleration"
