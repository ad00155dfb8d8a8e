"""Completeness of the rows of a batch: `solve_batch(..., solutions=k).complete`.

Completeness is always proved. A row is complete if it is proved out of reach, or if a closed form lists every branch
(six joints) or every arc of the free joint (seven joints), each is certain, and the row has an answer for each; for six
joints also for each branch that exceeds a range by no more than the tolerances. A `Rest` only chooses among them.
Further limits exclude some: six joints are then complete if every branch is still listed, seven if no arc remains.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

import numpy as np
from numpy.typing import NDArray

from poise.answers.complete_list import FINEST, MOST_CELLS
from poise.arrays import Floats
from poise.batch.arrays import BatchRows, read_transforms
from poise.batch.outputs import Outputs
from poise.batch.solution import CODES
from poise.goals.goal import POSE
from poise.native import core
from poise.reach.closed_forms import ClosedGoal, find_closed_form, read_values
from poise.reach.distinct import DISTINCT, TURN, measure_apart, remove_turns
from poise.solvers import Solver, Status
from poise.solvers.proofs import find_freedom, find_tolerances

__all__ = ["CompletenessQuery"]

Bools = NDArray[np.bool_]
EDGE = 1e-3  # rad or m: tolerance at the end of an arc, for answers within the goal's tolerance


@dataclass(frozen=True, slots=True)
class CompletenessQuery:
    """The targets of a batch, stored to decide later whether its answers are complete.

    Attributes:
        solver: The problem.
        closed: The closed form of its goal, or None.
        T: The target transforms, (rows, 12).
        lead: The leading axes of the batch.
    """

    solver: Solver
    closed: ClosedGoal | None
    T: Floats
    lead: tuple[int, ...]

    @classmethod
    def read(
        cls, solver: Solver, targets: Sequence[BatchRows], starts: BatchRows, lead: tuple[int, ...]
    ) -> CompletenessQuery:
        """Copy the transforms, which the caller may change later."""
        closed = find_closed(solver, starts)
        if closed is None:
            return cls(solver, None, np.zeros((0, 12)), lead)
        name = solver.row_names[0]
        T = read_transforms(targets, name, solver.goals[name].rows(solver.model).target, lead)
        return cls(solver, closed, np.concatenate([T[:, :3, :3].reshape(-1, 9), T[:, :3, 3]], axis=1), lead)

    def judge(self, outputs: Outputs) -> Bools:
        """Return whether each row lists every answer, (B,)."""
        rows = prod(self.lead)
        codes = outputs.codes.reshape(rows, outputs.codes.shape[-1])
        complete: Bools = codes[:, 0] == CODES.index(Status.UNREACHABLE)
        some = np.flatnonzero(codes[:, 0] == CODES.index(Status.REACHED))
        if self.closed is not None and len(some):
            q = np.asarray(outputs.q, dtype=np.float64).reshape(rows, codes.shape[1], self.solver.model.nq)
            listed = read_values(self.closed.axes, np.nan_to_num(q[some]))
            reached = codes[some] == CODES.index(Status.REACHED)
            if self.closed.free is None:
                tolerance = find_tolerances(self.solver.model, self.solver.goals[self.solver.row_names[0]])
                complete[some] = judge_branches(self.closed, self.T[some], listed, reached, tolerance)
            else:
                limited = bool(self.solver.options.limits)
                complete[some] = judge_arcs(self.closed, self.T[some], listed, reached, limited)
        return complete.reshape(self.lead)


def find_closed(solver: Solver, starts: BatchRows) -> ClosedGoal | None:
    """Return the closed form of the only goal, or None if it has none or it depends on the row."""
    model = solver.model
    if len(solver.row_names) != 1:
        return None
    asked = solver.goals[solver.row_names[0]]
    if asked.is_loose(model, False):  # a region: its poses cannot be listed
        return None
    goal = asked.rows(model)
    start = np.asarray(starts.read_row(0), dtype=np.float64)
    closed = (
        find_closed_form(model, goal, find_freedom(model, solver.options, start, True)) if goal.op == POSE else None
    )
    if not isinstance(closed, ClosedGoal) or closed.family.chain is None or closed.family.turn_error > 1e-6:
        return None
    return closed if prod(starts.lead) == 1 or not closed.family.chain.still else None


def find_alike(closed: ClosedGoal, listed: Floats, branches: Floats) -> Bools:
    """Return whether poses are the same answer, given as joint values (..., n) and rows of joints (..., 7)."""
    turns = np.array([0.0 if axis.slides else TURN for axis in closed.axes])
    d = remove_turns(listed - branches[..., : len(turns)], turns)
    return np.asarray(measure_apart(d, 1.0 / np.array(closed.reading.scale)) <= DISTINCT)


def judge_branches(
    closed: ClosedGoal, T: Floats, listed: Floats, reached: Bools, tolerance: tuple[float, float]
) -> Bools:
    """Return a mask of the rows in which every branch is certain, and each one within the tolerances is listed."""
    ask = (T[:, :9].copy(), T[:, 9:].copy(), np.zeros(1))
    rows = closed.form.near(*ask, False)
    doubt = (rows["certain"] == 0) | (rows["slacks"][:, :6].max(axis=1, initial=0.0) > core.KNOWN_BRANCH)
    complete = np.ones(len(T), dtype=np.bool_)
    complete[rows["target"][doubt]] = False
    rows = closed.form.near(*ask, True, metres=tolerance[0], radians=tolerance[1])
    target = rows["target"]
    there = (find_alike(closed, listed[target], rows["joints"][:, None]) & reached[target]).any(axis=1)
    complete[target[~there]] = False
    return complete


def judge_arcs(closed: ClosedGoal, T: Floats, listed: Floats, reached: Bools, limited: bool) -> Bools:
    """Return a mask of the rows in which every arc is certain and has an answer; with `limited`, without any arc."""
    found = closed.form.whole_arcs(T[:, :9].copy(), T[:, 9:].copy(), FINEST, MOST_CELLS)
    return np.array(
        [
            own.complete and not (limited and own.arcs) and has_every_arc(closed, T[i], own.arcs, listed[i][reached[i]])
            for i, own in enumerate(found)
        ]
    )


def has_every_arc(closed: ClosedGoal, T: Floats, arcs: Sequence[core.Arc], listed: Floats) -> bool:
    """Return whether each arc contains one of the poses."""
    values = listed[:, closed.free or 0]
    rows = closed.form.near(T[:9].copy(), T[9:].copy(), values.copy(), False)
    same = find_alike(closed, listed[:, None], rows["joints"][None]) & (rows["value"] == values[:, None])
    return all(
        any(
            arc.branch in rows["branch"][same[k]] and arc.low - EDGE <= u <= arc.high + EDGE
            for k, u in enumerate(values)
        )
        for arc in arcs
    )
