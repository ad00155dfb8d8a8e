"""Batches: many problems at once, on all cores with SIMD, or on a GPU, with the answers of `poise.solve`."""

from poise.batch.base_maps import base_map
from poise.batch.maps import reach_map
from poise.batch.solution import BatchSolution
from poise.batch.solver import BatchSolver, solve_batch
from poise.batch.voxels import ReachMap, Voxel

__all__ = ["BatchSolution", "BatchSolver", "ReachMap", "Voxel", "base_map", "reach_map", "solve_batch"]
