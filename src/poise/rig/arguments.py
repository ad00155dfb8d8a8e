"""What a Rig takes, checked at its door."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from poise.errors import InvalidValue
from poise.goals import Balance, Rest
from poise.model import Model
from poise.rig.problem import KEPT

__all__ = ["checked_share", "checked_weight", "read_balance", "read_rest"]


def read_balance(balance: Any) -> Any:
    """The word "auto", a Balance on its level, or None."""
    if balance is None or balance is False:
        return None
    if balance is True or (isinstance(balance, str) and balance == "auto"):
        return "auto"
    if isinstance(balance, Balance):
        return Balance(balance.support, margin=balance.margin, weight=balance.weight, priority=KEPT, name="balance")
    return Balance(balance, priority=KEPT, name="balance")


def read_rest(rest: Any, model: Model, start: NDArray[np.float64]) -> Rest | None:
    """The posture below all wishes, stiffer joints drawn more strongly; None for none."""
    if rest is False:
        return None
    if isinstance(rest, Rest):
        return rest
    return Rest(start if rest is None else rest, gains=1.0 + np.asarray(model.stiffness))


def checked_share(value: Any, what: str) -> float:
    """A number from 0 to 1."""
    if isinstance(value, bool) or not isinstance(value, (int, float, np.number)) or not 0.0 <= value <= 1.0:
        raise InvalidValue(f"{what} is {value!r}; it must be a number from 0 to 1.")
    return float(value)


def checked_weight(value: Any) -> float:
    """A positive number."""
    if isinstance(value, bool) or not isinstance(value, (int, float, np.number)) or not 0.0 < value < np.inf:
        raise InvalidValue(f"weight is {value!r}; it must be a positive number.")
    return float(value)
