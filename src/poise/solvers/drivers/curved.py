"""The driver of curved postures: Newton steps inside what the goals leave free.

    minimise over p   g^T p + p^T H p / 2   with   J p = 0,   free joints alone

The kernels solve the goals, and rest in q (+) p: they keep limits and levels, bring the pose back to the goals, and
never give up a goal for a posture. A step is kept if every goal is still reached and the cost is less, else it is
halved. In continuous mode a call takes one step, so that its bound is that of every call.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from poise.goals import Goal, Rest
from poise.goals.curved import Curved, find_rest_cost, find_rest_slope
from poise.model import Model
from poise.native import core
from poise.native.answer import Answer, make_answer
from poise.solvers.options import Options
from poise.solvers.table import make_native_table

__all__ = ["CurvedPosture"]

Floats = NDArray[np.float64]
MOST_STEPS = 30
MOST_HALVINGS = 10
LONGEST = 0.5  # radians, or lengths L: of a step, beyond which no second derivative is to be trusted
SMALL = 1e-6  # radians, or lengths L: a step that is none


class CurvedPosture:
    """Stands where a native solver would: the same calls, the same answers."""

    def __init__(self, model: Model, goals: Mapping[str, Goal], options: Options) -> None:
        self._model, self._options = model, options
        self._all = [goal for goal in goals.values() if isinstance(goal, Rest)]
        self._rests: list[Any] = list(self._all)
        self._settled = min(goal.settled for goal in self._all if isinstance(goal, Curved))
        self._rows = {name: goal.rows(model) for name, goal in goals.items() if not isinstance(goal, Rest)}
        self._table = make_native_table(model, goals, options)
        self._native = core.Solver(model._body, self._table)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._native, name)  # restart, advance, state, rows_jacobian, sizes: as the kernels do

    def solve(self, start: ArrayLike, targets: Mapping[str, Any] | None, window: Any = None) -> Answer:
        """See native.core.Solver.solve."""
        for name, target in (targets or {}).items():
            if name in self._rows:
                self._rows[name] = replace(self._rows[name], target=self._rows[name].convert(target))
        if self._options.mode == "continuous" or window is not None:
            q = np.asarray(start, dtype=np.float64)
            self._focus(q)
            self._rest_at(q, self._find_step(q))
            return self._run(q, targets, window)
        self._native.rest_at(self._table["posture_wanted"], self._table["posture_gain"])
        best = self._run(start, targets, None)
        if best.outcome != core.Outcome.REACHED:
            best = self._search_seeds(best)
        if best.outcome != core.Outcome.REACHED:
            return best
        self._focus(best.q)
        cost, steps, seconds = self._find_cost(best.q), best.steps, best.seconds
        for _ in range(MOST_STEPS):
            step = self._find_step(best.q)
            nearer = self._descend(best, step, cost)
            if nearer is None:
                break
            steps, seconds = steps + nearer.steps, seconds + nearer.seconds
            before, best, cost = cost, nearer, self._find_cost(nearer.q)
            if before - cost <= self._settled * abs(before):
                break
        return make_answer(best.q, best.errors, best.outcome, steps, seconds, searches=best.searches, late=best.late)

    def _focus(self, q: Floats) -> None:
        """Let every posture look at what is asked, from a pose."""
        rows = tuple(self._rows.values())
        self._rests = [rest.focus(self._model, rows, q) if isinstance(rest, Curved) else rest for rest in self._all]

    def _search_seeds(self, missed: Answer) -> Answer:
        """Search again from poses that a posture knows, if it knows some; the first that reaches counts."""
        rows = tuple(self._rows.values())
        if self._options.restarts == 0:
            return missed
        for rest in self._all:
            for seed in rest.find_seeds(self._model, rows, missed.q) if isinstance(rest, Curved) else ():
                found = self._run(seed, None, None)
                if found.outcome == core.Outcome.REACHED:
                    return found
        return missed

    def _run(self, start: Any, targets: Mapping[str, Any] | None, window: Any) -> Answer:
        given = (start, targets) if window is None else (start, targets, window)
        answer: Answer = self._native.solve(*given)
        return answer

    def _descend(self, best: Answer, step: Floats, cost: float) -> Answer | None:
        """Return a pose of less cost that still reaches the goals, along the step; None if there is none."""
        share = 1.0
        for _ in range(MOST_HALVINGS):
            if np.abs(share * step / self._units()).max(initial=0.0) < SMALL:
                return None
            self._rest_at(best.q, share * step)
            trial = self._run(best.q, None, None)
            if trial.outcome == core.Outcome.REACHED and self._find_cost(trial.q) < cost:
                return trial
            share *= 0.5
        return None

    def _rest_at(self, q: Floats, step: Floats) -> None:
        self._native.rest_at(np.asarray(self._model.integrate(q, step)), np.ones(self._model.nv))

    def _find_cost(self, q: Floats) -> float:
        return sum(find_rest_cost(rest, self._model, q) for rest in self._rests)

    def _find_step(self, q: Floats) -> Floats:
        """Return the Newton step of the cost along which the goals' rows do not change, to first order."""
        model, unit = self._model, self._units()
        if len(self._rests) == 1 and hasattr(self._rests[0], "find_spread"):
            found = self._rests[0].find_spread(q)
            if found is not None:
                return self._condition(q, *found)
        parts = [find_rest_slope(rest, model, q) for rest in self._rests]
        g, H = np.sum([part[0] for part in parts], axis=0), np.sum([part[1] for part in parts], axis=0)
        J, _, velocities = self._native.rows_jacobian(q)
        free = self._find_free(q, g, np.array(velocities, dtype=np.intp))
        step = np.zeros(model.nv)
        if not free[1].any():
            return step
        at, columns = free
        u = unit[at[columns]]
        A, b = J[:, columns] * u, -g[at[columns]] * u
        B = H[np.ix_(at[columns], at[columns])] * np.outer(u, u)
        B = B + 1e-6 * max(float(np.trace(B)) / len(u), 1e-12) * np.eye(len(u))
        found = solve_on_rows(A, B, b)
        step[at[columns]] = u * found * min(1.0, LONGEST / max(float(np.abs(found).max()), 1e-300))
        return step

    def _condition(self, q: Floats, wanted: Floats, spread: Floats) -> Floats:
        """Return the step to a Gaussian's mean, conditioned on rows that do not change and joints that cannot move."""
        J, _, velocities = self._native.rows_jacobian(q)
        at = np.array(velocities, dtype=np.intp)
        free = self._find_free(q, -wanted, at)[1]
        rows = np.zeros((len(J) + int((~free).sum()), len(at)))
        rows[: len(J)] = J
        rows[np.arange(len(J), len(rows)), np.flatnonzero(~free)] = 1.0
        C, p = spread[np.ix_(at, at)], wanted[at]
        across = rows @ C
        inner = across @ rows.T
        inner[np.diag_indices_from(inner)] += 1e-12 * max(float(np.trace(inner)), 1e-300)
        step = np.zeros(self._model.nv)
        step[at] = p - across.T @ np.linalg.solve(inner, rows @ p)
        return step * min(1.0, LONGEST / max(float(np.abs(step / self._units()).max()), 1e-300))

    def _find_free(self, q: Floats, g: Floats, at: NDArray[np.intp]) -> tuple[NDArray[np.intp], NDArray[np.bool_]]:
        """Return the velocities of the problem, and which are not at an end of a range that the cost pushes against."""
        model = self._model
        if self._options.limit_handling == "off":
            return at, np.ones(len(at), dtype=bool)
        value = np.full(model.nv, np.nan)
        for joint in model.joints:
            if joint.nv and len(joint.coordinates):
                plain = len(joint.coordinates)
                value[joint.v.start : joint.v.start + plain] = q[joint.q.start : joint.q.start + plain]
        small = 1e-9 * self._units()
        stuck = ((value <= model.lower + small) & (g > 0)) | ((value >= model.upper - small) & (g < 0))
        return at, ~stuck[at]

    def _units(self) -> Floats:
        return np.where(self._model.slides, self._model.length, 1.0)


def solve_on_rows(A: Floats, B: Floats, b: Floats) -> Floats:
    """Return the p with A p = 0 that makes p^T B p / 2 - b^T p least: the null space of A by SVD, then Cholesky's."""
    _, values, rows = np.linalg.svd(A, full_matrices=True)
    rank = int((values > 1e-9 * max(float(values.max(initial=0.0)), 1e-300)).sum())
    Z = rows[rank:].T
    if Z.shape[1] == 0:
        return np.zeros(len(b))
    return np.asarray(Z @ np.linalg.solve(Z.T @ B @ Z, Z.T @ b))
