"""Count the degrees of freedom of a body and the equations of its goals.

    freedoms   velocities that move any goal in any pose
    demands    directions among the goals' active rows in which the body can move in some pose
    served     the rank of the goals' Jacobian in the best of several poses
    left over  freedoms - served;     too many  demands - served

A point target gives a planar arm two equations, not three: no joint changes the third coordinate.
Source: UCSD CSE169, "Inverting the Jacobian".
"""

from collections.abc import Iterable

import numpy as np

from poise.diagnosis.linear import linearise
from poise.diagnosis.singular_directions import find_directions
from poise.goals import Goal
from poise.model import Model
from poise.solvers.one_call import solve
from poise.solvers.report.attainable import DEPENDENT, find_attainable, find_rank, linearise_widely
from poise.solvers.report.findings import Redundancy
from poise.solvers.solution import Solution
from poise.solvers.table import may_move

__all__ = ["count_freedoms", "find_redundancy"]


def count_freedoms(model: Model, goals: Iterable[Goal] | Goal) -> Redundancy:
    """Return the degrees of freedom of a body compared with the equations of goals."""
    return find_redundancy(solve(model, goals, max_steps=1, restarts=0))


def find_redundancy(solution: Solution) -> Redundancy:
    """Return the redundancy for the goals, targets and joints of a solution."""
    rows, at = solution.list_rows(), linearise(solution)
    everywhere = linearise_widely(solution.model, solution.copy_solver().problem, solution.q)
    if not rows:
        return Redundancy(freedoms=0, demands=0, served=0)
    demands = 0
    for name, row in rows.items():
        asked = find_directions(solution, at, name, row).shape[1]
        demands += min(asked, find_attainable(everywhere, at.spans[name]).shape[1])
    goals = slice(at.spans[next(iter(rows))].start, None)
    demands = min(demands, find_attainable(everywhere, goals).shape[1])
    served = min(demands, max(find_rank(J[goals]) for J in everywhere))
    moved = np.abs(np.concatenate([J[goals] for J in everywhere])).max(axis=0, initial=0.0)
    freedoms = int((moved > DEPENDENT * moved.max(initial=0.0)).sum())
    available = int(may_move(solution.model, solution.solver.options.joints).sum())
    return Redundancy(freedoms=freedoms, demands=demands, served=served, available=available)
