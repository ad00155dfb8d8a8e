"""Many problems at once: all cores, all lanes of a core, or a GPU; the answers of `poise.solve`, row by row."""

from __future__ import annotations

from poise.batch.solution import BatchSolution
from poise.batch.solver import BatchSolver, solve_batch

__all__ = ["BatchSolution", "BatchSolver", "solve_batch"]
