"""The closed form of a goal: the family of its chain for the kernels, and the conversion of joint values to q."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from poise.arrays import Floats
from poise.goals.goal import GoalRows
from poise.model.chain import Axis, Chain, find_chain
from poise.model.family import Family, find_family, read_family, span
from poise.model.memo import keep_with_model
from poise.native import core
from poise.reach.bounds import Freedom, fixes_the_frame, narrow_freedom, recall_kernel_table

if TYPE_CHECKING:
    from poise.model import Model

__all__ = [
    "ClosedGoal",
    "family_table",
    "find_closed_form",
    "make_axis_table",
    "make_branch_table",
    "make_closed_tables",
    "make_sampled_table",
    "place_values",
    "read_axes",
    "read_values",
]

HALF = 0.5 + 1e-9  # of a turn: of two equally near angles the lower one is chosen, regardless of rounding
TURN = 2.0 * np.pi
MOST_SAMPLED = 11  # joints of a chain: samples of more than four are too sparse


@dataclass(frozen=True, slots=True, eq=False)
class ClosedGoal:
    """A full transform goal with the closed form of its chain.

    Attributes:
        family: The family.
        table: The numbers of the family for the kernels.
        form: The closed form of the kernels.
        axes: The chain's axes, in the order of the joint values.
        reading: For each axis its index in q, gain, bias, and weight in the distance between poses.
    """

    family: Family
    table: dict[str, Any]
    form: core.ClosedForm
    axes: tuple[Axis, ...]
    reading: core.ChainReading

    @property
    def free(self) -> int | None:
        """The index of the free joint's value; None for six joints."""
        return {0: None, 1: 0, 2: 6}[self.family.place]


def place_values(axes: Sequence[Axis], values: Floats, start: Floats) -> Floats:
    """Return q (k, nq) of axes' values (k, n), shifted by whole turns into the range and nearest to the start.

    `start` is one configuration for all rows, (nq,), or one per row, (k, nq).
    """
    q = np.array(np.broadcast_to(np.asarray(start, dtype=np.float64), (len(values), np.shape(start)[-1])))
    for k, axis in enumerate(axes):
        v = values[:, k]
        if not axis.slides:
            v = bring_near(v, axis, axis.gain * q[:, axis.q] + axis.bias)
        q[:, axis.q] = (v - axis.bias) / axis.gain
    return q


def read_values(axes: Sequence[Axis], q: Floats) -> Floats:
    """Return the values (..., n) of axes at configurations (..., nq): the inverse of `place_values`."""
    return np.stack([axis.gain * q[..., axis.q] + axis.bias for axis in axes], axis=-1)


def bring_near(v: Floats, axis: Axis, near: Floats | float) -> Floats:
    """Return angles shifted by whole turns into the range if possible, as near as possible to `near`."""
    close = v + TURN * np.ceil((near - v) / TURN - HALF)
    if np.isfinite(axis.upper):
        close = close - TURN * np.ceil(np.maximum(close - axis.upper, 0.0) / TURN - 1e-12)
    if np.isfinite(axis.lower):
        up = close + TURN * np.ceil(np.maximum(axis.lower - close, 0.0) / TURN - 1e-12)
        close = np.where(up <= axis.upper + 1e-9, up, np.where(axis.lower - close < up - axis.upper, close, up))
    return np.asarray(close)


def find_closed_form(model: Model, goal: GoalRows, freedom: Freedom) -> ClosedGoal | Family | None:
    """Return the closed form of a transform goal, or its family if it has no closed form; None for other goals."""
    if not fixes_the_frame(goal) or goal.base is not None:
        return None
    frame = model.frame(str(goal.frame)).name
    return make_closed_form(model, frame, tuple(goal.point.tolist()), narrow_freedom(model, freedom, frame))


@keep_with_model
def make_closed_form(model: Model, frame: str, point: tuple[float, ...], freedom: Freedom) -> ClosedGoal | Family:
    """Compute the value of `find_closed_form`."""
    moves = np.frombuffer(freedom.moves, dtype=bool)
    q = np.asarray(model.rest) if freedom.q is None else np.frombuffer(freedom.q)
    table = recall_kernel_table(model)
    family = find_family(model, frame, moves, q, limited=freedom.limited, table=table)
    if not family or family.near or family.chain is None or family.six is None or not np.isfinite(family.point_error):
        return family
    numbers, axes = family_table(family, np.array(point)), family.chain.axes
    return ClosedGoal(family, numbers, core.ClosedForm(numbers), axes, read_axes(model, axes))


def read_axes(model: Model, axes: Sequence[Axis]) -> core.ChainReading:
    """Return `ClosedGoal.reading`; slides are in units of the body's length."""
    return core.ChainReading(
        q=[axis.q for axis in axes],
        gain=[axis.gain for axis in axes],
        bias=[axis.bias for axis in axes],
        scale=[1.0 / (abs(axis.gain) * (model.length if axis.slides else 1.0)) for axis in axes],
    )


def make_closed_tables(
    model: Model, goals: Sequence[GoalRows], moves: NDArray[np.bool_], limited: bool
) -> list[dict[str, Any]]:
    """Return the closed form of each goal that has one, for a solver to use after a missed search.

    Chains with a joint that may not move are excluded, since its value depends on the start.
    """
    freedom = Freedom(np.asarray(moves, dtype=bool).tobytes(), limited)
    found = ((g, find_closed_form(model, goal, freedom)) for g, goal in enumerate(goals))
    return [
        {**closed.table, "goal": g, **list_readings(closed.axes)}
        for g, closed in found
        if isinstance(closed, ClosedGoal) and closed.family.chain is not None and not closed.family.chain.still
    ]


