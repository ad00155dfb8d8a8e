"""Range: a target that accepts anything between two numbers.

    deviation  0 if low <= x <= high, otherwise the distance to the closer end      metres or radians

Source: Beeson and Ames, TRAC-IK, Humanoids 2015 (tolerances per Cartesian axis).
"""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from poise.errors import InvalidValue, PoiseError
from poise.goals.goal import pack_target
from poise.kinematics.regions import LARGEST
from poise.model.spec import read_number, read_vector

__all__ = ["Range", "pack_place", "read_place", "read_range"]

Place = NDArray[np.float64] | tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class Range:
    """Anything from `low` to `high`; None (or infinity) leaves that side open."""

    low: float | None = None
    high: float | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "low", read_end(self.low, -math.inf, "low"))
        object.__setattr__(self, "high", read_end(self.high, math.inf, "high"))
        low, high = self.ends
        if low > high:
            raise InvalidValue(f"Range: low is {low} and high is {high}; low must not be above high.")

    @property
    def ends(self) -> tuple[float, float]:
        """Both ends; infinite if open."""
        return (
            -math.inf if self.low is None else float(self.low),
            math.inf if self.high is None else float(self.high),
        )

    @property
    def center(self) -> float:
        """The middle, or the finite end if one side is open, or 0 if both are."""
        low, high = self.ends
        if math.isinf(low):
            return 0.0 if math.isinf(high) else high
        return low if math.isinf(high) else low + 0.5 * (high - low)

    def around(self, center: float) -> tuple[float, float]:
        """Return the lowest and highest deviation from `center`."""
        low, high = self.ends
        return low - center, high - center


def read_end(value: Any, open_end: float, what: str) -> float | None:
    """Return one end as a number, or None if it is open."""
    if value is None:
        return None
    try:
        if float(value) == open_end:
            return None
    except (TypeError, ValueError):
        pass
    found = read_number(value, f"Range: {what}")
    if abs(found) >= LARGEST:
        raise InvalidValue(f"Range: {what} is {found}; it must be below {LARGEST:g}.")
    return found


def read_range(value: Any, what: str, least: float, most: float) -> Range:
    """Return a number, a Range or (low, high) as a Range inside [least, most]."""
    if isinstance(value, Range):
        found = value
    elif isinstance(value, (tuple, list)) and len(value) == 2:
        try:
            found = Range(*value)
        except PoiseError as error:
            raise InvalidValue(f"{what} is {value!r}; give a number, a Range or (low, high). {error}") from None
    else:
        exact = read_number(value, what)
        found = Range(exact, exact)
    for side, bound in zip(("low", "high"), (found.low, found.high), strict=True):
        if bound is not None and not least <= bound <= most:
            allowed = f"from {least:g} to {most:.6g}" if math.isfinite(most) else f"{least:g} or more"
            raise InvalidValue(f"{what} is {value!r}; its {side} end must be {allowed}.")
    return found


def read_place(target: Any, what: str, fewest: int = 3) -> Place:
    """Return three coordinates [m]: an array, or a tuple if a Range is among them.

    With `fewest` 2 such a tuple may have two coordinates, for a planar body.
    """
    if isinstance(target, (tuple, list)) and any(isinstance(x, Range) for x in target):
        if not fewest <= len(target) <= 3:
            raise InvalidValue(f"{what} has {len(target)} coordinates; it must have 3.")
        return tuple(part if isinstance(part, Range) else float(read_coordinate(part, what)) for part in target)
    point = read_vector(target, 3, what)
    if not (np.abs(point) < LARGEST).all():
        raise InvalidValue(f"{what} is {point.tolist()}; every number must be finite (and below {LARGEST:g}).")
    return point


def read_coordinate(value: Any, what: str) -> float:
    """Return one coordinate [m]."""
    found = read_number(value, f"{what}: a coordinate")
    if abs(found) >= LARGEST:
        raise InvalidValue(f"{what}: a coordinate is {found}; it must be below {LARGEST:g}.")
    return found


def pack_place(place: Place, ranged: bool) -> NDArray[np.float64]:
    """Return the packed target of a position; with `ranged`, also the lowest and highest deviation of each row."""
    parts = [part if isinstance(part, Range) else Range(part, part) for part in place]
    target = pack_target(None, [part.center for part in parts])
    if not ranged:
        return target
    low, high = np.zeros(6), np.zeros(6)
    for k, part in enumerate(parts):
        low[k], high[k] = part.around(target[9 + k])
    return np.concatenate([target, low, high])
