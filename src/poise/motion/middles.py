"""Middles of steps: whether a jump hides between two waypoints.

At the transform halfway between two waypoints, the pose is solved from the middle of both poses, without restarts. It
must be reached, and lie between them: where the arm takes another branch, one of the halves is as long as the whole.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from poise.batch import BatchSolver
from poise.goals import Reach
from poise.model import Model
from poise.spatial import Rotation

__all__ = ["bring_home", "find_broken", "find_jumps"]

Floats = NDArray[np.float64]
SMALL = 0.02  # a step that is smaller hides nothing [rad; slides: of L]
HOME = 0.05  # a frame is moved no farther than this to its target, so that its neighbours stay neighbours
HALF = 0.8  # of a step: a half of it that is longer shows a jump


def find_jumps(model: Model, goal: Reach, T: Floats, q: Floats) -> tuple[int, ...]:
    """Return the frames before which a motion jumps: halfway between two transforms no pose is between their poses."""
    if len(q) < 2:
        return ()
    return tuple(sorted(find_broken(BatchSolver(model, goal, restarts=0), q[:-1], q[1:], T[:-1], T[1:])))


def bring_home(model: Model, goal: Reach, T: Floats, q: Floats, errors: Floats) -> tuple[Floats, Floats]:
    """Return poses and errors with frames that miss by little, for their neighbours' sake, brought to their targets."""
    metres, radians = goal.tolerances(model, False)
    missed = np.flatnonzero((errors[:, 0] > metres) | (errors[:, 1] > radians))
    if not len(missed):
        return q, errors
    answer = BatchSolver(model, goal, restarts=0).solve(T[missed], q[missed])
    near = np.abs(model.difference(q[missed], answer.q) / np.where(model.slides, model.length, 1.0)).max(axis=1) < HOME
    home, out, left = answer.reached & near, q.copy(), errors.copy()
    out[missed[home]] = answer.q[home]
    left[missed[home]] = next(iter(answer.errors.values()))[home]
    return out, left


def find_broken(solver: BatchSolver, a: Floats, b: Floats, T_a: Floats, T_b: Floats) -> set[int]:
    """Return the steps k + 1, from a[k] to b[k], whose middle does not lie between them."""
    model = solver.model
    unit = np.where(model.slides, model.length, 1.0)
    d = model.difference(a, b)
    size = np.abs(d / unit).max(axis=1)
    large = np.flatnonzero(size > SMALL)
    if not len(large):
        return set()
    start = model.integrate(a[large], 0.5 * d[large])
    answer = solver.solve(halve(T_a[large], T_b[large]), model.clamp(start))
    ways = [np.abs(model.difference(x[large], answer.q) / unit).max(axis=1) for x in (a, b)]
    good = answer.reached & (np.maximum(*ways) <= HALF * size[large])
    return {int(k) + 1 for k in large[~good]}


def halve(a: Floats, b: Floats) -> Floats:
    """Return the transforms halfway between others, (n, 4, 4)."""
    T = a.copy()
    one, other = Rotation.from_matrix(a[:, :3, :3]), Rotation.from_matrix(b[:, :3, :3])
    T[:, :3, :3] = one.slerp(other, 0.5).matrix
    T[:, :3, 3] = 0.5 * (a[:, :3, 3] + b[:, :3, 3])
    return T
