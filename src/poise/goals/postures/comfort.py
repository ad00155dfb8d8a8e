"""Comfort: keep joints away from their limits and a frame manipulable, within the null space of the goals.

    cost  sum_i gain_i (d_i / (1 - d_i^2))^2 / 3  -  manipulability * log m(q)
          d_i = (q_i - middle_i) / half_i, within +-0.999;   m^2 = det(J J^T / L^2 + 1e-6)

Near the middle a joint costs d^2 / 3 and hardly matters; towards a limit its cost grows without bound, as in ergonomic
tables; `gains` set the cost of each joint. The second term is Yoshikawa's measure of a frame: its gradient is
tr((J J^T)^-1 J dJ^T), from the kinematic Hessian. Like Rest it never degrades the goals. Sources: UCSD CSE169,
"Geometric constraints" and "Repeatability" (comfort); Yoshikawa, Manipulability of robotic mechanisms, IJRR 4(2), 1985;
McAtamney and Corlett, RULA, Applied Ergonomics 24(2), 1993 (joints scored by their distance from neutral).
"""

from dataclasses import KW_ONLY, dataclass, field

import numpy as np

from poise.arguments import check_number
from poise.arrays import Floats
from poise.errors import InvalidValue
from poise.goals.postures.mid_range import find_middles, halve_ranges
from poise.goals.postures.posture import GeneralPosture
from poise.goals.postures.rest import POSTURE, measure_units
from poise.model import Frame, Model
from poise.model.memo import keep_with_model

__all__ = ["Comfort"]


NEAREST = 0.999  # of half a range: beyond this the cost continues as a parabola
FLOOR = 1e-6  # keeps the measure smooth at zero
STEP = 1e-5  # rad, or in units of L: step for the second derivative of the measure


@dataclass(frozen=True, eq=False)
class Comfort(GeneralPosture, words=POSTURE):
    """Keep joints away from their limits, and a frame manipulable; it never degrades the goals.

    Attributes:
        gains: Cost of each joint: {joint: gain}, or one number per degree of freedom; by default 1.
        manipulability: Weight of the manipulability of `frame`; 0 ignores it.
        frame: The frame whose manipulability is included.
    """

    _: KW_ONLY
    pose: None = field(default=None, init=False, repr=False)
    power: int = field(default=2, init=False, repr=False)
    manipulability: float = 0.0
    frame: str | Frame | None = None

    default_name = "comfort"

    def __post_init__(self) -> None:
        super().__post_init__()
        wanted = check_number(self.manipulability, "Comfort: manipulability", "a number of 0 or more", 0)
        if wanted > 0 and self.frame is None:
            raise InvalidValue("Comfort: manipulability needs a frame; give frame=, such as the hand's.")

    def find_wanted(self, model: Model) -> Floats:
        """Return the middle of every range; the rest pose for unbounded joints."""
        return find_middles(model).copy()

    def gain(self, model: Model) -> Floats:
        """Return the gains of the first guess, a parabola: 1/3 of the squared fraction of half a range."""
        out: Floats = self.find_gains(model) * (measure_units(model) * invert_halves(model)) ** 2 / 3.0
        return out if out.max(initial=0.0) > 0 else np.full(model.nv, 1e-12)  # at least one gain must be positive

    def find_gains(self, model: Model) -> Floats:
        """Return the gain of each degree of freedom, including the weight."""
        return super().gain(model)

    def find_cost(self, model: Model, q: Floats) -> float:
        """Return the cost of a pose; see `Rest.find_cost`."""
        value, _, _ = rise(self.find_share(model, q))
        out = float(self.find_gains(model) @ value)
        if self.manipulability > 0 and self.frame is not None:
            out -= float(self.manipulability * np.asarray(self.weight) ** 2) * measure(model, q, self.frame)
        return out

    def find_slope(self, model: Model, q: Floats) -> tuple[Floats, Floats]:
        """Return the gradient and curvature; see `Rest.find_slope`."""
        _, first, second = rise(self.find_share(model, q))
        inverse, gains = invert_halves(model), self.find_gains(model)
        slope, bend = gains * first * inverse, np.diag(gains * second * inverse**2)
        if self.manipulability > 0 and self.frame is not None:
            much = float(self.manipulability * np.asarray(self.weight) ** 2)
            slope = slope - much * differentiate_measure(model, q, self.frame)
            bend = bend + much * bend_measure(model, q, self.frame)
        return slope, bend

    def find_share(self, model: Model, q: Floats) -> Floats:
        """Return the distance of each coordinate from the middle, as a fraction of half the range; 0 if unbounded."""
        return np.asarray(model.difference(find_middles(model), q) * invert_halves(model))


@keep_with_model
def invert_halves(model: Model) -> Floats:
    """Return 1 over half of each range; 0 for an infinite or empty range."""
    half = halve_ranges(model)
    return np.divide(1.0, half, out=np.zeros(model.nv), where=np.isfinite(half) & (half > 0))


def rise(share: Floats) -> tuple[Floats, Floats, Floats]:
    """Return (d / (1 - d^2))^2 / 3 with its first two derivatives; a parabola beyond NEAREST."""
    d = np.clip(share, -NEAREST, NEAREST)
    gap, over = 1.0 - d * d, share - d
    value = d * d / gap**2 / 3.0
    first = 2.0 * d * (1.0 + d * d) / gap**3 / 3.0
    second = 2.0 * (1.0 + 8.0 * d * d + 3.0 * d**4) / gap**4 / 3.0
    return value + first * over + second * over**2 / 2.0, first + second * over, second


def measure(model: Model, q: Floats, frame: str | Frame) -> float:
    """Return log m: half the logarithm of det(J J^T / L^2 + floor) of the frame's linear rows."""
    J = model.jacobian(q, frame)[:3] / model.length
    return 0.5 * float(np.linalg.slogdet(J @ J.T + FLOOR * np.eye(3))[1])


def differentiate_measure(model: Model, q: Floats, frame: str | Frame) -> Floats:
    """Return d log m / dv = tr((J J^T + floor)^-1 J dJ^T)."""
    J = model.jacobian(q, frame)[:3] / model.length
    bend = model.hessian(q, frame)[:3] / model.length
    return np.asarray(np.einsum("ri,rik->k", np.linalg.solve(J @ J.T + FLOOR * np.eye(3), J), bend))


def bend_measure(model: Model, q: Floats, frame: str | Frame) -> Floats:
    """Return -d^2 log m / dv^2 with absolute eigenvalues, by differences of the exact gradient.

    A Newton step along a direction of negative curvature is then a descent step of the right length.
    """
    steps = np.where(model.slides, STEP * model.length, STEP)
    rows = []
    for k in range(model.nv):
        step = np.zeros(model.nv)
        step[k] = steps[k]
        ends = [differentiate_measure(model, np.asarray(model.integrate(q, s * step)), frame) for s in (1.0, -1.0)]
        rows.append((ends[1] - ends[0]) / (2.0 * steps[k]))
    values, axes = np.linalg.eigh((np.array(rows) + np.array(rows).T) / 2.0)
    return np.asarray((axes * np.abs(values)) @ axes.T)
