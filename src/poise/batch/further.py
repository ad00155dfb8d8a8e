"""Rows of a batch from guesses: what their searches have missed, and further answers where several are asked for.

Guesses (reach/guesses.py) belong to chains without a closed form of their own: general six joints, and chains that are
nearly in a family. Rows that are reached at once are not touched unless several answers are asked for.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from poise.batch.arrays import Rows
from poise.batch.outputs import Outputs
from poise.batch.solution import CODES, BatchSolution
from poise.reach.bounds import find_still, fixes_the_frame
from poise.reach.guesses import Guesses
from poise.solvers import Status
from poise.solvers.further import goes_further, guess_goals
from poise.solvers.several import DISTINCT
from poise.solvers.table import may_move

if TYPE_CHECKING:
    from poise.batch.solver import BatchSolver

__all__ = ["search_rows_further"]

Floats = NDArray[np.float64]
Ints = NDArray[np.intp]
REACHED = CODES.index(Status.REACHED)
MISSED = [CODES.index(status) for status in (Status.STALLED, Status.OUT_OF_STEPS)]
AT_ONCE = 1000  # rows whose guesses are made together


def search_rows_further(
    batch: BatchSolver, parts: Sequence[Rows], begin: Rows, lead: tuple[int, ...], outputs: Outputs
) -> None:
    """Fill rows that were missed, and of several answers those that were not found, by searches from guesses."""
    rows, count = prod(lead), batch.solutions
    codes = outputs.codes.reshape(rows, count)
    wanted = np.isin(codes[:, 0], [*MISSED, REACHED]) & (codes[:, -1] != REACHED)  # a row that is full lacks nothing
    if not wanted.any() or not goes_further(batch.solver._options) or any(part.raw for part in parts):
        return
    wide, options = begin.widen(lead), batch.solver._options
    single: BatchSolver | None = None
    for some in group_rows(batch, wide, np.flatnonzero(wanted)):
        found = guess_goals(batch.model, options, batch.rows, take_rows(wide, some[:1])[0])
        if found is not None:
            single = single or batch.make_single()
            further = Further(batch, single, *found, [part.widen(lead) for part in parts], wide, outputs, rows)
            for first in range(0, len(some), AT_ONCE):
                further.search(some[first : first + AT_ONCE])


def group_rows(batch: BatchSolver, begin: Rows, rows: Ints) -> Iterator[Ints]:
    """Yield rows together whose starts have the joints that may not move, on the ways of the goals, at one place."""
    frames = [batch.model.frame(str(row.frame)).name for row in batch.rows.values() if fixes_the_frame(row)]
    still = find_still(batch.model, may_move(batch.model, batch.solver._options.joints), *frames)
    if not still or prod(begin.lead) == 1:
        yield rows
        return
    _, group = np.unique(take_rows(begin, rows)[:, still], axis=0, return_inverse=True)
    for k in range(int(group.max()) + 1):
        yield rows[group.ravel() == k]


class Further:
    """Searches of some rows of a batch."""

    def __init__(
        self,
        batch: BatchSolver,
        single: BatchSolver,
        name: str,
        guesses: Guesses,
        parts: Sequence[Rows],
        begin: Rows,
        outputs: Outputs,
        rows: int,
    ) -> None:
        self.name, self.guesses, self.parts, self.begin = name, guesses, parts, begin
        self.model, self.single = batch.model, single
        self.own = batch.rows[name].target
        self.unit = np.where(~self.model.slides, 1.0, self.model.length)
        count = batch.solutions
        self.q, self.errors = outputs.q.reshape(rows, count, -1), outputs.errors.reshape(rows, count, -1, 2)
        self.codes, self.steps = outputs.codes.reshape(rows, count), outputs.steps.reshape(rows)
        self.searches = outputs.searches.reshape(rows)

    def search(self, rows: Ints) -> None:
        """Search from every guess of some rows, and keep the nearest answers that differ."""
        owner, values = self.guesses.find(self.read_transforms(rows))
        if not len(owner):
            return
        owner = rows[owner]
        starts = take_rows(self.begin, owner)
        q = self.guesses.bring_inside(self.model, self.guesses.read(values, starts))
        solved = self.single.solve({part.name: take_rows(part, owner) for part in self.parts}, q)
        np.add.at(self.searches, owner, 1)
        np.add.at(self.steps, owner, solved.steps)
        order = np.argsort(owner, kind="stable")
        for some in np.split(order, np.flatnonzero(np.diff(owner[order])) + 1):
            self.keep(int(owner[some[0]]), starts[some[0]], solved, some[solved.reached[some]])

    def read_transforms(self, rows: Ints) -> Floats:
        """Return what the goal with guesses asks for in some rows, (n, 4, 4)."""
        for part in self.parts:
            if part.name == self.name:
                return take_rows(part, rows).reshape(-1, 4, 4)
        out = np.tile(np.eye(4), (len(rows), 1, 1))
        out[:, :3, :3], out[:, :3, 3] = self.own[:9].reshape(3, 3), self.own[9:12]
        return out

    def keep(self, row: int, start: Floats, solved: BatchSolution, some: Ints) -> None:
        """Keep answers of a row: those that it has and those that were found, each once, the nearest first."""
        if not len(some):
            return
        count, had = self.codes.shape[1], np.flatnonzero(self.codes[row] == REACHED)
        errors = np.stack([solved.errors[name][some] for name in solved.errors], axis=1)
        q = np.concatenate([self.q[row, had], solved.q[some]])
        errors = np.concatenate([self.errors[row, had], errors])
        kept: list[int] = []
        for k in range(len(q)):
            if all(self.measure_apart(q[k], q[other]) > DISTINCT for other in kept):
                kept.append(k)
        kept = sorted(kept, key=lambda k: self.measure_apart(start, q[k]))[:count]
        self.q[row, : len(kept)], self.errors[row, : len(kept)] = q[kept], errors[kept]
        self.codes[row, : len(kept)] = REACHED

    def measure_apart(self, a: Any, b: Any) -> float:
        """Return the longest distance of a joint between two poses: radians, or metres over L."""
        far = self.model.difference(np.asarray(a, dtype=np.float64), np.asarray(b, dtype=np.float64))
        return float(np.abs(far / self.unit).max(initial=0.0))


def take_rows(rows: Rows, some: Ints) -> Floats:
    """Return some rows of the flattened batch, one for all where there is one."""
    tail = rows.array.shape[len(rows.lead) :]
    flat = np.asarray(rows.array, dtype=np.float64).reshape(-1, *tail)
    return np.asarray(flat[some] if len(flat) > 1 else np.broadcast_to(flat[0], (len(some), *tail)))
