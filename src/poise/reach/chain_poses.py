"""The poses of a transform for chains without a closed form: exact ones, or guesses.

Six rotations in general position, and seven joints of which one is held, have at most 16 poses: the kernel finds them,
and proves in nearly every case that these are all (general_six.h and exclusion.h in native/kernels/closed). A chain
that nearly belongs to a family also has the poses of the nearest chain of that family, which are guesses: a search on
the model must follow.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from poise.arrays import Floats, Indices
from poise.goals.goal import GoalRows
from poise.model.chain import placement
from poise.model.family import GENERAL, GENERAL_SEVEN, Family, span
from poise.model.memo import MemoTable
from poise.native import core
from poise.reach.bounds import Freedom, narrow_freedom
from poise.reach.closed_forms import (
    ClosedGoal,
    family_table,
    find_closed_form,
    make_axis_table,
    place_values,
    read_axes,
)

if TYPE_CHECKING:
    from poise.model import Model

__all__ = ["ChainPoses", "find_chain", "find_poses", "is_off"]

OFF = 1e-5  # rad, or relative to the chain's length: farther from its family, a chain has only guesses
FINEST = 1e-4  # rad or m: accuracy of the ends of a guess's arc
MOST_CELLS = 4000


class ChainPoses:
    """The poses of a chain, or guesses of them.

    Args:
        model: The body.
        family: The family of the chain: general, or nearly another one.
        point: The goal's point in the frame.

    Attributes:
        family: The family of the chain: general, or nearly another one.
        axes: The axes of the chain.
        tip: The point in the world, with all joints at zero.
        unit: The length of the chain [m].
        free: The free joint of seven; None for six joints.
        is_general: Whether no family is near.
        reading: The joints of the chain in q.
        listed: The ranges of the chain for the kernels.
    """

    def __init__(self, model: Model, family: Family, point: Floats) -> None:
        assert family.chain is not None
        self.family = family
        self._zero = family.chain.T.copy()
        self._zero[:3, 3] += self._zero[:3, :3] @ point
        self.axes, self.tip = family.chain.axes, self._zero[:3, 3]
        self.unit = span(self.axes, self.tip) or 1.0
        self.free = self.axes[family.held] if family.held >= 0 else None
        self.reading = read_axes(model, self.axes)
        self.listed = core.ListedAxes([make_axis_table(axis) for axis in self.axes], self.unit)
        self.is_general = family.six is None
        self._is_off = self.is_general or family.near or family.turn_error > 0.0 or family.point_error > 0.0
        self._form = self._exact = None
        if family.six is not None:
            table = family_table(family, point)
            self._form = core.ClosedForm(table)
            self._exact = core.ClosedForm({**table, "point_error": 0.0, "turn_error": 0.0})

    @cached_property
    def _chain(self) -> core.GeneralChain | None:
        """The kernel of six rotations; made at the first query, since that takes as long as hundreds of queries."""
        turning = [axis for axis in self.axes if axis is not self.free]
        if len(turning) != 6 or any(axis.slides for axis in turning) or not self._is_off:
            return None
        axes = [make_axis_table(axis) for axis in self.axes]
        held = [axis is self.free for axis in self.axes]
        return core.GeneralChain(axes, self._zero[:3, :3].ravel().tolist(), self.tip.tolist(), self.unit, held)

    @property
    def is_exact(self) -> bool:
        """Whether the poses can be found, and not only guessed."""
        return self._chain is not None

    def prepare(self) -> None:
        """Prepare for the first query."""
        _ = self._chain

    def find(self, T: Floats, values: Floats | None = None, branch: int | None = None) -> tuple[Indices, Floats]:
        """Return poses or guesses of transforms (n, 4, 4): the index of the transform (k,), and values (k, joints).

        Args:
            T: The transforms.
            values: Values of the free joint (default: some spread over its range).
            branch: The only branch of the nearest chain to return.
        """
        at = self.spread(8) if values is None else values
        found = [self.find_poses(T, at, False)[:2]]
        if self._form is not None and (self.free is None or not self.is_exact):
            R, p = T[:, :3, :3].reshape(-1, 9), T[:, :3, 3]
            rows = self._form.near(R.copy(), p.copy(), at, False)
            rows = rows if branch is None else rows[rows["branch"] == branch]
            found.append((rows["target"].astype(np.intp), rows["joints"][:, : len(self.axes)]))
        return np.concatenate([rows for rows, _ in found]), np.concatenate([values for _, values in found])

    def find_poses(self, T: Floats, values: Floats, exclude: bool = True) -> tuple[Indices, Floats, list[bool]]:
        """Return the exact poses of transforms (n, 4, 4) at values of the free joint (m,), as `find` does.

        The third item tells for each transform and value, (n m,), whether the poses are all; with `exclude`, also if
        that takes milliseconds to prove.
        """
        if self._chain is None:
            return np.zeros(0, dtype=np.intp), np.zeros((0, len(self.axes))), [False] * (len(T) * len(values))
        rows, complete = self._chain.find(T[:, :3, :3].reshape(-1, 9).copy(), T[:, :3, 3].copy(), values, exclude)
        return rows["target"].astype(np.intp), rows["joints"][:, : len(self.axes)], complete

    def exclude(self, T: Floats, tolerance: tuple[float, float]) -> NDArray[np.bool_]:
        """Return whether transforms (n, 4, 4) are proved to have no pose within the tolerances [m, rad]."""
        R, p = T[:, :3, :3].reshape(-1, 9).copy(), T[:, :3, 3].copy()
        out = np.array([1] * len(T) if self._form is None else self._form.decide(R, p, *tolerance, MOST_CELLS)) == 0
        if self._chain is not None:
            out[~out] = self._chain.exclude(R[~out], p[~out], *tolerance)
        return np.asarray(out, dtype=np.bool_)

    def spread(self, count: int) -> Floats:
        """Return values of the free joint spread over its range; a single zero without a free joint."""
        free = self.free
        if free is None:
            return np.zeros(1)
        half = free.half if free.slides else min(free.half, np.pi)
        middle = (np.arange(count) + 0.5) / count
        return np.asarray(free.middle - half + 2.0 * half * middle)

    def place(self, target: Floats) -> Floats:
        """Return the transform (1, 4, 4) of a target, as the kernels store it."""
        return placement(target[:9].reshape(3, 3), target[9:12])[None]

    def find_arcs(self, T: Floats) -> list[core.Arc]:
        """Return the arcs of the nearest chain of the family."""
        if self._exact is None:
            return []
        return self._exact.whole_arcs(T[:3, :3].copy(), T[:3, 3].copy(), FINEST, MOST_CELLS)[0].arcs

    def read(self, values: Floats, start: Floats) -> Floats:
        """Return q (k, nq) of joint values, shifted by whole turns into the range and nearest to the start."""
        return place_values(self.axes, values, start)


def is_off(family: Family) -> bool:
    """Return whether a chain is so far from its family that the closed form gives only guesses."""
    if family.chain is None or family.six is None:
        return False
    length = span(family.chain.axes, family.chain.T[:3, 3])
    return family.turn_error > OFF or family.point_error > OFF * length


GUESSES = MemoTable[tuple[str, tuple[float, ...], Freedom], ChainPoses]("guesses")


def find_poses(
    model: Model, goal: GoalRows, freedom: Freedom, held: bool = False
) -> ClosedGoal | ChainPoses | Family | None:
    """Return the closed form of a transform goal, or the guesses of its chain, or its family; None for other goals.

    With `held`, a closed form that depends on joints that may not move counts as guesses.
    """
    closed = find_closed_form(model, goal, freedom)
    family = closed.family if isinstance(closed, ClosedGoal) else closed
    if family is None or family.chain is None:
        return closed
    known = held and family.six is not None and family.chain.still
    if family.name not in (GENERAL, GENERAL_SEVEN) and not family.near and not is_off(family) and not known:
        return closed
    return find_chain(model, goal, freedom, family)


def find_chain(model: Model, goal: GoalRows, freedom: Freedom, family: Family) -> ChainPoses:
    """Return the poses of the chain of a transform goal, as those of joints in any position."""
    point = tuple(goal.point.tolist())
    key = (family.frame, point, narrow_freedom(model, freedom, family.frame))
    return model.memo.look_up(GUESSES, key, lambda: ChainPoses(model, family, np.array(point)))
