"""Limit: a constraint without weight or priority that a solution never violates.

`rows` translates a limit for the kernels, as `Goal.rows` does for a goal.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from poise.errors import InvalidValue
from poise.model import Model
from poise.model.joints.joint import BallRange
from poise.native import core

if TYPE_CHECKING:
    from poise.limits.skeleton import BodyCapsule

__all__ = ["CLOSE", "Limit", "LimitRow", "LimitRows", "LoopRow", "RateBounds", "name_limits"]

CLOSE = 1e-9  # tolerance of a closed loop: of L [m], and rad
ROUNDING = 5e-13  # rad, or in the scale of a sum: widening of a limit with equal bounds, to allow for rounding


class LimitRow(NamedTuple):
    """One inequality (a number that must not be negative) in the form that the kernels use, with its name.

    The numbers of each operation are described in `native/kernels/limits/limits.h`.

    Attributes:
        op: The operation that computes the number.
        numbers: Numbers of that operation, at most 16.
        distance: The smallest gap between two surfaces [m].
        capsules: The capsules of the body that it involves, one or two.
        which: The end of the capsule, or the rule of the cone.
        cone: The first index in q, the first velocity and the 14 numbers of a ball joint's range.
        terms: The index in q, the velocity and the factor of each coordinate in a sum.
        end: The bound [rad, m].
        unit: Radians or metres per unit in the kernels.
        side: The bound of the range, "lower" or "upper".
        joint: The joint of the limit; empty if there are several.
        part: The part of a ball joint's range: "swing", "twist", "angle".
        between: The names of the two objects that it keeps apart.
        about: A description of the limited value; the limit itself if empty.
    """

    op: core.LimitOp
    numbers: tuple[float, ...] = ()
    distance: float = 0.0
    capsules: tuple[BodyCapsule, ...] = ()
    which: int = 0
    cone: tuple[int, int, tuple[float, ...]] | None = None
    terms: tuple[tuple[int, int, float], ...] = ()
    end: float = 0.0
    unit: float = 1.0
    side: str = "upper"
    joint: str = ""
    part: str = ""
    between: tuple[str, ...] = ()
    about: str = ""


class LoopRow(NamedTuple):
    """A closed loop in the form that the kernels use.

    Attributes:
        frame: The frame.
        other: The frame in which the target is given.
        point: A point of the frame [m].
        target: Rotation (9) and position (3), in the other frame.
        turns: Whether the rotation is also fixed.
    """

    frame: str
    other: str
    point: NDArray[np.float64]
    target: NDArray[np.float64]
    turns: bool


class RowTable(Sequence[LimitRow]):
    """Rows that the kernels read as arrays; a row is made when it is looked at."""

    __slots__ = ()

    @abstractmethod
    def make_native(self) -> dict[str, Any]:
        """Return the arrays for the kernels."""


class LimitRows(NamedTuple):
    """A limit in the form that the kernels use.

    Attributes:
        rows: Numbers that must not be negative.
        loops: Loops that stay closed.
    """

    rows: Sequence[LimitRow] = ()
    loops: tuple[LoopRow, ...] = ()


class RateBounds(NamedTuple):
    """The bounds of a time-dependent limit on every velocity; None if it has none, infinite if unbounded.

    Attributes:
        speed: The largest velocity, (nv,) [rad/s, m/s].
        acceleration: The largest acceleration, (nv,) [rad/s^2, m/s^2].
    """

    speed: NDArray[np.float64] | None = None
    acceleration: NDArray[np.float64] | None = None


@dataclass(frozen=True, kw_only=True)
class Limit:
    """The base class of limits.

    Attributes:
        name: Its name in `solution.active_limits` and in `why()`.
    """

    name: str = ""

    timed: ClassVar[bool] = False  # whether it depends on time and applies only in `Solver.step`, by `bound_rates`

    @property
    def kind(self) -> str:
        """The value of `ActiveLimit.kind`."""
        return type(self).__name__.lower()

    def rows(self, model: Model, moves: NDArray[np.bool_]) -> LimitRows:
        """Return the limit in the form that the kernels use.

        Args:
            model: The body.
            moves: Whether each velocity may change, (nv,).
        """
        return LimitRows()

    def bound_rates(self, model: Model) -> RateBounds:
        """Return the bounds of a time-dependent limit on every velocity."""
        return RateBounds()

    def change_cones(self, model: Model, cones: Mapping[str, BallRange]) -> dict[str, BallRange]:
        """Return the ranges of ball joints that this limit changes, given those in `cones`."""
        return {}

    def describe(self, model: Model) -> list[str]:
        """Return the assumptions of the limit about a body, for `why()`."""
        return []

    def settle(self, default: str, **values: Any) -> None:
        """Set checked values and the name on a limit during construction."""
        if not isinstance(self.name, str):
            raise InvalidValue(f"{type(self).__name__}: name must be a string, not {self.name!r}.")
        for key, value in {**values, "name": self.name or default}.items():
            object.__setattr__(self, key, value)


def name_limits(limits: Any) -> dict[str, Limit]:
    """Return limits by name; duplicate names are numbered.

    Raises:
        InvalidValue: An entry is not a limit.
    """
    given = [limits] if isinstance(limits, Limit) else limits
    if isinstance(given, str) or not isinstance(given, Iterable):
        raise InvalidValue(f"limits must be a list of limits such as Clearance(...), not {limits!r}.")
    named: dict[str, Limit] = {}
    for limit in given:
        if not isinstance(limit, Limit):
            raise InvalidValue(f"limits must be a list of limits such as Clearance(), after the goals, not {limit!r}.")
        name, number = limit.name, 2
        while name in named:
            name, number = f"{limit.name}#{number}", number + 1
        named[name] = limit
    return named
