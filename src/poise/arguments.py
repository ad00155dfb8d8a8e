"""Checks of single arguments: numbers in a range, whole numbers, True or False."""

from __future__ import annotations

from numbers import Real
from typing import Any

import numpy as np

from poise.errors import InvalidValue

__all__ = ["check_flag", "check_number", "check_positive", "check_whole", "is_number", "is_whole"]

SMALLEST, LARGEST = 5e-324, float(np.finfo(np.float64).max)  # of the positive and finite numbers


def is_number(value: object) -> bool:
    """Return whether the value is one real number: not text, bool or a list."""
    return isinstance(value, Real) and not isinstance(value, bool)


def is_whole(value: object) -> bool:
    """Return whether the value is a Python or NumPy integer, and not a bool."""
    return isinstance(value, (int, np.integer)) and not isinstance(value, bool)


def check_number(value: Any, what: str, wanted: str, least: float = -LARGEST, most: float = LARGEST) -> float:
    """Return a number of a range as a float. Raises `InvalidValue` that says what is wanted, such as "a height [m]"."""
    number = float(value) if isinstance(value, np.floating) else value  # the bounds may overflow float32
    if not is_number(value) or not least <= number <= most:
        raise InvalidValue(f"{what} is {value!r}; it must be {wanted}.")
    return float(value)


def check_positive(value: Any, what: str, wanted: str = "a positive number") -> float:
    """Return a finite number above zero. Raises `InvalidValue` otherwise."""
    return check_number(value, what, wanted, SMALLEST)


def check_whole(value: Any, what: str, least: int = 0, most: int | None = None) -> int:
    """Return a whole number from `least` to `most`. Raises `InvalidValue` otherwise."""
    if not is_whole(value) or value < least or (most is not None and value > most):
        wanted = f", {least} or more" if most is None else f" from {least} to {most}"
        raise InvalidValue(f"{what} is {value!r}; it must be a whole number{wanted}.")
    return int(value)


def check_flag(value: Any, what: str) -> bool:
    """Return True or False. Raises `InvalidValue` for other truthy or falsy values."""
    if not isinstance(value, (bool, np.bool_)):
        raise InvalidValue(f"{what} is {value!r}; it must be True or False.")
    return bool(value)
