"""base_map: the share of given poses that a frame reaches from every place of the body's base.

The base stands upright on a grid on the floor, the plane through the world's origin, at several yaws; a place has the
share of its best yaw. The targets and obstacles stay where they are. Pairs of a base and a target that distance bounds
exclude are not solved.

Reference: N. Vahrenkamp, T. Asfour, R. Dillmann, Robot placement based on reachability inversion, ICRA 2013.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from poise.arguments import check_whole
from poise.arrays import Floats
from poise.batch.maps import PROVED, REACHED, ROWS
from poise.batch.obstacles import read_matrices
from poise.batch.places import find_bound, hold_root, lay_grid
from poise.batch.solver import BatchSolver, shift_progress
from poise.batch.voxels import ReachMap
from poise.errors import InvalidValue
from poise.goals import Reach
from poise.kinematics.pose import check_model
from poise.limits import Limit
from poise.model import Frame, Model
from poise.progress_line import watch_progress

__all__ = ["base_map"]

Progress = Callable[[int, int], Any]


def base_map(
    model: Model,
    frame: str | Frame,
    transforms: ArrayLike,
    spacing: float = 0.05,
    yaws: int = 12,
    limits: Sequence[Limit] | Limit = (),
    *,
    box: ArrayLike | None = None,
    tolerance: float | tuple[float, float] | None = None,
    threads: int | None = None,
    progress: Progress | bool | None = None,
) -> ReachMap:
    """Map the share of poses that a frame reaches from every place of the body's base.

    Args:
        model: The body; an unbounded root stays at its rest pose relative to the base.
        frame: The frame.
        transforms: The poses of the frame in the world, such as grasps, (n, 4, 4).
        spacing: Distance of two places of the base [m].
        yaws: The number of rotations of the base about the vertical at each place, evenly spaced; the best one counts.
        limits: Further limits, such as `Clearance`, with regions in the world. A base in an obstacle reaches nothing.
        box: The region of the base, two opposite corners [m], (2, 3) (default: every place on the floor, at height 0,
            within reach).
        tolerance: The tolerance of a pose, as in `Reach`.
        threads: The number of threads (default: one per core). The map does not depend on it.
        progress: A function called with (poses done, poses) from time to time, and at the end; or whether to show them
            on stderr (default: on a terminal and in a notebook, after two seconds).

    Returns:
        A ReachMap whose voxels are places of the base, and whose shares are those of the poses.

    Raises:
        InvalidValue: There are no poses, one is not rigid, an option is out of range, or the frame is unbounded.
    """
    check_model(model)
    name, T = model.frame(frame).name, read_matrices("transforms", transforms).reshape(-1, 4, 4)
    wrong = np.flatnonzero(np.isnan(T).any(axis=(1, 2)))
    if not len(T) or len(wrong):
        what = f"transforms[{wrong[0]}] is not rigid; they" if len(T) else "transforms is empty; it"
        raise InvalidValue(f"{what} must be at least one rigid transform, (n, 4, 4).")
    body, turns = hold_root(model), check_whole(yaws, "yaws", 1, 3600)
    goal = Reach(name, np.eye(4), tolerance=tolerance)
    bound = find_bound(body, goal)
    if bound is None:
        raise InvalidValue(f"the positions of {name!r} are unbounded: every base reaches every pose.")
    floor = surround(T, bound, model.up_axis) if box is None else box
    origin, shape = lay_grid(body, goal, spacing, floor)
    solver = BatchSolver(body, goal, limits=limits, threads=threads)
    slack = goal.tolerances(body, False)[0] + 1e-9 * body.length
    query = BaseQuery(T, origin, shape, float(spacing), turns, model.up_axis, (*bound, slack))
    with watch_progress(progress, "poses") as report:
        counts = solve_bases(solver, query, report)
    best = np.argmax(counts[0], axis=1)
    reached, proved = (np.take_along_axis(x, best[:, None], 1).reshape(shape) for x in counts)
    part, out, left = ((x / len(T)).astype(np.float32) for x in (reached, proved, len(T) - reached - proved))
    return ReachMap(
        model,
        model.name,
        name,
        float(spacing),
        origin,
        part,
        out,
        left,
        np.zeros((0, 3)),
        turns,
        model.up_direction,
        box is None,
        transforms=T,
    )


def surround(T: Floats, bound: tuple[Floats, float, float], up: int) -> Floats:
    """Return two opposite corners of the floor around poses, as far as a base may stand from them, (2, 3) [m]."""
    center, _, far = bound
    away = far + float(np.linalg.norm(np.delete(center, up)))
    corners = np.array([T[:, :3, 3].min(axis=0) - away, T[:, :3, 3].max(axis=0) + away])
    corners[:, up] = 0.0
    return corners


@dataclass(frozen=True, slots=True, eq=False)
class BaseQuery:
    """The places of a base, and the poses to reach from them.

    Attributes:
        T: The poses in the world, (n, 4, 4).
        origin: The first place [m].
        shape: The number of places along x, y and z.
        spacing: Their distance [m].
        yaws: The number of rotations at each place.
        up: The index of the vertical axis.
        bound: The centre, nearest and farthest distance of the frame in the body, and the tolerance [m].
    """

    T: Floats
    origin: Floats
    shape: tuple[int, int, int]
    spacing: float
    yaws: int
    up: int
    bound: tuple[Floats, float, float, float]

    def cut(self) -> Iterator[slice]:
        """Yield slices of the places, of about ROWS rows each."""
        places, step = int(np.prod(self.shape)), max(1, ROWS // (self.yaws * len(self.T)))
        for first in range(0, places, step):
            yield slice(first, min(first + step, places))

    def place_bases(self, piece: slice) -> Floats:
        """Return the transforms of the base at some places, (places, yaws, 4, 4)."""
        grid = np.array(np.unravel_index(np.arange(piece.start, piece.stop), self.shape)).T
        turn = 2.0 * np.pi * np.arange(self.yaws) / self.yaws
        out = np.tile(np.eye(4), (len(grid), self.yaws, 1, 1))
        x, y = (self.up + 1) % 3, (self.up + 2) % 3
        out[..., x, x] = out[..., y, y] = np.cos(turn)
        out[..., y, x], out[..., x, y] = np.sin(turn), -np.sin(turn)
        out[..., :3, 3] = (self.origin + self.spacing * grid)[:, None]
        return out

    def find_near(self, bases: Floats) -> NDArray[np.bool_]:
        """Return which poses distance bounds allow from which bases, (places, yaws, n)."""
        center, near, far, slack = self.bound
        middle = bases[..., :3, :3] @ center + bases[..., :3, 3]
        away = np.linalg.norm(self.T[:, :3, 3] - middle[..., None, :], axis=-1)
        return np.asarray((away >= near - slack) & (away <= far + slack))


def solve_bases(solver: BatchSolver, query: BaseQuery, progress: Progress | None) -> NDArray[np.int64]:
    """Return the numbers of reached poses and of those proved out of reach, (2, places, yaws)."""
    places, done = int(np.prod(query.shape)), 0
    total = places * query.yaws * len(query.T)
    counts = np.zeros((2, places, query.yaws), dtype=np.int64)
    for piece in query.cut():
        bases = query.place_bases(piece)
        near = query.find_near(bases)
        place, yaw, pose = np.nonzero(near)
        codes = np.full(near.shape, PROVED)
        if len(pose):
            report = None if progress is None else shift_progress(progress, done)
            solved = solver.solve(query.T[pose], base=bases[place, yaw], progress=report)
            codes[place, yaw, pose] = solved.codes
        counts[0, piece], counts[1, piece] = (codes == REACHED).sum(axis=-1), (codes == PROVED).sum(axis=-1)
        done += near.size
        if progress is not None:
            progress(done, total)
    return counts
