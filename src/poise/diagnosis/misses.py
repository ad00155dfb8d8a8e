"""The goals that a solution misses: tolerances, and proofs without some of its limits."""

from poise.reach.proof import Proof
from poise.solvers.proofs import find_tolerances, prove
from poise.solvers.solution import Solution

__all__ = ["find_proof", "is_missed", "read_tolerances"]


def read_tolerances(solution: Solution, name: str) -> tuple[float, float]:
    """Return a goal's tolerances [m, rad]."""
    return find_tolerances(solution.model, solution.solver.goals[name])


def is_missed(solution: Solution, name: str) -> bool:
    """Return whether a goal is outside its tolerance, unless it does not count."""
    if not solution.solver.goals[name].counts:
        return False
    metres, radians = solution.errors[name]
    allowed = read_tolerances(solution, name)
    return metres > allowed[0] or radians > allowed[1]


def find_proof(solution: Solution, *, limited: bool = True) -> Proof | None:
    """Return the proof with the largest excess, or None. `limited`: whether joint ranges apply."""
    solver = solution.solver
    return prove(solver.model, solver.goals, solver.options, solution.list_rows(), solution.q, limited=limited)
