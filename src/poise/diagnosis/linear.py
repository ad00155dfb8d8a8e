"""The problem at an answer, to first order: residuals, their Jacobian, and what part of it is whose."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from poise.limits.limit import name_limits
from poise.solvers.rules import RuleTables, loop_goal, rule_tables
from poise.solvers.solution import Solution
from poise.solvers.table import may_move

__all__ = ["Floats", "Linearisation", "limit_tables", "linearise", "nonnegative", "row_space"]

Floats = NDArray[np.float64]

DEPENDENT = 1e-9  # of the largest singular value: rows that say nothing new


@dataclass(frozen=True, slots=True, eq=False)
class Linearisation:
    """Residuals and Jacobian at the answer, weighted, lengths in units of L.

    Attributes:
        J: (rows, velocities of the problem).
        r: (rows,): target minus current.
        velocities: The model's velocity that each column belongs to.
        spans: For each goal, its rows.
        levels: The goals of each level, the first to be served first.
        loops: The rows of each closed loop; they come first.
        gaps: What is left of every limit beyond the joint ranges [rad, or in units of L].
        normals: How each of them changes with the velocities of the problem.
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
        """Where goals pull the joints: half of what their cost falls by, per unit of each velocity."""
        out = np.zeros(self.J.shape[1])
        for name in goals:
            out += self.J[self.spans[name]].T @ self.r[self.spans[name]]
        return out

    def above(self, level: int) -> Floats:
        """The rows that a level must leave alone: closed loops, and the goals of the levels before it."""
        names = [name for goals in self.levels[:level] for name in goals]
        return np.concatenate([self.closed, *(self.J[self.spans[name]] for name in names)])

    @property
    def closed(self) -> Floats:
        """The rows of all closed loops."""
        return self.J[: self.loops[-1].stop if self.loops else 0]


def linearise(solution: Solution) -> Linearisation:
    """The problem at the answer, to first order."""
    native = solution._twin()._native
    J, r, velocities = native.rows_jacobian(solution.q)
    rows = solution._rows()
    loops = loop_rows(solution)
    spans, first = {}, loops[-1].stop if loops else 0
    for name, row in rows.items():
        spans[name] = slice(first, first + row.size)
        first = spans[name].stop
    gaps, normals = np.zeros(0), np.zeros((0, J.shape[1]))
    if hasattr(native, "gaps"):
        gaps, normals, _ = native.gaps(solution.q)
    return Linearisation(
        J, r, np.array(velocities, dtype=np.int64), spans, levels_of(solution), loops, np.array(gaps), np.array(normals)
    )


def limit_tables(solution: Solution) -> RuleTables:
    """Return what the solver's limits say; nothing where limits are off."""
    options = solution._solver._options
    if options.limit_handling == "off":
        return RuleTables()
    return rule_tables(solution.model, name_limits(options.limits), may_move(solution.model, options.joints))


def loop_rows(solution: Solution) -> tuple[slice, ...]:
    """The rows of each closed loop among the limits."""
    loops = limit_tables(solution).loops
    ends = np.cumsum([loop_goal(name, loop).size for name, loop in loops.items()]).tolist()
    return tuple(slice(first, last) for first, last in zip([0, *ends], ends, strict=False))


def levels_of(solution: Solution) -> tuple[tuple[str, ...], ...]:
    """The goals of each priority, the first to be served first."""
    goals, names = solution._solver.goals, solution._solver.row_names
    priorities = sorted({int(goals[name].priority) for name in names})
    return tuple(tuple(name for name in names if int(goals[name].priority) == p) for p in priorities)


def row_space(rows: Floats) -> Floats:
    """Orthonormal directions that span the rows, one a column."""
    if rows.size == 0:
        return np.zeros((rows.shape[1], 0))
    _, values, directions = np.linalg.svd(rows, full_matrices=False)
    kept = values > DEPENDENT * max(float(values[0]), 1e-300)
    return np.asarray(directions[kept].T)


def nonnegative(A: Floats, b: Floats) -> Floats:
    """The x >= 0 with the least |A x - b| (Lawson and Hanson, Solving Least Squares Problems, 1974, chapter 23)."""
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
