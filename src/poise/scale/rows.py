"""Work on rows: maps a table to a table. A row's answer does not depend on the number of threads or the batch size."""

from collections.abc import Callable, Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from poise.batch import BatchSolution, BatchSolver
from poise.batch.solution import CODES, copy_to_host
from poise.errors import FormatError
from poise.model import Model
from poise.native.gpu import load_cupy
from poise.scale.columns import (
    NEEDED,
    TargetColumns,
    find_prefix,
    list_known_columns,
    name_q,
    read_matrix,
    split_transforms,
)
from poise.solvers import Status

__all__ = ["FkRows", "RowWork", "SolveRows"]

Progress = Callable[[int, int], Any]
STATUS = np.array([str(status) for status in CODES], dtype=object)
INVALID = CODES.index(Status.INVALID)


class RowWork(Protocol):
    """Prepared work on rows."""

    def list_columns(self, names: Sequence[str], where: str) -> list[str]:
        """List the columns to read from a table with these column names; raises if some are missing."""
        ...

    def compute(self, table: Any, where: str, progress: Progress | None = None) -> dict[str, Any]:
        """Return the columns of the answer."""
        ...


class SolveRows:
    """`solve_batch` on the rows of tables.

    Args:
        model: The body.
        goals: The goals; columns provide the targets of each row.
        options: The options of `solve_batch`.
        device: "cpu" or "gpu".
        threads: The number of threads; by default one per core.
    """

    def __init__(
        self, model: Model, goals: Any, options: dict[str, Any], device: str = "cpu", threads: int | None = None
    ) -> None:
        self.model, self.device = model, device
        self.solver = BatchSolver(model, goals, threads=threads, **options)
        self._alone = len([row for row in self.solver.rows.values() if row.op in NEEDED]) == 1

    def find_targets(self, names: Sequence[str], where: str) -> list[TargetColumns]:
        """List the target columns of all goals that have some in the table."""
        goals = self.solver.rows.items()
        found = [TargetColumns.find(goal, row, names, self._alone, where) for goal, row in goals]
        if not (out := [each for each in found if each is not None]):
            wanted = "; ".join(
                f"{'' if self._alone else goal + '.'}{' '.join(NEEDED[row.op])}"
                for goal, row in goals
                if row.op in NEEDED
            )
            raise FormatError(f"has no target: it needs the columns {wanted}, and {list_known_columns(names)}", where)
        return out

    def has_starts(self, names: Sequence[str], where: str) -> bool:
        """Return whether a table has start poses: all of q0 q1 ..., or none of them."""
        own = name_q(self.model.nq)
        missing = [name for name in own if name not in names]
        if missing and len(missing) < len(own):
            raise FormatError(f"has no column {', '.join(map(repr, missing))}; {list_known_columns(names)}", where)
        return not missing and bool(own)

    def list_columns(self, names: Sequence[str], where: str) -> list[str]:
        """List the columns; see `RowWork`."""
        out = [column for each in self.find_targets(names, where) for column in each.columns]
        return out + (name_q(self.model.nq) if self.has_starts(names, where) else [])

    def compute(self, table: Any, where: str, progress: Progress | None = None) -> dict[str, Any]:
        """Return the answers as columns; see `RowWork`."""
        targets, good = {}, np.ones(table.num_rows, dtype=bool)
        for each in self.find_targets(table.column_names, where):
            targets[each.goal], fine = each.read(table, where)
            good &= True if fine is None else fine
        starts = None
        if self.has_starts(table.column_names, where):
            starts = read_matrix(table, name_q(self.model.nq), where)
        if good.all():
            return self._name(self._solve(targets, starts, progress), good)
        part = {name: x[good] for name, x in targets.items()}
        return self._name(self._solve(part, None if starts is None else starts[good], progress), good)

    def _solve(self, targets: dict[str, Any], starts: Any, progress: Progress | None) -> BatchSolution:
        if self.device == "gpu" and len(next(iter(targets.values()))):
            xp = load_cupy()
            on = {name: xp.asarray(x) for name, x in targets.items()}
            return self.solver.solve(on, None if starts is None else xp.asarray(starts), progress=progress)
        return self.solver.solve(targets, starts, progress=progress)

    def _name(self, answer: BatchSolution, good: NDArray[np.bool_]) -> dict[str, Any]:
        """Return the answer as columns; rows with an invalid target get the status INVALID."""
        several = self.solver.solutions
        wide = expand_rows(copy_to_host(answer.codes), good, several, INVALID)
        q = expand_rows(copy_to_host(answer.q), good, several, np.nan)
        out: dict[str, Any] = {"answer": np.tile(np.arange(several, dtype=np.int32), len(good))} if several > 1 else {}
        out |= {name: np.ascontiguousarray(q[:, k]) for k, name in enumerate(name_q(self.model.nq))}
        out |= {"reached": wide == 0, "status": STATUS[wide]}
        for name in ("steps", "searches"):
            out[name] = np.repeat(expand_rows(copy_to_host(getattr(answer, name)), good, 1, 0), several)
        for goal, errors in answer.errors.items():
            left = expand_rows(copy_to_host(errors), good, several, np.nan)
            out[f"error.{goal}.m"], out[f"error.{goal}.rad"] = (np.ascontiguousarray(left[:, k]) for k in (0, 1))
        return out


def expand_rows(array: NDArray[Any], good: NDArray[np.bool_], several: int, nothing: Any) -> NDArray[Any]:
    """Expand an array of the good rows to all rows; several answers of a row become consecutive rows."""
    rows = array.reshape(-1, several, *array.shape[1 + (several > 1) :])
    if not good.all():
        whole = np.full((len(good), *rows.shape[1:]), nothing, dtype=rows.dtype)
        whole[good] = rows
        rows = whole
    return rows.reshape(-1, *rows.shape[2:])


class FkRows:
    """The forward kinematics of frames at the poses of tables.

    Args:
        model: The body.
        frames: The frames; if there are several, their names are the prefixes of their columns.
    """

    def __init__(self, model: Model, frames: Sequence[str]) -> None:
        self.model, self.frames = model, tuple(model.frame(name).name for name in frames)

    def list_columns(self, names: Sequence[str], where: str) -> list[str]:
        """List the columns; see `RowWork`."""
        own = name_q(self.model.nq)
        if missing := [name for name in own if name not in names]:
            raise FormatError(f"has no column {', '.join(map(repr, missing))}; {list_known_columns(names)}", where)
        return own

    def compute(self, table: Any, where: str, progress: Progress | None = None) -> dict[str, Any]:
        """Return the transforms as columns; for an invalid pose `valid` is False and its transforms are NaN."""
        q = read_matrix(table, self.list_columns(table.column_names, where), where)
        good = find_poses(self.model, q)
        q[~good] = self.model.rest
        out: dict[str, Any] = {}
        for frame in self.frames:
            prefix = find_prefix(frame, ("x",), ("x",), len(self.frames) == 1)
            out |= split_transforms(self.model.fk(q, frame), prefix)
        for column in out.values():
            column[~good] = np.nan
        if progress is not None:
            progress(len(q), len(q))
        return out | {"valid": good}


def find_poses(model: Model, q: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Return a mask of the rows that are valid poses: finite, with nonzero quaternions."""
    good: NDArray[np.bool_] = np.array(np.isfinite(q).all(axis=1))
    for joint in model.joints:
        if joint.quaternion:
            wxyz = np.where(good[:, None], q[:, joint.q.stop - 4 : joint.q.stop], 1.0)
            good &= np.linalg.norm(wxyz, axis=1) > 1e-9
    return good
