"""reach_map: the fraction of orientations that a frame reaches, on a grid of positions.

Every voxel is tested at its centre with the same orientations: directions of the frame's axis, spread evenly over the
sphere (a spherical Fibonacci lattice: Gonzalez 2010), each with a number of rotations about that axis. Rows are
generated and solved in pieces, so that memory does not grow with the map. Poses that distance bounds exclude are not
solved.

Reference: F. Zacharias, C. Borst, G. Hirzinger, Capturing robot workspace structure: representing robot capabilities,
IROS 2007.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from poise.arguments import check_whole
from poise.arrays import Floats
from poise.batch.device import is_on_device
from poise.batch.orientations import MOST_DIRECTIONS, orient, read_directions
from poise.batch.places import MapQuery, find_plane, hold_root, lay_grid
from poise.batch.solution import CODES, copy_to_host
from poise.batch.solver import BatchSolver
from poise.batch.voxels import ReachMap
from poise.errors import InvalidValue
from poise.goals import Reach
from poise.goals.direction import read_axis
from poise.kinematics.pose import check_model
from poise.limits import Limit
from poise.model import Frame, Model
from poise.native.gpu import load_cupy
from poise.progress_line import watch_progress
from poise.solvers import Status

__all__ = ["PROVED", "REACHED", "ROWS", "MapProblem", "reach_map"]

Progress = Callable[[int, int], Any]
ROWS = 1 << 15  # rows per call on a CPU: 4 MB of targets
DEVICE_ROWS = 1 << 21  # rows per call on a GPU; Ctrl-C takes effect between two calls
REACHED, PROVED = CODES.index(Status.REACHED), CODES.index(Status.UNREACHABLE)


def reach_map(
    model: Model,
    frame: str | Frame,
    spacing: float = 0.05,
    directions: int | ArrayLike = 200,
    turns: int = 12,
    *,
    axis: str | ArrayLike = "z",
    box: ArrayLike | None = None,
    tolerance: float | tuple[float, float] | None = None,
    manipulability: bool = False,
    threads: int | None = None,
    device: str = "cpu",
    limits: Sequence[Limit] | Limit = (),
    progress: Progress | bool | None = None,
) -> ReachMap:
    """Map the fraction of orientations that a frame reaches at every position around a body.

    An unbounded root stays at its rest pose: the map shows the reach without walking.

    Args:
        model: The body.
        frame: The frame.
        spacing: Edge of a voxel [m].
        directions: The number of directions of the frame's axis, spread evenly; or the directions themselves, (n, 3).
            With 0, only positions are tested, in any orientation.
        turns: The number of rotations about the axis for each direction.
        progress: A function called with (poses done, poses) from time to time, and at the end; or whether to show them
            on stderr (default: on a terminal and in a notebook, after two seconds).
        axis: The frame's axis that points along the directions: "x", "y", "z", "-z", ..., or three numbers.
        box: The region to map, two opposite corners [m], (2, 3) (default: everything within the distance bounds).
        tolerance: The tolerance of a pose, as in `Reach`.
        manipulability: Whether to store the best manipulability (of the position) of the poses found in each voxel.
        threads: The number of threads (default: one per core). The map does not depend on it.
        device: "cpu" or "gpu" (CuPy). Directions on a GPU also select it.
        limits: Further limits, such as `Clearance`. Orientations that are reached only in collision count as undecided.

    Returns:
        The ReachMap; `poise.save(map, "map.npz")` writes it, `poise.plot(map)` draws it.

    Raises:
        InvalidValue: An option is out of range, or the map is unbounded and no box is given.
    """
    problem = MapProblem.prepare(
        model, frame, spacing, directions, turns, axis, box, tolerance, manipulability, threads, device, limits
    )
    with watch_progress(progress, "poses") as report:
        return problem.finish(*problem.solve(problem.asked, report))


@dataclass(frozen=True, eq=False)
class MapProblem:
    """A prepared map, to be solved at once or in pieces.

    Attributes:
        model: The body.
        frame: Name of the frame.
        spacing: Edge of a voxel [m].
        origin: Centre of the first voxel [m].
        shape: The number of voxels along x, y and z.
        directions: The directions of the frame's axis, (n, 3).
        turns: The number of rotations about it.
        axis: The frame's axis.
        orientations: The number of orientations tested in each voxel.
        whole: Whether everything outside the map is out of reach.
        manipulability: Whether to store the manipulability.
        on_device: Whether to solve on a GPU.
        asked: The positions that are not excluded beforehand.
        solver: The solver of the body with a fixed root.
    """

    model: Model
    frame: str
    spacing: float
    origin: Floats
    shape: tuple[int, int, int]
    directions: Floats
    turns: int
    axis: Floats
    orientations: int
    whole: bool
    manipulability: bool
    on_device: bool
    asked: MapQuery
    solver: BatchSolver

    @classmethod
    def prepare(
        cls,
        model: Model,
        frame: str | Frame,
        spacing: float = 0.05,
        directions: int | ArrayLike = 200,
        turns: int = 12,
        axis: str | ArrayLike = "z",
        box: ArrayLike | None = None,
        tolerance: float | tuple[float, float] | None = None,
        manipulability: bool = False,
        threads: int | None = None,
        device: str = "cpu",
        limits: Sequence[Limit] | Limit = (),
    ) -> MapProblem:
        """Return the problem of a map; the arguments are those of `reach_map`."""
        on_device = device == "gpu" or is_on_device(directions)
        if device not in ("cpu", "gpu"):
            raise InvalidValue(f"device is {device!r}; it must be 'cpu' or 'gpu'.")
        check_model(model)
        name = model.frame(frame).name
        way = np.array(read_axis(axis, "axis"))
        d, turned = read_directions(directions), check_whole(turns, "turns", 1, 3600)
        if len(d) * turned > MOST_DIRECTIONS:
            most = f"at most {MOST_DIRECTIONS} orientations a voxel"
            raise InvalidValue(f"directions is {len(d)} and turns is {turned}, {len(d) * turned} orientations; {most}.")
        R = orient(d, turned, way)
        body = hold_root(model)
        goal = Reach(name, np.eye(4) if len(R) else np.zeros(3), tolerance=tolerance)
        origin, shape = lay_grid(body, goal, spacing, box)
        asked = MapQuery.sift(body, goal, origin, shape, float(spacing), R)
        solver = BatchSolver(body, goal, threads=threads, limits=limits)
        rest = (d, turned if len(d) else 1, way, max(1, len(R)), box is None, manipulability, on_device, asked, solver)
        return cls(model, name, float(spacing), origin, shape, *rest)

    def solve(self, asked: MapQuery, progress: Progress | None) -> tuple[NDArray[np.int64], Floats]:
        """Solve the positions of a query; see `solve_pieces`."""
        return solve_pieces(self.solver, asked, self.frame if self.manipulability else None, self.on_device, progress)

    def finish(self, counts: NDArray[np.int64], best: Floats) -> ReachMap:
        """Return the map of the counts that `solve` returned."""
        total = self.orientations
        three = (counts[0], counts[1] + total - counts[2], counts[2] - counts[0] - counts[1])
        reached, proved, undecided = ((x / total).astype(np.float32).reshape(self.shape) for x in three)
        found = None if not self.manipulability else np.asarray(best, dtype=np.float32).reshape(self.shape)
        return ReachMap(
            self.model,
            self.model.name,
            self.frame,
            self.spacing,
            self.origin,
            reached,
            proved,
            undecided,
            self.directions,
            self.turns,
            self.axis,
            self.whole,
            found,
        )


def solve_pieces(
    solver: BatchSolver, asked: MapQuery, frame: str | None, on_device: bool, progress: Progress | None
) -> tuple[NDArray[np.int64], Floats]:
    """Return the numbers of reached, proved and tested orientations, (3, voxels), and the manipulability per voxel."""
    xp: Any = load_cupy() if on_device else np
    kind = np.float32 if on_device else np.float64
    R = xp.asarray(asked.R, dtype=kind)
    counts, best = np.zeros((3, asked.voxels), dtype=np.int64), np.zeros(asked.voxels)
    each, done = max(1, len(asked.R)), 0
    for piece in asked.cut(DEVICE_ROWS if on_device else ROWS):
        targets = asked.make_targets(piece, R, xp)
        rows = len(targets)
        report = None if progress is None else shift_progress(progress, done, asked.rows)
        answer = solver.solve(targets, progress=report)
        codes = answer.codes.reshape(-1, each)
        numbers = asked.numbers[piece]
        counts[0, numbers] = copy_to_host((codes == REACHED).sum(axis=1))
        counts[1, numbers] = copy_to_host((codes == PROVED).sum(axis=1))
        counts[2, numbers] = each
        if frame is not None:
            best[numbers] = measure(solver.model, frame, copy_to_host(answer.q), copy_to_host(answer.reached), each)
        done += rows
    if progress is not None and not done:
        progress(0, 0)
    return counts, best


def shift_progress(progress: Progress, before: int, total: int) -> Progress:
    """Return a callback that reports the progress of a part as that of the whole."""
    return lambda done, _: progress(before + done, total)


def measure(model: Model, frame: str, q: NDArray[Any], reached: NDArray[np.bool_], each: int) -> Floats:
    """Return the best manipulability of the position among the poses of each voxel, w = sqrt(det(J J^T)) [m/rad].

    Yoshikawa 1985. For a planar body, it is the product of the two largest singular values.
    """
    out = np.zeros(len(q))
    if reached.any():
        J = model.jacobian(np.asarray(q[reached], dtype=np.float64), frame)[:, :3]
        values = np.linalg.svd(J, compute_uv=False)
        flat = find_plane(model, frame) is not None
        out[reached] = values[:, : 2 if flat else 3].prod(axis=1)
    best: Floats = out.reshape(-1, each).max(axis=1)
    return best
