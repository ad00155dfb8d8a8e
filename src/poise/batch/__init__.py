"""Many problems at once: all cores, all lanes of a core, or a GPU; the answers of `poise.solve`, row by row."""

from __future__ import annotations

from poise.batch.maps import reach_map
from poise.batch.solution import BatchSolution
from poise.batch.solver import BatchSolver, solve_batch
from poise.batch.voxels import ReachMap, Voxel

__all__ = ["BatchSolution", "BatchSolver", "ReachMap", "Voxel", "reach_map", "solve_batch"]
