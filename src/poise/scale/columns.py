"""The flat numeric columns that a job reads and writes, and their conversion to arrays.

    id                                          identifies a row; the row number if the table has no such column
    x y z  qw qx qy qz                          a position [m] and a rotation; with several goals or frames, "hand_l.x"
    value                                       the target of a distance [m] or an angle [rad]
    q0 q1 ...                                   a pose: the start of a search, the input of FK, the answer
    reached status steps searches               the outcome of a row
    error.<goal>.m  error.<goal>.rad            the remaining error of a goal
    answer                                      0, 1, ... if a job has several answers per row

There are no list or tensor columns: every Parquet reader supports flat columns, and reads them quickly.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from poise.arrays import Floats
from poise.errors import FormatError
from poise.goals.goal import GoalRows
from poise.native import core
from poise.spatial import Rotation

__all__ = ["PLACE", "TURN", "TargetColumns", "find_prefix", "name_q", "read_column", "read_matrix", "split_transforms"]

Op = core.GoalOp
PLACE, TURN, VALUE = ("x", "y", "z"), ("qw", "qx", "qy", "qz"), ("value",)
NEEDED = {
    Op.POSITION: PLACE,
    Op.ROTATION: TURN,
    Op.POSE: PLACE + TURN,
    Op.LOOK: PLACE,
    Op.ALIGN: PLACE,
    Op.COM: PLACE,
    Op.DISTANCE: VALUE,
    Op.ANGLE: VALUE,
}


def name_q(count: int) -> list[str]:
    """Return the column names of a pose."""
    return [f"q{k}" for k in range(count)]


@dataclass(frozen=True)
class TargetColumns:
    """The columns that hold the target of one goal.

    Attributes:
        goal: The goal's name.
        op: The kind of target.
        columns: The names of the columns in the table.
    """

    goal: str
    op: core.GoalOp
    columns: tuple[str, ...]

    @classmethod
    def find(cls, goal: str, row: GoalRows, names: Sequence[str], alone: bool, where: str) -> TargetColumns | None:
        """Return the columns of a goal's target, or None if the table has none of them (the goal's own target is used).

        Raises:
            FormatError: Some of the columns are missing.
        """
        needed = NEEDED.get(row.op)
        if needed is None or (row.ranged and needed != VALUE):
            return None
        prefix = find_prefix(goal, needed, names, alone)
        columns = tuple(prefix + name for name in needed)
        missing = [name for name in columns if name not in names]
        if len(missing) == len(columns):
            return None
        if missing:
            raise FormatError(f"has no column {', '.join(map(repr, missing))}; {list_known_columns(names)}", where)
        return cls(goal, row.op, columns)

    def read(self, table: Any, where: str) -> tuple[Any, NDArray[np.bool_] | None]:
        """Return targets for `solve_batch`, and a mask of valid rows if one bad row would make it reject all."""
        numbers = np.stack([read_column(table, name, where) for name in self.columns], axis=1)
        if self.op == Op.POSITION:
            return numbers, None
        if self.op in (Op.POSE, Op.ROTATION):
            return make_matrices(numbers, self.op == Op.POSE), None
        good: NDArray[np.bool_] = np.array(np.isfinite(numbers).all(axis=1))
        if self.op == Op.ALIGN:
            good &= np.linalg.norm(np.where(np.isfinite(numbers), numbers, 0.0), axis=1) > 0.0
        return (numbers[:, 0] if self.columns[-1].endswith("value") else numbers), good


def find_prefix(name: str, needed: Sequence[str], names: Sequence[str], alone: bool) -> str:
    """Return the column prefix of a goal or frame: its name and a dot, or "" if it is the only one."""
    return "" if alone and any(each in names for each in needed) else f"{name}."


def list_known_columns(names: Sequence[str]) -> str:
    """Return a sentence that lists the columns of a table."""
    return f"it has {', '.join(map(repr, names)) or 'none'}."


def read_column(table: Any, name: str, where: str) -> Floats:
    """Return a column of numbers; missing values become NaN.

    Raises:
        FormatError: The column does not hold numbers.
    """
    import pyarrow

    column = table.column(name)
    kind = column.type
    if not (pyarrow.types.is_floating(kind) or pyarrow.types.is_integer(kind) or pyarrow.types.is_null(kind)):
        raise FormatError(f"column {name!r} is of type {kind}; it must hold numbers.", where)
    return np.asarray(column.cast(pyarrow.float64()).to_numpy(), dtype=np.float64)


def read_matrix(table: Any, names: Sequence[str], where: str) -> Floats:
    """Return several numeric columns as a C-contiguous array (rows, columns)."""
    out = np.empty((table.num_rows, len(names)))
    for k, name in enumerate(names):
        out[:, k] = read_column(table, name, where)
    return out


def make_matrices(numbers: Floats, with_place: bool) -> Floats:
    """Convert x y z qw qx qy qz to transforms (rows, 4, 4) or rotations (rows, 3, 3); invalid rotations become NaN."""
    wxyz = numbers[:, -4:]
    with np.errstate(over="ignore", invalid="ignore"):
        length = np.linalg.norm(wxyz, axis=1)
    good = np.isfinite(length) & (length > 1e-9)
    turned = Rotation(np.where(good[:, None], wxyz, (1.0, 0.0, 0.0, 0.0))).matrix
    turned[~good] = np.nan
    if not with_place:
        return turned
    out = np.zeros((len(numbers), 4, 4))
    out[:, :3, :3], out[:, :3, 3], out[:, 3, 3] = turned, numbers[:, :3], 1.0
    return out


def split_transforms(T: Floats, prefix: str) -> dict[str, Floats]:
    """Split transforms (rows, 4, 4) into columns."""
    numbers = np.concatenate([T[:, :3, 3], Rotation.from_matrix(T[:, :3, :3]).wxyz], axis=1)
    return {prefix + name: np.ascontiguousarray(numbers[:, k]) for k, name in enumerate(PLACE + TURN)}
