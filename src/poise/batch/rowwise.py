"""Solve batches row by row, for methods that run in Python."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from poise.batch.arrays import BatchRows
from poise.batch.outputs import Outputs
from poise.batch.solution import CODES
from poise.errors import InvalidValue, ShapeMismatch
from poise.solvers import Solution, Solver, Status
from poise.solvers.proofs import prove
from poise.solvers.several import Explorer

__all__ = ["explore_rowwise", "prove_rowwise", "solve_rowwise"]


def solve_rowwise(
    find_solver: Callable[[int], Solver],
    targets: Sequence[BatchRows],
    starts: BatchRows,
    rows: int,
    outputs: Outputs,
    progress: Callable[[int, int], Any] | None,
) -> None:
    """Fill `outputs` row by row, each with its own solver; `targets` and `starts` may have a single row for all."""
    q = outputs.q.reshape(rows, -1)
    errors = outputs.errors.reshape(rows, -1, 2)
    codes, steps, searches = (x.reshape(rows) for x in (outputs.codes, outputs.steps, outputs.searches))
    for row in range(rows):
        start = starts.read_row(row)
        try:
            solver = find_solver(row)
            answer = solver.solve(start, {part.name: part.read_row(row) for part in targets})
        except (InvalidValue, ShapeMismatch):
            q[row] = start if np.isfinite(start).all() else np.nan
            errors[row], codes[row], steps[row], searches[row] = np.nan, CODES.index(Status.INVALID), 0, 0
        else:
            q[row], errors[row], codes[row] = round_answer(solver, answer, None, q.dtype)
            steps[row], searches[row] = answer.steps, answer.searches
        if progress is not None and (row + 1 == rows or row % 100 == 99):
            progress(row + 1, rows)


def round_answer(
    solver: Solver, answer: Solution, targets: Mapping[str, Any] | None, dtype: np.dtype[Any]
) -> tuple[Any, Any, int]:
    """Return an answer's pose, errors and status code, in the precision of the returned pose.

    Args:
        solver: The solver of the problem.
        answer: The solution of the row.
        targets: The targets of the row; None if the solver has them already.
        dtype: float64, or float32: rounded inside the ranges, and checked again in float64.
    """
    code = CODES.index(answer.status)
    if dtype == np.float64:
        return answer.q, list(answer.errors.values()), code
    q, errors, good = solver.problem.rounded(answer.q, None if targets is None else dict(targets))
    lost = answer.status is Status.REACHED and not good
    return q, errors[-len(answer.errors) :], CODES.index(Status.STALLED) if lost else code


def explore_rowwise(
    find_explorer: Callable[[int], Explorer],
    targets: Sequence[BatchRows],
    starts: BatchRows,
    rows: int,
    outputs: Outputs,
    progress: Callable[[int, int], Any] | None,
) -> None:
    """Fill `outputs` with several answers per row, nearest to its start first, padded with NaN."""
    count = outputs.codes.shape[-1]
    q = outputs.q.reshape(rows, count, -1)
    errors = outputs.errors.reshape(rows, count, -1, 2)
    codes, steps, searches = outputs.codes.reshape(rows, count), outputs.steps.ravel(), outputs.searches.ravel()
    q[:], errors[:], codes[:], steps[:], searches[:] = np.nan, np.nan, CODES.index(Status.STALLED), 0, 0
    for row in range(rows):
        start = starts.read_row(row)
        try:
            wanted = {part.name: part.read_row(row) for part in targets}
            explorer = find_explorer(row)
            found = explorer.find(start, wanted, count)
        except (InvalidValue, ShapeMismatch):
            q[row, 0] = start if np.isfinite(start).all() else np.nan
            codes[row] = CODES.index(Status.INVALID)
        else:
            steps[row], searches[row] = found.steps, found.searches
            for k, answer in enumerate(found.solutions):
                q[row, k], errors[row, k], codes[row, k] = round_answer(explorer.solver, answer, wanted, q.dtype)
        if progress is not None and (row + 1 == rows or row % 10 == 9):
            progress(row + 1, rows)


def prove_rowwise(solver: Solver, targets: Sequence[BatchRows], starts: BatchRows, rows: int, outputs: Outputs) -> None:
    """Mark missed rows that the values of their fixed joints put out of reach."""
    codes = outputs.codes.reshape(rows, -1)[:, 0]
    held = {name: solver.goals[name].rows(solver.model) for name in solver.row_names}
    missed = [k for k, status in enumerate(CODES) if status not in (Status.REACHED, Status.UNREACHABLE, Status.INVALID)]
    for row in np.flatnonzero(np.isin(codes, missed)).tolist():
        given = {part.name: held[part.name].convert(part.read_row(row)) for part in targets}
        now = {name: replace(held[name], target=target) for name, target in given.items()}
        start = np.array(starts.read_row(row), dtype=np.float64)
        if prove(solver.model, solver.goals, solver.options, {**held, **now}, start) is not None:
            codes[row] = CODES.index(Status.UNREACHABLE)
