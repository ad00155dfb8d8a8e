"""Solve batches row by row, for methods that run in Python, and search rows further that were missed."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from poise.batch.arrays import BatchRows
from poise.batch.outputs import Outputs
from poise.batch.solution import CODES
from poise.errors import InvalidValue, ShapeMismatch
from poise.native import core
from poise.native.answer import make_answer
from poise.reach.distinct import DistinctAnswers, Measure
from poise.solvers import Solution, Solver, Status
from poise.solvers.guess_starts import MISSED
from poise.solvers.multiple_solutions import Found
from poise.solvers.proofs import prove
from poise.solvers.solution import make_solution

__all__ = ["prove_rowwise", "search_rowwise", "solve_rowwise"]

REACHED = CODES.index(Status.REACHED)


def solve_rowwise(
    find_answers: Callable[[int, Any, Mapping[str, Any]], tuple[Solver, Found]],
    targets: Sequence[BatchRows],
    starts: BatchRows,
    outputs: Outputs,
    progress: Callable[[int, int], Any] | None,
) -> None:
    """Fill `outputs` row by row with one or several answers, nearest to its start first, padded with NaN.

    `find_answers(row, start, targets)` returns the solver of a row and its answers; `targets` and `starts` may have a
    single row for all.
    """
    rows, count = outputs.steps.size, prod(outputs.codes.shape[outputs.steps.ndim :])
    q = outputs.q.reshape(rows, count, outputs.q.shape[-1])
    errors = outputs.errors.reshape(rows, count, *outputs.errors.shape[-2:])
    codes, steps, searches = outputs.codes.reshape(rows, count), outputs.steps.ravel(), outputs.searches.ravel()
    q[:], errors[:], codes[:], steps[:], searches[:] = np.nan, np.nan, CODES.index(Status.STALLED), 0, 0
    for row in range(rows):
        start = starts.read_row(row)
        try:
            wanted = {part.name: part.read_row(row) for part in targets}
            solver, found = find_answers(row, start, wanted)
        except (InvalidValue, ShapeMismatch):
            q[row, 0] = start if np.isfinite(start).all() else np.nan
            codes[row] = CODES.index(Status.INVALID)
        else:
            steps[row], searches[row] = found.steps, found.searches
            for k, answer in enumerate(found.solutions):
                q[row, k], errors[row, k], codes[row, k] = round_answer(solver, answer, wanted, q.dtype)
        if progress is not None and (row + 1 == rows or row % 10 == 9):
            progress(row + 1, rows)


def round_answer(
    solver: Solver, answer: Solution, targets: Mapping[str, Any], dtype: np.dtype[Any]
) -> tuple[Any, Any, int]:
    """Return an answer's pose, errors and status code, in the precision of the returned pose.

    Args:
        solver: The solver of the problem.
        answer: The solution of the row.
        targets: The targets of the row.
        dtype: float64, or float32: rounded inside the ranges, and checked again in float64.
    """
    code = CODES.index(answer.status)
    if dtype == np.float64:
        return answer.q, list(answer.errors.values()), code
    q, errors, good = solver.problem.rounded(answer.q, dict(targets))
    lost = answer.status is Status.REACHED and not good
    return q, errors[-len(answer.errors) :], CODES.index(Status.STALLED) if lost else code


def search_rowwise(
    make_solver: Callable[[int], Solver], targets: Sequence[BatchRows], starts: BatchRows, outputs: Outputs
) -> None:
    """Search rows further that lack answers, from the poses of their chains, unless these prove that none exists.

    `make_solver(row)` returns the solver of a row; `targets` and `starts` may have a single row for all.
    """
    rows, count = outputs.steps.size, prod(outputs.codes.shape[outputs.steps.ndim :])
    q, errors = outputs.q.reshape(rows, count, -1), outputs.errors.reshape(rows, count, -1, 2)
    codes, steps, searches = outputs.codes.reshape(rows, count), outputs.steps.ravel(), outputs.searches.ravel()
    measure = Measure(make_solver(0).model)
    for row in find_lacking(measure, codes, q).tolist():
        solver, start = make_solver(row), np.array(starts.read_row(row), dtype=np.float64)
        wanted, answers = {part.name: part.read_row(row) for part in targets}, DistinctAnswers[Solution](measure, start)
        known = [
            make_solution(
                solver, make_answer(q[row, k].astype(float), errors[row, k], outcome, 0, 0.0, searches=0), wanted
            )
            for k, outcome in enumerate(np.where(codes[row] == REACHED, core.Outcome.REACHED, core.Outcome.STALLED))
        ]
        best, ends = solver.search_further(known[0], start, count)
        for one in (*known, *ends):
            if one.reached:
                answers.add(one.q, one)
        steps[row], searches[row] = steps[row] + best.steps, searches[row] + best.searches
        for k, one in enumerate(answers.sort()[:count] or [best]):
            q[row, k], errors[row, k], codes[row, k] = round_answer(solver, one, wanted, q.dtype)
        n = max(1, min(len(answers), count))
        q[row, n:], errors[row, n:], codes[row, n:] = np.nan, np.nan, CODES.index(Status.STALLED)


def find_lacking(measure: Measure, codes: NDArray[np.integer[Any]], q: NDArray[Any]) -> NDArray[np.intp]:
    """Return the rows that lack answers: missed, not full, or with one answer several times, whole turns apart."""
    lacking = np.isin(codes[:, 0], [CODES.index(status) for status in MISSED])
    lacking |= (codes[:, 0] == REACHED) & (codes[:, -1] != REACHED)
    full = np.flatnonzero(codes[:, -1] == REACHED)
    for k in range(1, codes.shape[1]):
        lacking[full] |= measure.find_alike(q[full, :k], q[full, k, None]).any(axis=1)
    return np.flatnonzero(lacking)


def prove_rowwise(solver: Solver, targets: Sequence[BatchRows], starts: BatchRows, rows: int, outputs: Outputs) -> None:
    """Mark missed rows that the values of their fixed joints put out of reach."""
    codes = outputs.codes.reshape(rows, prod(outputs.codes.shape[outputs.steps.ndim :]))[:, 0]
    held = {name: solver.goals[name].rows(solver.model) for name in solver.row_names}
    missed = [k for k, status in enumerate(CODES) if status not in (Status.REACHED, Status.UNREACHABLE, Status.INVALID)]
    for row in np.flatnonzero(np.isin(codes, missed)).tolist():
        given = {part.name: held[part.name].convert(part.read_row(row)) for part in targets}
        now = {name: replace(held[name], target=target) for name, target in given.items()}
        start = np.array(starts.read_row(row), dtype=np.float64)
        if prove(solver.model, solver.goals, solver.options, {**held, **now}, start) is not None:
            codes[row] = CODES.index(Status.UNREACHABLE)
