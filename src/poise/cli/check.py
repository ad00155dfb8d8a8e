"""`poise check`: check a student's answer to an exercise of the course in a separate process."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated

import typer

from poise.cli.console import report_errors
from poise.errors import FormatError, InvalidValue
from poise.textbook.exercises import EXERCISES

__all__ = ["check_command"]

# The child's program: it writes its verdict to a file, so that the student's own output cannot interfere.
CHILD = (
    "import json, sys; from poise.textbook.exercises import judge_file;"
    " result = judge_file(int(sys.argv[1]), sys.argv[2], int(sys.argv[3]));"
    " open(sys.argv[4], 'w', encoding='utf-8').write(json.dumps(result))"
)

ERRORS = 2  # the error stream, for the student's own output


def check_command(
    exercise: Annotated[int, typer.Argument(help="The exercise's number, 1 to 14.")],
    solution: Annotated[Path, typer.Argument(help="A Python file with the exercise's function.")],
    time_limit: Annotated[float, typer.Option(help="Time limit [s].")] = 30.0,
    seed: Annotated[int, typer.Option(help="The random seed of the arms.")] = 0,
    as_json: Annotated[bool, typer.Option("--json", help="Print the verdict as JSON.")] = False,
) -> None:
    """Check your answer to an exercise of the course: prints the mistake; exit code 0 if it is right.

    The file runs with your permissions: only check files that you trust.
    """
    with report_errors("check"):
        if exercise not in EXERCISES:
            listed = "; ".join(f"{number} {one.title}" for number, one in EXERCISES.items())
            raise InvalidValue(f"there is no exercise {exercise}. There are: {listed}.")
        if not solution.is_file():
            raise FormatError("the file does not exist. Type: poise check 3 my_solution.py", str(solution))
        if not time_limit > 0.0:
            raise InvalidValue(f"--time-limit is {time_limit}; it is a positive number of seconds.")
    code, words = judge_in_child(exercise, solution, seed, time_limit)
    if as_json:
        title = EXERCISES[exercise].title
        typer.echo(json.dumps({"exercise": exercise, "title": title, "right": code == 0, "said": words}, indent=2))
    else:
        typer.echo(words, err=code == 2)
    raise typer.Exit(code)


def judge_in_child(exercise: int, solution: Path, seed: int, time_limit: float) -> tuple[int, str]:
    """Judge in a child process, so that endless loops can be stopped and crashes do not affect this process."""
    with TemporaryDirectory() as folder:
        result = Path(folder) / "result.json"
        words = [sys.executable, "-c", CHILD, str(exercise), str(solution), str(seed), str(result)]
        try:
            ended = subprocess.run(words, check=False, timeout=time_limit, stdout=ERRORS, stdin=subprocess.DEVNULL)
        except subprocess.TimeoutExpired:
            name = EXERCISES[exercise].function
            return 1, f"{name} in {solution} was still running after {time_limit:g} s: does it loop forever?"
        if not result.exists():
            return 1, f"{solution} ended the process itself (exit code {ended.returncode}) before it had answered."
        code, said = json.loads(result.read_text("utf-8"))
    return code, said
