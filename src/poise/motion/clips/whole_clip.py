"""Solve all frames of a clip at once, in windows: the interface to the kernel for whole clips.

    minimise  sum_t |w r(q_t)|^2 + hold |d_t|^2 + hold (tau fps)^4 |d_{t-1} - 2 d_t + d_{t+1}|^2,   d_t = q_t - guide_t

Displacements d are relative to a guide, so a clip keeps its style and its ends are free. The second difference counts
per second, so 30 and 120 frames per second give the same motion; tau is the time over which a displacement spreads.
Translations are measured relative to the body's length L.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
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

__all__ = ["ClipAnswer", "ClipGoal", "Progress", "RepeatedProgress", "Steady", "convert_path", "solve_whole"]

Progress = Callable[[int, int], object]
SPREAD = 0.1  # s: tau of smooth=1
MOST_FRAMES = 3000.0  # largest spread of a change; the fourth power of a larger one loses the goals in rounding
WINDOW, OVERLAP = 2400, 200  # frames solved at once, and frames shared by two windows
ROUNDING = 1e-12  # rounding error of a gap
STEPS = 24
REST = 1e-7  # rad, or lengths of the body: a clip has converged if no frame moves farther in one step
PATIENCE = 0.65  # cost of an unexpected motion in a stream, relative to a bone's direction
LEARN = 2.4  # relative to the largest gain without overshoot: a slight overshoot, and less lag
STEPS_IN_TIME = 200  # with rate limits: motion beyond the limit of one frame is passed on to its neighbours


class RepeatedProgress:
    """The progress of an unknown number of passes over all frames: each covers half of the rest.

    Args:
        report: Called with the number of frames done and the total.
    """

    def __init__(self, report: Progress) -> None:
        self.report, self.passes, self.last = report, 0, 0

    def __call__(self, done: int, total: int) -> None:
        """Report the progress of a pass; a new pass begins when fewer frames are done, or as many."""
        self.passes += done <= self.last
        self.last = done
        self.report(int(total * (1.0 - 0.5**self.passes * (1.0 - 0.5 * done / total))), total)


@dataclass(frozen=True, eq=False)
class ClipGoal:
    """A goal over all frames of a clip.

    Attributes:
        goal: The goal; its own target holds in every frame if `targets` is None.
        targets: The target of each frame as kernel parameters, (frames, n).
        weights: The weight in each frame, (frames,); 0 disables the goal.
        hard: Whether it is held exactly, with priority over goals that are not.
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
        systems: The number of linear systems solved for a window, the maximum over windows.
        lengths: The last step of each frame [rad, lengths of the body], (frames,).
        broken: The frames in which a limit could not be kept, (frames,).
    """

    q: Floats
    errors: Floats
    systems: int
    lengths: Floats
    broken: NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Steady:
    """Options that keep the steps of a clip short, where its goals hold near its start only.

    Attributes:
        damping: The cost of a step in each frame, squared, (frames,).
        first_weight, last_weight: The weights of hard goals and limits in the first step and in the last, squared.
        most_correction: The largest correction of a frame to its hard goals at the end [rad, lengths of the body].
    """

    damping: Floats
    first_weight: float
    last_weight: float
    most_correction: float


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
    rest: float = REST,
    progress: Progress | None = None,
    cuts: Sequence[int] = (),
    steady: Steady | None = None,
) -> ClipAnswer:
    """Return the clip nearest to its guide that satisfies the goals.

    Args:
        guide: The clip that displacements are relative to.
        wanted: The goals; their names must differ.
        start: The initial configurations, (frames, nq); by default the guide.
        hold: The cost of a displacement relative to a goal's residual.
        slide: The cost of a translation by the body's length, relative to a rotation by one radian.
        smooth: The spread of displacements in time; 1 is 0.1 s.
        frozen: Frames that stay exactly as they are, (frames,).
        joints: The only joints that may move.
        limits: Limits in addition to the joint ranges and cones; rate limits hold from frame to frame.
        steps: The most steps of one window.
        rest: A step shorter than this, in radians or lengths of the body, is the last one.
        progress: Called with the number of frames done and the total.
        cuts: Frames before which displacements do not spread; ignored with rate limits.
        steady: How the steps of a clip that nearly keeps its hard goals stay short; by default they are free.
    """
    kernel = Kernel(guide, wanted, hold, slide, smooth, joints, limits, steps, rest, steady)
    cuts = cuts if kernel.rates is None else ()
    q = np.array(guide.q if start is None else start)
    still = np.zeros(len(guide), dtype=bool) if frozen is None else frozen
    errors, gaps, most = np.zeros((len(guide), len(kernel.hard), 2)), np.zeros(len(guide)), 0
    lengths = np.zeros(len(guide))
    for a, b, solved in cut_windows(len(guide), cuts):
        fixed = still[a:b].copy()
        fixed[:solved] = True
        found = kernel.solve(q[a:b], a, b, fixed, kernel.steps)
        q[a:b], errors[a:b], gaps[a:b], lengths[a:b] = found.q, found.errors, found.gaps, found.lengths
        most = max(most, found.systems)
        if progress is not None:
            progress(b, len(guide))
    if find_broken(guide.model, q, gaps, kernel.rates).any():
        repairer = Repair(guide.model, wanted, limits, guide.fps, joints)
        q, changed = repair(q, gaps, repairer, kernel.rates, still)
        for a, b, _ in cut_windows(len(guide), cuts):
            if changed[a:b].any():
                found = kernel.solve(q[a:b], a, b, np.ones(b - a, dtype=bool), 0)
                errors[a:b], gaps[a:b] = found.errors, found.gaps
    broken = find_broken(guide.model, q, np.where(gaps < -ROUNDING, gaps, 0.0), kernel.rates)
    return ClipAnswer(q, errors[:, kernel.order], most, lengths, broken)


class Kernel:
    """The input of the kernel for whole clips: arrays over all frames, in the kernel's order of goals."""

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
        rest: float = REST,
        steady: Steady | None = None,
    ) -> None:
        model, frames = guide.model, len(guide)
        lasting, timed = part_limits(limits)
        self.rates = Rates.read(model, timed, guide.fps)
        # a posture makes every joint a variable, even if no goal depends on it: all joints have rate limits
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
        self.rest, self.steady = rest, steady
        self.steps = steps if steps is not None else STEPS if self.rates is None else STEPS_IN_TIME

    def solve(self, q: Floats, a: int, b: int, fixed: NDArray[np.bool_], steps: int) -> core.ClipSolution:
        """Solve frames a to b in at most `steps` steps."""
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
            rest=self.rest,
            **({} if self.steady is None else {**vars(self.steady), "damping": self.steady.damping[a:b]}),
        )
        return problem.solve(self.solver.problem, q)


