"""The driver of curved postures: Newton steps in the null space of the goals.

    minimise over p   g^T p + p^T H p / 2   with   J p = 0,   over the free joints

The kernels solve the goals with the rest pose q (+) p: they keep limits and levels, return to the goals, and never
trade a goal for a posture. A step is accepted if every goal is still reached and the cost decreases, otherwise it is
halved. In continuous mode a call takes one step, so that the bound of a call holds.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from poise.arrays import Floats
from poise.goals import Goal, Rest
from poise.goals.goal import GoalRows
from poise.goals.postures.gaussian import DiagonalPosture, Gaussian
from poise.goals.postures.pose_targets import NOTHING, PoseTargets, is_place
from poise.goals.postures.posture import GeneralPosture
from poise.goals.postures.rest import measure_units
from poise.model import Model
from poise.native import core
from poise.native.answer import Answer, make_answer, read_errors
from poise.solvers.options import CONTINUOUS_SPAN, Options
from poise.solvers.table import combine_postures, make_native_table

__all__ = ["CurvedPosture"]

MOST_STEPS = 30
MOST_HALVINGS = 10
MOST_SETTLING = 60  # steps to the most likely pose
LONGEST = 0.5  # rad, or lengths L: longest step for which the second derivatives are trusted
FOLLOW = 0.25  # fraction of the way to the likely pose per call in continuous mode
MOST_LOOKS = 4  # searches for the frames nearest to the targets if the root moves
STILL = 1e-2  # rad or m: a root that moves less keeps the same nearest frames
CLOSE = 3e-3  # rad, or lengths L: the last step to the most likely pose; less than a third of it remains
SLACK = 9e-10  # rad, or lengths L: the most that a goal may lose to a posture, about rounding
KERNEL_SLACK = 5e-10  # the part of it for the kernels' own posture: `guard_slack` of strict/tuning.h
SMALL = 1e-6  # rad, or lengths L: a shorter step counts as zero


class CurvedPosture:
    """A driver of curved postures with the interface of `native.core.Solver`."""

    takes_windows = True  # accepts bounds on the motion of each velocity per call

    def __init__(self, model: Model, goals: Mapping[str, Goal], options: Options) -> None:
        self._model, self._options = model, options
        self._all: list[Any] = [goal for goal in goals.values() if isinstance(goal, Rest)]
        self._rests: list[Any] = list(self._all)
        self._settled = min(goal.settled for goal in self._all if isinstance(goal, GeneralPosture))
        self._table = make_native_table(model, goals, options)
        self._native = core.Solver(model.native_body, self._table)
        self._read_places({name: goal.rows(model) for name, goal in goals.items() if not isinstance(goal, Rest)})
        self._ones, self._style = np.ones(model.nv), self._all[0]
        self._moves = np.asarray(self._table["may_move"]) > 0
        still = [j for j in model.joints if j.nv and not self._moves[j.v].any()]
        self._still = np.array([k for j in still for k in range(j.q.start, j.q.stop)], dtype=np.intp)
        self._pull: Floats | None = None  # gains of a diagonal posture in addition to a Gaussian, and its target
        self._wanted: Floats | None = None
        self._gaussian = self._is_gaussian()
        self._bare = not options.limits and not any(joint.cone for joint in model.joints)
        self._span = CONTINUOUS_SPAN if options.step_limit is None else options.step_limit

    def _read_places(self, rows: Mapping[str, GoalRows]) -> None:
        """Find the targets that are positions of points, and their indices among all target numbers."""
        first = core.target_places(self._native)
        self._points = PoseTargets.read(tuple(rows.values())).points
        at = [first[name] + 9 + np.arange(3) for name, row in rows.items() if is_place(row)]
        self._at = np.array(at, dtype=np.intp).reshape(-1, 3)

    def _is_gaussian(self) -> bool:
        """Return whether the postures are one Gaussian plus diagonal quadratic ones."""
        curved = [rest for rest in self._all if isinstance(rest, GeneralPosture)]
        diagonal = [rest for rest in self._all if not isinstance(rest, GeneralPosture)]
        start = np.array(self._model.rest)
        likely = curved[0].find_likely(self._model, NOTHING, start) if len(curved) == 1 else None
        inside = self._options.method.levels and self._options.limit_handling in ("active", "off")
        if likely is None or not inside or any(rest.power != 2 for rest in diagonal):
            return False
        self._style, chart = curved[0], likely[0].chart
        self._others = np.delete(np.arange(len(chart.velocities)), chart.counts)
        gain = np.sum([rest.gain(self._model) for rest in diagonal], axis=0) if diagonal else np.zeros(1)
        if gain.max(initial=0.0) > 0.0:
            self._pull, self._wanted = (
                2.0 * gain / measure_units(self._model) ** 2,
                combine_postures(self._model, diagonal)[1],
            )
        return True

    def __getattr__(self, name: str) -> Any:
        return getattr(self._native, name)  # restart, advance, state, rows_jacobian, sizes of the kernels

    def solve(self, start: ArrayLike, targets: Mapping[str, Any] | None, window: Any = None) -> Answer:
        """See native.core.Solver.solve."""
        q = np.asarray(start, dtype=np.float64)
        self._native.restart(q, targets)  # sets the targets for the rest of the call
        if self._options.mode == "continuous" or window is not None:
            return self._follow(q, window)
        best = self._settle(q)
        settled = best is not None
        if best is None:
            if self._table["posture_wanted"] is not None:
                self._native.rest_at(self._table["posture_wanted"], self._table["posture_gain"])
            best = self._run(q, None, None)
            if best.outcome != core.Outcome.REACHED:
                best = self._search_seeds(best)
            if best.outcome != core.Outcome.REACHED:
                return best
            again = self._settle(best.q)  # the nearest frames may differ for the root's new position
            best, settled = (best, False) if again is None else (again, True)
        return best if settled and self._bare else self._go_down(best, settled)

    def _follow(self, q: Floats, window: Any) -> Answer:
        """Return the pose of one call in a sequence: the most likely one that is close to the previous pose.

        The likely pose moves by a fraction of its way per call, and immediately with the targets. It minimises
        (x - m)^T P (x - m) + k (x - x0)^T P (x - x0) subject to the goals, with the previous pose x0.
        """
        there = self._look(q, q) if self._gaussian and self._bare and window is None else None
        if there is not None and self._find_way(q, there) <= self._span:
            self._native.rest_at(there, self._ones)
            found = self._run(there, None, None)
            if found.outcome == core.Outcome.REACHED and self._find_way(q, found.q) <= self._span:
                return found
        there = there if there is not None or not self._gaussian else self._look(q, None)
        if there is None:
            self._focus(q)
            there = np.asarray(self._model.integrate(q, self._find_step(q)))
        self._native.rest_at(there, self._ones)
        return self._run(q, None, window)

    def _find_way(self, a: Floats, b: Floats) -> float:
        """Return the largest motion of a velocity between two poses [rad, or lengths L]."""
        return float(np.abs(self._model.difference(a, b) / measure_units(self._model)).max(initial=0.0))

    def _ask(self) -> PoseTargets:
        """Return the points with targets, and their targets."""
        return PoseTargets(self._points, core.targets_of(self._native)[self._at])

    def _settle(self, q: Floats) -> Answer | None:
        """Return the most likely pose that satisfies the goals up to rounding, or None without a Gaussian."""
        there = self._look(q, None) if self._gaussian else None
        if there is None:
            return None
        self._native.rest_at(there, self._ones)
        found = self._run(there, None, None)
        exact = (read_errors(found) <= self._allow(SLACK)).all()
        return found if exact and found.outcome == core.Outcome.REACHED else None

    def _look(self, q: Floats, before: Floats | None) -> Floats | None:
        """Return the end of the steps to the most likely pose from q; with `before`, a fraction of the way from it.

        The nearest frames depend on the root of the body; if it moves, they are searched again.
        """
        asked, at = self._ask(), q
        for look in range(MOST_LOOKS):
            gaussian, seed = self._style.find_likely(self._model, asked, at)
            if before is not None:
                x = gaussian.chart.measure(before)[gaussian.chart.counts]
                gaussian = replace(gaussian, mean=x + FOLLOW * (gaussian.mean - x))
            begin = self._hold(seed, at) if look == 0 and before is None else at
            seen, (at, _, settled) = at, self._step(self._hold_still(gaussian, q), begin, MOST_SETTLING)
            if not settled:
                return None
            away = gaussian.chart.measure(seen) - gaussian.chart.measure(at)
            if np.abs(away[self._others]).max(initial=0.0) < STILL:
                break
        return at

    def _hold(self, seed: Floats, q: Floats) -> Floats:
        """Return a seed with the joints that may not move as in q."""
        seed[self._still] = q[self._still]
        return seed

    def _step(self, gaussian: Gaussian, q: Floats, most: int, serve: bool = True) -> tuple[Floats, int, bool]:
        """Return the end of the steps to the most likely pose, their number, and whether they converged."""
        spread, posed = gaussian.spread, None
        if self._pull is not None and self._wanted is not None:
            diagonal = DiagonalPosture.join(gaussian, q, self._pull, self._wanted)
            spread, posed = diagonal.spread, (diagonal.shrink, diagonal.loose, diagonal.pull, diagonal.wanted)
        given = (gaussian.chart.native, gaussian.mean, spread, q, most, LONGEST, CLOSE, serve, posed)
        found: tuple[Floats, int, bool] = core.settle(self._native, *given)
        return found

    def _allow(self, slack: float) -> Floats:
        """Return the errors [m, rad] that correspond to a slack [rad, or lengths L]."""
        return slack * np.array([self._model.length, 1.0])

    def _go_down(self, best: Answer, settled: bool) -> Answer:
        """Return the pose of least cost that Newton steps reach from a pose that satisfies the goals.

        The total loss of the goals stays below SLACK: a settled pose may have errors up to SLACK, another pose has
        already lost up to KERNEL_SLACK.
        """
        self._focus(best.q)
        cost, steps, seconds = self._find_cost(best.q), best.steps, best.seconds
        bars = self._allow(SLACK) if settled else read_errors(best) + self._allow(SLACK - KERNEL_SLACK)
        for _ in range(MOST_STEPS):
            step = self._find_step(best.q)
            nearer = self._descend(best, step, cost, bars)
            if nearer is None:
                break
            steps, seconds = steps + nearer.steps, seconds + nearer.seconds
            before, best, cost = cost, nearer, self._find_cost(nearer.q)
            if before - cost <= self._settled * abs(before):
                break
        return make_answer(best.q, best.errors, best.outcome, steps, seconds, searches=best.searches, late=best.late)

    def _focus(self, q: Floats) -> None:
        """Specialise every posture to the targets near a pose."""
        asked = self._ask()
        self._rests = [
            rest.focus(self._model, asked, q) if isinstance(rest, GeneralPosture) else rest for rest in self._all
        ]

    def _search_seeds(self, missed: Answer) -> Answer:
        """Search again from the seeds of the postures; return the first success, or `missed`."""
        asked = self._ask()
        if self._options.restarts == 0 or missed.unreachable or missed.late:
            return missed
        for rest in self._all:
            for seed in rest.find_seeds(self._model, asked, missed.q) if isinstance(rest, GeneralPosture) else ():
                found = self._run(self._hold(seed, missed.q), None, None)
                if found.outcome == core.Outcome.REACHED:
                    return found
        return missed

    def _run(self, start: Any, targets: Mapping[str, Any] | None, window: Any) -> Answer:
        given = (start, targets) if window is None else (start, targets, window)
        answer: Answer = self._native.solve(*given)
        return answer

    def _descend(self, best: Answer, step: Floats, cost: float, bars: Floats) -> Answer | None:
        """Return a pose along the step with less cost and all errors within `bars`, or None."""
        share = 1.0
        for _ in range(MOST_HALVINGS):
            if np.abs(share * step / measure_units(self._model)).max(initial=0.0) < SMALL:
                return None
            self._rest_at(best.q, share * step)
            trial = self._run(best.q, None, None)
            kept = trial.outcome == core.Outcome.REACHED and (read_errors(trial) <= bars).all()
            if kept and self._find_cost(trial.q) < cost:
                return trial
            share *= 0.5
        return None

    def _rest_at(self, q: Floats, step: Floats) -> None:
        self._native.rest_at(np.asarray(self._model.integrate(q, step)), self._ones)

    def _find_cost(self, q: Floats) -> float:
        return float(sum(rest.find_cost(self._model, q) for rest in self._rests))

    def _find_step(self, q: Floats) -> Floats:
        """Return the Newton step of the cost in the null space of the goals' Jacobian."""
        local = self._rests[self._all.index(self._style)]
        if not self._gaussian:
            slopes, bends = zip(*(rest.find_slope(self._model, q) for rest in self._rests), strict=True)
            local = Gaussian.approximate(self._model, q, np.sum(slopes, axis=0), np.sum(bends, axis=0))
        return np.asarray(self._model.difference(q, self._step(self._hold_still(local, q), q, 1, serve=False)[0]))

    def _hold_still(self, gaussian: Gaussian, q: Floats) -> Gaussian:
        """Return a Gaussian conditioned on the coordinates of a pose that may not move."""
        return gaussian.hold(np.flatnonzero(~self._moves[gaussian.chart.velocities[gaussian.chart.counts]]), q)
