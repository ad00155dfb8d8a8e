"""One test case for a student's function, and the description of errors in its answer."""

import os
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np

import poise
from poise.textbook.rotations import Array

POISE, HERE = (str(Path(file).parent) + os.sep for file in (poise.__file__, __file__))
SOLVING = ("answers", "batch", "methods", "motion", "rig", "solvers", "textbook")  # packages that contain the answers


@contextmanager
def watch_calls() -> Iterator[list[str]]:
    """Watch for functions of Poise that solve an exercise, called from outside Poise; their packages fill the list."""
    called: list[str] = []

    def watch(frame: FrameType, event: str, _: object) -> None:
        code, caller = frame.f_code, frame.f_back
        if event != "call" or called or not code.co_filename.startswith(POISE):
            return
        package = Path(code.co_filename[len(POISE) :]).parts[0]
        if caller is not None and caller.f_code.co_filename == f"{POISE}keywords.py":  # it only checks the arguments
            caller = caller.f_back
        outside = caller is None or not caller.f_code.co_filename.startswith((POISE, HERE))
        if package in SOLVING and outside and code.co_name != "<module>":  # an import calls no function
            called.append(f"poise.{package}")

    before = sys.getprofile()
    sys.setprofile(watch)
    try:
        yield called
    finally:
        sys.setprofile(before)


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
        with watch_calls() as called:
            answer = function(*given.values())
        if called:
            return (
                f"it calls {called[0]}. Write it yourself; fk, jacobian, integrate and clamp of the model are allowed."
            )
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

    def distinct_slips(self) -> dict[str, Array]:
        """Return the answers with known mistakes, without those that make no difference here."""
        return {
            words: slip
            for words, slip in self.slips().items()
            if self.right is None or slip.shape != self.right.shape or np.abs(slip - self.right).max() > self.tolerance
        }

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
        for words, slip in self.distinct_slips().items():
            if slip.shape == array.shape and np.allclose(array, slip, rtol=1e-6, atol=self.tolerance):
                return words
        if np.allclose(array, -self.right, rtol=0.0, atol=self.tolerance):
            return "the sign is wrong: every number is the negative of what it should be."
        if np.abs(array).max() > 1e6 * max(1.0, np.abs(self.right).max()):
            return "its numbers are huge: a singular value that is zero up to rounding is inverted. Give pinv an rcond."
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
