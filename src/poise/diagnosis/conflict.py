"""Conflicts between goals of one level, and with goals of a higher level.

The cost of a conflict is found by solving again without the other goal.
"""

from collections.abc import Iterator, Sequence
from itertools import combinations

import numpy as np

from poise.arrays import Floats
from poise.diagnosis.linear import Linearisation
from poise.diagnosis.misses import is_missed, read_tolerances
from poise.diagnosis.relax import Trials, without_goal
from poise.diagnosis.singular_directions import find_free_motion
from poise.solvers.report.explanation import Cause, CauseKind
from poise.solvers.solution import Solution

__all__ = ["find_blockers", "find_conflicts"]

OPPOSED = -0.5  # cosine between the gradients of two goals, below which they are in conflict
MOST_ABOVE = 3  # goals of higher levels that are tried
LESS = 0.9  # relative error below which a trial counts as nearer


def find_conflicts(solution: Solution, at: Linearisation, trials: Trials) -> Iterator[Cause]:
    """Yield pairs of goals in conflict, those of one level first."""
    for one, other in find_opposed(solution, at):
        gains = [find_gain(solution, trials, *pair) for pair in ((one, other), (other, one))]
        yield Cause(CauseKind.CONFLICT, (one, other), numbers={**gains[0], **gains[1]})
    for name, above in find_blockers(solution, at):
        for other in above:
            gain = find_gain(solution, trials, name, other)
            if gain:
                yield Cause(CauseKind.GIVES_WAY, (name, other), numbers=gain)
                break


def find_opposed(solution: Solution, at: Linearisation) -> Iterator[tuple[str, str]]:
    """Yield pairs of missed goals of one level with opposite gradients."""
    free = find_free_motion(solution, at)
    for goals in at.levels:
        missed = [name for name in goals if is_missed(solution, name)]
        pulls = {name: free.T @ at.pull((name,)) for name in missed}
        for one, other in combinations(missed, 2):
            a, b = pulls[one], pulls[other]
            size = float(np.linalg.norm(a) * np.linalg.norm(b))
            if size > 0 and float(a @ b) < OPPOSED * size:
                yield one, other


def find_blockers(solution: Solution, at: Linearisation) -> Iterator[tuple[str, list[str]]]:
    """Yield each missed goal with the goals of higher levels that absorb its gradient, strongest first."""
    for level, goals in enumerate(at.levels):
        before = [name for names in at.levels[:level] for name in names]
        for name in goals:
            if before and is_missed(solution, name):
                share = share_pull(at, at.pull((name,)), before)
                order = sorted((other for other in before if share[other] > 0), key=lambda other: -share[other])
                yield name, order[:MOST_ABOVE]


def share_pull(at: Linearisation, pull: Floats, before: Sequence[str]) -> dict[str, float]:
    """Return the part of a gradient that each goal's rows absorb, by least squares."""
    rows = [at.J[at.spans[name]] for name in before]
    force = np.linalg.lstsq(np.concatenate(rows).T, pull, rcond=1e-9)[0]
    parts = np.split(force, np.cumsum([len(part) for part in rows])[:-1])
    size = max(float(np.linalg.norm(pull)), 1e-300)
    taken = {name: float(np.linalg.norm(J.T @ f)) for name, J, f in zip(before, rows, parts, strict=True)}
    return {name: value if value > 1e-6 * size else 0.0 for name, value in taken.items()}


def find_gain(solution: Solution, trials: Trials, name: str, without: str) -> dict[str, float]:
    """Return the remaining error of a goal if another one is dropped; empty if it does not decrease."""
    found = trials.find_errors(without_goal(solution, without))
    if found is None:
        return {}
    before, after, allowed = solution.errors[name], found[name], read_tolerances(solution, name)
    reached = after[0] <= allowed[0] and after[1] <= allowed[1]
    nearer = all(a <= b for a, b in zip(after, before, strict=True)) and sum(after) < LESS * sum(before)
    return {f"{name}.metres": after[0], f"{name}.radians": after[1]} if reached or nearer else {}
