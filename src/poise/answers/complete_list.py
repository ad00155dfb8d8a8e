"""solve_all: every pose of a transform, by the closed form of the chain's family, or by general_chain.py without one.

Other chains, and goals that leave turns free, are those of reach/goal_chains.py.

Six joints have at most eight branches (families.h), each an isolated pose. Seven joints have a curve of poses for each
branch: the range of the free joint is divided into cells until a branch is excluded or inside its ranges everywhere in
a cell; cells inside are joined to arcs. A search refines every pose on the model itself, and its errors decide. Arcs
and poses are computed on first access.
"""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from functools import cache, partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from poise.answers.answers import Answers, BranchArc, Excluded
from poise.answers.general_chain import GeneralChainQuery
from poise.answers.lazy_poses import PoseQuery, Poses
from poise.arguments import check_whole
from poise.arrays import Floats
from poise.errors import InvalidValue
from poise.goals import Goal
from poise.goals.goal import GoalRows
from poise.kinematics import Pose
from poise.limits import Clearance
from poise.model import Model
from poise.model.chain import Axis
from poise.model.memo import MemoTable
from poise.native import core
from poise.reach.chain_poses import ChainPoses, find_chain, find_poses
from poise.reach.closed_forms import ClosedGoal, read_values
from poise.reach.goal_chains import find_goal_chain, is_in_loop, read_free_turns
from poise.reach.turns import list_turned
from poise.reach.two_links import find_two_links
from poise.solvers.one_call import check_start
from poise.solvers.options import Options, keep_joints
from poise.solvers.problem_cache import join_targets
from poise.solvers.proofs import find_freedom
from poise.solvers.solution import Solution
from poise.solvers.solver import Solver
from poise.solvers.starts import read_start
from poise.solvers.table import may_move

__all__ = ["solve_all"]

LISTED = MemoTable[Hashable, tuple[Options, ClosedGoal | ChainPoses]]("closed forms of prepared problems")
FINEST = 1e-6  # width of the cells that contain an arc's end [rad, or a tenth of the chain]
MOST_CELLS = 40000
MOST_SAMPLES = 10_000  # along one arc: takes a second or two, and some megabytes


def solve_all(
    model: Model,
    goal: Goal | Sequence[Goal],
    start: ArrayLike | Pose | None = None,
    *,
    joints: Sequence[str] | None = None,
    limits: Sequence[Clearance] | Clearance = (),
    samples: int = 16,
    turns: bool = False,
) -> Answers:
    """Find every pose inside the limits that brings a frame to a transform, or its point to a position.

    Goals that the joints determine have a few poses, and nearly always a proof that these are all. If joints are left
    over, some are held at values over their ranges: of at most 16 joints in all, 15 for a position with a direction, 13
    for a position. Five joints reach a position and a direction, a `Reach` and an `Align` of one frame, and few of all
    transforms; three joints reach a position.

    The poses reach the transform itself. If the goal has a wide tolerance, `solve` and `solve_batch` use all of it, and
    may find a pose within the tolerance when this list is empty.

    Args:
        model: The body.
        goal: A `Reach` of a full transform or of a position, or a list of a `Reach` of a position and an `Align` or
            `Orient` of the same frame.
        start: Answers are sorted by their distance from it; joints that may not move keep its values (default: the rest
            pose).
        joints: The only joints that may move (default: all but locked ones).
        limits: List only poses that keep each `Clearance`. Of seven joints, the poses that would be listed without it.
        samples: The number of poses along each arc, for chains with seven joints; otherwise the number of values of
            the held joints. At most 10,000.
        turns: List poses that differ by whole turns separately; otherwise only the one nearest to the start.

    Returns:
        The Answers. `model.family(frame)` returns the family of a chain.

    Raises:
        InvalidValue: Other goals, or the chain's poses cannot be listed, such as those of ball joints; or `turns` is
            true and a joint without limits has infinitely many turns; or a limit is not a `Clearance`.
    """
    if limits := [limits] if isinstance(limits, Clearance) else list(limits):
        if not all(isinstance(limit, Clearance) for limit in limits):
            raise InvalidValue(f"limits is {limits!r}; solve_all keeps the joint ranges and each Clearance, no others.")
        every = solve_all(model, goal, start, joints=joints, samples=samples, turns=turns)
        return every.filter(partial(find_clear, model, limits))
    if turns:
        return add_turns(solve_all(model, goal, start, joints=joints, samples=samples), model, start)
    if isinstance(samples, (int, np.integer)) and samples > MOST_SAMPLES:
        raise InvalidValue(
            f"samples is {samples}; an arc is sampled at most {MOST_SAMPLES} times. For a pose at any value of the "
            "free joint type: answers.at(angle)."
        )
    check_whole(samples, "samples", 1, MOST_SAMPLES)
    check_start(model, start)
    given: dict[str, Any] = {"joints": keep_joints(joints), "restarts": 0}
    solver, rows, key = Solver.read_problem(model, goal, given)
    begin = read_start(solver.model, start)
    again = (partial(solve_all, joints=given["joints"], samples=samples), (model, goal, begin))
    kept = model.memo.entries(LISTED).get(key)
    closed = find_closed(solver, goal, rows, key, begin) if kept is None else kept[1]
    asked = solver, key, join_targets(rows), begin, again
    if isinstance(closed, ChainPoses):
        return GeneralChainQuery(*asked, closed, samples).list_answers()
    query = ClosedFormQuery(*asked, closed)
    if query.free is not None:
        return query.list_arcs(query.free, samples)

    def list_all() -> tuple[Poses, bool]:
        """List the poses of the closed form; if its axes are off and these may not be all, those of general joints."""
        found = query.list_poses()
        if found[1] or not (closed.family.turn_error or closed.family.point_error):
            return found
        chain = find_chain(model, rows[0][1], find_freedom(model, solver.options, begin, True), closed.family)
        every = GeneralChainQuery(*asked, chain, samples).list_branches()
        return every if every[1] else found

    return Answers(closed.family, list_all, tuple, partial(query.exclude, [0.0]), None, again)


