"""Lessons about one frame: its Jacobian, singular values, null space, and one iteration in parts.

J    velocity of the frame's position per joint velocity, 3 x nv           [m/rad]
     (2 x nv for a planar body, which never moves along the normal of its plane)
s_i  singular values of J: displacement for a unit step along the i-th direction
N    = I - J^+ J, steps that leave the frame (and all pins) in place
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from poise.arrays import Floats
from poise.goals import Reach
from poise.kinematics import manipulability
from poise.kinematics.column_names import name_velocities
from poise.model import Model
from poise.model.memo import keep_with_model
from poise.model.plane import find_normal
from poise.solvers import Solution, Solver
from poise.studio.puppet import Puppet

__all__ = [
    "Arrows",
    "OneStep",
    "Wanderer",
    "find_arrows",
    "find_damping",
    "find_ellipsoid",
    "find_limited",
    "find_moving_rows",
    "take_step",
    "trace_error",
]


LEAST_COLUMN = 0.02  # relative to the longest column: shorter columns are not drawn
FLAT = 1e-9  # relative to the model length: a target closer to the plane of a planar body is in it
LIMIT_TOLERANCE = 1e-6  # [rad, m] from a joint limit


@dataclass(frozen=True, slots=True, eq=False)
class Arrows:
    """Columns of a Jacobian as arrows.

    Attributes:
        points: Start and end of each arrow, (n, 2, 3) [m].
        colors: The colour of each arrow, (n, 3), 0 to 255: from blue to red along the chain.
        names: The name of each arrow's velocity.
    """

    points: NDArray[np.float32]
    colors: NDArray[np.uint8]
    names: tuple[str, ...]


def find_arrows(model: Model, q: Floats, frame: str, size: float) -> Arrows:
    """Return the columns of a frame's Jacobian as arrows at it; the longest has length `size` [m]."""
    J = model.jacobian(q, frame)[:3]
    length = np.linalg.norm(J, axis=0)
    longest = float(length.max(initial=0.0))
    chosen = np.nonzero(length > LEAST_COLUMN * max(longest, 1e-12))[0]
    start = np.array(model.fk(q, frame)[:3, 3])
    ends = start + size / max(longest, 1e-12) * J[:, chosen].T
    points = np.stack([np.broadcast_to(start, ends.shape), ends], axis=1).astype(np.float32)
    names = name_velocities(model)
    return Arrows(points.reshape(-1, 2, 3), spread_hues(len(chosen)), tuple(names[k] for k in chosen))


def spread_hues(count: int) -> NDArray[np.uint8]:
    """Return colours from blue through green to red."""
    t = np.linspace(0.0, 1.0, max(count, 1))[:count]
    stops = np.array([[38, 84, 200], [20, 160, 150], [120, 190, 60], [240, 170, 40], [215, 50, 60]], dtype=float)
    at = t * (len(stops) - 1)
    low = np.minimum(at.astype(int), len(stops) - 2)
    mixed = stops[low] + (at - low)[:, None] * (stops[low + 1] - stops[low])
    out: NDArray[np.uint8] = mixed.astype(np.uint8)
    return out


def find_ellipsoid(model: Model, q: Floats, frame: str) -> tuple[Floats, Floats]:
    """Return the manipulability ellipsoid of a frame: a right-handed rotation and three half-lengths [m/rad].

    A body of one or two joints has one or two axes; the others have length zero and are orthogonal to them.
    """
    found = manipulability(model, q, frame)
    count = found.axes.shape[1]
    whole = np.linalg.svd(found.axes)[0]  # the last columns are orthogonal to the axes
    axes = np.concatenate([found.axes, whole[:, count:]], axis=1)
    if np.linalg.det(axes) < 0:
        axes[:, 2] *= -1
    return axes, np.pad(found.singular_values[:count], (0, 3 - count))


def find_moving_rows(model: Model) -> list[int]:
    """Return the world axes along which the body can move: x, y and z as 0, 1 and 2, or those of its plane."""
    return [k for k in range(3) if k != find_normal(model)]


def find_damping(puppet: Puppet, start: Floats) -> tuple[float, float] | None:
    """Return the largest and the smallest lambda of the steps from `start` to the targets.

    In units of the model length, as for singular values. None if the method has no damping or made no step.
    """
    return read_damping(puppet.solve(start, record=True, flat=True))


def read_damping(solution: Solution) -> tuple[float, float] | None:
    """Return the largest and the smallest lambda of a recorded solution, or None if it was not damped."""
    history = solution.history
    used = np.zeros(0) if history is None else history.damping[history.damping > 0.0]  # lambda^2 of each step
    return (float(np.sqrt(used.max())), float(np.sqrt(used.min()))) if len(used) else None


@keep_with_model
def find_ranges(model: Model) -> tuple[tuple[str, ...], NDArray[np.intp], Floats, Floats]:
    """Return the joints with scalar limits: names, indices in q, lower and upper limits."""
    joints = [j for j in model.joints if j.nv and j.nq == j.nv and not j.mimic]
    names = [j.name for j in joints for _ in range(j.nv)]
    at = [k for j in joints for k in range(j.q.start, j.q.stop)]
    v = [k for j in joints for k in range(j.v.start, j.v.stop)]
    return tuple(names), np.array(at, dtype=np.intp), np.array(model.lower)[v], np.array(model.upper)[v]


