"""Branch selection along a path: one IK answer per waypoint, chosen over the whole path.

All answers of every waypoint are listed (`waypoints`): all branches, with seven joints at values of the free joint, and
again around the route that was chosen first. `routes` defines the best route, `midpoints` checks its steps for hidden
jumps; a step with a jump is marked as a reconfiguration, and the route is chosen again.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import ArrayLike, NDArray

from poise.arrays import Floats
from poise.batch import BatchSolver
from poise.goals import Goal
from poise.goals.reach import Reach
from poise.kinematics import Motion, Pose
from poise.model import Model
from poise.motion.paths.midpoints import find_broken
from poise.motion.paths.routes import RECONFIGURATION_STEP, Steps, choose_way
from poise.motion.paths.waypoints import Waypoints, find_waypoints
from poise.reach.closed_forms import read_values
from poise.solvers.starts import read_start

__all__ = ["Route", "find_route"]

FULL_TURN = 2.0 * np.pi
MEAN_ANSWERS = 96  # mean number of answers per waypoint, which bounds the number of values of the free joint
SAMPLE_STRIDE = 16  # waypoints per sample of that mean
NEAREST_VALUES = 9  # values of the free joint around the chosen route, in the second pass
WAYPOINTS_AROUND_FLIP = 12  # waypoints on each side to which answers are continued
MOST_ROUNDS = 12  # rounds of choosing a route and checking its midpoints


@dataclass(frozen=True, slots=True, eq=False)
class Route:
    """The chosen answers along a path.

    Attributes:
        q: The configurations, (frames, nq); interpolated if a waypoint has no answer.
        flips: Frames before which a reconfiguration cannot be avoided among the listed answers.
        listed: The number of answers of each waypoint, (frames,).
    """

    q: Floats
    flips: tuple[int, ...]
    listed: NDArray[np.intp]


def find_route(
    model: Model, goals: Mapping[str, Goal], paths: Mapping[str, Floats], start: ArrayLike | Pose | Motion | None
) -> Route | None:
    """Return the best route along a path of transforms, or None if the answers cannot be listed."""
    if len(goals) != 1 or set(goals) != set(paths):
        return None
    ((name, goal),) = goals.items()
    T = paths[name]
    if not isinstance(goal, Reach) or T.ndim != 3 or T.shape[1:] != (4, 4):
        return None
    given = None if start is None else read_start(model, start, len(T))[0]
    waypoints = find_waypoints(model, goal, goal.rows(model), np.array(model.rest) if given is None else given)
    return None if waypoints is None else RouteFinder(model, goal, waypoints, T, given).find()


@dataclass(frozen=True, slots=True, eq=False)
class RouteFinder:
    """The search for a route: the path, and the lists of answers of its waypoints."""

    model: Model
    goal: Reach
    waypoints: Waypoints
    T: Floats
    start: Floats | None

    @property
    def begin(self) -> Floats:
        """The configuration for joints that the path does not move."""
        return np.array(self.model.rest) if self.start is None else self.start

    def find(self) -> Route | None:
        """Return the best route, or None if no waypoint has an answer."""
        if self.waypoints.free is None:
            return self.choose(self.waypoints.list_answers(self.T, [np.zeros(1)] * len(self.T)))
        free = self.waypoints.axes[self.waypoints.free]
        half = free.half if free.slides else min(free.half, np.pi)
        spread = np.linspace(free.middle - half, free.middle + half, self.waypoints.values)
        sample = self.T[::SAMPLE_STRIDE]
        some = len(np.concatenate(self.waypoints.list_answers(sample, [spread] * len(sample))))
        spread = spread[:: int(some / len(sample) / MEAN_ANSWERS) + 1]
        answers = self.waypoints.list_answers(self.T, [spread] * len(self.T))
        route = self.choose(answers)
        if route is not None and route.flips:  # narrow arcs lie between the sampled values
            route = self.choose(self.carry_over(answers, route.flips))
        if route is None:
            return None
        width = float(spread[1] - spread[0])
        chosen = free.gain * route.q[:, free.q] + free.bias
        around = np.clip(chosen[:, None] + np.linspace(-width, width, NEAREST_VALUES), free.lower, free.upper)
        finer = self.choose(self.waypoints.list_answers(self.T, list(around)))
        return route if finer is None or len(finer.flips) > len(route.flips) else finer

    def carry_over(self, answers: Sequence[Floats], flips: Sequence[int]) -> list[Floats]:
        """Add answers around reconfigurations, continued from the neighbouring waypoints."""
        out, solver = list(answers), BatchSolver(self.model, self.goal, restarts=0)
        for flip in flips:
            for begin, step in ((flip - 1, 1), (flip, -1)):
                seeds = answers[begin]
                for t in range(begin + step, begin + step * (WAYPOINTS_AROUND_FLIP + 1), step):
                    if not (0 <= t < len(self.T) and len(seeds)):
                        break
                    before = self.spread(seeds)
                    answer = solver.solve(self.T[t], before)
                    near = np.abs(answer.q - before).max(axis=1) <= RECONFIGURATION_STEP
                    seeds = read_values(self.waypoints.axes, answer.q[answer.reached & near])
                    out[t] = np.concatenate([out[t], seeds])
        return out

    # -------------------------------------------------------------------------------------------- the route

    def choose(self, answers: Sequence[Floats]) -> Route | None:
        """Return the best route; joints that cannot be unwound within their range have one answer per whole turn."""
        listed = np.array([len(values) for values in answers])
        full = np.flatnonzero(listed)
        if not len(full):
            return None
        apart: tuple[int, ...] = ()  # joints whose whole turns are listed as different answers
        for _ in range(len(self.waypoints.axes) + 1):
            layers = [self.tell_turns(answers[t], apart) for t in full.tolist()]
            way, flips, steps = self.walk(layers, full, apart)
            values = np.array([layers[k][way[k]] for k in range(len(full))])
            stuck = self.unwind(values, flips, steps)
            if not stuck:
                break
            apart = (*apart, *stuck)
        q = self.fill(values, full)
        return Route(q, tuple(int(full[k]) for k in flips), listed)

    def tell_turns(self, values: Floats, apart: Sequence[int]) -> Floats:
        """Return the answers, repeated for each whole turn within a joint's range."""
        for k in apart:
            axis = self.waypoints.axes[k]
            low, high = (
                np.ceil((axis.lower - values[:, k]) / FULL_TURN),
                np.floor((axis.upper - values[:, k]) / FULL_TURN),
            )
            copies = [values[(low <= m) & (m <= high)] + m * FULL_TURN * np.eye(len(self.waypoints.axes))[k]
                      for m in range(int(low.min()), int(high.max()) + 1)]  # fmt: skip
            values = np.concatenate(copies)
        return values

    def walk(
        self, layers: Sequence[Floats], frames: NDArray[np.intp], apart: Sequence[int]
    ) -> tuple[list[int], list[int], Steps]:
        """Choose a route, check its midpoints, and repeat until all of them pass."""
        steps = Steps(self.find_units(), self.find_periods(apart))
        first = None
        if self.start is not None:
            own = read_values(self.waypoints.axes, self.start)
            first = np.linalg.norm(steps.subtract(own[:, None], layers[0].T), axis=0)
        solver = BatchSolver(self.model, self.goal, restarts=0)
        for _ in range(MOST_ROUNDS):
            way, flips = choose_way(layers, steps, first)
            values = np.array([layers[k][way[k]] for k in range(len(layers))])
            jumps = self.find_middles(solver, values, frames, steps)
            wrong = [t for t in range(1, len(layers)) if (t in jumps) != (t in flips)]
            if not wrong:
                break
            for t in wrong:
                steps.known[t, way[t - 1], way[t]] = t in jumps
        return way, sorted(jumps), steps

    def find_middles(self, solver: BatchSolver, values: Floats, frames: NDArray[np.intp], steps: Steps) -> set[int]:
        """Return the steps (from k - 1 to k) whose midpoint pose does not lie between its ends."""
        if len(values) < 2:
            return set()
        d = steps.subtract(values[:-1].T, values[1:].T).T * steps.units
        a = self.spread(values[:-1])
        b = self.spread(values[:-1] + d)
        return find_broken(solver, self.goal, a, b, self.T[frames[:-1]], self.T[frames[1:]])

    def unwind(self, values: Floats, flips: Sequence[int], steps: Steps) -> list[int]:
        """Unwind continuous joints in place; return those that leave their range when unwound."""
        stuck = []
        ends = [0, *flips, len(values)]
        for k, axis in enumerate(self.waypoints.axes):
            if not np.isfinite(steps.period[k]):
                continue
            for a, b in pairwise(ends):
                own = np.unwrap(values[a:b, k])
                near = axis.gain * self.begin[axis.q] + axis.bias if a == 0 else values[a - 1, k]
                low, high = (
                    np.ceil((axis.lower - own.min()) / FULL_TURN),
                    np.floor((axis.upper - own.max()) / FULL_TURN),
                )
                if low > high:
                    stuck.append(k)
                    break
                values[a:b, k] = own + FULL_TURN * np.clip(np.round((near - own[0]) / FULL_TURN), low, high)
        return stuck

    def find_units(self) -> Floats:
        """Return the unit of each joint value: the model's length for translations, 1 for rotations."""
        return np.array([self.model.length if axis.slides else 1.0 for axis in self.waypoints.axes])

    def find_periods(self, apart: Sequence[int]) -> Floats:
        """Return the period of each joint: a full turn if its range is that wide, otherwise infinity."""
        wide = [
            not axis.slides and axis.upper - axis.lower >= FULL_TURN and k not in apart
            for k, axis in enumerate(self.waypoints.axes)
        ]
        return np.where(wide, FULL_TURN, np.inf)

    def spread(self, values: Floats) -> Floats:
        """Return the configurations (k, nq) of joint values, without clamping or wrapping."""
        q = np.tile(self.begin, (len(values), 1))
        for k, axis in enumerate(self.waypoints.axes):
            q[:, axis.q] = (values[:, k] - axis.bias) / axis.gain
        return q

    def fill(self, values: Floats, frames: NDArray[np.intp]) -> Floats:
        """Return q of all frames; frames without an answer are interpolated."""
        known = self.spread(values)
        every = np.arange(len(self.T))
        return np.stack([np.interp(every, frames, known[:, i]) for i in range(self.model.nq)], axis=1)
