"""The list of exercises, and the check of a file with an answer."""

from __future__ import annotations

import runpy
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from poise.textbook.exercises.case import ExerciseCase
from poise.textbook.exercises.kinematic import ask_cross_product_jacobian, ask_forward_kinematics, ask_numeric_jacobian
from poise.textbook.exercises.loops import ask_ccd_sweep, ask_whole_body
from poise.textbook.exercises.steps import (
    ask_damped_step,
    ask_pseudoinverse,
    ask_singular_pseudoinverse,
    ask_transpose_of_nothing,
    ask_transpose_step,
)

Ask = Callable[[np.random.Generator, int], ExerciseCase]


@dataclass(frozen=True)
class Exercise:
    """A function for a student to write, and its test cases.

    Attributes:
        title: its topic.
        function: the name of the function in the student's file.
        arguments: their names, in the order of the call.
        asks: the case generators, each with the number of joints of the arm.
    """

    title: str
    function: str
    arguments: tuple[str, ...]
    asks: tuple[tuple[Ask, int], ...]

    @property
    def signature(self) -> str:
        """The signature of the function, without the ``def``."""
        return f"{self.function}({', '.join(self.arguments)})"

    def judge(self, function: Callable[..., Any], seed: int = 0) -> str | None:
        """Try every case; return a description of the first error, or None. Exceptions are reported."""
        rng = np.random.default_rng(seed)
        for number, (ask, joints) in enumerate(self.asks, 1):
            trial = ask(rng, joints)
            try:
                wrong = trial.ask(function)
            except Exception as error:
                wrong = f"it raises {_describe_error(error, function)}"
            if wrong is not None:
                return f"question {number} of {len(self.asks)}, {trial.about}: {wrong}"
        return None


EXERCISES = {
    1: Exercise(
        "forward kinematics",
        "forward_kinematics",
        ("offsets", "axes", "angles"),
        tuple((ask_forward_kinematics, n) for n in (1, 2, 3, 7)),
    ),
    2: Exercise(
        "the Jacobian by cross products",
        "jacobian",
        ("axes", "pivots", "tip"),
        tuple((ask_cross_product_jacobian, n) for n in (2, 3, 7)),
    ),
    3: Exercise(
        "the Jacobian by differences",
        "numeric_jacobian",
        ("position", "angles", "step"),
        tuple((ask_numeric_jacobian, n) for n in (2, 3, 7)),
    ),
    4: Exercise(
        "the transpose",
        "transpose_step",
        ("jacobian", "error"),
        (*((ask_transpose_step, n) for n in (2, 3, 7)), (ask_transpose_of_nothing, 3)),
    ),
    5: Exercise(
        "the pseudo-inverse",
        "pseudoinverse",
        ("jacobian",),
        ((ask_pseudoinverse, 7), (ask_pseudoinverse, 3), (ask_pseudoinverse, 2), (ask_singular_pseudoinverse, 5)),
    ),
    6: Exercise(
        "damping",
        "damped_step",
        ("jacobian", "error", "damping"),
        tuple((ask_damped_step, n) for n in (3, 2, 7)),
    ),
    7: Exercise(
        "cyclic coordinate descent",
        "ccd_sweep",
        ("offsets", "axes", "angles", "goal"),
        tuple((ask_ccd_sweep, n) for n in (2, 3, 7)),
    ),
    8: Exercise(
        "a whole body",
        "pose_body",
        ("model", "start", "targets"),
        tuple((ask_whole_body, n) for n in (1, 2, 4)),
    ),
}


def judge_file(number: int, path: str, seed: int = 0) -> tuple[int, str]:
    """Run a student's file and check its function: exit code (0 right, 1 wrong, 2 no such function) and message."""
    exercise = EXERCISES[number]
    try:
        names = runpy.run_path(path, run_name="solution")
    except (Exception, SystemExit) as error:
        return 1, f"{path} does not run to its end: {type(error).__name__}: {error} (line {_find_line(error, path)})"
    function = names.get(exercise.function)
    if not callable(function):
        here = [name for name, value in names.items() if callable(value) and not name.startswith("_")]
        found = f"it defines {', '.join(here)}" if here else "it defines no function"
        return 2, f"{path} has no function {exercise.function}: {found}. Write: def {exercise.signature}:"
    wrong = exercise.judge(function, seed)
    if wrong is None:
        return 0, f"exercise {number}, {exercise.title}: right. {len(exercise.asks)} questions, all answered."
    return 1, f"exercise {number}, {exercise.title}: {exercise.function}: {wrong}"


def _describe_error(error: Exception, function: Callable[..., Any]) -> str:
    code = getattr(function, "__code__", None)
    line = _find_line(error, code.co_filename) if code is not None else "?"
    where = "" if line == "?" else f" (line {line})"  # called with the wrong arguments
    return f"{type(error).__name__}: {error}{where}"


def _find_line(error: BaseException, path: str) -> str:
    """Return the last line of this file in an error's traceback."""
    if isinstance(error, SyntaxError):
        return str(error.lineno)
    lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == path]
    return str(lines[-1]) if lines else "?"
