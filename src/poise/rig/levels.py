"""The strict levels on which a rig's goals are served, and the weights on the last of them.

0  pins and planted feet           3  poles, and elbows and knees that are dragged or reach
1  the handles that are dragged    4  balance, gazes and aims; by weight also: feet that lie flat, knees that look ahead
2  the other reaches               and the rest pose below all
"""

from __future__ import annotations

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
LIFTED_WEIGHT = 0.01  # of a dragged foot that lies flat
UPRIGHT_WEIGHT = 0.01  # of the body while a foot is dragged
KNEE_WEIGHT = 0.3
PIN_TOLERANCE = 1e-6  # metres (times L below 1) and radians


def find_pin_tolerance(model: Model) -> tuple[float, float]:
    """Return the tolerance of a pin: metres, radians."""
    return PIN_TOLERANCE * min(1.0, model.length), PIN_TOLERANCE
