"""Searches from guesses for rows of a batch that were missed, and for further answers.

Guesses (reach/guesses.py) exist for chains without a closed form: general six-joint chains, and chains that nearly
belong to a family. Rows that are already reached stay unchanged unless several answers are requested.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from math import prod
from typing import TYPE_CHECKING

import numpy as np

from poise.arrays import Floats, Indices
from poise.batch.arrays import BatchRows, read_transforms
from poise.batch.obstacles import PlacedRegion
from poise.batch.outputs import Outputs
from poise.batch.solution import CODES, BatchSolution
from poise.model.chain import find_readings
from poise.reach.bounds import find_still, fixes_the_frame
from poise.reach.distinct import DistinctAnswers, Measure
from poise.reach.guesses import Guesses
from poise.solvers import Status
from poise.solvers.guess_starts import goes_further, guess_goals
from poise.solvers.table import may_move

if TYPE_CHECKING:
    from poise.batch.solver import BatchSolver

__all__ = ["search_rows_further"]

REACHED = CODES.index(Status.REACHED)
STALLED = CODES.index(Status.STALLED)
MISSED = [CODES.index(status) for status in (Status.STALLED, Status.OUT_OF_STEPS)]
AT_ONCE = 1000  # rows whose guesses are computed together


def search_rows_further(
    batch: BatchSolver,
    parts: Sequence[BatchRows],
    begin: BatchRows,
    regions: Sequence[PlacedRegion],
    lead: tuple[int, ...],
    outputs: Outputs,
) -> None:
    """Search missed rows, and rows with too few answers, from guesses, and store the results."""
    rows, count = prod(lead), batch.solutions
    codes = outputs.codes.reshape(rows, count)
    wanted = np.isin(codes[:, 0], MISSED if count == 1 else [*MISSED, REACHED])
    searched = count > 1 or goes_further(batch.solver.options)
    if not wanted.any() or not searched or any(part.raw for part in parts):
        return
    wide, options = begin.widen(lead), batch.solver.options
    single: BatchSolver | None = None
    for some in group_rows(batch, wide, np.flatnonzero(wanted)):
        found = guess_goals(batch.model, options, batch.rows, take_rows(wide, some[:1])[0])
        if found is None and stands_apart(batch):
            return
        if found is not None:
            single = single or batch.make_single()
            places = {region.name: region.rows.widen(lead) for region in regions}
            wide_parts = [part.widen(lead) for part in parts]
            search = GuessSearch(batch, single, *found, wide_parts, wide, places, outputs, rows)
            lacking = search.find_lacking(some)
            for first in range(0, len(lacking), AT_ONCE):
                search.fill_rows(lacking[first : first + AT_ONCE])


def stands_apart(batch: BatchSolver) -> bool:
    """Return whether all fixed joints come before the movable ones, so that either every row has guesses or none."""
    moves = may_move(batch.model, batch.solver.options.joints)
    for row in batch.rows.values():
        if fixes_the_frame(row):
            way = [bool(moves[v]) for v in find_readings(batch.model, batch.model.frame(str(row.frame)).name).values()]
            if way != sorted(way):
                return False
    return True


def group_rows(batch: BatchSolver, begin: BatchRows, rows: Indices) -> Iterator[Indices]:
    """Yield groups of rows whose starts agree in the fixed joints above the goals' frames."""
    frames = [batch.model.frame(str(row.frame)).name for row in batch.rows.values() if fixes_the_frame(row)]
    still = find_still(batch.model, may_move(batch.model, batch.solver.options.joints), *frames)
    if not still or prod(begin.lead) == 1:
        yield rows
        return
    _, group = np.unique(take_rows(begin, rows)[:, still], axis=0, return_inverse=True)
    for k in range(int(group.max()) + 1):
        yield rows[group.ravel() == k]


class GuessSearch:
    """Searches from guesses for rows of a batch."""

    def __init__(
        self,
        batch: BatchSolver,
        single: BatchSolver,
        name: str,
        guesses: Guesses,
        parts: Sequence[BatchRows],
        begin: BatchRows,
        places: Mapping[str, BatchRows],
        outputs: Outputs,
        rows: int,
    ) -> None:
        self.name, self.guesses, self.parts, self.begin, self.places = name, guesses, parts, begin, places
        self.model, self.single = batch.model, single
        self.T = read_transforms(parts, name, batch.rows[name].target, outputs.steps.shape)
        self.measure = Measure(self.model)
        count = batch.solutions
        self.q, self.errors = outputs.q.reshape(rows, count, -1), outputs.errors.reshape(rows, count, -1, 2)
        self.codes, self.steps = outputs.codes.reshape(rows, count), outputs.steps.reshape(rows)
        self.searches = outputs.searches.reshape(rows)

    def find_lacking(self, rows: Indices) -> Indices:
        """Return the rows that lack an answer: not full, or with one answer several times, whole turns apart."""
        full = self.codes[rows, -1] == REACHED
        again = np.zeros(len(rows), dtype=np.bool_)
        for k in range(1, self.codes.shape[1]):
            q = self.q[rows[full]]
            again[full] |= self.measure.find_alike(q[:, :k], q[:, k, None]).any(axis=1)
        return np.asarray(rows[~full | again])

    def fill_rows(self, rows: Indices) -> None:
        """Search from every guess of some rows, and store the nearest distinct answers."""
        which, values = self.guesses.find(self.T[rows])
        order = np.argsort(which, kind="stable")
        owner, values = rows[which[order]], values[order]
        q = self.guesses.bring_inside(self.model, self.guesses.read(values, take_rows(self.begin, owner)))
        places = {name: take_rows(rows, owner) for name, rows in self.places.items()}
        solved = self.single.solve({part.name: take_rows(part, owner) for part in self.parts}, q, places=places)
        np.add.at(self.searches, owner, 1)
        np.add.at(self.steps, owner, solved.steps)
        ends = np.searchsorted(owner, rows, side="right")
        for row, first, end in zip(rows.tolist(), np.searchsorted(owner, rows).tolist(), ends.tolist(), strict=True):
            self.keep(row, solved, first + np.flatnonzero(solved.reached[first:end]))

    def keep(self, row: int, solved: BatchSolution, some: Indices) -> None:
        """Store the distinct answers of a row, old and new, nearest first."""
        had = np.flatnonzero(self.codes[row] == REACHED)
        if not len(had) and not len(some):
            return
        errors = np.stack([solved.errors[name][some] for name in solved.errors], axis=1)
        q = np.concatenate([self.q[row, had], solved.q[some]])
        errors = np.concatenate([self.errors[row, had], errors])
        answers: DistinctAnswers[int] = DistinctAnswers(self.measure, take_rows(self.begin, np.array([row]))[0])
        for k, one in enumerate(q):
            answers.add(one, k)
        kept = answers.sort()[: self.codes.shape[1]]
        n = len(kept)
        self.q[row, :n], self.errors[row, :n], self.codes[row, :n] = q[kept], errors[kept], REACHED
        self.q[row, n:], self.errors[row, n:], self.codes[row, n:] = np.nan, np.nan, STALLED


def take_rows(rows: BatchRows, some: Indices) -> Floats:
    """Return some rows of the flattened batch; a single row is repeated."""
    tail = rows.array.shape[len(rows.lead) :]
    flat = np.asarray(rows.array, dtype=np.float64).reshape(-1, *tail)
    return np.asarray(flat[some] if len(flat) > 1 else np.broadcast_to(flat[0], (len(some), *tail)))
