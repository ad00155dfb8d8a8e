"""The driver of methods.Sequential: solve the body part by part until all goals are reached."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from poise.errors import InvalidValue
from poise.goals import Goal, Rest
from poise.goals.goal import ANGULAR
from poise.methods import LM, Method, Sequential, TwoBone
from poise.model import Model
from poise.native import core
from poise.native.answer import Answer, make_answer
from poise.solvers.capability import check_serves
from poise.solvers.drivers.inside import bring_inside, is_inside
from poise.solvers.drivers.parts import find_parts
from poise.solvers.options import Options
from poise.solvers.report.history import record_states
from poise.solvers.table import make_native_table, may_move

__all__ = ["PartByPart"]

Outcome = core.Outcome
STALL_RATIO = 0.98  # a last round that leaves less of the cost still made progress


class Stage:
    """One part: its moving joints, and the solvers to try until one reaches its goals."""

    def __init__(self, model: Model, goals: Mapping[str, Goal], options: Options, joints: Sequence[str]) -> None:
        moved = {name: goal for name, goal in goals.items() if _can_move(model, goal, joints)}
        rows = [name for name, goal in moved.items() if not isinstance(goal, Rest)]
        self.names = frozenset(rows)
        self.solvers: list[Any] = []
        if not rows:
            return
        methods: list[Method] = [LM()] if len(rows) > 1 or len(moved) > 1 else [TwoBone(), LM()]
        for method in methods:
            chosen = replace(options, method=method, joints=tuple(joints), restarts=0, record=False)
            try:
                table = make_native_table(model, moved, chosen)
            except InvalidValue:
                continue  # the part does not fit the closed form
            self.solvers.append(core.Solver(model.native_body, table))

    def solve(self, q: NDArray[np.float64], targets: Mapping[str, Any]) -> tuple[NDArray[np.float64], int, int, bool]:
        """Return the best pose for this part's goals, the steps, the searches, and whether the steps ran out."""
        steps, searches, short = 0, 0, False
        wanted = {name: target for name, target in targets.items() if name in self.names}
        best, least = q, np.inf
        for solver in self.solvers:
            answer: Answer = solver.solve(q, wanted)
            steps += answer.steps
            searches += answer.searches
            short = answer.outcome == Outcome.OUT_OF_STEPS
            solver.restart(answer.q, None)
            solver.advance()
            cost = float(solver.state()["cost"])
            if cost < least:
                best, least = answer.q, cost
            if answer.outcome == Outcome.REACHED:
                break
        return best, steps, searches, short


class PartByPart:
    """A driver that solves part by part, with the interface of `native.core.Solver`."""

    def __init__(self, model: Model, goals: Mapping[str, Goal], options: Options, method: Sequential) -> None:
        rows = {name: goal.rows(model) for name, goal in goals.items() if not isinstance(goal, Rest)}
        moves = may_move(model, options.joints)
        check_serves(method, model, goals, rows, moves, options.limits)
        self._whole = core.Solver(
            model.native_body, make_native_table(model, goals, replace(options, method=LM(), max_steps=1))
        )
        self._model = model
        self._options = options
        self._rounds = method.rounds
        self._tolerances = np.array([goals[name].tolerances(model, row.op in ANGULAR) for name, row in rows.items()])
        if method.parts is None:
            parts = find_parts(model, [str(row.frame) for row in rows.values()], moves)
            trunk = [part for part in (parts.root, parts.spine) if part]
            self._first = [Stage(model, goals, options, limb) for limb in parts.limbs]
            self._order = [Stage(model, goals, options, part) for part in trunk] + self._first
            names = [name for part in (*trunk, *parts.limbs) for name in part]
        else:
            given = [_list_joints(model, part, moves) for part in method.parts]
            self._first = []
            self._order = [Stage(model, goals, options, part) for part in given]
            names = [name for part in given for name in part]
        self._last = [Stage(model, goals, options, list(dict.fromkeys(names)))] if method.finish else []
        self._seen: list[Mapping[str, Any]] = []

    def solve(self, start: ArrayLike, targets: Mapping[str, Any] | None) -> Answer:
        """See native.core.Solver.solve."""
        begun = time.perf_counter()
        self._seen = []
        state = self._look(bring_inside(self._model, start, self._options), targets)
        q, best, late, short = state["q"], state, False, False
        steps = searches = 0
        passes = [self._order]
        if self._options.mode != "continuous":
            passes = [self._first, *passes * self._rounds, self._last]
        for stages in filter(None, passes):
            if late or self._is_reached(best):
                break
            before, short = best["cost"], False
            for stage in stages:
                q, taken, searched, cut = stage.solve(q, targets or {})
                short = short or cut
                steps, searches = steps + taken, searches + searched
                state = self._look(q, None)
                if self._is_reached(state) or state["cost"] < best["cost"]:
                    best = state
                limit = self._options.time_limit
                late = limit is not None and time.perf_counter() - begun > limit
                if late:
                    break
            short = short or best["cost"] < STALL_RATIO * before
        reached = self._is_reached(best)
        unreachable = not reached and bool(self._whole.solve(best["q"], None).unreachable)
        outcome = Outcome.REACHED if reached else Outcome.OUT_OF_STEPS if short else Outcome.STALLED
        seconds = time.perf_counter() - begun
        return make_answer(
            best["q"],
            best["errors"],
            outcome,
            steps,
            seconds,
            searches=max(searches, 1),
            late=late and not reached,
            unreachable=unreachable,
        )

    def _look(self, q: ArrayLike, targets: Mapping[str, Any] | None) -> dict[str, Any]:
        """Return the cost and errors of all goals at q."""
        self._whole.restart(q, targets)
        self._whole.advance()
        state: dict[str, Any] = self._whole.state()
        if self._options.record:
            self._seen.append(state)
        return state

    def _is_reached(self, state: Mapping[str, Any]) -> bool:
        near = bool((state["errors"] <= self._tolerances).all())
        return near and is_inside(self._model, state["q"], self._options)

    def restart(self, start: ArrayLike, targets: Mapping[str, Any] | None) -> None:
        """See native.core.Solver.restart: sets new targets for every part."""
        self._whole.restart(start, targets)
        for stage in (*self._order, *self._last):
            wanted = {name: target for name, target in (targets or {}).items() if name in stage.names}
            for solver in stage.solvers:
                solver.restart(start, wanted)

    def history(self) -> dict[str, NDArray[np.float64]]:
        """See native.core.Solver.history: one row per part."""
        return record_states(self._seen, len(self._tolerances), self._model.nq)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._whole, name)  # advance, state, rows_jacobian, sizes of the kernels, for all goals


def _can_move(model: Model, goal: Goal, joints: Sequence[str]) -> bool:
    """Return whether one of the joints moves the goal's frame or the frame of its target; all joints move a posture."""
    if isinstance(goal, Rest):
        return True
    row = goal.rows(model)
    frames = [frame for frame in (row.frame, row.base) if frame is not None]
    return any(joint.name in joints for frame in frames for joint in model.joints_above(frame))


def _list_joints(model: Model, part: Sequence[str], moves: NDArray[np.bool_]) -> list[str]:
    """Return the movable joints of a part. Raises NameNotFound for an unknown name."""
    return [joint.name for joint in map(model.joint, part) if moves[joint.v].any()]
