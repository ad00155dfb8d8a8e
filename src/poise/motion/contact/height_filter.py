"""How a height comes to rest: from the speed that it has, without a kink and without a swing.

    x'' = -2 w x' - w^2 x,    x(t) = (x0 + (v0 + w x0) t) exp(-w t)

is the quickest way that does not swing. Feet that stop at once shake the whole body, and a foot that is flat at once
turns its ankle by a large angle in one frame.
"""

from __future__ import annotations

from math import exp

__all__ = ["settle"]

PACE = 24.0  # 1/s: w; after a tenth of a second a third is left
FLAT = 1e-4  # m: lower than that it is down


def settle(x: float, v: float, seconds: float, most: float) -> tuple[float, float]:
    """Return a height and its speed so much later, on its way to 0.

    Args:
        x: The height [m]; a depth comes up alike.
        v: Its speed [m/s].
        seconds: How much later.
        most: The fastest that it may be [m/s].
    """
    if abs(x) <= FLAT:
        return 0.0, 0.0
    pull, left = v + PACE * x, exp(-PACE * seconds)
    there = (x + pull * seconds) * left
    if there * x <= 0.0:  # it came fast: it is down, and stays there
        there = 0.0
    if abs(there - x) > most * seconds:
        speed = most if there > x else -most
        return x + speed * seconds, speed
    return there, (pull * left - PACE * there if there else 0.0)
