"""solve_all: every pose of a transform, by the closed form of the chain's family.

Six joints have at most eight branches (families.h); each is an isolated pose. Seven joints have a curve of poses for
each branch: the free joint is cut into cells, in each of which a branch is ruled out, or inside the ranges all over, or
cut again; what is inside is put together to arcs. Every pose is polished on the model itself and judged by its FK.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from poise.errors import InvalidValue
from poise.goals import Goal
from poise.kinematics import Pose
from poise.model import Model
from poise.reach.bounds import fixes_the_frame
from poise.reach.closed import ClosedGoal, close_goal
from poise.solvers.answers import Answers, Arc, Excluded, Poses
from poise.solvers.one_call import check_start
from poise.solvers.options import check_whole
from poise.solvers.polish import polish_poses
from poise.solvers.proving import find_freedom
from poise.solvers.solution import Solution
from poise.solvers.solver import Solver

__all__ = ["solve_all"]

Floats = NDArray[np.float64]
FINEST = 1e-6  # width of the cells in which an arc's end is found [rad or m]
MOST_CELLS = 40000
NEAR = 1e-9  # of a limit: rounding decides
KNOWN = 1e-3  # a branch that is known no better is not told apart
EXACT = 1e-9  # [m, rad] what is left of a pose that needs no more search
SAME = 1e-6  # poses that differ less are one
FREE, BRANCH, CERTAIN = 1, 2, 3  # columns of a row of `ClosedForm.near`
JOINTS, SLACKS, EXCESS = (slice(at, at + 7) for at in (5, 12, 19))


def solve_all(
    model: Model,
    goal: Goal,
    start: ArrayLike | Pose | None = None,
    *,
    joints: Sequence[str] | None = None,
    samples: int = 16,
) -> Answers:
    """Finds every pose inside the limits that brings a frame to a transform; for chains that have a closed form.

    Args:
        model: The body.
        goal: A `Reach` of a whole transform.
        start: Answers are sorted by their distance from it; joints that may not move stand as in it. The rest pose
            unless given.
        joints: The only joints that may move; all but locked ones unless given.
        samples: How many poses along each arc, of chains with seven joints.

    Returns:
        The Answers; `model.family(frame)` says which chains have them.

    Raises:
        InvalidValue: The goal asks for less than a transform, or the chain has no closed form; the message says why.
    """
    check_whole("samples", samples, 1)
    check_start(model, start)
    solver = Solver(model, goal, joints=joints, restarts=0)
    (name,) = solver.row_names
    begin = np.array(model.rest if start is None else getattr(start, "q", start), dtype=np.float64)
    rows = solver.goals[name].rows(model)
    if not fixes_the_frame(rows) or rows.base is not None:
        raise InvalidValue(
            f"solve_all takes one Reach of a whole transform in the world, not {goal!r}; for other goals type: "
            "solve(model, goals, solutions=8)."
        )
    closed = close_goal(model, rows, find_freedom(model, solver._options, begin, True))
    if not isinstance(closed, ClosedGoal):
        raise InvalidValue(f"solve_all: {closed} Type: solve(model, goal, solutions=8).")
    every = Every(solver, closed, rows.target[:9].copy(), rows.target[9:12].copy(), begin)
    return every.six() if closed.free is None else every.seven(samples)


@dataclass(frozen=True, slots=True)
class Every:
    """One question: the solver that judges, the closed form, and what is asked."""

    solver: Solver
    closed: ClosedGoal
    R: Floats
    p: Floats
    start: Floats

    def near(self, values: Sequence[float] | Floats, inside: bool) -> Floats:
        """Return a row of every branch at values of the free joint; see `ClosedForm.near`."""
        near, scale = self.measure_start()
        at = np.asarray(values, dtype=np.float64)
        return np.asarray(self.closed.form.near(self.R, self.p, at, inside, near, scale))

    def measure_start(self) -> tuple[Floats, Floats]:
        """Return the start as values of the chain's joints, and what a unit of each counts: 7 numbers each."""
        near, scale = np.zeros(7), np.ones(7)
        for k, axis in enumerate(self.closed.axes):
            near[k] = axis.gain * self.start[axis.q] + axis.bias
            scale[k] = 1.0 / (abs(axis.gain) * (self.solver.model.length if axis.slides else 1.0))
        return near, scale

    def judge(self, rows: Floats) -> Judged:
        """Return which rows are poses inside the limits, brought to the transform to the last digits."""
        q = np.tile(self.start, (len(rows), 1))
        for k, axis in enumerate(self.closed.axes):
            q[:, axis.q] = (rows[:, JOINTS.start + k] - axis.bias) / axis.gain
        q, left = polish_poses(self.solver, q, [axis.q for axis in self.closed.axes])
        moving = self.moving()
        good = (left <= EXACT) & (self.solver.model.clamp(q) == q)[:, moving].all(axis=1)
        for k in np.flatnonzero(~good).tolist():  # two that are nearly one, or axes that a file has rounded
            answer = self.solver.solve(q[k])
            way = np.abs(answer.q - q[k])[moving].max(initial=0.0)
            good[k], q[k] = answer.reached and way < KNOWN, answer.q
        return Judged(q, good)

    def moving(self) -> NDArray[np.bool_]:
        """Return which numbers of q the chain's joints have."""
        out = np.zeros(self.solver.model.nq, dtype=np.bool_)
        out[[axis.q for axis in self.closed.axes]] = True
        return out

    def make_poses(self, q: Floats) -> Poses:
        """Return poses without those that are one, sorted by the longest way of a joint from the start."""
        apart = np.abs(q[:, None] - q[None]).max(axis=2, initial=0.0)
        alone = ~np.tril(apart <= SAME, -1).any(axis=1)
        near, scale = self.measure_start()
        ways = np.zeros(len(q))
        for k, axis in enumerate(self.closed.axes):
            ways = np.maximum(ways, scale[k] * np.abs(axis.gain * q[:, axis.q] + axis.bias - near[k]))
        kept = np.flatnonzero(alone)
        return Poses(self.solver, q[kept[np.argsort(ways[kept], kind="stable")]])

    # -------------------------------------------------------------------------------------------- six joints

    def six(self) -> Answers:
        """Return every branch."""
        n = len(self.closed.axes)
        rows = self.near([0.0], False)
        excess, slacks = rows[:, EXCESS][:, :n], rows[:, SLACKS][:, :n]
        inside = (excess <= 0.0).all(axis=1)
        # every branch must be known, exist, and be inside or outside beyond doubt
        doubt = (rows[:, CERTAIN] == 0.0) | (slacks.max(axis=1, initial=0.0) > KNOWN)
        doubt |= (np.abs(excess) <= slacks + NEAR).any(axis=1) & (excess <= slacks + NEAR).all(axis=1)
        tried = inside | doubt
        judged = self.judge(rows[tried])
        complete = not doubt.any() and bool(judged.good.all())
        poses = self.make_poses(judged.q[judged.good])
        return Answers(
            self.closed.family, lambda: (poses, complete), (), lambda: tuple(self.exclude(rows[~tried])), None
        )

    def exclude(self, rows: Floats) -> list[Excluded]:
        """Return of each branch the joint that is farthest outside, where that is least."""
        best: dict[int, Excluded] = {}
        for row in rows:
            outside = row[EXCESS][: len(self.closed.axes)]
            k, branch = int(np.argmax(outside)), int(row[BRANCH])
            axis = self.closed.axes[k]
            at = None if self.closed.free is None else float(row[FREE])
            one = Excluded(branch, axis.joint, float(outside[k]), axis.slides, at)
            if branch not in best or one.excess < best[branch].excess:
                best[branch] = one
        return sorted(best.values(), key=lambda one: one.excess)

    # -------------------------------------------------------------------------------------------- seven joints

    def seven(self, samples: int) -> Answers:
        """Return the arcs, the nearest pose of each, and samples along it."""
        *found, last = np.asarray(self.closed.form.whole_arcs(self.R, self.p, FINEST, MOST_CELLS))
        arcs = np.array(found).reshape(-1, 4)[:, 1:]
        whole = bool(last[2] == 1.0) and self.closed.family.turn_error <= 1e-6

        def list_poses() -> tuple[Poses, bool]:
            near, scale = self.measure_start()
            rows = np.asarray(self.closed.form.samples(self.R, self.p, arcs, samples, near, scale))
            judged = self.judge(rows)
            there = np.unique(rows[judged.good, 0])  # arcs that have a pose
            return self.make_poses(judged.q[judged.good]), whole and len(there) == len(arcs)

        def exclude() -> tuple[Excluded, ...]:
            free = self.closed.axes[self.closed.free or 0]
            spread = np.linspace(max(free.middle - free.half, -np.pi), min(free.middle + free.half, np.pi), 361)
            return () if len(arcs) else tuple(self.exclude(self.near(spread, False)))

        named = [self.name_arc(*arc) for arc in arcs.tolist()]
        return Answers(self.closed.family, list_poses, named, exclude, self.solve_at)

    def name_arc(self, branch: float, low: float, high: float) -> Arc:
        """Return the arc in the free joint's own number of q."""
        axis = self.closed.axes[self.closed.free or 0]
        ends = sorted((end - axis.bias) / axis.gain for end in (low, high))
        return Arc(int(branch), axis.joint, *ends)

    def solve_at(self, angle: float) -> list[Solution]:
        """Return one solution for each branch at a value of the free joint."""
        axis = self.closed.axes[self.closed.free or 0]
        if not (axis.lower <= axis.gain * angle + axis.bias <= axis.upper):
            return []
        judged = self.judge(self.near([axis.gain * angle + axis.bias], True))
        return list(self.make_poses(judged.q[judged.good]))


class Judged(NamedTuple):
    """Poses, and which of them are answers."""

    q: Floats
    good: NDArray[np.bool_]
