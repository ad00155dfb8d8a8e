"""One test case for a student's function, and the description of errors in its answer."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from poise.textbook.rotations import Array


@dataclass(frozen=True)
class ExerciseCase:
    """The arguments of one call, and the textbook's answer.

    Attributes:
        about: a description of this case, such as "an arm of 3 joints".
        arguments: by name, in the order of the call.
        right: the textbook's answer; None if only `judge` decides.
        slips: returns answers with known mistakes, keyed by their description.
        tolerance: largest allowed deviation from `right`.
        judge: describes the error of an answer of the right shape, or returns None; by default a comparison with
            `right`.
    """

    about: str
    arguments: Mapping[str, Any]
    right: Array | None
    slips: Callable[[], Mapping[str, Array]] = dict
    tolerance: float = 1e-8
    judge: Callable[[Array], str | None] | None = None
    shape: tuple[int, ...] | None = None

    def ask(self, function: Callable[..., Any]) -> str | None:
        """Call the function once; return a description of the error, or None. Its exceptions are not caught."""
        given = {
            name: value.copy() if isinstance(value, np.ndarray) else value for name, value in self.arguments.items()
        }
        answer = function(*given.values())
        for name, value in self.arguments.items():
            if isinstance(value, np.ndarray) and not np.array_equal(given[name], value):
                return f"it changes its argument {name}. Work on a copy: {name}.copy()."
        return self.read(answer)

    def read(self, answer: Any) -> str | None:
        """Return a description of the error in an answer, or None."""
        if answer is None:
            return "it returns None. Does it end with a return?"
        try:
            array = np.asarray(answer, dtype=float)
        except (TypeError, ValueError):
            return f"it returns {type(answer).__name__}, and an array of numbers is wanted."
        wanted = self.right.shape if self.right is not None else self.shape
        if wanted is not None and array.shape != wanted:
            return self._describe_shape(array, wanted)
        if not np.isfinite(array).all():
            return "its answer holds NaN or infinity: is something divided by zero?"
        return self.judge(array) if self.judge is not None else self._compare(array)

    def _describe_shape(self, array: Array, wanted: tuple[int, ...]) -> str:
        said = f"it returns the shape {array.shape}, and {wanted} is wanted"
        if array.ndim == 2 and array.T.shape == wanted:
            return f"{said}: rows and columns are exchanged. Transpose it (.T)."
        if array.size == np.prod(wanted):
            return f"{said}: as many numbers, in another form."
        return f"{said}."

    def _compare(self, array: Array) -> str | None:
        assert self.right is not None
        if np.allclose(array, self.right, rtol=0.0, atol=self.tolerance):
            return None
        for words, slip in self.slips().items():
            if slip.shape == array.shape and np.allclose(array, slip, rtol=1e-6, atol=self.tolerance):
                return words
        if np.allclose(array, -self.right, rtol=0.0, atol=self.tolerance):
            return "the sign is wrong: every number is the negative of what it should be."
        times = float((array * self.right).sum() / max((self.right**2).sum(), 1e-300))
        if times != 0.0 and np.allclose(array, times * self.right, rtol=1e-3, atol=1e-3 * np.abs(array).max()):
            return f"every number is {times:.3g} times what it should be: a factor is wrong."
        return self._describe_farthest(array)

    def _describe_farthest(self, array: Array) -> str:
        assert self.right is not None
        gap = np.abs(array - self.right)
        place = np.unravel_index(int(gap.argmax()), gap.shape)
        off = int((gap > self.tolerance).sum())
        where = f"[{', '.join(str(int(i)) for i in place)}]"
        return (
            f"{off} of {gap.size} numbers are off. The farthest is at {where}:"
            f" it is {array[place]:.6g}, and {self.right[place]:.6g} is right."
        )
