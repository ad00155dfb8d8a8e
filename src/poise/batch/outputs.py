"""Where the answers go: fresh arrays, or the caller's own (`out=`), which must fit exactly."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from poise.batch.solution import BatchSolution
from poise.errors import InvalidValue, ShapeMismatch, name_not_found
from poise.model import Model

__all__ = ["Outputs"]

FIELDS = ("q", "errors", "codes", "steps", "searches", "reached")


@dataclass(frozen=True, slots=True)
class Outputs:
    """The arrays that a batch fills.

    Attributes:
        q: (B, [k,] nq).
        errors: (goals, B, [k,] 2) would be one array a goal; the kernels write (B, [k,] goals, 2).
        codes: (B, [k]) int8.
        steps: (B,) int32.
        searches: (B,) int32.
        reached: The caller's own, if given.
    """

    q: NDArray[Any]
    errors: NDArray[np.float64]
    codes: NDArray[np.int8]
    steps: NDArray[np.int32]
    searches: NDArray[np.int32]
    reached: NDArray[np.bool_] | None

    @classmethod
    def make(
        cls, lead: tuple[int, ...], model: Model, goals: int, dtype: np.dtype[Any], solutions: int, out: Any
    ) -> Outputs:
        """Fresh arrays, but for those that `out` holds."""
        wide = (*lead, solutions) if solutions > 1 else lead
        shapes: dict[str, tuple[tuple[int, ...], Any]] = {
            "q": ((*wide, model.nq), dtype),
            "errors": ((*wide, goals, 2), np.float64),
            "codes": (wide, np.int8),
            "steps": (lead, np.int32),
            "searches": (lead, np.int32),
            "reached": (wide, np.bool_),
        }
        given = named(out)
        for name, array in given.items():
            check(name, array, *shapes[name])
        made = {name: given[name] if name in given else np.empty(*shapes[name]) for name in FIELDS[:-1]}
        return cls(**made, reached=given.get("reached"))

    def solution(self, model: Model, names: Sequence[str]) -> BatchSolution:
        """The answers with the goals' names."""
        reached = self.codes == 0
        if self.reached is not None:
            np.copyto(self.reached, reached)
            reached = self.reached
        errors = {name: self.errors[..., i, :] for i, name in enumerate(names)}
        return BatchSolution(model, self.q, self.codes, errors, self.steps, self.searches, reached)


def named(out: Any) -> dict[str, Any]:
    """The caller's arrays by field."""
    if out is None:
        return {}
    if isinstance(out, BatchSolution):
        fields = {name: getattr(out, name) for name in FIELDS if name != "errors"}
        base = next(iter(out.errors.values())).base if out.errors else None
        return {**fields, "errors": base} if isinstance(base, np.ndarray) else fields
    if isinstance(out, Mapping):
        for name in out:
            if name not in FIELDS:
                raise name_not_found("field of out", name, FIELDS)
        return dict(out)
    return {"q": out}


def check(name: str, array: Any, shape: tuple[int, ...], dtype: Any) -> None:
    """Refuses an array that cannot be filled as it stands."""
    what = f"out[{name!r}]"
    if not isinstance(array, np.ndarray):
        raise InvalidValue(f"{what} must be a numpy array, not {type(array).__name__}.")
    if array.shape != shape:
        raise ShapeMismatch(f"{what} has shape {array.shape}; it must be {shape}.")
    if array.dtype != np.dtype(dtype):
        raise InvalidValue(f"{what} is an array of {array.dtype}; it must be {np.dtype(dtype)}.")
    if not array.flags.c_contiguous:
        raise InvalidValue(f"{what} is not C-contiguous; it must be, because it is filled in place.")
    if not array.flags.writeable:
        raise InvalidValue(f"{what} is read-only.")
