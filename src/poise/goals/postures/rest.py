"""Rest: stay near a pose, within the null space of the other goals.

    cost  sum_i gain_i (q_i - rest_i)^power   radians, lengths in units of L; difference on the manifold for quaternions

It is not a row of the solver but a diagonal, and never degrades the goals: it moves the body in their null space. Its
weight only matters relative to other postures. Source: Parent, The Jacobian, eq. 17-24 (control term with gains).
"""

from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from poise.arguments import is_whole
from poise.arrays import Floats
from poise.errors import InvalidValue, ModelMismatch, ShapeMismatch
from poise.goals.goal import Goal, read_numbers
from poise.kinematics import Pose
from poise.model import Model
from poise.model.compare import name_mismatch

__all__ = ["Rest", "measure_units"]

MOST_POWER = 20


POSTURE = {
    "weight": "Importance among postures: one number. Postures never affect the goals.",
    "tolerance": "Not used: a posture is never missed. [m], or (metres, radians).",
}


@dataclass(frozen=True, eq=False)
class Rest(Goal, words=POSTURE):
    """Stay near a pose; it never degrades the goals.

    `weight` therefore only matters relative to other postures. Slides are measured in units of the body's length L.

    Attributes:
        pose: A Pose, or q; by default the model's rest pose.
        gains: Strength of the attraction: {joint: gain}, or one number per degree of freedom; by default 1.
        power: The exponent of the cost, even: 2, or more to tolerate small deviations and resist large ones.
    """

    pose: Pose | ArrayLike | None = None
    _: KW_ONLY
    gains: Mapping[str, float] | ArrayLike | None = None
    power: int = 2

    default_name = "rest"
    counts = False
    curved = False  # whether its cost is not a diagonal, see `GeneralPosture`

    def __post_init__(self) -> None:
        self.check_common()
        what = type(self).__name__
        if not is_whole(self.power) or not 2 <= self.power <= MOST_POWER or self.power % 2:
            raise InvalidValue(f"{what}: power is {self.power!r}; it must be an even number from 2 to {MOST_POWER}.")
        if np.ndim(self.weight) != 0:
            raise InvalidValue(f"{what}: weight must be one number; use gains for single joints.")

    def find_wanted(self, model: Model) -> Floats:
        """Return the target configuration."""
        if self.pose is None:
            return np.array(model.rest)
        if isinstance(self.pose, Pose):
            if self.pose.model != model:
                raise ModelMismatch(f"{type(self).__name__}: the pose is {name_mismatch(self.pose.model, model)}.")
            return np.array(self.pose.q)
        try:
            return np.array(Pose(model, self.pose).q)
        except (InvalidValue, ShapeMismatch) as error:
            what = type(self).__name__
            raise type(error)(f"{what}: pose is neither a Pose nor a q of {model.name!r}: {error}") from None

    def find_cost(self, model: Model, q: Floats) -> float:
        """Return the cost of a pose."""
        away = model.difference(self.find_wanted(model), q) / measure_units(model)
        return float(self.gain(model) @ away**self.power)

    def find_slope(self, model: Model, q: Floats) -> tuple[Floats, Floats]:
        """Return the gradient (nv,) and a positive semidefinite second derivative (nv, nv), per velocity."""
        unit, p = measure_units(model), int(self.power)
        away, gain = model.difference(self.find_wanted(model), q) / unit, self.gain(model)
        return gain * p * away ** (p - 1) / unit, np.diag(gain * p * (p - 1) * away ** (p - 2) / unit**2)

    def gain(self, model: Model) -> Floats:
        """Return the gain of every degree of freedom, including the weight."""
        out, what = np.ones(model.nv), type(self).__name__
        if isinstance(self.gains, Mapping):
            for name, gain in self.gains.items():
                out[model.joint(name).v] = check_gain(gain, what)
        elif self.gains is not None:
            wanted = f"give {{joint: gain}}, or {model.nv} numbers"
            given = read_numbers(self.gains, f"{what}: gains", wanted)
            if given.shape != (model.nv,):
                raise ShapeMismatch(
                    f"{what}: gains has shape {given.shape}; it must be ({model.nv},), or {{joint: gain}}."
                )
            out = np.array([check_gain(gain, what) for gain in given])
        return out * float(np.asarray(self.weight)) ** 2


def measure_units(model: Model) -> Floats:
    """Return the unit of each velocity: 1 rad, or the body's length."""
    return np.where(model.slides, model.length, 1.0)


def check_gain(gain: Any, goal: str) -> float:
    """Return a finite gain that is not negative; `goal` is the kind of the posture, for the error."""
    value = read_numbers(gain, f"{goal}: gains", "a gain is one number")
    if value.ndim or not np.isfinite(value) or value < 0:
        raise InvalidValue(f"{goal}: a gain is {gain!r}; gains must be finite and not negative.")
    return float(value)
