"""solve_all: every pose of a transform, by the closed form of the chain's family (or see general_chain.py).

Six joints have at most eight branches (families.h), each an isolated pose. Seven joints have a curve of poses for each
branch: the range of the free joint is divided into cells until a branch is excluded or inside its ranges everywhere in
a cell; cells inside are joined to arcs. A search refines every pose on the model itself, and its errors decide. Arcs
and poses are computed on first access.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from poise.answers.answers import Answers, BranchArc, Excluded
from poise.answers.general_chain import GeneralChainQuery, list_general_answers
from poise.answers.lazy_poses import Poses
from poise.arrays import Floats
from poise.errors import InvalidValue
from poise.goals import Goal
from poise.goals.goal import GoalRows
from poise.kinematics import Pose
from poise.model import Model
from poise.model.chain import Axis, placement
from poise.model.family import Family
from poise.model.memo import MemoTable
from poise.native import core
from poise.reach.bounds import fixes_the_frame
from poise.reach.closed_forms import ClosedGoal, find_closed_form, read_values
from poise.reach.guesses import Guesses, find_guesses
from poise.reach.turns import list_turned
from poise.reach.two_links import find_two_links
from poise.solvers.one_call import check_start
from poise.solvers.options import Options, check_whole, keep_joints
from poise.solvers.proofs import find_freedom
from poise.solvers.solution import Solution, make_solution
from poise.solvers.solver import Solver
from poise.solvers.starts import read_start
from poise.solvers.table import may_move

__all__ = ["solve_all"]

LISTED = MemoTable[Hashable, tuple[Options, ClosedGoal | tuple[Family, Guesses]]]("closed forms of prepared problems")
FINEST = 1e-6  # width of the cells that contain an arc's end [rad, or a tenth of the chain]
MOST_CELLS = 40000
MOST_SAMPLES = 10_000  # along one arc: takes a second or two, and some megabytes


def solve_all(
    model: Model,
    goal: Goal,
    start: ArrayLike | Pose | None = None,
    *,
    joints: Sequence[str] | None = None,
    samples: int = 16,
    turns: bool = False,
) -> Answers:
    """Find every pose inside the limits that brings a frame to a transform; for six revolute joints or a known family.

    A chain of two parallel hinges, such as a planar arm of two links, takes a position.

    The poses reach the transform itself. If the goal has a wide tolerance, `solve` and `solve_batch` use all of it, and
    may find a pose within the tolerance when this list is empty.

    Args:
        model: The body.
        goal: A `Reach` of a full transform, or of a position if two parallel hinges move the frame.
        start: Answers are sorted by their distance from it; joints that may not move keep its values (default: the rest
            pose).
        joints: The only joints that may move (default: all but locked ones).
        samples: The number of poses along each arc, for chains with seven joints; at most 10,000.
        turns: List poses that differ by whole turns separately; otherwise only the one nearest to the start.

    Returns:
        The Answers. `model.family(frame)` returns the family of a chain.

    Raises:
        InvalidValue: The goal is not a full transform, or the chain has no closed form; or `turns` is true and a joint
            without limits has infinitely many turns.
    """
    if turns:
        return add_turns(solve_all(model, goal, start, joints=joints, samples=samples), model, start)
    if isinstance(samples, (int, np.integer)) and samples > MOST_SAMPLES:
        raise InvalidValue(
            f"samples is {samples}; an arc is sampled at most {MOST_SAMPLES} times. For a pose at any value of the "
            "free joint type: answers.at(angle)."
        )
    check_whole("samples", samples, 1)
    check_start(model, start)
    given: dict[str, Any] = {"joints": keep_joints(joints), "restarts": 0}
    solver, rows, key = Solver.read_problem(model, goal, given)
    begin = read_start(solver.model, start)
    again = (repeat, (model, goal, begin, given["joints"], samples))
    kept = model.memo.entries(LISTED).get(key)
    closed = find_closed(solver, goal, rows, key, begin) if kept is None else kept[1]
    if not isinstance(closed, ClosedGoal):
        family, guesses = closed
        T = placement(rows[0][1].target[:9].reshape(3, 3), rows[0][1].target[9:12])
        return list_general_answers(
            GeneralChainQuery(model, goal, given["joints"], family, guesses, T, begin, samples), again
        )
    query = ClosedFormQuery(solver, key, closed, rows[0][1].target, begin, again)
    return query.list_branches() if query.free is None else query.list_arcs(query.free, samples)


def repeat(model: Model, goal: Goal, start: Floats, joints: Sequence[str] | None, samples: int) -> Answers:
    """Restore answers from a pickle; the same query gives identical answers."""
    return solve_all(model, goal, start, joints=joints, samples=samples)


def add_turns(answers: Answers, model: Model, start: ArrayLike | Pose | None) -> Answers:
    """Return answers with all whole turns of the chain's joints, nearest to the start first."""
    begin, moves = read_start(model, start), may_move(model, answers.family.joints)
    list_turned(model, begin[None], begin, moves)  # raises now if a joint turns without end
    return answers.change(partial(turn_poses, model, begin, moves))


