"""Strict levels against an exact oracle, on bodies that only slide (see strict_oracle.py)."""

from __future__ import annotations

import numpy as np

import poise
from strict_oracle import sliding_problem, strict_optimum

PROBLEMS = 60


def test_strict_levels_find_the_lexicographic_optimum() -> None:
    """The first level that differs from the proved optimum, in body lengths.

    The active set of one step is exact; what is left are levels that end early on the way. No rule may be broken, and
    no level be better than its optimum by more than what the tolerances of those above (1e-4 of L) can give it.
    """
    off = []
    for seed in range(PROBLEMS):
        problem = sliding_problem(seed)
        _, best = strict_optimum(problem.rules, problem.levels, problem.start)
        solution = poise.solve(problem.model, problem.goals, problem.start, limits=problem.limits)
        assert np.abs(problem.rules.misses(solution.q)).max(initial=0.0) < 1e-14
        missed = [
            float(np.linalg.norm(level.misses(solution.q)) - np.linalg.norm(left)) / problem.model.length
            for level, left in zip(problem.levels, best, strict=True)
        ]
        first = next((miss for miss in missed if abs(miss) > 1e-6), 0.0)
        assert first > -2e-4
        off.append(first)
    assert np.median(off) < 1e-9
    assert np.mean(np.array(off) < 1e-5) >= 0.9
