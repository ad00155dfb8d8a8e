"""Several distinct answers to one problem, nearest to the start first.

reach/distinct.py defines distinct answers. The first search begins at the start, the next ones at the branches of a
goal with a closed form or at guesses of its poses (guess_starts.py), the others at the seeds of restarts. If the
branches are all answers (one goal of six joints), searches begin only at these, each at the turns nearest to the start.
native/run/batch/several.cpp does the same for batches.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from poise.arrays import Floats
from poise.errors import InvalidValue
from poise.native import core
from poise.reach.chain_poses import ChainPoses
from poise.reach.distinct import DistinctAnswers, Measure
from poise.reach.turns import list_turned
from poise.solvers.clock import Clock
from poise.solvers.guess_starts import guess_goals, list_starts
from poise.solvers.solution import Solution
from poise.solvers.solver import Solver, join_searches

__all__ = ["Explorer", "Found", "check_several"]

SEARCHES = 61  # at most, unless the method or the caller sets more restarts


@dataclass(frozen=True, slots=True)
class Found:
    """The result of an exploration.

    Attributes:
        solutions: The distinct answers, nearest to the start first; the best miss if none was reached.
        steps: Number of steps of all searches.
        searches: Number of searches.
    """

    solutions: list[Solution]
    steps: int
    searches: int


class Explorer:
    """A search for several answers to a solver's problem. Use it in one thread at a time.

    Args:
        solver: The problem.
        turns: Whether poses that differ by whole turns are different answers.
    """

    def __init__(self, solver: Solver, turns: bool = False) -> None:
        check_several(solver)
        self.solver, self.turns = solver, turns
        options = solver.options
        asked = options.restarts
        self.searches = max(SEARCHES, 1 + options.method.restarts) if asked == "auto" else 1 + int(asked)
        self.single = change_options(solver, restarts=0)
        self.seeding = change_options(solver, restarts=self.searches - 1, record=False)
        self.seeding.problem.complete_proofs()
        self.moves = find_seeded(self.seeding)
        self.lists_all = core.branches_are_all(self.seeding.problem)

    def find(self, start: Any, targets: Mapping[str, Any] | None, count: int) -> Found:
        """Return up to `count` distinct answers."""
        clock, begin = Clock(self.solver._limit), self.read_start(start)
        asked = {**self.solver.targets, **(targets or {})}
        guessed = self.guess(begin)
        answers: DistinctAnswers[Solution] = DistinctAnswers(Measure(self.solver.model), begin)
        misses: list[Solution] = []
        steps = searches = 0
        for seed in self.make_seeds(start, asked, count, guessed, clock):
            if (clock.late and searches) or len(answers) == count:
                break
            self.single._set_time_limit(clock.left)
            found = self.single.solve(seed, asked)
            steps, searches = steps + found.steps, searches + found.searches
            if found.reached:
                answers.add(found.q, found)
            elif not len(answers):
                misses.append(found)
            if found._outcome.name == "UNREACHABLE":
                break
        if len(answers):
            listed = answers.sort()
            return Found(self.add_turns(listed, begin, asked, count) if self.turns else listed, steps, searches)
        missed = self.keep_best(misses, clock) if clock.late else self.solve_within(start, targets, clock)
        return Found([missed], missed.steps, missed.searches)

    def add_turns(self, found: list[Solution], begin: Floats, asked: Mapping[str, Any], count: int) -> list[Solution]:
        """Return up to `count` of the solutions and of those at whole turns from them, nearest to the start first."""
        model, options = self.solver.model, self.solver.options
        answers: DistinctAnswers[Solution] = DistinctAnswers(Measure(model, turns=True), begin)
        for one in found:
            answers.add(one.q, one)
        poses, limited = np.array([one.q for one in found]), options.limit_handling != "off"
        for q in list_turned(model, poses, begin, find_moving(self.seeding), count, limited):
            turned = self.single.solve(q, asked)
            if turned.reached:
                answers.add(turned.q, turned)
        return answers.sort()[:count]

    def keep_best(self, misses: Sequence[Solution], clock: Clock) -> Solution:
        """Return the search with the lowest cost, compared level by level, with the steps and time of all searches."""
        best = min(misses, key=self.list_costs)
        return join_searches(self.solver, best, [one for one in misses if one is not best], clock)

    def list_costs(self, missed: Solution) -> list[float]:
        """Return the cost of closed loops, then of each level of goals, first level first."""
        r, rows = self.single.linearise(missed.q)[1], missed.list_rows()
        at = len(r) - sum(row.size for row in rows.values())
        costs = {-1: float(r[:at] @ r[:at])}
        for name, row in rows.items():
            level, own = self.solver.goals[name].priority, r[at : at + row.size]
            costs[level] = costs.get(level, 0.0) + float(own @ own)
            at += row.size
        return [costs[level] for level in sorted(costs)]

    def solve_within(self, start: Any, targets: Mapping[str, Any] | None, clock: Clock) -> Solution:
        """Return the solver's own solution within the remaining time."""
        solver, limit = self.solver, self.solver._limit
        solver._set_time_limit(clock.left)
        try:
            return solver.solve(start, targets)
        finally:
            solver._set_time_limit(limit)

    def guess(self, begin: Floats) -> tuple[str, ChainPoses] | None:
        """Return the name and the guesses of the first goal that has guesses; None if branches are all answers."""
        model = self.solver.model
        own = {name: self.solver.goals[name].rows(model) for name in self.solver.row_names if not self.lists_all}
        return guess_goals(model, self.solver.options, own, begin)

    def make_seeds(
        self, start: Any, targets: Mapping[str, Any], count: int, guessed: tuple[str, ChainPoses] | None, clock: Clock
    ) -> Iterator[Any]:
        """Yield the starts of searches: the start, branches, guesses, seeds; only branches if they are all answers."""
        begin, native = self.read_start(start), self.seeding.problem
        native.restart(begin, dict(targets))
        branches: Floats = np.array(core.listed_of(native, count))
        if not self.lists_all:
            yield start
        yield from branches
        if guessed is not None and not clock.late:
            yield from self.list_guesses(*guessed, begin, targets)
        if not self.lists_all:
            yield from np.where(self.moves, np.array(core.seeds_of(native)), begin)

    def list_guesses(self, name: str, guesses: ChainPoses, begin: Floats, targets: Mapping[str, Any]) -> Floats:
        """Return the guessed poses of a goal, nearest to the start first."""
        row = self.solver.goals[name].rows(self.solver.model)
        target = row.convert(targets[name]) if name in targets else row.target
        return list_starts(self.solver.model, guesses, target, begin)

    def read_start(self, start: Any) -> Floats:
        """Return the start as an array."""
        if start is None or self.solver.options.mode == "repeatable":
            return np.array(self.solver.model.rest)
        return np.array(getattr(start, "q", start), dtype=np.float64)


