"""Join the branches of a clip: hips and shoulders made of hinges have two answers for most directions of a bone.

All frames are solved from one pose, so each may converge to either. If a joint jumps, or hurries into frames that miss
their goals, the pose before the jump is continued forward, and the pose after it backward, frame by frame, until it
meets the existing frames. The result is taken if it has smaller steps and satisfies the goals about as well.
"""

import numpy as np
from numpy.typing import NDArray

from poise.arrays import Floats
from poise.kinematics.carriers import Root
from poise.model import Model
from poise.motion.clips.whole_clip import Kernel, cut_windows

__all__ = ["BranchJoiner", "measure_steps"]

SOLVER_STEPS = 8
JUMP_RAD = 0.6  # of a joint in one frame: a larger step may be a change of branch
HURRY_RAD, MISSED_RAD = 0.3, 0.3  # a smaller one may be too if a frame next to it misses its goals by so much
MAX_JUMPS = 8  # most jumps of one clip that are tried
MAX_CARRIED_FRAMES = 90  # most frames over which a branch is continued
MET_RAD = 0.05  # between two branches that have met
MARGIN_FRAMES = 20  # frames on both sides that are solved again
BETTER_STEP, WORST_COST = 0.8, 1.2  # largest ratios of step and cost to those before, for a branch to be taken


class BranchJoiner:
    """A solver of single frames that joins the branches of a clip.

    Args:
        kernel: The goals of every frame.
        model: The body.
        root: The root, whose jumps are ignored.
    """

    def __init__(self, kernel: Kernel, model: Model, root: Root | None) -> None:
        self.kernel, self.model = kernel, model
        self.inner = flag_inner(model, root)

    def join(self, q: Floats) -> Floats:
        """Return the frames with fewer jumps, if a better branch was found."""
        tried: set[int] = set()
        for _ in range(MAX_JUMPS):
            left = [t for t in self.list_jumps(q) if t not in tried]
            if not left:
                break
            tried.add(left[0])
            for begin, way in ((left[0], 1), (left[0] + 1, -1)):
                q = self.choose(q, *self.carry_on(q, begin, way))
        return q

    def list_jumps(self, q: Floats) -> list[int]:
        """List the frames after which the branch may change, largest steps first."""
        steps = self.measure(q)
        jumps = steps > JUMP_RAD
        if (steps > HURRY_RAD).any():
            missed = self.measure_misses(q) > MISSED_RAD
            jumps |= (steps > HURRY_RAD) & (missed[:-1] | missed[1:])
        return [int(t) for t in np.argsort(-steps, kind="stable") if jumps[t]]

    def measure(self, q: Floats) -> Floats:
        """Return the largest rotation of a joint from each frame to the next, (frames - 1,) [rad]."""
        return measure_steps(self.model, q, self.inner)

    def measure_misses(self, q: Floats) -> Floats:
        """Return the largest weighted error of a goal in each frame, (frames,) [m, rad]."""
        errors = np.zeros((len(q), len(self.kernel.hard), 2))
        for a, b, _ in cut_windows(len(q)):
            errors[a:b] = self.kernel.solve(q[a:b], a, b, np.ones(b - a, dtype=bool), 0).errors
        most: Floats = (self.kernel.weights * errors.max(axis=2)).max(axis=1)
        return most

    def carry_on(self, q: Floats, begin: int, way: int) -> tuple[Floats, int, int]:
        """Continue the pose of frame `begin` over the next frames; return the clip and the changed range of frames."""
        out, at = q.copy(), begin
        for at in range(begin + way, begin + way * (MAX_CARRIED_FRAMES + 1), way):
            if not 0 <= at < len(q):
                break
            out[at] = self.kernel.solve(out[at - way][None], at, at + 1, np.zeros(1, dtype=bool), SOLVER_STEPS).q[0]
            if np.abs(np.asarray(self.model.difference(out[at], q[at])))[self.inner].max(initial=0.0) < MET_RAD:
                break
        return out, max(0, min(begin, at)), min(len(q), max(begin, at) + 1)

    def choose(self, q: Floats, other: Floats, first: int, last: int) -> Floats:
        """Return the better of two clips that differ between frames `first` and `last`."""
        a, b = max(0, first - MARGIN_FRAMES), min(len(q), last + MARGIN_FRAMES)
        fixed = np.zeros(b - a, dtype=bool)
        fixed[: 2 if a else 0] = True
        fixed[len(fixed) - (2 if b < len(q) else 0) :] = True
        out = q.copy()
        found = self.kernel.solve(other[a:b], a, b, fixed, SOLVER_STEPS)
        before = self.kernel.solve(q[a:b], a, b, np.ones(b - a, dtype=bool), 0).errors
        out[a:b] = found.q
        smaller = self.measure(out[a:b]).max() < BETTER_STEP * self.measure(q[a:b]).max()
        weights = self.kernel.weights[a:b, :, None]
        cost, cost_before = (float(((weights * e) ** 2).sum()) for e in (found.errors, before))
        return out if smaller and cost <= WORST_COST * cost_before + 1e-3 * (b - a) else q


def flag_inner(model: Model, root: Root | None) -> NDArray[np.bool_]:
    """Flag the rotations of joints other than the root, (nv,)."""
    inner = ~np.asarray(model.slides, dtype=bool)
    if root is not None:
        inner[root.turn.v] = False
    return inner


def measure_steps(model: Model, q: Floats, inner: NDArray[np.bool_]) -> Floats:
    """Return the largest rotation of the flagged joints from each frame to the next, (frames - 1,) [rad]."""
    if len(q) < 2:
        return np.zeros(0)
    turned: Floats = np.abs(np.asarray(model.difference(q[:-1], q[1:])))[:, inner].max(axis=1, initial=0.0)
    return turned
