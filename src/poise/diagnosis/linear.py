"""The linearised problem at an answer: residuals and their Jacobian, by goal."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from poise.arrays import Floats
from poise.limits.limit import name_limits
from poise.solvers.limit_tables import LimitTables, gather_limits, make_loop_goal
from poise.solvers.solution import Solution
from poise.solvers.table import may_move

__all__ = ["Floats", "Linearisation", "find_limit_tables", "linearise", "solve_nonnegative", "span_rows"]


DEPENDENT = 1e-9  # relative to the largest singular value: dependent rows


@dataclass(frozen=True, slots=True, eq=False)
class Linearisation:
    """The weighted residuals and Jacobian at the answer, with lengths in units of L.

    Attributes:
        J: The Jacobian, (rows, velocities of the problem).
        r: The residuals, target minus current, (rows,).
        velocities: The model's velocity index of each column.
        spans: The rows of each goal.
        levels: The goals of each level, highest priority first.
        loops: The rows of each closed loop; they come first.
        gaps: The gap of every limit other than joint ranges [rad, or in units of L].
        normals: The derivatives of the gaps with respect to the velocities.
    """

    J: Floats
    r: Floats
    velocities: NDArray[np.int64]
    spans: dict[str, slice]
    levels: tuple[tuple[str, ...], ...]
    loops: tuple[slice, ...]
    gaps: Floats
    normals: Floats

    def pull(self, goals: tuple[str, ...]) -> Floats:
        """Return the negative half gradient of the cost of some goals."""
        out = np.zeros(self.J.shape[1])
        for name in goals:
            out += self.J[self.spans[name]].T @ self.r[self.spans[name]]
        return out

    def bound_pull(self, goals: tuple[str, ...]) -> float:
        """Return an upper bound of `pull` for residuals of this size: the scale of its rounding."""
        norm = np.linalg.norm
        return float(sum(norm(self.J[self.spans[name]]) * norm(self.r[self.spans[name]]) for name in goals))

    def stack_above(self, level: int) -> Floats:
        """Return the rows that a level must not change: closed loops, and the goals of higher levels."""
        names = [name for goals in self.levels[:level] for name in goals]
        return np.concatenate([self.closed, *(self.J[self.spans[name]] for name in names)])

    @property
    def closed(self) -> Floats:
        """The rows of all closed loops."""
        return self.J[: self.loops[-1].stop if self.loops else 0]


def linearise(solution: Solution) -> Linearisation:
    """Return the linearised problem at the answer."""
    solver = solution.copy_solver()
    J, r, velocities = solver.linearise(solution.q)
    rows = solution.list_rows()
    loops = find_loop_rows(solution)
    spans, first = {}, loops[-1].stop if loops else 0
    for name, row in rows.items():
        spans[name] = slice(first, first + row.size)
        first = spans[name].stop
    gaps, normals = np.zeros(0), np.zeros((0, J.shape[1]))
    if hasattr(solver.problem, "gaps"):
        gaps, normals, _ = solver.problem.gaps(solution.q)
    return Linearisation(
        J,
        r,
        np.array(velocities, dtype=np.int64),
        spans,
        list_levels(solution),
        loops,
        np.array(gaps),
        np.array(normals),
    )


def find_limit_tables(solution: Solution) -> LimitTables:
    """Return the tables of the solver's limits; empty if limits are off."""
    options = solution.solver.options
    if options.limit_handling == "off":
        return LimitTables()
    return gather_limits(solution.model, name_limits(options.limits), may_move(solution.model, options.joints))


def find_loop_rows(solution: Solution) -> tuple[slice, ...]:
    """Return the rows of each closed loop among the limits."""
    loops = find_limit_tables(solution).loops
    ends = np.cumsum([make_loop_goal(name, loop).size for name, loop in loops.items()]).tolist()
    return tuple(slice(first, last) for first, last in zip([0, *ends], ends, strict=False))


def list_levels(solution: Solution) -> tuple[tuple[str, ...], ...]:
    """Return the goals of each priority, highest priority first."""
    goals, names = solution.solver.goals, solution.solver.row_names
    priorities = sorted({int(goals[name].priority) for name in names})
    return tuple(tuple(name for name in names if int(goals[name].priority) == p) for p in priorities)


def span_rows(rows: Floats) -> Floats:
    """Return an orthonormal basis of the rows, one per column."""
    if rows.size == 0:
        return np.zeros((rows.shape[1], 0))
    _, values, directions = np.linalg.svd(rows, full_matrices=False)
    kept = values > DEPENDENT * max(float(values[0]), 1e-300)
    return np.asarray(directions[kept].T)


def solve_nonnegative(A: Floats, b: Floats) -> Floats:
    """Return the x >= 0 with the least |A x - b| (Lawson and Hanson, Solving Least Squares Problems, 1974, ch. 23)."""
    n = A.shape[1]
    x, used = np.zeros(n), np.zeros(n, dtype=bool)
    small = 1e-12 * max(1e-300, float(np.abs(A).max(initial=0.0)) * float(np.linalg.norm(b)))
    for _ in range(3 * n):
        gain = np.where(used, -np.inf, A.T @ (b - A @ x))
        if used.all() or gain.max() <= small:
            break
        used[int(gain.argmax())] = True
        while True:
            trial = np.zeros(n)
            trial[used] = np.linalg.lstsq(A[:, used], b, rcond=None)[0]
            if trial[used].min(initial=0.0) >= 0.0:
                break
            against = used & (trial < 0.0)
            share = float((x[against] / (x[against] - trial[against])).min())
            x = x + share * (trial - x)
            used &= x > 1e-15 * max(1e-300, float(x.max()))
        x = trial
    return x