def check_several(solver: Solver) -> None:
    """Raise InvalidValue if the options or the method allow only one answer."""
    options = solver.options
    if options.mode == "continuous":
        raise InvalidValue("solutions= needs several branches, but mode='continuous' follows one; use mode='nearest'.")
    if not isinstance(solver.problem, core.Solver):
        raise InvalidValue(
            f"solutions= needs searches from seeds, which method {options.method.name!r} lacks; lm has them."
        )


def change_options(solver: Solver, **changes: Any) -> Solver:
    """Return another solver of the same problem with some options changed."""
    return solver.with_options(replace(solver.options, **{"mode": "nearest", **changes}))


def find_moving(solver: Solver) -> NDArray[np.bool_]:
    """Return a mask of the velocities that may move and that a goal depends on."""
    moves = np.zeros(solver.model.nv, dtype=np.bool_)
    moves[solver.linearise(solver.model.rest)[2]] = True
    return moves


def find_seeded(solver: Solver) -> NDArray[np.bool_]:
    """Return a mask of the numbers of q that a seed sets: those of movable velocities that a goal depends on."""
    model, moves = solver.model, find_moving(solver)
    out = np.zeros(model.nq, dtype=np.bool_)
    for joint in (joint for joint in model.joints if joint.nq):
        own = moves[joint.v]
        turns = [bool(own[-3:].any())] * 4 if joint.nq != joint.nv else []
        out[joint.q] = [*own[: joint.nv - 3], *turns] if turns else own
    return out