def add_turns(answers: Answers, model: Model, start: ArrayLike | Pose | None) -> Answers:
    """Return answers with all whole turns of the chain's joints, nearest to the start first."""
    begin, moves = read_start(model, start), may_move(model, answers.family.joints)
    list_turned(model, begin[None], begin, moves)  # raises now if a joint turns without end
    return answers.change(partial(list_turned, model, start=begin, moves=moves))


def find_clear(model: Model, limits: Sequence[Clearance], q: Floats) -> NDArray[np.bool_]:
    """Return whether the gaps of poses (k, nq) are at least each limit's distance."""
    return np.asarray(np.all([limit.measure_gap(model, q) >= limit.distance for limit in limits], axis=0))


def find_closed(
    solver: Solver, goal: Goal | Sequence[Goal], rows: Sequence[tuple[str, GoalRows]], key: Any, start: Floats
) -> ClosedGoal | ChainPoses:
    """Return the closed form of a goal, or its guesses if it has none.

    The result is cached with the problem unless it depends on a joint that may not move.

    Raises:
        InvalidValue: The goal has neither.
    """
    model, freedom = solver.model, find_freedom(solver.model, solver.options, start, True)
    if looped := [row.frame for _, row in rows if row.frame is not None and is_in_loop(model, row.frame)]:
        raise InvalidValue(f"solve_all: the joints of {looped[0]!r} are in a closed loop; type: solve(model, goals).")
    if len(rows) == 1 and (two := find_two_links(model, rows[0][1], freedom)) is not None:
        return two
    free = read_free_turns([row for _, row in rows])
    if free is None:
        raise InvalidValue(
            f"solve_all takes a Reach of a transform or a position in the world, or a Reach of a position and an Align "
            f"or an Orient of the same frame, not {goal!r}; for other goals type: solve(model, goals, solutions=8)."
        )
    found = find_poses(model, rows[0][1], freedom) if len(rows) == 1 else None
    if not isinstance(found, (ClosedGoal, ChainPoses)):
        found = find_goal_chain(model, free, freedom)
    if key is not None and freedom.q is None:
        model.memo.put(LISTED, key, (solver.options, found))  # keeps the options of the key alive
    return found


@dataclass(frozen=True, slots=True)
class ClosedFormQuery(PoseQuery):
    """IK of a chain with a closed form."""

    closed: ClosedGoal

    @property
    def free(self) -> Axis | None:
        """The free joint of a seven-joint chain; None for six joints."""
        return None if self.closed.free is None else self.closed.axes[self.closed.free]

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

    def list_poses(self) -> tuple[Poses, bool]:
        """Return the poses of every branch of a six-joint chain, and whether these are certainly all."""
        closed = self.closed
        found = self.solver.use_problem(
            self.key, lambda native: native.list_branches(closed.form, closed.reading, self.start, self.target)
        )
        return self.pose(found), found.complete

    # -------------------------------------------------------------------------------------------- seven joints

    def list_arcs(self, free: Axis, samples: int) -> Answers:
        """Return the answers of a seven-joint chain: the arcs, the nearest pose of each, and samples along it."""
        closed = self.closed

        @cache
        def find_arcs() -> core.ArcList:
            return closed.form.whole_arcs(self.target[:9], self.target[9:12], FINEST, MOST_CELLS)[0]

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

        return Answers(closed.family, list_poses, name_arcs, exclude, partial(self.solve_at, free), self.again)

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
