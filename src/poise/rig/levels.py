"""The strict priority levels of a rig's goals, and the weights on the last level.

0  pins and planted feet           3  poles, and elbows and knees that are dragged or reach
1  dragged handles                 4  balance, gazes and aims; with low weight: flat feet, knees that point ahead
2  other reaches                   and the rest pose below all
"""

from poise.model import Model

__all__ = [
    "AIM_WEIGHT",
    "DRAGGED",
    "FLAT_WEIGHT",
    "KEPT",
    "KNEE_WEIGHT",
    "LIFTED_WEIGHT",
    "PINS",
    "POLES",
    "REACHES",
    "UPRIGHT_WEIGHT",
    "find_pin_tolerance",
]

PINS, DRAGGED, REACHES, POLES, KEPT = range(5)
AIM_WEIGHT = 0.3  # relative to balance, weight 1
FLAT_WEIGHT = 0.01
LIFTED_WEIGHT = 0.01  # of a dragged foot to stay flat
UPRIGHT_WEIGHT = 0.01  # of the body to stay upright while a foot is dragged
KNEE_WEIGHT = 0.3
PIN_TOLERANCE = 1e-6  # m (times L below 1) and rad


def find_pin_tolerance(model: Model) -> tuple[float, float]:
    """Return the tolerance of a pin [m, rad]."""
    return PIN_TOLERANCE * min(1.0, model.length), PIN_TOLERANCE
