"""The input of a batch for the kernels: contiguous rows, a stride, and a common leading shape."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from poise.errors import InvalidValue, ModelMismatch, ShapeMismatch, name_not_found
from poise.goals.flat import fill_places
from poise.goals.goal import POSE, POSITION, ROTATION, GoalRows
from poise.kinematics import Motion, Pose
from poise.model import Model
from poise.model.compare import name_mismatch
from poise.spatial import Rotation, Transform

__all__ = [
    "TAILS",
    "BatchRows",
    "fill_pairs",
    "find_lead",
    "name_targets",
    "read_placements",
    "read_reals",
    "read_starts",
    "read_targets",
    "read_transforms",
]

TAILS: dict[int, tuple[int, ...]] = {POSITION: (3,), ROTATION: (3, 3), POSE: (4, 4)}
WORDS = {POSITION: "points", ROTATION: "rotation matrices", POSE: "transforms"}


@dataclass(frozen=True, slots=True)
class BatchRows:
    """Rows of numbers of a batch.

    Attributes:
        name: The name of the goal, or "starts".
        array: The numbers, C-contiguous, with shape lead + tail.
        lead: The leading axes.
        width: The number of values in a row.
        given: The targets as given, for goals that convert them one by one to the kernels' numbers; otherwise None.
    """

    name: str
    array: NDArray[Any]
    lead: tuple[int, ...]
    width: int
    given: Sequence[Any] | None = None

    @property
    def raw(self) -> bool:
        """Whether the rows are already in the kernels' format."""
        return self.given is not None

    def read_row(self, k: int) -> Any:
        """Return row k of the flattened batch, as a single solver accepts it."""
        if self.given is not None:
            return self.given[k if len(self.given) > 1 else 0]
        rows = self.array.reshape(-1, *self.array.shape[len(self.lead) :])
        return np.array(rows[k if len(rows) > 1 else 0], dtype=np.float64)

    def widen(self, lead: tuple[int, ...]) -> BatchRows:
        """Return the rows broadcast to a larger leading shape; a single row for all stays a single row."""
        array, stride = self.spread(lead)
        return replace(self, array=array, lead=lead) if stride and not self.raw else self

    def spread(self, lead: tuple[int, ...]) -> tuple[NDArray[Any], int]:
        """Return the rows broadcast to a larger leading shape, and the stride between rows (0 for a single row)."""
        if self.lead == lead:
            return self.array, self.width
        if prod(self.lead) == 1:
            return self.array, 0
        tail = self.array.shape[len(self.lead) :]
        return np.ascontiguousarray(np.broadcast_to(self.array, lead + tail)), self.width


def name_targets(targets: Any, rows: Mapping[str, GoalRows]) -> dict[str, Any]:
    """Return the targets by goal name; a bare array belongs to the only goal.

    Raises:
        InvalidValue: A bare array is given, but there are several goals.
        NameNotFound: A name does not belong to a goal.
    """
    if not isinstance(targets, Mapping):
        if len(rows) != 1:
            raise InvalidValue(f"there are {len(rows)} goals; give targets as {{name: array}} for {', '.join(rows)}.")
        return {next(iter(rows)): targets}
    for name in targets:
        if name not in rows:
            raise name_not_found("goal", name, rows)
    if not targets:
        raise InvalidValue(f"targets is empty; give an array for at least one of {', '.join(rows)}.")
    return dict(targets)


def read_targets(name: str, value: Any, row: GoalRows) -> BatchRows:
    """Read the targets of one goal: (..., 3), (..., 2), (..., 3, 3) or (..., 4, 4), as the goal was made."""
    what = f"targets[{name!r}]"
    if isinstance(value, Transform) or (isinstance(value, Rotation) and row.op == ROTATION):
        value = value.matrix
    if row.op not in TAILS or row.ranged or row.local:
        return convert_one_by_one(name, value, row)
    tail = TAILS[row.op]
    array = fill_pairs(read_reals(value, what), row)
    if array.ndim < len(tail) or array.shape[array.ndim - len(tail) :] != tail:
        wanted = ", ".join(map(str, tail))
        raise ShapeMismatch(f"{what} has shape {array.shape}; the goal was made for {WORDS[row.op]}: (..., {wanted}).")
    return BatchRows(name, array, array.shape[: array.ndim - len(tail)], prod(tail))


