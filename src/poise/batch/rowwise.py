"""Row after row in Python: for methods that are driven from there."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from poise.batch.outputs import Outputs
from poise.batch.solution import CODES
from poise.errors import InvalidValue, ShapeMismatch
from poise.solvers import Solver, Status

__all__ = ["solve_rowwise"]


def solve_rowwise(
    solver: Solver,
    targets: Sequence[tuple[str, NDArray[Any], int]],
    starts: NDArray[np.float64],
    rows: int,
    outputs: Outputs,
    progress: Callable[[int, int], Any] | None,
) -> None:
    """Fills `outputs`; `targets` are (name, rows, stride)."""
    q = outputs.q.reshape(rows, -1)
    errors = outputs.errors.reshape(rows, -1, 2)
    codes, steps, searches = (x.reshape(rows) for x in (outputs.codes, outputs.steps, outputs.searches))
    begin = starts.reshape(-1, solver.model.nq)
    for row in range(rows):
        start = begin[row if len(begin) == rows else 0]
        wanted = {name: one_of(array, stride, row) for name, array, stride in targets}
        try:
            answer = solver.solve(start, wanted)
        except (InvalidValue, ShapeMismatch):
            q[row] = start if np.isfinite(start).all() else np.nan
            errors[row], codes[row], steps[row], searches[row] = np.nan, CODES.index(Status.INVALID), 0, 0
        else:
            q[row] = answer.q
            errors[row] = list(answer.errors.values())
            codes[row], steps[row], searches[row] = CODES.index(answer.status), answer.steps, answer.searches
        if progress is not None and (row + 1 == rows or row % 100 == 99):
            progress(row + 1, rows)


def one_of(array: NDArray[Any], stride: int, row: int) -> NDArray[np.float64]:
    """The target of one row, in its own shape."""
    shapes = {3: (3,), 9: (3, 3), 16: (4, 4)}
    flat = array.reshape(-1)
    width = stride or flat.size
    return np.array(flat[row * stride : row * stride + width], dtype=np.float64).reshape(shapes[width])
