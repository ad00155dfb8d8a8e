"""Speed: a bound on the speed of joints.

    rule   |v_i| <= max_i           radians per second; for slides, lengths in the unit of the body per second

It depends on time, so it applies in `Solver.step`, which has a time step, and is rejected by `solve`.
Source: Kanoun, Lamiraux and Wieber, 2011 (velocity bounds as box constraints of each step).
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from poise.errors import InvalidValue, ShapeMismatch
from poise.limits.limit import Limit, RateBounds
from poise.model import Model
from poise.model.joints.joint import get_name

__all__ = ["RateLimit", "Speed"]

Most = float | tuple[tuple[str, tuple[float, ...]], ...]


class RateLimit(Limit):
    """A limit on rates of joints; `rate` is its field in `RateBounds`."""

    rate: ClassVar[str]
    timed: ClassVar[bool] = True
    max: Any

    def __post_init__(self) -> None:
        given = self.max if self.max is None and self.rate == "speed" else read_most(self.max, type(self).__name__)
        self.settle(self.rate, max=given)

    def bounds(self, model: Model) -> NDArray[np.float64]:
        """Return the bound of every velocity, in the units of `max`; infinite if unbounded."""
        return bound_each(model, self.max, type(self).__name__)

    def bound_rates(self, model: Model) -> RateBounds:
        """Return the bounds on velocities; see `Limit.bound_rates`."""
        return RateBounds(**{self.rate: self.bounds(model)})


@dataclass(frozen=True)
class Speed(RateLimit):
    """Bound the speed of joints.

    Attributes:
        max: One number for all joints, or {joint: number, or one per velocity} [rad/s, or for slides the unit of the
            body per second]; other joints are free. By default the velocity limits of the model's file; joints without
            one are free, and `why()` lists them.
    """

    max: Any = None
    rate: ClassVar[str] = "speed"

    def bounds(self, model: Model) -> NDArray[np.float64]:
        """Return the bound of every velocity; see `RateLimit.bounds`."""
        if self.max is not None:
            return super().bounds(model)
        known = tuple((joint.name, (joint.velocity,)) for joint in model.joints if math.isfinite(joint.velocity))
        if not known:
            raise InvalidValue(f"Speed(): model {model.name!r} has no velocity limits; give a number: Speed(2.0).")
        return bound_each(model, known, "Speed")

    def describe(self, model: Model) -> list[str]:
        """Return the joints that `Speed()` leaves free."""
        free = [joint.name for joint in model.joints if self.max is None and joint.nv and math.isinf(joint.velocity)]
        return [f"Speed() leaves joints without a velocity limit free: {', '.join(free)}."] if free else []


def read_most(given: Any, what: str) -> Most:
    """Return a positive number, or pairs of joint and positive numbers."""
    if not isinstance(given, Mapping):
        return read_positive(given, f"{what}: max")
    if not given:
        raise InvalidValue(f"{what}: max is empty; give a number, or {{joint: number}}.")
    return tuple(
        (get_name(name), read_rates(value, f"{what} of joint {get_name(name)!r}")) for name, value in given.items()
    )


def read_rates(value: Any, what: str) -> tuple[float, ...]:
    """Return one positive number or several, as a tuple."""
    parts = value if np.ndim(value) == 1 else (value,)
    if not len(parts):
        raise InvalidValue(f"{what} is empty; give a number.")
    return tuple(read_positive(part, what) for part in parts)


def read_positive(value: Any, what: str) -> float:
    """Return a number above zero; infinity means unbounded."""
    try:
        found = float(value)
    except (TypeError, ValueError):
        raise InvalidValue(f"{what} is {value!r}; it must be a positive number, or {{joint: number}}.") from None
    if not found > 0.0:
        raise InvalidValue(f"{what} is {value!r}; it must be above zero.")
    return found


def bound_each(model: Model, most: Most, what: str) -> NDArray[np.float64]:
    """Return the bound of every velocity; the bound of a follower is mapped to its leader."""
    if isinstance(most, float):
        out = np.full(model.nv, most)
        for joint in model.joints:
            if joint.mimic:
                out[joint.v] = np.minimum(out[joint.v], pull_back(most, joint.mimic.ratio))
        return out
    out = np.full(model.nv, math.inf)
    for name, values in most:
        joint = model.joint(name)
        count = joint.v.stop - joint.v.start
        if len(values) not in (1, count):
            raise ShapeMismatch(f"{what} of joint {joint.name!r} has {len(values)} numbers; it has {count} velocities.")
        own = np.array(values) if joint.mimic is None else pull_back(np.array(values), joint.mimic.ratio)
        out[joint.v] = np.minimum(out[joint.v], own)
    return out


def pull_back(most: Any, ratio: float) -> Any:
    """Return the leader's bound for a follower's bound."""
    return most / abs(ratio) if ratio else math.inf