def make_branch_table(
    model: Model, goals: Sequence[GoalRows], moves: NDArray[np.bool_], limited: bool
) -> dict[str, Any] | None:
    """Return the closed form whose nearest branch begins a solve: one transform goal of six joints; otherwise None.

    A chain that is only nearly in a family has guesses of its branches, and `exact` is false.
    """
    if len(goals) != 1:
        return None
    closed = find_closed_form(model, goals[0], Freedom(np.asarray(moves, dtype=bool).tobytes(), limited))
    family = closed.family if isinstance(closed, ClosedGoal) else closed
    if family is None or family.six is None or family.chain is None or family.place or family.chain.still:
        return None
    exact = isinstance(closed, ClosedGoal)
    table = closed.table if isinstance(closed, ClosedGoal) else family_table(family, goals[0].point)
    errors = {} if exact else {"point_error": 0.0, "turn_error": 0.0}
    return {**table, **errors, "goal": 0, "exact": exact, **list_readings(family.chain.axes)}


@keep_with_model
def find_part(model: Model, frame: str, freedom: Freedom) -> tuple[Chain, int, Family] | None:
    """Return a chain of more than seven joints, and the first joint and the family of its last part that has one."""
    moves, table = np.frombuffer(freedom.moves, dtype=bool), recall_kernel_table(model)
    chain = find_chain(model, frame, moves, np.asarray(model.rest), limited=freedom.limited, table=table)
    count = len(chain.axes)
    if chain.odd or chain.twice or chain.still or not 7 < count <= MOST_SAMPLED:
        return None
    parts = ((first, first + size) for size in (7, 6) for first in range(count - size, -1, -1))
    families = ((first, read_family(replace(chain, axes=chain.axes[first:last]), frame)) for first, last in parts)
    return next(((chain, first, family) for first, family in families if family.six and not family.near), None)


def make_sampled_table(
    model: Model, goals: Sequence[GoalRows], moves: NDArray[np.bool_], limited: bool
) -> dict[str, Any] | None:
    """Return the closed form of a part of a longer chain, for the only goal, and the other joints; otherwise None."""
    if len(goals) != 1 or not fixes_the_frame(goals[0]) or goals[0].base is not None:
        return None
    freedom = Freedom(np.asarray(moves, dtype=bool).tobytes(), limited)
    found = find_part(model, model.frame(str(goals[0].frame)).name, freedom)
    if found is None:
        return None
    (chain, first, family), point = found, goals[0].point
    last = first + len(family.joints)
    R, p = chain.T[:3, :3], chain.T[:3, :3] @ point + chain.T[:3, 3]
    behind = [replace(axis, h=R.T @ axis.h, p=R.T @ (axis.p - p)) for axis in reversed(chain.axes[last:])]
    sampled = [
        {**make_axis_table(axis), "q": axis.q, "gain": axis.gain, "bias": axis.bias, "behind": k >= first}
        for k, axis in enumerate([*chain.axes[:first], *behind])
    ]
    return {**family_table(family, point), "goal": 0, **list_readings(chain.axes[first:last]), "sampled": sampled}


def list_readings(axes: Sequence[Axis]) -> dict[str, list[Any]]:
    """Return the indices in q, gains and biases of axes."""
    return {"q": [axis.q for axis in axes], "gain": [axis.gain for axis in axes], "bias": [axis.bias for axis in axes]}


def family_table(family: Family, point: Floats) -> dict[str, Any]:
    """Return the kernels' table of a family, for a goal on a point of the frame."""
    six, chain = family.six, family.chain
    assert six is not None
    assert chain is not None
    T = chain.T
    p = T[:3, :3] @ point + T[:3, 3]
    lever = float(np.linalg.norm(point))
    return {
        "axes": [make_axis_table(axis) for axis in six.axes],
        "free": make_axis_table(close_turn(chain.axes[0 if family.place == 1 else -1])),
        "center": six.center.tolist(),
        "meet": six.meet.tolist(),
        "R0": T[:3, :3].ravel().tolist(),
        "p0": p.tolist(),
        "plan": int(six.plan),
        "length": span(chain.axes, p) + float(np.linalg.norm(chain.axes[0].p)),
        "backwards": int(six.backwards),
        "free_joint": family.place,
        "point_error": family.point_error + family.turn_error * lever,
        "turn_error": family.turn_error,
    }


def close_turn(axis: Axis) -> Axis:
    """Return a free joint with one finite bound as a range of one turn from that bound, for listing its arcs."""
    if axis.slides or np.isfinite(axis.lower) == np.isfinite(axis.upper):
        return axis
    return replace(axis, upper=axis.lower + TURN) if np.isfinite(axis.lower) else replace(axis, lower=axis.upper - TURN)


def make_axis_table(axis: Axis) -> dict[str, Any]:
    """Return the kernels' table of an axis: direction, point, middle and half width of its range, whether it slides."""
    return {"h": axis.h.tolist(), "p": axis.p.tolist(), "middle": axis.middle, "half": axis.half, "slides": axis.slides}