def convert_path(model: Model, goal: Goal, path: Floats) -> Floats:
    """Return the targets of a goal over time as kernel parameters, (frames, n)."""
    convert = goal.rows(model).convert
    return np.stack([np.asarray(convert(target), dtype=np.float64) for target in path])


def cut_windows(frames: int, cuts: Sequence[int] = ()) -> list[tuple[int, int, int]]:
    """List windows (first, one past the last, number of leading frames that are already solved), parted at cuts."""
    out = []
    for first, end in pairwise([0, *cuts, frames]):
        a, solved = first, 0
        # each window starts OVERLAP frames before the end of the previous one
        while a + WINDOW < end:
            out.append((a, a + WINDOW, solved))
            a, solved = a + WINDOW - OVERLAP, OVERLAP // 2
        out.append((a, end, solved))
    return out


def count_frames(smooth: float, fps: float) -> float:
    """Return the width of an edit in frames, capped at `MOST_FRAMES`."""
    return min(SPREAD * smooth * fps, MOST_FRAMES)


def measure_units(model: Model) -> Floats:
    """Return the squared unit of each velocity: 1 for rotations, L^2 for translations, (nv,)."""
    out = np.ones(model.nv)
    for joint in model.joints:
        if joint.nv and not joint.mimic:
            out[joint.v] = np.where(joint.slides, model.length**2, 1.0)
    return out


class FrameGoals(Protocol):
    """The goals of a frame.

    Attributes:
        numbers: Targets of the first goals, 12 numbers each; the other goals keep their own.
        weights: The weight of each goal.
        hard: Whether each goal is held exactly: 1 or 0.
    """

    numbers: Floats
    weights: Floats
    hard: Floats


