"""Check a student's answer to an exercise of the course in a separate process.

    python check.py 3 my_solution.py

It prints the mistake; the exit code is 0 if the answer is right, 1 if it is wrong, and 2 if there is nothing to check.
The file runs with your permissions: only check files that you trust.
"""

import argparse
import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from grader import EXERCISES

# The child's program: it writes its verdict to a file, so that the student's own output cannot interfere.
CHILD = (
    "import json, sys; sys.path.insert(0, sys.argv[5]); from grader import judge_file;"
    " result = judge_file(int(sys.argv[1]), sys.argv[2], int(sys.argv[3]));"
    " open(sys.argv[4], 'w', encoding='utf-8').write(json.dumps(result))"
)
HERE = Path(__file__).resolve().parent
ERRORS = 2  # the error stream, for the student's own output


def read_words(words: Sequence[str] | None) -> argparse.Namespace:
    """Return the arguments; errors name what is wrong and exit with 2."""
    parser = argparse.ArgumentParser(prog="check.py", description="Check your answer to an exercise of the course.")
    parser.add_argument("exercise", type=int, help="the exercise's number, 1 to 14")
    parser.add_argument("solution", type=Path, help="a Python file with the exercise's function")
    parser.add_argument("--time-limit", type=float, default=30.0, help="time limit [s]")
    parser.add_argument("--seed", type=int, default=0, help="the random seed of the arms")
    parser.add_argument("--json", action="store_true", help="print the verdict as JSON")
    given = parser.parse_args(words)
    if given.exercise not in EXERCISES:
        listed = "; ".join(f"{number} {one.title}" for number, one in EXERCISES.items())
        parser.error(f"there is no exercise {given.exercise}. There are: {listed}.")
    if not given.solution.is_file():
        parser.error(f"{given.solution} does not exist. Type: python check.py 3 my_solution.py")
    if not given.time_limit > 0.0:
        parser.error(f"--time-limit is {given.time_limit}; it is a positive number of seconds.")
    return given


def judge_in_child(exercise: int, solution: Path, seed: int, time_limit: float) -> tuple[int, str]:
    """Judge in a child process, so that endless loops can be stopped and crashes do not affect this process."""
    with TemporaryDirectory() as folder:
        result = Path(folder) / "result.json"
        words = [sys.executable, "-c", CHILD, str(exercise), str(solution), str(seed), str(result), str(HERE)]
        try:
            ended = subprocess.run(words, check=False, timeout=time_limit, stdout=ERRORS, stdin=subprocess.DEVNULL)
        except subprocess.TimeoutExpired:
            name = EXERCISES[exercise].function
            return 1, f"{name} in {solution} was still running after {time_limit:g} s: does it loop forever?"
        if not result.exists():
            return 1, f"{solution} ended the process itself (exit code {ended.returncode}) before it had answered."
        code, said = json.loads(result.read_text("utf-8"))
    return code, said


def main(words: Sequence[str] | None = None) -> int:
    """Print the verdict on a file; return the exit code."""
    given = read_words(words)
    code, said = judge_in_child(given.exercise, given.solution, given.seed, given.time_limit)
    if given.json:
        title = EXERCISES[given.exercise].title
        print(json.dumps({"exercise": given.exercise, "title": title, "right": code == 0, "said": said}, indent=2))
    else:
        print(said, file=sys.stderr if code == 2 else sys.stdout)
    return code


if __name__ == "__main__":
    sys.exit(main())