def fill_pairs(array: Any, row: GoalRows, arrays: Any = np) -> Any:
    """Lift 2D targets (..., 2) to 3D. Raises for bodies that are not planar."""
    if row.third is None or not array.ndim or array.shape[-1] != 2:
        return array
    return fill_places(array, *row.third(), arrays)


def convert_one_by_one(name: str, value: Any, row: GoalRows) -> BatchRows:
    """Convert targets that only the goal can convert, one per row of the first axis."""
    try:
        given = list(value)
    except TypeError:
        raise InvalidValue(f"targets[{name!r}] must be a sequence of targets, one a row.") from None
    converted = np.array([row.convert(x) for x in given], dtype=np.float64).reshape(len(given), -1)
    if given and converted.shape[1] != len(row.target):
        raise ShapeMismatch(f"targets[{name!r}] are of another kind than the goal's own.")
    return BatchRows(name, converted, (len(given),), len(row.target), given)


def read_starts(model: Model, starts: Any) -> BatchRows:
    """Return the starts (..., nq) (default: the rest pose)."""
    if starts is None:
        starts = model.rest
    elif isinstance(starts, (Pose, Motion)):
        if starts.model != model:
            raise ModelMismatch(f"starts is {name_mismatch(starts.model, model)}.")
        starts = starts.q
    array = np.ascontiguousarray(read_reals(starts, "starts"), dtype=np.float64)
    if array.ndim == 0 or array.shape[-1] != model.nq:
        raise ShapeMismatch(f"starts has shape {array.shape}; its last axis must be {model.nq} (model.nq).")
    return BatchRows("starts", array, array.shape[:-1], model.nq)


def read_transforms(targets: Sequence[BatchRows], name: str, own: NDArray[np.float64], lead: tuple[int, ...]) -> Any:
    """Return the target transforms of a goal for each row of the flattened batch, (rows, 4, 4).

    Args:
        targets: The given targets.
        name: The name of the goal.
        own: The goal's own target, used if none is given: rotation and position in twelve numbers.
        lead: The leading axes of the batch.
    """
    given = [part.spread(lead)[0].reshape(-1, part.width) for part in targets if part.name == name]
    numbers = np.asarray(given[0] if given else own[None], dtype=np.float64)
    T = numbers.reshape(-1, 4, 4) if numbers.shape[1] == 16 else read_placements(numbers)
    return np.broadcast_to(T, (prod(lead), 4, 4))


def read_placements(numbers: NDArray[np.float64]) -> NDArray[np.float64]:
    """Convert rotations and positions of twelve numbers each to matrices (n, 4, 4)."""
    out = np.tile(np.eye(4), (len(numbers), 1, 1))
    out[:, :3, :3], out[:, :3, 3] = numbers[:, :9].reshape(-1, 3, 3), numbers[:, 9:12]
    return out


def read_reals(value: Any, what: str) -> NDArray[Any]:
    """Return a C-contiguous array of float64 or float32, without a copy if possible."""
    try:
        array = np.asarray(value)
    except (TypeError, ValueError) as error:  # rows of different lengths
        raise ShapeMismatch(f"{what} is not an array: {error}. Give every row the same shape.") from None
    if array.dtype.kind not in "fiu":
        given = repr(value) if value is None or isinstance(value, str) else f"an array of {array.dtype}"
        raise InvalidValue(f"{what} is {given}; give real numbers.")
    dtype = array.dtype if array.dtype in (np.float32, np.float64) else np.dtype(np.float64)
    return np.ascontiguousarray(array, dtype=dtype.newbyteorder("="))


def find_lead(parts: list[BatchRows]) -> tuple[int, ...]:
    """Return the common leading shape of the parts, by numpy's broadcasting rules.

    Raises:
        ShapeMismatch: The leading shapes do not broadcast.
    """
    longest = max((part.lead for part in parts), key=len)
    if all(part.lead in (longest, ()) for part in parts):
        return longest
    try:
        lead = np.broadcast_shapes(*(part.lead for part in parts))
    except ValueError:
        shapes = ", ".join(f"{part.name}: {part.lead}" for part in parts)
        raise ShapeMismatch(f"leading axes do not broadcast together: {shapes}.") from None
    return tuple(lead)
