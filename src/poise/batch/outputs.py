"""The output arrays of a batch: new ones, or the caller's own (`out=`), which must match exactly."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from poise.batch.solution import CODES, UNREACHABLE, BatchSolution
from poise.errors import InvalidValue, ShapeMismatch, name_not_found
from poise.model import Model
from poise.solvers import Status

__all__ = ["SMALL", "Block", "Outputs"]

SMALL = 4096  # rows: smaller batches on a device share one block of memory
ALIGNED = 256  # bytes: alignment of arrays that other libraries expect
FIELDS = ("q", "errors", "codes", "steps", "searches", "reached")


@dataclass(frozen=True, slots=True)
class Outputs:
    """The arrays that a batch fills.

    Attributes:
        q: Configurations, (B, [k,] nq).
        errors: Errors [m, rad], (B, [k,] goals, 2).
        codes: Status codes, (B, [k]) int8.
        steps: Number of steps, (B,) int32.
        searches: Number of searches, (B,) int32.
        reached: Whether the goals are reached, (B, [k]) bool.
    """

    q: NDArray[Any]
    errors: NDArray[np.float64]
    codes: NDArray[np.int8]
    steps: NDArray[np.int32]
    searches: NDArray[np.int32]
    reached: NDArray[np.bool_]

    @classmethod
    def make(
        cls,
        lead: tuple[int, ...],
        model: Model,
        goals: int,
        dtype: np.dtype[Any],
        solutions: int,
        out: Any,
        xp: Any = np,
    ) -> Outputs:
        """Allocate arrays in numpy or CuPy, except those that `out` provides."""
        wide = (*lead, solutions) if solutions > 1 else lead
        shapes: dict[str, tuple[tuple[int, ...], Any]] = {
            "q": ((*wide, model.nq), dtype),
            "errors": ((*wide, goals, 2), np.float64),
            "codes": (wide, np.int8),
            "steps": (lead, np.int32),
            "searches": (lead, np.int32),
            "reached": (wide, np.bool_),
        }
        given = name_outputs(out)
        for name, array in given.items():
            check(name, array, *shapes[name], xp)
        return cls(**{name: given[name] if name in given else xp.empty(*shapes[name]) for name in FIELDS})

    def block(self, rows: NDArray[np.bool_]) -> None:
        """Mark rows (B,) as in collision whatever their pose, except those out of reach or invalid."""
        if not rows.any():
            return
        codes = self.codes.reshape(*self.steps.shape, -1)
        rows = rows & (codes[..., 0] != UNREACHABLE) & (codes[..., 0] != CODES.index(Status.INVALID))
        q, errors = self.q.reshape(*codes.shape, -1), self.errors.reshape(*codes.shape, -1, 2)
        codes[rows, 0], codes[rows, 1:] = CODES.index(Status.IN_COLLISION), CODES.index(Status.STALLED)
        q[rows, 1:], errors[rows, 1:] = np.nan, np.nan

    @property
    def places(self) -> dict[str, tuple[int, int]]:
        """Address and bytes per row of each array, on a device."""
        rows = max(1, self.steps.size)
        return {name: (array.data.ptr, array.nbytes // rows) for name in FIELDS for array in [getattr(self, name)]}

    def make_solution(
        self,
        model: Model,
        names: Sequence[str],
        back: Callable[[Any], Any] | None = None,
        complete: Callable[[], Any] | None = None,
    ) -> BatchSolution:
        """Return the answers with the goals' names, each array passed through `back`."""
        turn = back if back is not None else lambda x: x
        errors = {name: turn(self.errors[..., i, :]) for i, name in enumerate(names)}
        q, codes, steps, searches, reached = map(turn, (self.q, self.codes, self.steps, self.searches, self.reached))
        return BatchSolution(model, q, codes, errors, steps, searches, reached, complete)


class Block:
    """New outputs of a small batch on a device, in one block of memory.

    Six allocations, and arrays that are never read, would take the host longer than the device needs for the batch. So
    the arrays are created on first access.

    Args:
        lead: The leading axes of the batch.
        model: The body.
        goals: The number of goals.
        dtype: The dtype of `q`.
        xp: The array library of the device.
    """

    def __init__(self, lead: tuple[int, ...], model: Model, goals: int, dtype: np.dtype[Any], xp: Any) -> None:
        self.xp, self.lead, self.goals, self.nq, self.dtype = xp, lead, goals, model.nq, dtype
        rows = prod(lead)
        widths = {"errors": 16 * goals, "q": dtype.itemsize * model.nq, "steps": 4, "searches": 4}
        widths |= {"codes": 1, "reached": 1}
        self.block = xp.empty(sum(rows * width + ALIGNED for width in widths.values()), np.uint8)
        self.places: dict[str, tuple[int, int]] = {}
        at = self.block.data.ptr
        for name, width in widths.items():
            self.places[name] = (at, width)
            at += (rows * width // ALIGNED + 1) * ALIGNED

    def read_array(self, name: str) -> Any:
        """Return one of the arrays."""
        tail, dtype = {"errors": ((self.goals, 2), np.float64), "q": ((self.nq,), self.dtype)}.get(
            name, ((), {"codes": np.int8, "reached": np.bool_}.get(name, np.int32))
        )
        return self.xp.ndarray(
            self.lead + tail, dtype, memptr=self.block.data + (self.places[name][0] - self.block.data.ptr)
        )

    def make_solution(
        self, model: Model, names: Sequence[str], back: Callable[[Any], Any] | None = None
    ) -> BatchSolution:
        """Return the answers with the goals' names, each array passed through `back`."""
        turn = back if back is not None else lambda x: x

        def make(name: str) -> Any:
            if name == "complete":
                return turn(self.read_array("codes") == UNREACHABLE)
            if name != "errors":
                return turn(self.read_array(name))
            whole = self.read_array("errors")
            return {goal: turn(whole[..., i, :]) for i, goal in enumerate(names)}

        return BatchSolution.make_lazily(model, make)


def name_outputs(out: Any) -> dict[str, Any]:
    """Return the caller's arrays by field."""
    if out is None:
        return {}
    if isinstance(out, BatchSolution):
        fields = {name: getattr(out, name) for name in FIELDS if name != "errors"}
        base = getattr(next(iter(out.errors.values())), "base", None) if out.errors else None
        return {**fields, "errors": base} if base is not None else fields
    if isinstance(out, Mapping):
        for name in out:
            if name not in FIELDS:
                raise name_not_found("field of out", name, FIELDS)
        return dict(out)
    return {"q": out}


def check(name: str, array: Any, shape: tuple[int, ...], dtype: Any, xp: Any) -> None:
    """Raise an error if an array cannot be filled in place."""
    what = f"out[{name!r}]"
    if not isinstance(array, xp.ndarray):
        raise InvalidValue(f"{what} must be a {xp.__name__} array, not {type(array).__name__}.")
    if array.shape != shape:
        raise ShapeMismatch(f"{what} has shape {array.shape}; it must be {shape}.")
    if array.dtype != np.dtype(dtype):
        raise InvalidValue(f"{what} is an array of {array.dtype}; it must be {np.dtype(dtype)}.")
    if not array.flags.c_contiguous:
        raise InvalidValue(f"{what} is not C-contiguous; it must be, because it is filled in place.")
    if not getattr(array.flags, "writeable", True):
        raise InvalidValue(f"{what} is read-only.")
