"""Explain a solution: find the causes and remedies as numbers, then write the sentences."""

from dataclasses import replace

from poise.diagnosis.active_limits import find_broken_limits
from poise.diagnosis.causes import find_causes, find_strong
from poise.diagnosis.misses import is_missed, read_tolerances
from poise.diagnosis.progress import can_go_on
from poise.diagnosis.relax import Trials, is_local
from poise.diagnosis.relief import find_ways_out
from poise.diagnosis.sentences import WITHIN, say_cause, say_reached, say_ways_out
from poise.diagnosis.words import say_missed_by
from poise.limits.limit import Limit, name_limits
from poise.solvers.report.explanation import Explanation, Missed
from poise.solvers.solution import Solution

__all__ = ["explain"]


def explain(solution: Solution) -> Explanation:
    """Return the missed goals with the causes and remedies. Deterministic."""
    notes = tuple(note for limit in list_limits(solution) for note in limit.describe(solution.model))
    if solution.reached:
        return Explanation((), (), (), say_reached(solution), notes)
    strong, trials, broken = find_strong(solution), Trials(solution), list(find_broken_limits(solution))
    goes_on = is_local(solution) and can_go_on(solution)
    missed = tuple(state_miss(solution, name) for name in solution.errors if is_missed(solution, name))
    causes = tuple(find_causes(solution, strong, broken, trials, goes_on))
    ways = tuple(find_ways_out(solution, strong, trials, goes_on))
    summary = f"{'; '.join(one.text for one in missed)}." if missed else WITHIN
    told = tuple(replace(cause, text=say_cause(solution, cause)) for cause in causes)
    return Explanation(missed, told, say_ways_out(solution, ways), summary, notes)


def list_limits(solution: Solution) -> list[Limit]:
    """Return the limits of a solution, in the given order."""
    return list(name_limits(solution.solver.options.limits).values())


def state_miss(solution: Solution, name: str) -> Missed:
    """Return the record of a missed goal, with its errors."""
    return Missed(name, *solution.errors[name], read_tolerances(solution, name), say_missed_by(solution, name))
