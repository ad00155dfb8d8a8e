"""The list of exercises, and the check of a file with an answer."""

import runpy
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from grader.case import ExerciseCase
from grader.control import ask_limited_step, ask_null_space_step, ask_two_goals
from grader.kinematic import ask_cross_product_jacobian, ask_forward_kinematics, ask_numeric_jacobian
from grader.loops import ask_ccd_sweep, ask_loop, ask_whole_body
from grader.orientation import ask_euler_axes, ask_rotation_error
from grader.steps import (
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
        signature: the function and its arguments, without the ``def``.
        asks: the case generators, each with a number: the joints of the arm, or as the generator defines it.
    """

    title: str
    signature: str
    asks: tuple[tuple[Ask, int], ...]

    @property
    def function(self) -> str:
        """The name of the function in the student's file."""
        return self.signature.partition("(")[0]

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


def _repeat(ask: Ask, *numbers: int) -> tuple[tuple[Ask, int], ...]:
    return tuple((ask, number) for number in numbers)


_FEW = (ask_pseudoinverse, 7), (ask_pseudoinverse, 3), (ask_pseudoinverse, 2), (ask_singular_pseudoinverse, 5)
_STEPS = *_repeat(ask_transpose_step, 2, 3, 7), (ask_transpose_of_nothing, 3)
_LOOPS: tuple[tuple[Ask, int], ...] = *_repeat(ask_loop, 3, 5, 7), (partial(ask_loop, far=True), 4)
_LIST: tuple[tuple[str, str, tuple[tuple[Ask, int], ...]], ...] = (
    ("forward kinematics", "forward_kinematics(offsets, axes, angles)", _repeat(ask_forward_kinematics, 1, 2, 3, 7)),
    ("the Jacobian by cross products", "jacobian(axes, pivots, tip)", _repeat(ask_cross_product_jacobian, 2, 3, 7)),
    ("the Jacobian by differences", "numeric_jacobian(position, angles, step)", _repeat(ask_numeric_jacobian, 2, 3, 7)),
    ("the transpose", "transpose_step(jacobian, error)", _STEPS),
    ("the pseudo-inverse", "pseudoinverse(jacobian)", _FEW),
    ("damping", "damped_step(jacobian, error, damping)", _repeat(ask_damped_step, 3, 2, 7)),
    ("cyclic coordinate descent", "ccd_sweep(offsets, axes, angles, goal)", _repeat(ask_ccd_sweep, 2, 3, 7)),
    ("the loop", "find_angles(position, jacobian, angles, goal)", _LOOPS),
    ("joint limits", "limited_step(jacobian, error, angles, lower, upper)", _repeat(ask_limited_step, 7, 8, 9)),
    ("the error of an orientation", "rotation_error(wanted, now)", _repeat(ask_rotation_error, 40, 100, 175, 0)),
    ("the null space", "null_space_step(jacobian, error, wish)", _repeat(ask_null_space_step, 5, 7)),
    ("priorities", "two_goals(first, first_error, second, second_error)", _repeat(ask_two_goals, 4, 4, 6)),
    ("Euler order", "euler_axes(order, angles)", _repeat(ask_euler_axes, 0, 1, 2, 3, 4)),
    ("a whole body", "pose_body(model, start, targets)", _repeat(ask_whole_body, 1, 2, 4)),
)
EXERCISES = {number: Exercise(*given) for number, given in enumerate(_LIST, 1)}


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
