"""Coupled: a range for a weighted sum of joint coordinates.

    rule   lower <= sum_i c_i q_i <= upper           in the units of the coordinates, rad and m

Examples: a finger whose last joint bends with the previous one, a shoulder whose range depends on its rotation, a cable
over two pulleys; with lower = upper, an equality. Source: Kanoun, Lamiraux and Wieber, Kinematic control of redundant
manipulators: generalizing the task-priority framework to inequality tasks, 2011 (linear inequality rows).
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from poise.errors import InvalidValue, name_not_found
from poise.limits.limit import ROUNDING, Limit, LimitRow, LimitRows
from poise.model import Joint, Model
from poise.model.joints.joint import get_name
from poise.model.spec import read_number
from poise.native import core

__all__ = ["Coupled", "CoupledRow"]


class CoupledRow(NamedTuple):
    """A coupled range as arrays: ``lower <= coefficients . q[q_index] <= upper``, and the same row over velocities.

    Attributes:
        q_index: Indices in q.
        v_index: Indices in v.
        coefficients: The coefficient of each.
        lower: Lowest value of the sum.
        upper: Highest value of the sum.
    """

    q_index: NDArray[np.int64]
    v_index: NDArray[np.int64]
    coefficients: NDArray[np.float64]
    lower: float
    upper: float


@dataclass(frozen=True)
class Coupled(Limit):
    """Keep a weighted sum of joint coordinates in a range.

    Attributes:
        joints: {joint: coefficient}. For a joint with several coordinates, name one as in `joint.coordinates`: "hip.rx"
            of an Euler joint, "base.angle" of a planar one; or by index, "hip.0", "hip.1".
        lower: Lowest value; by default unbounded.
        upper: Highest value; by default unbounded.
    """

    joints: Any
    lower: float = -math.inf
    upper: float = math.inf

    def __post_init__(self) -> None:
        pairs = self.joints.items() if isinstance(self.joints, Mapping) else self.joints
        try:
            named = [(get_name(name), value) for name, value in pairs]
            given = tuple((name, read_number(value, f"Coupled: the coefficient of {name!r}")) for name, value in named)
        except TypeError:
            raise InvalidValue(f"Coupled: joints must be {{joint: coefficient}}, not {self.joints!r}.") from None
        if not any(value for _, value in given):
            raise InvalidValue(f"Coupled: joints is {self.joints!r}; give at least one coefficient that is not zero.")
        low, high = read_end(self.lower, "lower", -math.inf), read_end(self.upper, "upper", math.inf)
        if low > high:
            raise InvalidValue(f"Coupled: lower is {low} and upper is {high}; lower must not be above upper.")
        if math.isinf(low) and math.isinf(high):
            raise InvalidValue("Coupled: it limits nothing; give lower or upper.")
        self.settle("coupled " + "+".join(name for name, _ in given), joints=given, lower=low, upper=high)

    def rows(self, model: Model, moves: NDArray[np.bool_]) -> LimitRows:
        """Return one row for each finite bound; they do not depend on `moves`."""
        row = self.row(model)
        unit = find_unit(model, row)
        factors = (row.coefficients / unit).tolist()
        terms = tuple(zip(row.q_index.tolist(), row.v_index.tolist(), factors, strict=True))
        slack = ROUNDING * (unit + abs(row.lower)) if row.lower == row.upper else 0.0
        ends = ((1.0, row.lower - slack, "lower", self.lower), (-1.0, row.upper + slack, "upper", self.upper))
        return LimitRows(
            tuple(
                LimitRow(
                    core.LimitOp.COUPLED,
                    (sign, bound / unit),
                    terms=terms,
                    end=end,
                    unit=unit,
                    side=side,
                    about=self.write_sum(),
                )
                for sign, bound, side, end in ends
                if math.isfinite(bound)
            )
        )

    def write_sum(self) -> str:
        """Write the sum as a formula."""
        out = ""
        for name, factor in self.joints:
            size = "" if abs(factor) == 1 else f"{abs(factor):g} "
            sign = ("-" if factor < 0 else "") if not out else (" - " if factor < 0 else " + ")
            out += f"{sign}{size}{name!r}"
        return out

    def row(self, model: Model) -> CoupledRow:
        """Return the sum and its range as arrays.

        Raises:
            NameNotFound: A joint or coordinate does not exist.
            InvalidValue: A joint has no scalar coordinates, or no pose within the joint ranges satisfies the range.
        """
        sums: dict[tuple[int, int], float] = {}
        shift = 0.0
        for name, coefficient in self.joints:
            joint, part = find_coordinate(model, name)
            ratio, offset = (joint.mimic.ratio, joint.mimic.offset) if joint.mimic else (1.0, 0.0)
            at = (joint.q.start + part, joint.v.start + part)
            sums[at] = sums.get(at, 0.0) + coefficient * ratio
            shift += coefficient * offset
        index = np.array(list(sums), dtype=np.int64)
        row = CoupledRow(
            index[:, 0], index[:, 1], np.array(list(sums.values())), self.lower - shift, self.upper - shift
        )
        check_meets(model, row, self.name)
        return row


def find_unit(model: Model, row: CoupledRow) -> float:
    """Return the scale of a sum of coordinates: approximately its change per radian, or per L of a slide.

    A power of two, so that nothing is rounded, and at least a sixteenth of the bounds, so that rounding errors stay
    below the margin that a pose keeps from them.
    """
    each = np.abs(row.coefficients) * np.where(~model.slides[row.v_index], 1.0, model.length)
    bounds = [abs(bound) / 16.0 for bound in (row.lower, row.upper) if np.isfinite(bound)]
    size = max(float(each.max(initial=0.0)), *bounds)
    return math.ldexp(1.0, round(math.log2(size))) if size > 0 else 1.0


def read_end(value: Any, what: str, open_end: float) -> float:
    """Return one bound of the range; infinity on its own side is allowed."""
    if value is None or (isinstance(value, (int, float)) and value == open_end):
        return open_end
    return read_number(value, f"Coupled: {what}")


def find_coordinate(model: Model, name: str) -> tuple[Joint, int]:
    """Return the joint with this name, and the index of its coordinate."""
    known = {joint.name for joint in model.joints}
    stem, dot, part = (name, "", "") if name in known else name.rpartition(".")
    if not dot and name not in known:
        raise name_not_found("joint", name, known)
    joint = model.joint(stem)
    if not joint.coordinates:
        raise InvalidValue(f"Coupled: joint {joint.name!r} is {joint.kind} and has no coordinates that add up.")
    if not part:
        if len(joint.coordinates) != 1:
            shown = ", ".join(joint.name_coordinate(k) for k in range(len(joint.coordinates)))
            raise InvalidValue(f"Coupled: joint {joint.name!r} has several coordinates; name one of: {shown}.")
        return joint, 0
    if part not in name_parts(joint):
        raise name_not_found(f"coordinate of joint {joint.name!r}", part, name_parts(joint))
    return joint, name_parts(joint)[part]


def name_parts(joint: Joint) -> dict[str, int]:
    """Map the names of a joint's coordinates to their indices; indices and axis letters are also accepted."""
    names = {coordinate.name: k for k, coordinate in enumerate(joint.coordinates)}
    letters = {letter.lower(): k for k, letter in enumerate(joint.order)} if len(set(joint.order)) == 3 else {}
    return names | letters | {str(k): k for k in range(len(names))}


def check_meets(model: Model, row: CoupledRow, name: str) -> None:
    """Raise `InvalidValue` if no pose within the joint ranges satisfies the coupled range."""
    ends = np.stack([model.lower[row.v_index] * row.coefficients, model.upper[row.v_index] * row.coefficients])
    ends[:, row.coefficients == 0.0] = 0.0
    least, most = float(ends.min(axis=0).sum()), float(ends.max(axis=0).sum())
    if least > row.upper or most < row.lower:
        raise InvalidValue(
            f"limit {name!r} cannot hold: inside the joint ranges the sum goes from {least:.6g} to {most:.6g}, "
            f"and it must be from {row.lower:.6g} to {row.upper:.6g}."
        )
