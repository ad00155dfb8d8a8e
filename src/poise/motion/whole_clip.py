"""All frames of a clip solved at once, in windows: the door to the kernel of whole clips.

    minimise  sum_t |w r(q_t)|^2 + hold |d_t|^2 + hold (tau fps)^4 |d_{t-1} - 2 d_t + d_{t+1}|^2,   d_t = q_t - guide_t

Displacements d are told from a guide, so a clip keeps its style and its ends are free. The second difference counts per
second, so 30 and 120 frames a second give the same motion; tau is the time over which a displacement spreads. Slides
are measured in the body's length L.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from poise.goals import Goal
from poise.kinematics import Motion
from poise.model import Model
from poise.native import core
from poise.solvers import Solver

__all__ = ["ClipAnswer", "ClipGoal", "Progress", "solve_whole"]

Floats = NDArray[np.float64]
Progress = Callable[[int, int], object]
SPREAD = 0.1  # s: tau of smooth=1
WINDOW, OVERLAP = 2400, 200  # frames that are solved at once, and that two windows share
STEPS = 24


@dataclass(frozen=True, eq=False)
class ClipGoal:
    """A goal over all frames of a clip.

    Attributes:
        goal: What is asked; its own target holds at every frame unless there are targets.
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
    """What came out.

    Attributes:
        q: Configurations, (frames, nq).
        errors: By goal [m] and [rad], (frames, goals, 2).
        steps: Steps that the longest window took.
    """

    q: Floats
    errors: Floats
    steps: int


def solve_whole(
    guide: Motion,
    wanted: Sequence[ClipGoal],
    *,
    start: Floats | None = None,
    hold: float = 1.0,
    smooth: float = 1.0,
    frozen: NDArray[np.bool_] | None = None,
    joints: Sequence[str] | None = None,
    steps: int = STEPS,
    progress: Progress | None = None,
) -> ClipAnswer:
    """Return the clip nearest to its guide that serves the goals.

    Args:
        guide: What displacements are told from.
        wanted: The goals; their names must differ.
        start: Where to begin, (frames, nq); at the guide unless given.
        hold: The cost of a displacement beside a goal's residual.
        smooth: How far displacements spread over time; 1 is a tenth of a second.
        frozen: Frames that do not change by one bit, (frames,).
        joints: The only joints that may move.
        steps: The most steps of one window.
        progress: Called with the frames that are done, and all.
    """
    model, frames = guide.model, len(guide)
    solver = Solver(model, [each.goal for each in wanted], joints=joints)
    names, first, own = core.goals_of_clip(solver._native)
    targets = np.tile(own, (frames, 1))
    weights, hard = np.ones((frames, len(names))), np.ones(len(names))
    order = {name: i for i, name in enumerate(names)}
    for name, each in zip(solver.goals, wanted, strict=True):
        i = order[name]
        weights[:, i], hard[i] = each.weights, each.hard
        if each.targets is not None:
            targets[:, first[i] : first[i] + each.targets.shape[1]] = each.targets
    units = measure_units(model)
    gains = hold / units, hold / units * (SPREAD * smooth * guide.fps) ** 4
    q = np.array(guide.q if start is None else start)
    still = np.zeros(frames) if frozen is None else frozen.astype(np.float64)
    errors, most = np.zeros((frames, len(names), 2)), 0
    for a, b, solved in cut_windows(frames):
        fixed = still[a:b].copy()
        fixed[:solved] = 1.0
        q[a:b], errors[a:b], count, _, _ = core.solve_clip(
            solver._native, q[a:b], guide.q[a:b], targets[a:b], weights[a:b], hard, fixed, *gains, steps
        )
        most = max(most, count)
        if progress is not None:
            progress(b, frames)
    return ClipAnswer(q, errors[:, [order[name] for name in solver.goals]], most)


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


def measure_units(model: Model) -> Floats:
    """Return the square of what each velocity is measured in: 1 for turns, L^2 for slides, (nv,)."""
    out = np.ones(model.nv)
    for joint in model.joints:
        if joint.nv and not joint.mimic:
            out[joint.v] = np.where(joint.slides, model.length**2, 1.0)
    return out