def turn_poses(model: Model, start: Floats, moves: NDArray[np.bool_], poses: Sequence[Solution]) -> Poses:
    """Return listed poses with all whole turns."""
    assert isinstance(poses, Poses)
    return Poses(poses.solve, list_turned(model, poses.q, start, moves), poses.solver)


def find_closed(
    solver: Solver, goal: Goal, rows: Sequence[tuple[str, GoalRows]], key: Any, start: Floats
) -> ClosedGoal | tuple[Family, Guesses]:
    """Return the closed form of a goal, or its family and guesses if it has none.

    The result is cached with the problem unless it depends on a joint that may not move.

    Raises:
        InvalidValue: The goal has neither.
    """
    model, freedom = solver.model, find_freedom(solver.model, solver.options, start, True)
    if len(rows) == 1 and (two := find_two_links(model, rows[0][1], freedom)) is not None:
        return two
    if len(rows) != 1 or not fixes_the_frame(rows[0][1]) or rows[0][1].base is not None:
        raise InvalidValue(
            f"solve_all takes one Reach of a whole transform in the world (of a position if two parallel hinges move "
            f"the frame), not {goal!r}; for other goals type: solve(model, goals, solutions=8)."
        )
    row = rows[0][1]
    closed = find_closed_form(model, row, freedom)
    family = closed.family if isinstance(closed, ClosedGoal) else closed
    guesses = None if family is None else find_guesses(model, family, tuple(row.point.tolist()), freedom)
    if isinstance(closed, ClosedGoal) and guesses is None:
        found: ClosedGoal | tuple[Family, Guesses] = closed
    elif family is not None and guesses is not None:
        found = family, guesses
    else:
        raise InvalidValue(f"solve_all: {closed} Type: solve(model, goal, solutions=8).")
    if key is not None and freedom.q is None:
        model.memo.put(LISTED, key, (solver.options, found))  # keeps the options of the key alive
    return found


