"""solve_all: every pose of a transform, by the closed form of the chain's family.

Six joints have at most eight branches (families.h); each is an isolated pose. Seven joints have a curve of poses for
each branch: the free joint is cut into cells, in each of which a branch is ruled out, or inside the ranges all over, or
cut again; what is inside is put together to arcs. Every pose is polished on the model itself and judged by its FK.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from poise.errors import InvalidValue
from poise.goals import Goal
from poise.kinematics import Pose
from poise.model import Model
from poise.reach.bounds import fixes_the_frame
from poise.reach.closed import ClosedGoal, close_goal
from poise.solvers.answers import Answers, Arc, Excluded
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

    def branches(self, values: Sequence[float] | Floats, inside: bool) -> tuple[Floats, Floats, Floats]:
        """Return of every branch at values of the free joint: [value, branch, certain], joints' values, slacks."""
        found = self.closed.form.branches(self.R, self.p, np.asarray(values, dtype=np.float64), inside)
        n = len(self.closed.axes)
        return found[:, :3], found[:, 3 : 3 + n], found[:, 10 : 10 + n]

    def judge(self, values: Floats) -> list[Solution | None]:
        """Return the solution of each row of joints' values; None where no pose inside the limits is there."""
        q = polish_poses(self.solver, self.closed.read(values, self.start), [axis.q for axis in self.closed.axes])
        moving = [axis.q for axis in self.closed.axes]
        found: list[Solution | None] = []
        for row in q:
            answer = self.solver.solve(row)
            near = float(np.abs(answer.q[moving] - row[moving]).max()) < KNOWN
            found.append(answer if answer.reached and near else None)
        return found

    def sort_answers(self, found: Sequence[Solution]) -> list[Solution]:
        """Sort by the longest way of a joint from the start."""
        ways = self.measure_apart(np.array([answer.q for answer in found]))
        return [found[i] for i in np.argsort(ways, kind="stable")]

    def measure_apart(self, q: Floats) -> Floats:
        """Return the longest way of a joint from the start of each pose: radians, or metres over L."""
        model = self.solver.model
        if not len(q):
            return np.zeros(0)
        unit = np.where(~model.slides, 1.0, model.length)
        ways: Floats = np.abs(model.difference(np.broadcast_to(self.start, q.shape), q) / unit).max(axis=1, initial=0.0)
        return ways

    # -------------------------------------------------------------------------------------------- six joints

    def six(self) -> Answers:
        """Return every branch."""
        heads, values, slacks = self.branches([0.0], False)
        excess = self.closed.excess(values)
        inside = (excess <= 0.0).all(axis=1)
        # every branch must be known, exist, and be inside or outside beyond doubt
        doubt = (heads[:, 2] == 0.0) | (slacks.max(axis=1, initial=0.0) > KNOWN)
        doubt |= (np.abs(excess) <= slacks + NEAR).any(axis=1) & (excess <= slacks + NEAR).all(axis=1)
        tried = inside | doubt
        judged = self.judge(values[tried])
        found = distinct([answer for answer in judged if answer is not None])
        complete = not doubt.any() and all(answer is not None for answer in judged)
        excluded = tuple(self.exclude(heads[~tried], excess[~tried]))
        return Answers(self.closed.family, self.sort_answers(found), (), complete, lambda: excluded, None)

    def exclude(self, heads: Floats, excess: Floats) -> list[Excluded]:
        """Return of each branch the joint that is farthest outside, where that is least."""
        best: dict[int, Excluded] = {}
        for head, row in zip(heads, excess, strict=True):
            k, branch = int(np.argmax(row)), int(head[1])
            axis = self.closed.axes[k]
            at = None if self.closed.free is None else float(head[0])
            one = Excluded(branch, axis.joint, float(row[k]), axis.slides, at)
            if branch not in best or one.excess < best[branch].excess:
                best[branch] = one
        return sorted(best.values(), key=lambda one: one.excess)

    # -------------------------------------------------------------------------------------------- seven joints

    def seven(self, samples: int) -> Answers:
        """Return the arcs, the nearest pose of each, and samples along it."""
        pieces = self.closed.form.arcs(self.R, self.p, FINEST, MOST_CELLS)
        arcs = join(pieces[:-1])
        poses = [pose for arc in arcs for pose in self.sample_arc(arc, samples)]
        judged = self.judge(np.array(poses)) if poses else []
        found = distinct([answer for answer in judged if answer is not None])
        free = self.closed.axes[self.closed.free or 0]
        named = [self.name_arc(arc) for arc in arcs]
        complete = bool(pieces[-1, 0] == 1.0) and self.closed.family.turn_error <= 1e-6 and len(found) >= len(arcs)
        spread = np.linspace(max(free.middle - free.half, -np.pi), min(free.middle + free.half, np.pi), 361)

        def excluded() -> tuple[Excluded, ...]:
            if arcs:
                return ()
            heads, values, _ = self.branches(spread, False)
            return tuple(self.exclude(heads, self.closed.excess(values)))

        return Answers(self.closed.family, self.sort_answers(found), named, complete, excluded, self.solve_at)

    def name_arc(self, arc: tuple[int, float, float]) -> Arc:
        """Return the arc in the free joint's own number of q."""
        axis = self.closed.axes[self.closed.free or 0]
        ends = sorted((end - axis.bias) / axis.gain for end in arc[1:])
        return Arc(arc[0], axis.joint, *ends)

    def sample_arc(self, arc: tuple[int, float, float], samples: int) -> list[Floats]:
        """Return the joints' values of the arc's pose that is nearest to the start, and of samples along it."""
        branch, low, high = arc
        spread = (np.arange(samples) + 0.5) / samples
        axis = self.closed.axes[self.closed.free or 0]
        own = float(np.clip(axis.gain * self.start[axis.q] + axis.bias, low, high))
        grid = np.sort([*np.linspace(low, high, 32), own])
        for _ in range(3):
            values = self.on_branch(grid, branch)
            if not len(values):
                break
            best = int(np.argmin(self.measure_apart(self.closed.read(values, self.start))))
            nearest = values[best]
            at, width = float(nearest[self.closed.free or 0]), float(np.diff(grid).max())
            grid = np.sort([*np.linspace(max(low, at - width), min(high, at + width), 9), at])
        else:
            return [nearest, *self.on_branch(low + spread * (high - low), branch)]
        return list(self.on_branch(np.array([0.5 * (low + high)]), branch))

    def on_branch(self, at: Floats, branch: int) -> Floats:
        """Return the joints' values of one branch."""
        heads, values, _ = self.branches(at, True)
        return np.asarray(values[heads[:, 1] == branch])

    def solve_at(self, angle: float) -> list[Solution]:
        """Return one solution for each branch at a value of the free joint."""
        axis = self.closed.axes[self.closed.free or 0]
        if not (axis.lower <= axis.gain * angle + axis.bias <= axis.upper):
            return []
        _, values, _ = self.branches([axis.gain * angle + axis.bias], True)
        return self.sort_answers([answer for answer in self.judge(values) if answer is not None])


def join(pieces: Floats) -> list[tuple[int, float, float]]:
    """Return arcs of pieces (branch, low, high) that touch."""
    arcs: list[tuple[int, float, float]] = []
    for branch in range(8):
        own = pieces[pieces[:, 0] == branch]
        for _, low, high in own[np.argsort(own[:, 1])]:
            if arcs and arcs[-1][0] == branch and low - arcs[-1][2] <= 2.0 * FINEST:
                arcs[-1] = (branch, arcs[-1][1], float(high))
            else:
                arcs.append((branch, float(low), float(high)))
    return arcs


def distinct(found: Sequence[Solution]) -> list[Solution]:
    """Return the solutions without those that are one."""
    if not found:
        return []
    q = np.array([answer.q for answer in found])
    kept = np.zeros(len(found), dtype=bool)
    for i, row in enumerate(q):
        kept[i] = not (np.abs(q[kept] - row).max(axis=1, initial=0.0) <= 1e-6).any()
    return [answer for answer, own in zip(found, kept, strict=True) if own]
