"""BatchSolution: the results of a batch, as arrays."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from poise.errors import GoalsMissed
from poise.kinematics import Pose
from poise.model import Model
from poise.native import core
from poise.solvers import Status

__all__ = ["CODES", "BatchSolution"]

CODES = tuple(Status[row.name] for row in sorted(core.RowStatus))  # in the order of the kernels' codes
UNREACHABLE = CODES.index(Status.UNREACHABLE)


class BatchSolution:
    """The answers of a batch. `B` stands for the leading axes of the targets, `k` for `solutions` above 1.

    Attributes:
        model: The body.
        q: (B, [k,] nq): the best configurations, inside the limits. NaN for an invalid start, and for rows with fewer
            than k answers.
        reached: (B, [k]): whether every goal is within its tolerance and every limit is kept, by a float64 check of
            `q`.
        errors: The remaining error of each goal: {name: (B, [k,] 2)}, metres and radians.
        steps: (B,): number of steps, over all searches; of a large body on a GPU, over those whose pose was kept.
        searches: (B,): number of searches.
        codes: (B, [k]): `status` as integers, indices into `poise.batch.solution.CODES`.
        complete: (B,): whether the row is proved to list every answer; computed on first access. For seven joints:
            whether every arc of the free joint has an answer. False without a closed form (`model.family(frame)`), and
            for reached rows with `solutions=1`. A row that is proved out of reach is complete.

    On a GPU the arrays belong to the same library as the targets.
    """

    _make: Callable[[str], Any]
    __slots__ = ("_make", "codes", "complete", "errors", "model", "q", "reached", "searches", "steps")

    def __init__(
        self,
        model: Model,
        q: Any,
        codes: Any,
        errors: Mapping[str, Any],
        steps: Any,
        searches: Any,
        reached: Any,
        complete: Callable[[], Any] | None = None,
    ) -> None:
        self.model = model
        self.q = q
        self.codes = codes
        self.reached = reached
        self.errors = dict(errors)
        self.steps = steps
        self.searches = searches
        self._make = lambda _: self.codes == UNREACHABLE if complete is None else complete()

    @classmethod
    def make_lazily(cls, model: Model, make: Callable[[str], Any]) -> BatchSolution:
        """Return a solution whose arrays are created by `make(name)` on first access."""
        made = object.__new__(cls)
        made.model, made._make = model, make
        return made

    def __getattr__(self, name: str) -> Any:
        if name == "_make" or name not in self.__slots__:
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        value = self._make(name)
        setattr(self, name, value)
        return value

    def __getstate__(self) -> tuple[None, dict[str, Any]]:
        return None, {name: getattr(self, name) for name in self.__slots__ if name != "_make"}

    @property
    def status(self) -> NDArray[np.object_]:
        """(B, [k]): the result of each row, as `Status`; copied from the device if necessary."""
        names = np.empty(len(CODES), dtype=object)
        names[:] = CODES
        found: NDArray[np.object_] = names[copy_to_host(self.codes)]
        return found

    @property
    def counts(self) -> dict[Status, int]:
        """The number of rows with each status; for several solutions, the status of the first."""
        codes = copy_to_host(self.codes)
        first = codes if codes.ndim == copy_to_host(self.steps).ndim else codes[..., 0]
        tally = np.bincount(first.astype(np.intp).ravel(), minlength=len(CODES))
        return {status: int(n) for status, n in zip(CODES, tally, strict=True) if n}

    @property
    def missed(self) -> NDArray[np.intp]:
        """Rows (of the flattened batch) that are not reached; for several solutions, those without any answer."""
        reached = copy_to_host(self.reached)
        first = reached if reached.ndim == copy_to_host(self.steps).ndim else reached[..., 0]
        return np.flatnonzero(~first.ravel())

    def pose(self, row: int | tuple[int, ...], solution: int = 0) -> Pose:
        """Return the pose of one row."""
        index = (row,) if isinstance(row, (int, np.integer)) else tuple(row)
        several = copy_to_host(self.codes).ndim > copy_to_host(self.steps).ndim
        return Pose(
            self.model, np.asarray(copy_to_host(self.q)[(*index, solution) if several else index], dtype=np.float64)
        )

    def raise_if_missed(self) -> BatchSolution:
        """Return the batch itself if every row was reached, otherwise raise GoalsMissed.

        Raises:
            GoalsMissed: A row was missed; the message contains the counts and the first rows.
        """
        missed = self.missed
        if len(missed):
            raise GoalsMissed(f"{self!r}; missed rows {', '.join(map(str, missed[:10]))}{' ...' * (len(missed) > 10)}")
        return self

    def __len__(self) -> int:
        return len(self.q)

    def __repr__(self) -> str:
        parts = ", ".join(f"{n} {status}" for status, n in self.counts.items())
        return f"<BatchSolution of {self.model.name!r}: {parts or 'empty'}>"

    def __str__(self) -> str:
        total = max(1, sum(self.counts.values()))
        lines = [f"{'status':14}{'rows':>10}{'%':>9}"]
        lines += [f"{status!s:14}{n:>10}{100 * n / total:>9.2f}" for status, n in self.counts.items()]
        lines.append(f"{'mean steps':14}{float(np.mean(copy_to_host(self.steps))) if total else 0.0:>10.1f}")
        for name, errors in self.errors.items():
            worst = np.nanmax(copy_to_host(errors).reshape(-1, 2), axis=0, initial=0.0)
            lines.append(f"{name}: worst {worst[0]:.2e} m, {worst[1]:.2e} rad")
        return "\n".join(lines)


def copy_to_host(array: Any) -> NDArray[Any]:
    """Return an array of any library or device as a numpy array."""
    if isinstance(array, np.ndarray):
        return array
    for method in ("get", "cpu"):  # CuPy; PyTorch
        if hasattr(array, method):
            return np.asarray(getattr(array, method)())
    return np.asarray(array)
