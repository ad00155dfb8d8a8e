"""Midpoints of steps, which reveal jumps between two waypoints.

At the transform halfway between two waypoints, the pose is solved from the mean of both poses, without restarts. It
must be reached, and lie between them: if the arm changes branch, one of the halves is as long as the whole step. Near
a singularity this may fail without a jump, because the straight line between two waypoints can leave the workspace.
So a step is also accepted if it is too small for a reconfiguration and its mean pose is near the path.
"""

import numpy as np

from poise.arrays import Floats
from poise.batch import BatchSolver
from poise.goals import Reach
from poise.model import Model
from poise.motion.paths.routes import RECONFIGURATION_STEP
from poise.spatial import Rotation

__all__ = ["bring_home", "find_broken", "find_jumps"]

SMALL_STEP = 0.02  # rad (slides: relative to L): smaller steps cannot contain a jump
MOST_CORRECTION = 0.05  # rad: the largest correction of a frame towards its target
MOST_HALF_SHARE = 0.8  # share of a step: a longer half indicates a jump
MOST_STRAY_SHARE = 0.5  # share of the distance of two waypoints: the largest error of a midpoint


def find_jumps(model: Model, goal: Reach, T: Floats, q: Floats) -> tuple[int, ...]:
    """Return the frames before which a motion jumps: no pose between the two reaches the midpoint transform."""
    if len(q) < 2:
        return ()
    return tuple(sorted(find_broken(BatchSolver(model, goal, restarts=0), goal, q[:-1], q[1:], T[:-1], T[1:])))


def bring_home(
    model: Model, goal: Reach, T: Floats, q: Floats, errors: Floats, listed: Floats
) -> tuple[Floats, Floats]:
    """Move frames that miss slightly to their targets; return poses and errors.

    Each frame is solved from its own pose and, if that fails, from its pose in `listed`, which may be farther away.
    """
    out, left = q.copy(), errors.copy()
    metres, radians = goal.tolerances(model, False)
    solver = BatchSolver(model, goal, restarts=0)
    for start, most in ((q, MOST_CORRECTION), (listed, 3.0 * MOST_CORRECTION)):
        missed = np.flatnonzero((left[:, 0] > metres) | (left[:, 1] > radians))
        if not len(missed):
            break
        answer = solver.solve(T[missed], start[missed])
        moved = np.abs(model.difference(q[missed], answer.q) / np.where(model.slides, model.length, 1.0)).max(axis=1)
        home = answer.reached & (moved < most)
        out[missed[home]] = answer.q[home]
        left[missed[home]] = next(iter(answer.errors.values()))[home]
    return out, left


def find_broken(solver: BatchSolver, goal: Reach, a: Floats, b: Floats, T_a: Floats, T_b: Floats) -> set[int]:
    """Return the steps k + 1, from a[k] to b[k], whose midpoint pose does not lie between them."""
    model = solver.model
    unit = np.where(model.slides, model.length, 1.0)
    d = model.difference(a, b)
    size = np.abs(d / unit).max(axis=1)
    large = np.flatnonzero(size > SMALL_STEP)
    if not len(large):
        return set()
    start = model.integrate(a[large], 0.5 * d[large])
    answer = solver.solve(halve(T_a[large], T_b[large]), model.clamp(start))
    ways = [np.abs(model.difference(x[large], answer.q) / unit).max(axis=1) for x in (a, b)]
    good = answer.reached & (np.maximum(*ways) <= MOST_HALF_SHARE * size[large])
    small = np.flatnonzero(~good & (size[large] <= RECONFIGURATION_STEP))
    one, middle, other = (place(model, goal, q[small]) for q in (a[large], start, b[large]))
    stray = measure_apart(halve(one, other), middle, model.length)
    good[small] = stray <= MOST_STRAY_SHARE * measure_apart(one, other, model.length)
    return {int(k) + 1 for k in large[~good]}


def place(model: Model, goal: Reach, q: Floats) -> Floats:
    """Return the transforms of the goal's frame, in the coordinates of its target, (n, 4, 4)."""
    T = model.fk(q, goal.frame)
    return T if goal.relative_to is None else np.linalg.solve(model.fk(q, goal.relative_to), T)


def measure_apart(a: Floats, b: Floats, length: float) -> Floats:
    """Return the distances between transforms, (n,): translation over `length` plus angle [rad]."""
    turn = Rotation.from_matrix(a[:, :3, :3]).inverse() @ Rotation.from_matrix(b[:, :3, :3])
    return np.asarray(np.linalg.norm(b[:, :3, 3] - a[:, :3, 3], axis=1) / length + turn.angle)


def halve(a: Floats, b: Floats) -> Floats:
    """Return the transforms halfway between two transforms, (n, 4, 4)."""
    T = a.copy()
    one, other = Rotation.from_matrix(a[:, :3, :3]), Rotation.from_matrix(b[:, :3, :3])
    T[:, :3, :3] = one.slerp(other, 0.5).matrix
    T[:, :3, 3] = 0.5 * (a[:, :3, 3] + b[:, :3, 3])
    return T
