"""Strict levels against an exact oracle, on bodies that only slide (see strict_oracle.py)."""

from __future__ import annotations

import numpy as np
import pytest

import poise
from strict_oracle import sliding_problem, strict_optimum

PROBLEMS = 60


@pytest.mark.slow
def test_strict_levels_find_the_lexicographic_optimum() -> None:
    """No level differs from its proved optimum by more than 1e-7 of a body length, and no rule is broken."""
    for seed in range(PROBLEMS):
        problem = sliding_problem(seed)
        _, best = strict_optimum(problem.rules, problem.levels, problem.start)
        solution = poise.solve(problem.model, problem.goals, problem.start, limits=problem.limits)
        assert np.abs(problem.rules.misses(solution.q)).max(initial=0.0) < 1e-14
        missed = [
            float(np.linalg.norm(level.misses(solution.q)) - np.linalg.norm(left)) / problem.model.length
            for level, left in zip(problem.levels, best, strict=True)
        ]
        assert np.abs(missed).max() < 1e-7, seed