def find_limited(model: Model, q: Floats) -> list[str]:
    """Return the joints at their limits."""
    names, at, low, high = find_ranges(model)
    value = q[at]
    hit = np.nonzero((value <= low + LIMIT_TOLERANCE) | (value >= high - LIMIT_TOLERANCE))[0]
    return list(dict.fromkeys(names[k] for k in hit))


class Wanderer:
    """Motion along one direction of the null space: a handle and all pinned or planted handles stay in place.

    The direction is the `mode`-th right singular vector of the stacked Jacobian beyond its rank, updated as the body
    moves. If nothing can move while the handle keeps its position and rotation, as in a planar arm of three joints, it
    keeps its position only.

    Attributes:
        modes: The number of directions.
        turns: Whether the handle may rotate.
    """

    def __init__(self, puppet: Puppet, handle: str, mode: int) -> None:
        self.model = puppet.model
        self.q = puppet.q
        frames = [puppet.handles[handle].frame, *(puppet.handles[n].frame for n in puppet.fixed if n != handle)]
        self.frames = list(dict.fromkeys(frames))
        self.turns = False
        self.direction, self.modes = self.find_direction(mode)
        if not self.modes:
            self.turns = True
            self.direction, self.modes = self.find_direction(mode)
        places = {frame: self.model.fk(self.q, frame) for frame in self.frames}
        if self.turns:
            places[self.frames[0]] = places[self.frames[0]][:3, 3]
        goals = [Reach(frame, place, name=frame) for frame, place in places.items()]
        self.solver = Solver(self.model, goals, mode="continuous", restarts=0)
        self.at = 0.0

    def stack_jacobians(self, q: Floats) -> Floats:
        """Return the stacked Jacobians of all fixed frames; lengths in units of the model length."""
        scale = np.array([1.0 / self.model.length] * 3 + [1.0] * 3)[:, None]
        rows = np.concatenate([scale * self.model.jacobian(q, frame) for frame in self.frames])
        return np.delete(rows, (3, 4, 5), axis=0) if self.turns else rows

    def find_direction(self, mode: int) -> tuple[Floats, int]:
        """Return a unit step that moves no fixed frame to first order, and the number of such directions."""
        _, values, V = np.linalg.svd(self.stack_jacobians(self.q))
        rank = int((values > 1e-6 * values[0]).sum())
        free = V[rank:]
        if not len(free):
            return np.zeros(self.model.nv), 0
        return free[mode % len(free)], len(free)

    def go(self, to: float) -> Floats:
        """Return the configuration at a distance along the direction [rad]."""
        while abs(to - self.at) > 1e-9:
            step = float(np.clip(to - self.at, -0.05, 0.05))
            J = self.stack_jacobians(self.q)
            along = self.direction - np.linalg.pinv(J, rcond=1e-6) @ (J @ self.direction)
            size = float(np.linalg.norm(along))
            if size < 1e-6:
                break
            moved = self.model.clamp(self.model.integrate(self.q, step * along / size))
            solution = self.solver.solve(moved)
            self.at += step
            if solution.reached:
                self.q, self.direction = solution.q, along / size
        return self.q


@dataclass(frozen=True, slots=True, eq=False)
class OneStep:
    """One iteration in parts.

    Attributes:
        q: The configuration at the start.
        e: The error: target minus position [m].
        J: The Jacobian of the position, (rows, nv).
        dq: The step of the method.
        after: The configuration after the step.
        moved: The actual displacement [m]; J dq is the predicted one.
        damping: The lambda of this step, in units of the model length, or None.
        axes: The names of the rows, "xyz"; those of its plane for a planar body, unless the target is off the plane.
    """

    q: Floats
    e: Floats
    J: Floats
    dq: Floats
    after: Floats
    moved: Floats
    damping: float | None = None
    axes: str = "xyz"

    @property
    def predicted(self) -> Floats:
        """The displacement to first order: J dq [m]."""
        out: Floats = self.J @ self.dq
        return out

    @property
    def left(self) -> float:
        """The error after the step, |e - moved| [m]."""
        return float(np.linalg.norm(self.e - self.moved))


def take_step(puppet: Puppet, handle: str, start: Floats | None = None) -> OneStep | None:
    """Take one iteration of the current method from `start` or the current pose; None if the handle has no target."""
    wanted = puppet.find_target(handle)
    if wanted is None:
        return None
    target = wanted if wanted.ndim == 1 else wanted[:3, 3]
    frame = puppet.handles[handle].frame
    q = puppet.q if start is None else start
    solution = puppet.solve(q, max_steps=1, flat=True, record=True)
    after, damping = solution.q, read_damping(solution)
    place, came = (puppet.model.fk(at, frame)[:3, 3] for at in (q, after))
    dq = puppet.model.difference(q, after)
    J, e = puppet.model.jacobian(q, frame)[:3], target - place
    rows = [k for k in range(3) if k in find_moving_rows(puppet.model) or abs(e[k]) > FLAT * puppet.model.length]
    used = None if damping is None else damping[0]
    return OneStep(q, e[rows], J[rows], dq, after, (came - place)[rows], used, "".join("xyz"[k] for k in rows))


def trace_error(puppet: Puppet, handle: str, start: Floats | None = None) -> Floats:
    """Return the handle's error by iteration [m], for the whole problem solved from `start`."""
    solution = puppet.solve(start, record=True, flat=True)
    names: Sequence[str] = list(solution.errors)
    if solution.history is None or handle not in names:
        return np.zeros(0)
    return np.asarray(solution.history.errors[:, names.index(handle), 0])
