"""All frames of a clip solved at once, in windows: the door to the kernel of whole clips.

    minimise  sum_t |w r(q_t)|^2 + hold |d_t|^2 + hold (tau fps)^4 |d_{t-1} - 2 d_t + d_{t+1}|^2,   d_t = q_t - guide_t

Displacements d are relative to a guide, so a clip keeps its style and its ends are free. The second difference counts
per second, so 30 and 120 frames a second give the same motion; tau is the time over which a displacement spreads.
Slides are measured in the body's length L.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from poise.arrays import Floats
from poise.goals import Goal, Rest
from poise.kinematics import Motion
from poise.limits import Limit
from poise.model import Model
from poise.motion.clips.clip_limits import Rates, Repair, ask_nothing, find_broken, part_limits, repair
from poise.native import core
from poise.solvers import Solver

__all__ = ["ClipAnswer", "ClipGoal", "Progress", "convert_path", "solve_whole"]

Progress = Callable[[int, int], object]
SPREAD = 0.1  # s: tau of smooth=1
MOST_FRAMES = 3000.0  # over which changes spread: the fourth power of more loses the goals in rounding
WINDOW, OVERLAP = 2400, 200  # frames that are solved at once, and that two windows share
ROUNDING = 1e-12  # of a gap
STEPS = 24
PATIENCE = 0.65  # cost of an unexpected motion in a stream, relative to a bone's direction
LEARN = 2.4  # of the share of a surprise that counts as speed where nothing swings: a little swing, and less lag
STEPS_IN_TIME = 200  # with speed limits: motion that one frame may not make is passed on to its neighbours


@dataclass(frozen=True, eq=False)
class ClipGoal:
    """A goal over all frames of a clip.

    Attributes:
        goal: The goal; its own target holds in every frame unless there are targets.
        targets: The target of each frame in the kernels' numbers, (frames, n).
        weights: How much it counts at each frame, (frames,); 0 leaves it out.
        hard: Whether it is held exactly, before everything that is not.
    """

    goal: Goal
    targets: Floats | None
    weights: Floats
    hard: bool = False


@dataclass(frozen=True, eq=False)
class ClipAnswer:
    """The answer of `solve_whole`.

    Attributes:
        q: Configurations, (frames, nq).
        errors: By goal [m] and [rad], (frames, goals, 2).
        systems: Linear systems over all frames of a window that were solved, the most of one window.
        broken: Frames at which a limit could not be kept, (frames,).
    """

    q: Floats
    errors: Floats
    systems: int
    broken: NDArray[np.bool_]


def solve_whole(
    guide: Motion,
    wanted: Sequence[ClipGoal],
    *,
    start: Floats | None = None,
    hold: float = 1.0,
    slide: float = 1.0,
    smooth: float = 1.0,
    frozen: NDArray[np.bool_] | None = None,
    joints: Sequence[str] | None = None,
    limits: Sequence[Limit] = (),
    steps: int | None = None,
    progress: Progress | None = None,
) -> ClipAnswer:
    """Return the clip nearest to its guide that serves the goals.

    Args:
        guide: The clip that displacements are relative to.
        wanted: The goals; their names must differ.
        start: Where to begin, (frames, nq); at the guide unless given.
        hold: The cost of a displacement relative to a goal's residual.
        slide: The cost of a slide by the body's length, relative to a turn by one radian.
        smooth: How far displacements spread over time; 1 is a tenth of a second.
        frozen: Frames that do not change by one bit, (frames,).
        joints: The only joints that may move.
        limits: More limits than the joints' own ranges and cones; those about time hold from frame to frame.
        steps: The most steps of one window.
        progress: Called with the frames that are done, and all.
    """
    kernel = Kernel(guide, wanted, hold, slide, smooth, joints, limits, steps)
    q = np.array(guide.q if start is None else start)
    still = np.zeros(len(guide), dtype=bool) if frozen is None else frozen
    errors, gaps, most = kernel.make_room(len(guide))
    for a, b, solved in cut_windows(len(guide)):
        fixed = still[a:b].copy()
        fixed[:solved] = True
        q[a:b], errors[a:b], gaps[a:b], count = kernel.solve(q[a:b], a, b, fixed, kernel.steps)
        most = max(most, count)
        if progress is not None:
            progress(b, len(guide))
    if find_broken(guide.model, q, gaps, kernel.rates).any():
        repairer = Repair(guide.model, wanted, limits, guide.fps, joints)
        q, changed = repair(q, gaps, repairer, kernel.rates, still)
        for a, b, _ in cut_windows(len(guide)):
            if changed[a:b].any():
                _, errors[a:b], gaps[a:b], _ = kernel.solve(q[a:b], a, b, np.ones(b - a, dtype=bool), 0)
    broken = find_broken(guide.model, q, np.where(gaps < -ROUNDING, gaps, 0.0), kernel.rates)
    return ClipAnswer(q, errors[:, kernel.order], most, broken)


class Kernel:
    """What the kernel of whole clips is given: arrays over all frames, in its own order of goals."""

    def __init__(
        self,
        guide: Motion,
        wanted: Sequence[ClipGoal],
        hold: float,
        slide: float,
        smooth: float,
        joints: Sequence[str] | None,
        limits: Sequence[Limit],
        steps: int | None,
    ) -> None:
        model, frames = guide.model, len(guide)
        lasting, timed = part_limits(limits)
        self.rates = Rates.read(model, timed, guide.fps)
        # a posture lets every joint take part, whether a goal depends on it or not: all of them have speeds
        posture: list[Goal] = [Rest(name="every joint")] if self.rates is not None else []
        goals = [each.goal for each in wanted] if wanted else [ask_nothing(model)]
        self.solver = Solver(model, [*goals, *posture], joints=joints, limits=lasting)
        names, first, own = core.goals_of_clip(self.solver.problem)
        self.targets = np.tile(own, (frames, 1))
        self.weights, self.hard = np.ones((frames, len(names))), np.ones(len(names))
        at = {name: i for i, name in enumerate(names)}
        self.order = [at[name] for name in self.solver.goals if name in at]
        for i, each in zip(self.order, wanted, strict=bool(wanted)):
            self.weights[:, i], self.hard[i] = each.weights, each.hard
            if each.targets is not None:
                self.targets[:, first[i] : first[i] + each.targets.shape[1]] = each.targets
        self.guide, units = guide.q, np.where(model.slides, measure_units(model) / slide, measure_units(model))
        self.gains = hold / units, hold / units * count_frames(smooth, guide.fps) ** 4
        self.bounds = (None, None) if self.rates is None else self.rates.narrowed()
        self.steps = steps if steps is not None else STEPS if self.rates is None else STEPS_IN_TIME

    def make_room(self, frames: int) -> tuple[Floats, Floats, int]:
        """Return empty errors and gaps, and no steps."""
        return np.zeros((frames, len(self.hard), 2)), np.zeros(frames), 0

    def solve(
        self, q: Floats, a: int, b: int, fixed: NDArray[np.bool_], steps: int
    ) -> tuple[Floats, Floats, Floats, int]:
        """Return frames a to b after so many steps at most, their errors, least gaps, and linear systems."""
        problem = core.ClipProblem(
            guide=self.guide[a:b],
            targets=self.targets[a:b],
            weights=self.weights[a:b],
            hard=self.hard,
            frozen=fixed.astype(np.float64),
            hold=self.gains[0],
            smooth=self.gains[1],
            speed=self.bounds[0],
            acceleration=self.bounds[1],
            max_steps=steps,
        )
        out = problem.solve(self.solver.problem, q)
        return out.q, out.errors, out.gaps, out.systems


def convert_path(model: Model, goal: Goal, path: Floats) -> Floats:
    """Return the targets of a goal over time as kernel parameters, (frames, n)."""
    convert = goal.rows(model).convert
    return np.stack([np.asarray(convert(target), dtype=np.float64) for target in path])


def cut_windows(frames: int) -> list[tuple[int, int, int]]:
    """List windows (first, one past the last, how many at the beginning are solved already)."""
    out, a, solved = [], 0, 0
    # ends: every window goes on by WINDOW - OVERLAP frames
    while True:
        b = min(a + WINDOW, frames)
        out.append((a, b, solved))
        if b == frames:
            return out
        a, solved = b - OVERLAP, OVERLAP // 2


def count_frames(smooth: float, fps: float) -> float:
    """Return the width of an edit in frames, capped where more would make no difference."""
    return min(SPREAD * smooth * fps, MOST_FRAMES)


def measure_units(model: Model) -> Floats:
    """Return the squared unit of each velocity: 1 for turns, L^2 for slides, (nv,)."""
    out = np.ones(model.nv)
    for joint in model.joints:
        if joint.nv and not joint.mimic:
            out[joint.v] = np.where(joint.slides, model.length**2, 1.0)
    return out


class AskedOfFrame(Protocol):
    """The goals of a frame.

    Attributes:
        numbers: Targets of the first goals, 12 numbers each; the others keep their own.
        weights: How much each goal counts.
        hard: Which of them are held exactly: 1 or 0.
    """

    numbers: Floats
    weights: Floats
    hard: Floats


class Window:
    """The newest frame of a stream by the kernel of whole clips, ready to be called.

    The frames before it stay, so what is asked of the change of the displacement is a square about one place:

        hold |d|^2 + stiff |d - p|^2 = (hold + stiff) |d - c|^2 + const,   c = stiff p / (hold + stiff)

    where p = d_{t-1} + v_{t-1} is where the displacement would go by itself: one frame whose guide is moved by c. Of a
    surprise its speed takes over a share only, so that noise is not taken for speed, and still no steady motion is
    late:

        v_t = v_{t-1} + learn (d_t - p_t),   stiff = PATIENCE e^2 / (1 - e^2),   learn = LEARN (1 - e) / (1 + e),

    with e = exp(-1 / (tau fps)). That is an alpha-beta filter (Benedict and Bordner, Synthesis of an optimal set of
    radar track-while-scan smoothing equations, 1962), the same at every frame rate.

    Args:
        model: The body.
        goals: The goals of a frame, with different names.
        hold: The cost of a displacement relative to a goal's residual.
        smooth: How far displacements spread over time.
        fps: Frames a second.
        joints: The only joints that may move.
        limits: More limits than the joints' own ranges; none about time.
    """

    def __init__(
        self,
        model: Model,
        goals: Sequence[Goal],
        *,
        hold: float,
        smooth: float,
        fps: float,
        joints: Sequence[str] | None,
        limits: Sequence[Limit] = (),
    ) -> None:
        self.model, self.solver = model, Solver(model, list(goals), joints=joints, limits=list(limits))
        self.limited = bool(limits)
        self.fenced = bool(np.isfinite([model.lower[model.slides], model.upper[model.slides]]).any())
        names, first, self.own = core.goals_of_clip(self.solver.problem)
        order = {name: i for i, name in enumerate(names)}
        self.order = [order[name] for name in self.solver.goals]
        self.counts, self.hard = np.zeros((1, len(names))), np.zeros(len(names))
        self.numbers, self.frozen, self.alone = np.array(self.own)[None], np.zeros(1), np.zeros(model.nv)
        self.columns = np.concatenate([np.arange(first[i], first[i] + 12) for i in self.order])
        spread = count_frames(smooth, fps)
        gone = -np.expm1(-1.0 / spread) if spread > 0.0 else 1.0  # 1 - e, exact where next to nothing is
        stiff = PATIENCE * (1.0 - gone) ** 2 / (gone * (2.0 - gone))
        self.learn = min(LEARN * gone / (2.0 - gone), 1.0)
        units = measure_units(model)
        self.share = 1.0 / (1.0 + hold / stiff) if stiff > 0.0 else 0.0
        self.gains = hold / units, (hold + stiff) / units
        self.forget()

    def forget(self) -> None:
        """Begin again, as if no frame had come."""
        self.displacement: Floats | None = None
        self.speed = np.zeros(self.model.nv)

    def solve(self, start: Floats, guide: Floats, asked: AskedOfFrame, steps: int) -> tuple[Floats, Floats]:
        """Return the newest frame and its errors by goal, (goals, 2)."""
        whole = self.displacement is not None
        moved = guide
        if self.displacement is not None:
            moved = self.model.integrate(guide, self.share * (self.displacement + self.speed))
        self.numbers[0, self.columns[: asked.numbers.size]] = asked.numbers.ravel()
        self.counts[0, self.order], self.hard[self.order] = asked.weights, asked.hard
        out = self.make_problem(moved, self.frozen, self.gains[whole], steps).solve(self.solver.problem, start[None])
        return out.q[0], out.errors[0, self.order]

    def make_problem(self, guide: Floats, frozen: Floats, hold: Floats, steps: int) -> core.ClipProblem:
        """Return the problem of one frame."""
        return core.ClipProblem(
            guide=guide[None],
            targets=self.numbers,
            weights=self.counts,
            hard=self.hard,
            frozen=frozen,
            hold=hold,
            smooth=self.alone,
            max_steps=steps,
        )

    def keeps_limits(self, q: Floats) -> bool:
        """Return whether a pose in which only the root moved keeps the limits and the root's range."""
        if self.fenced and np.abs(self.model.clamp(q) - q).max() > ROUNDING:
            return False
        if not self.limited:
            return True
        still = self.make_problem(q, np.ones(1), self.gains[0], 0).solve(self.solver.problem, q[None])
        return bool(still.gaps[0] >= -ROUNDING)

    def keep(self, q: Floats, guide: Floats) -> None:
        """Keep the newest frame as the reference of the next ones."""
        now = self.model.difference(guide, q)
        if self.displacement is not None:
            self.speed = self.speed + self.learn * (now - self.displacement - self.speed)
        self.displacement = now
