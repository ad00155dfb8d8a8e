"""MidRange: keep joints near the middle of their ranges, within the null space of the other goals.

    cost  sum_i gain_i ((q_i - middle_i) / half_i)^power      half_i: half the range; unbounded joints are free

At either limit every joint costs the same, whether it rotates or slides. Like Rest it is not a row of the solver, and
never degrades the goals. Source: Liegeois, Automatic supervisory control of the configuration and behavior of multibody
mechanisms, IEEE SMC 7(12), 1977.
"""

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from poise.goals.postures.rest import POSTURE, Rest, measure_units
from poise.model import Model
from poise.model.memo import keep_with_model

__all__ = ["MidRange"]


@dataclass(frozen=True, eq=False)
class MidRange(Rest, words=POSTURE):
    """Stay near the middle of all ranges; it never degrades the goals.

    Attributes:
        gains: Strength of the attraction: {joint: gain}, or one number per degree of freedom; by default 1.
        power: The exponent of the cost, even.
    """

    pose: None = field(default=None, init=False, repr=False)

    default_name = "mid_range"

    def find_wanted(self, model: Model) -> NDArray[np.float64]:
        """Return the middle of every range; the rest pose for unbounded joints."""
        return find_middles(model).copy()

    def gain(self, model: Model) -> NDArray[np.float64]:
        """Return the gain of every degree of freedom, including the weight; slides in units of L."""
        half = halve_ranges(model)
        unit = measure_units(model)
        scale = np.where(np.isfinite(half) & (half > 0), unit / np.where(half > 0, half, 1.0), 0.0)
        out: NDArray[np.float64] = super().gain(model) * scale**self.power
        return out


@keep_with_model
def find_middles(model: Model) -> NDArray[np.float64]:
    """Return the pose in the middle of every range, with unbounded joints at rest."""
    out, half = np.array(model.rest), halve_ranges(model)
    middle = model.lower + np.where(np.isfinite(half), half, 0.0)
    for joint in model.joints:
        if joint.nv and not joint.quaternion:
            out[joint.q] = np.where(np.isfinite(half[joint.v]), middle[joint.v], out[joint.q])
    return out


def halve_ranges(model: Model) -> NDArray[np.float64]:
    """Return half of each range; infinite if a bound is infinite."""
    return np.where(np.isfinite(model.lower) & np.isfinite(model.upper), (model.upper - model.lower) / 2, np.inf)
