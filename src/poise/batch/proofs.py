"""What a batch proves of rows that missed, where joints are locked.

What such a body can reach depends on where its locked joints stand in the start, row by row; the bounds that the
kernels hold are those of any start, and say nothing then.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from poise.batch.arrays import Rows
from poise.batch.outputs import Outputs
from poise.batch.solution import CODES
from poise.native.answer import make_answer
from poise.solvers import Solution, Solver, Status

__all__ = ["holds_bones", "prove_missed"]

MISSED = [CODES.index(status) for status in (Status.STALLED, Status.OUT_OF_STEPS, Status.OUT_OF_TIME)]


def holds_bones(solver: Solver) -> bool:
    """Whether some locked joint stays as it is."""
    named = solver._options.joints or ()
    return any(joint.locked and joint.name not in named for joint in solver.model.joints)


def prove_missed(solver: Solver, targets: Sequence[Rows], starts: Rows, rows: int, outputs: Outputs) -> None:
    """Says UNREACHABLE of the rows where that is proved; the answer of a row with several is told by its first."""
    codes = outputs.codes.reshape(rows, -1)
    errors = outputs.errors.reshape(rows, -1, *outputs.errors.shape[-2:])
    for row in np.flatnonzero(np.isin(codes[:, 0], MISSED)).tolist():
        missed = Solution(solver, make_answer(starts.row(row), errors[row, 0], 0, 0, 0.0))
        missed._targets = {part.name: part.row(row) for part in targets}
        if missed.proof is not None:
            codes[row, 0] = CODES.index(Status.UNREACHABLE)