class Window:
    """Solver of the newest frame of a stream, with the kernel for whole clips.

    Earlier frames are fixed, so the smoothness term is quadratic around one point:

        hold |d|^2 + stiff |d - p|^2 = (hold + stiff) |d - c|^2 + const,   c = stiff p / (hold + stiff)

    where p = d_{t-1} + v_{t-1} is the predicted displacement: a problem of one frame whose guide is moved by c. The
    velocity takes over only a share of the prediction error, so that noise is not mistaken for velocity and steady
    motion has no lag:

        v_t = v_{t-1} + learn (d_t - p_t),   stiff = PATIENCE e^2 / (1 - e^2),   learn = LEARN (1 - e) / (1 + e),

    with e = exp(-1 / (tau fps)). That is an alpha-beta filter (Benedict and Bordner, Synthesis of an optimal set of
    radar track-while-scan smoothing equations, 1962), the same at every frame rate.

    Args:
        model: The body.
        goals: The goals of a frame, with different names.
        hold: The cost of a displacement relative to a goal's residual.
        smooth: The spread of displacements in time; 1 is 0.1 s.
        fps: Frames per second.
        joints: The only joints that may move.
        limits: Limits in addition to the joint ranges, without rate limits.
        guard: Limits that hold only in frames that ask for them.
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
        guard: Sequence[Limit] = (),
    ) -> None:
        solver = Solver(model, list(goals), joints=joints, limits=list(limits))
        self.model, self.problem = model, solver.problem
        guarded = Solver(model, list(goals), joints=joints, limits=[*limits, *guard]) if guard else solver
        self.guarded_problem = guarded.problem
        self.limited = bool(limits)
        self.fenced = bool(np.isfinite([model.lower[model.slides], model.upper[model.slides]]).any())
        names, first, self.own = core.goals_of_clip(self.problem)
        order = {name: i for i, name in enumerate(names)}
        self.order = [order[name] for name in solver.goals]
        self.counts, self.hard = np.zeros((1, len(names))), np.zeros(len(names))
        self.numbers, self.frozen, self.alone = np.array(self.own)[None], np.zeros(1), np.zeros(model.nv)
        self.columns = np.concatenate([np.arange(first[i], first[i] + 12) for i in self.order])
        spread = count_frames(smooth, fps)
        gone = -np.expm1(-1.0 / spread) if spread > 0.0 else 1.0  # 1 - e, accurate for small values
        stiff = PATIENCE * (1.0 - gone) ** 2 / (gone * (2.0 - gone))
        self.learn = min(LEARN * gone / (2.0 - gone), 1.0)
        units = measure_units(model)
        self.share = 1.0 / (1.0 + hold / stiff) if stiff > 0.0 else 0.0
        self.gains = hold / units, (hold + stiff) / units
        self.forget()

    def forget(self) -> None:
        """Reset to the state before the first frame."""
        self.displacement: Floats | None = None
        self.speed = np.zeros(self.model.nv)

    def solve(
        self,
        start: Floats,
        guide: Floats,
        asked: FrameGoals,
        steps: int,
        *,
        guarded: bool = False,
        still: tuple[float, NDArray[np.bool_]] | None = None,
    ) -> tuple[Floats, Floats]:
        """Solve the newest frame, with `guard` if `guarded`; return it and its errors by goal, (goals, 2).

        `still` has a factor on the cost of motion of some velocities, which are expected to be 0, and their flags.
        """
        moved, gains = guide, self.gains[self.displacement is not None]
        if self.displacement is not None:
            shift = self.share * (self.displacement + self.speed)
            if still is not None:
                cost, flags = still
                shift = np.where(flags, self.model.difference(guide, start), shift)
                gains = np.where(flags, cost * gains, gains)
            moved = self.model.integrate(guide, shift)
        self.numbers[0, self.columns[: asked.numbers.size]] = asked.numbers.ravel()
        self.counts[0, self.order], self.hard[self.order] = asked.weights, asked.hard
        problem = self.guarded_problem if guarded else self.problem
        out = self.make_problem(moved, self.frozen, gains, steps).solve(problem, start[None])
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

    def clamp(self, q: Floats) -> Floats:
        """Return the closest pose in the ranges of all joints, also those of ball joints and cones among the limits."""
        return np.asarray(self.problem.into_cones(self.model.clamp(q)))

    def keeps_limits(self, q: Floats) -> bool:
        """Return whether a pose keeps the limits and the root's range; the other joints are in their ranges."""
        if self.fenced and np.abs(self.model.clamp(q) - q).max() > ROUNDING:
            return False
        if not self.limited:
            return True
        still = self.make_problem(q, np.ones(1), self.gains[0], 0).solve(self.problem, q[None])
        return bool(still.gaps[0] >= -ROUNDING)

    def keep(self, q: Floats, guide: Floats) -> None:
        """Keep the newest frame as the reference of the next frames."""
        now = self.model.difference(guide, q)
        if self.displacement is not None:
            self.speed = self.speed + self.learn * (now - self.displacement - self.speed)
        self.displacement = now
