"""Limit: a rule without weight or priority that a solution never breaks.

`rows` translates a limit for the kernels, as `Goal.rows` does for a goal.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
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

CLOSE = 1e-9  # how well a closed loop is closed: of L [m], and radians
ROUNDING = 5e-13  # what a limit whose two ends are equal is opened by: an angle or a sum has that much rounding


class LimitRow(NamedTuple):
    """One number that must not be negative, as the kernels read it, with its name.

    What the numbers of an operation mean stands in `native/kernels/limits/limits.h`.

    Attributes:
        op: The operation that computes the number.
        numbers: Numbers of that operation, 16 at most.
        distance: The gap that two surfaces keep [m].
        capsules: The capsules of the body that it is about, one or two.
        which: The end of the capsule, or the rule of the cone, that it is about.
        cone: The first index in q, the first velocity and the 14 numbers of a ball joint's range.
        terms: The index in q, the velocity and the factor of each coordinate in a sum.
        end: The value that must not be passed [rad, m].
        unit: How many radians or metres the kernels call 1.
        side: Which end of the range it is, "lower" or "upper".
        joint: The joint that it is about; empty if there are several.
        part: What of the joint: "swing", "twist", "angle".
        between: The two things that it keeps apart.
        about: What has the value, as a sentence would name it; the limit itself if empty.
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
    """A loop that stays closed, in numbers.

    Attributes:
        frame: The frame.
        other: The frame that the target is given in.
        point: Where on the frame.
        target: Rotation (9) and position (3), in the other frame.
        turns: Whether the rotation is held too.
    """

    frame: str
    other: str
    point: NDArray[np.float64]
    target: NDArray[np.float64]
    turns: bool


class LimitRows(NamedTuple):
    """A limit as the kernels see it.

    Attributes:
        rows: Numbers that must not be negative.
        loops: Loops that stay closed.
    """

    rows: tuple[LimitRow, ...] = ()
    loops: tuple[LoopRow, ...] = ()


class RateBounds(NamedTuple):
    """The bounds of a limit about time on every velocity; None if it has none, infinite if unbounded.

    Attributes:
        speed: The largest rate, (nv,) [rad/s, m/s].
        acceleration: The largest change of rate in a second, (nv,) [rad/s^2, m/s^2].
    """

    speed: NDArray[np.float64] | None = None
    acceleration: NDArray[np.float64] | None = None


@dataclass(frozen=True, kw_only=True)
class Limit:
    """What all limits have.

    Attributes:
        name: What it is called in `solution.active_limits` and in `why()`.
    """

    name: str = ""

    timed: ClassVar[bool] = False  # whether it is about time: it then holds in `Solver.step` alone, by `bound_rates`

    @property
    def kind(self) -> str:
        """What `ActiveLimit.kind` calls it."""
        return type(self).__name__.lower()

    def rows(self, model: Model, moves: NDArray[np.bool_]) -> LimitRows:
        """Return the limit in the kernels' words.

        Args:
            model: The body.
            moves: Which velocities may change, (nv,).
        """
        return LimitRows()

    def bound_rates(self, model: Model) -> RateBounds:
        """Return the bounds of a limit about time on every velocity."""
        return RateBounds()

    def change_cones(self, model: Model, cones: Mapping[str, BallRange]) -> dict[str, BallRange]:
        """Return the ranges of ball joints that are other ones with this limit than those in `cones`."""
        return {}

    def settle(self, default: str, **values: Any) -> None:
        """Write checked values, and the name, into a limit that is being made."""
        if not isinstance(self.name, str):
            raise InvalidValue(f"{type(self).__name__}: name must be a string, not {self.name!r}.")
        for key, value in {**values, "name": self.name or default}.items():
            object.__setattr__(self, key, value)


def name_limits(limits: Any) -> dict[str, Limit]:
    """Return limits by name; those of the same name are numbered.

    Raises:
        InvalidValue: Something else is among them.
    """
    given = [limits] if isinstance(limits, Limit) else limits
    if isinstance(given, str) or not isinstance(given, Iterable):
        raise InvalidValue(f"limits must be a list of limits such as Clearance(...), not {limits!r}.")
    named: dict[str, Limit] = {}
    for limit in given:
        if not isinstance(limit, Limit):
            raise InvalidValue(f"limits must be a list of limits such as Clearance(...), not {limit!r}.")
        name, number = limit.name, 2
        while name in named:
            name, number = f"{limit.name}#{number}", number + 1
        named[name] = limit
    return named