@dataclass(frozen=True, slots=True)
class ClosedFormQuery:
    """IK of a chain with a closed form: the solver and its key, the closed form, the target, the start.

    `again` is a function with its arguments that repeats the query.
    """

    solver: Solver
    key: Any
    closed: ClosedGoal
    target: Floats
    start: Floats
    again: tuple[Callable[..., Answers], tuple[Any, ...]]

    @property
    def free(self) -> Axis | None:
        """The free joint of a seven-joint chain; None for six joints."""
        return None if self.closed.free is None else self.closed.axes[self.closed.free]

    def solve(self, q: Floats) -> Solution:
        """Return the solution at an answer's pose."""
        answer = self.solver.use_problem(self.key, lambda native: native.solve(q, self.target))
        return make_solution(self.solver, answer, self.solver.targets)

    def pose(self, found: core.PoseList) -> Poses:
        """Return poses as solutions."""
        return Poses(self.solve, found.q, self.solver if found.settled else None)

    def near(self, values: Sequence[float] | Floats, inside: bool) -> Any:
        """Return a row for every branch at values of the free joint; see `ClosedForm.near`."""
        near, at = read_values(self.closed.axes, self.start), np.asarray(values, dtype=np.float64)
        R, p = self.target[:9].copy(), self.target[9:12].copy()
        return self.closed.form.near(R, p, at, inside, near, self.closed.reading.scale)

    def exclude(self, values: Sequence[float] | Floats) -> tuple[Excluded, ...]:
        """Return for each branch the joint farthest outside its range, at the value with the least excess.

        A branch that is certainly inside at some value is omitted; uncertain rows count only if all rows are uncertain.
        """
        rows, n = self.near(values, False), len(self.closed.axes)
        units = np.array([self.closed.table["length"] if axis.slides else 1.0 for axis in self.closed.axes])
        slacks, excesses, branch = rows["slacks"][:, :n], rows["excesses"][:, :n], rows["branch"]
        known = (rows["certain"] == 1) & (slacks <= core.KNOWN_BRANCH * units).all(axis=1)
        outside = (excesses > slacks + core.NEAR_LIMIT * units).any(axis=1)
        sure = known | ~np.isin(branch, branch[known])
        return self.name_excluded(rows[outside & sure & ~np.isin(branch, branch[known & ~outside])])

    def name_excluded(self, rows: Any) -> tuple[Excluded, ...]:
        """Return for each branch the row with the least excess, smallest first."""
        best: dict[int, Excluded] = {}
        for row in rows:
            outside = row["excesses"][: len(self.closed.axes)]
            k, branch = int(np.argmax(outside)), int(row["branch"])
            axis, free = self.closed.axes[k], self.free
            at = None if free is None else (float(row["value"]) - free.bias) / free.gain
            slides = free is not None and free.slides
            one = Excluded(branch, axis.joint, float(outside[k]), axis.slides, at, slides)
            if branch not in best or one.excess < best[branch].excess:
                best[branch] = one
        return tuple(sorted(best.values(), key=lambda one: one.excess))

    # -------------------------------------------------------------------------------------------- six joints

    def list_branches(self) -> Answers:
        """Return the answers of a six-joint chain: every branch."""

        def list_poses() -> tuple[Poses, bool]:
            closed = self.closed
            found = self.solver.use_problem(
                self.key, lambda native: native.list_branches(closed.form, closed.reading, self.start, self.target)
            )
            return self.pose(found), found.complete

        def exclude() -> tuple[Excluded, ...]:
            return self.exclude([0.0])

        return Answers(self.closed.family, list_poses, tuple, exclude, None, self.again)

    # -------------------------------------------------------------------------------------------- seven joints

    def list_arcs(self, free: Axis, samples: int) -> Answers:
        """Return the answers of a seven-joint chain: the arcs, the nearest pose of each, and samples along it."""
        closed = self.closed

        found_arcs: list[core.ArcList] = []

        def find_arcs() -> core.ArcList:
            if not found_arcs:
                found_arcs.extend(closed.form.whole_arcs(self.target[:9], self.target[9:12], FINEST, MOST_CELLS))
            return found_arcs[0]

        def list_poses() -> tuple[Poses, bool]:
            arcs = find_arcs()
            known = arcs.complete and closed.family.turn_error <= 1e-6
            found = self.solver.use_problem(
                self.key,
                lambda native: native.list_along(closed.form, closed.reading, self.start, self.target, arcs, samples),
            )
            return self.pose(found), known and found.complete

        def exclude() -> tuple[Excluded, ...]:
            half = free.half if free.slides else min(free.half, np.pi)
            spread = np.linspace(free.middle - half, free.middle + half, 361).clip(free.lower, free.upper)
            return () if find_arcs().arcs else self.exclude(spread)

        def name_arcs() -> tuple[BranchArc, ...]:
            return tuple(BranchArc.read(arc, free) for arc in find_arcs().arcs)

        def solve_at(angle: float) -> list[Solution]:
            return self.solve_at(free, angle)

        return Answers(closed.family, list_poses, name_arcs, exclude, solve_at, self.again)

    def solve_at(self, free: Axis, angle: float) -> list[Solution]:
        """Return one solution for each branch at a value of the free joint."""
        closed = self.closed
        value = free.gain * angle + free.bias
        if not (free.lower <= value <= free.upper):
            return []
        found = self.solver.use_problem(
            self.key, lambda native: native.list_at(closed.form, closed.reading, self.start, self.target, value)
        )
        return list(self.pose(found))
