"""History: every evaluated pose of a recorded solve."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from poise.model import Model

__all__ = ["History", "record_states"]


def record_states(states: Sequence[Mapping[str, Any]], goals: int, nq: int) -> dict[str, NDArray[np.float64]]:
    """Return the arrays of `native.core.Solver.history` from the states of a driver in Python."""
    return {
        "search": np.ones(len(states)),
        "cost": np.array([state["cost"] for state in states], dtype=np.float64),
        "damping": np.zeros(len(states)),
        "errors": np.array([state["errors"] for state in states], dtype=np.float64).reshape(-1, goals, 2),
        "q": np.array([state["q"] for state in states], dtype=np.float64).reshape(-1, nq),
    }


def find_new_rows(record: Mapping[str, NDArray[np.float64]]) -> NDArray[np.bool_]:
    """Return which rows have another pose than the row before: a refinement evaluates the pose it starts from again."""
    rows = np.column_stack([record["search"], record["q"]])
    return np.concatenate([np.ones(min(len(rows), 1), dtype=bool), (rows[1:] != rows[:-1]).any(axis=1)])


class Recorder(Protocol):
    """The members of `Solver` that a history uses."""

    model: Model
    row_names: tuple[str, ...]

    @property
    def problem(self) -> Any:
        """The prepared problem."""

    @property
    def options(self) -> Any:
        """The options of the solver."""

    @property
    def targets(self) -> Mapping[str, Any]:
        """The targets given to the solver, which replace those of the goals."""

    def linearise(self, q: Any) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.int64]]:
        """Return the goals' weighted Jacobian and residuals at `q`, and the velocity index of each column."""

    def with_targets(self, targets: Mapping[str, Any]) -> Recorder:
        """Return a solver of the same problem with these targets instead of those of the goals."""


class History:
    """The evaluated poses of a solve, one per row.

    Attributes:
        search: The number of the search, from 1.
        cost: Sum of squared weighted residuals.
        damping: Damping of the step that led to the pose, or 0.
        errors: Errors [m, rad], (rows, goals, 2).
        q: Configurations, (rows, nq).
    """

    __slots__ = ("_solver", "_targets", "cost", "damping", "errors", "q", "search")

    def __init__(self, solver: Recorder) -> None:
        record = solver.problem.history()
        loops = record["errors"].shape[1] - len(solver.row_names)  # closed loops come first
        self._solver = solver
        self._targets = dict(solver.targets)
        new = find_new_rows(record)
        self.search: NDArray[np.int64] = record["search"][new].astype(np.int64)
        self.cost: NDArray[np.float64] = record["cost"][new]
        self.damping: NDArray[np.float64] = record["damping"][new]
        self.errors: NDArray[np.float64] = record["errors"][new, loops:]
        self.q: NDArray[np.float64] = record["q"][new]

    def __len__(self) -> int:
        return len(self.q)

    def append(self, other: History, searches: int) -> None:
        """Append the history of later searches of the same problem, numbered from `searches` + 1."""
        self.search = np.concatenate([self.search, other.search + searches])
        for field in ("cost", "damping", "errors", "q"):
            setattr(self, field, np.concatenate([getattr(self, field), getattr(other, field)]))

    def end_at(self, q: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the poses, followed by `q` if it is not the last of them, (rows, nq)."""
        return self.q if len(self) and np.array_equal(self.q[-1], q) else np.concatenate([self.q, q[None]])

    def split_sweeps(self) -> NDArray[np.float64]:
        """Return the poses joint by joint, (poses, nq): a sweep of CCD moves one joint after the other.

        For other methods, whose joints move together, these are the recorded poses.
        """
        order, model = getattr(self._solver.options.method, "order", ""), self._solver.model
        joints = [joint for joint in model.joints if joint.nv][:: -1 if order == "outside_in" else 1] if order else []
        poses = list(self.q[:1])
        for before, after, same in zip(self.q[:-1], self.q[1:], np.diff(self.search) == 0, strict=True):
            step, part = model.difference(before, after), np.zeros(model.nv)
            for joint in [joint for joint in joints if same and step[joint.v].any()][:-1]:
                part[joint.v] = step[joint.v]
                poses.append(model.integrate(before, part))
            poses.append(after)
        return np.array(poses)

    @property
    def singular_values(self) -> NDArray[np.float64]:
        """Singular values of the goals' weighted Jacobian at every pose, (rows, k), descending."""
        solver = self._solver.with_targets(self._targets)
        values = [np.linalg.svd(solver.linearise(q)[0], compute_uv=False) for q in self.q]
        return np.array(values)

    def __repr__(self) -> str:
        return f"<History: {len(self)} poses, {len(set(self.search.tolist()))} searches>"
