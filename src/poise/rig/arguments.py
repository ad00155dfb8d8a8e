"""Check the arguments of a Rig."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from poise.arguments import check_number
from poise.errors import InvalidValue
from poise.goals import Balance, Rest
from poise.model import Model
from poise.rig.handle import has_free_base
from poise.rig.levels import KEPT
from poise.rig.limbs.stiffness import find_gains
from poise.rig.standing.stance import Feet

TOE_GAIN = 51.0  # gain of the rest pose; a joint of stiffness 0 has gain 1

__all__ = ["check_maker", "check_share", "read_balance", "read_floor", "read_rest"]


def read_balance(balance: Any) -> Any:
    """Return "auto", a Balance on its priority level, or None."""
    if balance is None or balance is False:
        return None
    if balance is True or (isinstance(balance, str) and balance == "auto"):
        return "auto"
    if isinstance(balance, Balance):
        return Balance(balance.support, margin=balance.margin, weight=balance.weight, priority=KEPT, name="balance")
    return Balance(balance, priority=KEPT, name="balance")


def read_rest(rest: Any, model: Model, start: NDArray[np.float64], feet: Feet) -> Rest | None:
    """Return the posture below all goals, or None. Stiffer joints have higher gains, toes the highest.

    The gain of the toes keeps the heel down unless a goal lifts it.
    """
    if rest is False:
        return None
    if isinstance(rest, Rest):
        return rest
    gains = find_gains(model, dict(feet.handles))
    for toes in feet.toes:
        gains[model.joint(str(model.frame(toes).joint)).v] = TOE_GAIN
    return Rest(start if rest is None else rest, gains=gains)


def read_floor(floor: Any, feet: Feet, start: NDArray[np.float64]) -> float | None:
    """Return the height of the floor [m], or None."""
    if floor is None or floor is False:
        return None
    if floor is True or (isinstance(floor, str) and floor == "auto"):
        return feet.find_floor(start) if has_free_base(feet.model) else None
    return check_number(floor, "floor", "a height [m], 'auto' or None")


def check_maker(maker: Any) -> Any:
    """Return the function that makes solvers; raise InvalidValue if it is not callable."""
    if not callable(maker):
        raise InvalidValue(f"make_solver is {maker!r}; it must be a function that takes a RigProblem.")
    return maker


def check_share(value: Any, what: str) -> float:
    """Return a number from 0 to 1; raise InvalidValue for anything else."""
    return check_number(value, what, "a number from 0 to 1", 0, 1)
