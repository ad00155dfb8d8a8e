"""`poise check` judges a student's file: right answers pass, each known mistake is described, and nothing hangs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from command_line import run_poise
from course_answers import ANSWERS, SLIPS
from poise.textbook.exercises import EXERCISES, judge_file


def read_function(number: int, text: str) -> Any:
    names: dict[str, Any] = {}
    exec(compile(text, "solution.py", "exec"), names)
    return names[EXERCISES[number].function]


@pytest.mark.parametrize("seed", [0, 1])
@pytest.mark.parametrize("number", EXERCISES)
def test_a_right_answer_is_right_on_any_arm(number: int, seed: int) -> None:
    assert EXERCISES[number].judge(read_function(number, ANSWERS[number]), seed) is None


@pytest.mark.filterwarnings("ignore:invalid value:RuntimeWarning")
@pytest.mark.parametrize(("number", "right", "wrong", "said"), SLIPS)
def test_a_mistake_is_described_in_words(number: int, right: str, wrong: str, said: str) -> None:
    assert right in ANSWERS[number]
    message = EXERCISES[number].judge(read_function(number, ANSWERS[number].replace(right, wrong, 1)))
    assert message is not None
    assert said in message


@pytest.mark.parametrize("number", EXERCISES)
def test_mistakes_have_distinct_messages(number: int) -> None:
    """No two known slips of a question have the same answer, and none is the right one."""
    for ask, joints in EXERCISES[number].asks:
        trial = ask(np.random.default_rng(3), joints)
        if trial.right is None or joints < 3:
            continue
        answers = [trial.right, *trial.distinct_slips().values()]
        for i, one in enumerate(answers):
            for other in answers[:i]:
                assert one.shape != other.shape or np.abs(one - other).max() > 10 * trial.tolerance


POSE_BODY = (
    "import poise\nfrom poise.goals import Reach\n\ndef pose_body(model, start, targets):\n"
    "    goals = [Reach(name, goal) for name, goal in targets.items()]\n"
    "    places = {name: goal[None] for name, goal in targets.items()}\n    return "
)
FIND_ANGLES = (
    "from poise import methods\n\ndef find_angles(position, jacobian, angles, goal):\n"
    "    return methods.over(lambda q: position(q) - goal, jacobian, angles).x\n"
)
DAMPED_STEP = (
    "from poise import textbook\n\ndef damped_step(jacobian, error, damping):\n"
    "    return textbook.damped_inverse(jacobian, damping) @ error\n"
)
CHEATS = {
    "poise.solve": (14, POSE_BODY + "poise.solve(model, goals, start).q\n", "poise.solvers"),
    "a Solver": (14, POSE_BODY + "poise.Solver(model, goals).solve(start).q\n", "poise.solvers"),
    "a batch": (14, POSE_BODY + "poise.solve_batch(model, goals, places, start).q[0]\n", "poise.batch"),
    "methods.over": (8, FIND_ANGLES, "poise.methods"),
    "the textbook": (6, DAMPED_STEP, "poise.textbook"),
}


@pytest.mark.parametrize("name", CHEATS)
def test_an_answer_that_calls_a_solver_is_noticed(name: str) -> None:
    number, text, said = CHEATS[name]
    message = EXERCISES[number].judge(read_function(number, text))
    assert message is not None
    assert said in message
    assert "Write it yourself" in message


def test_a_file_is_judged_by_name(tmp_path: Path) -> None:
    path = tmp_path / "answer.py"
    for text, code, said in (
        (ANSWERS[6], 0, "right"),
        ("def damp(a): return a", 2, "damp"),
        ("x = 3", 2, "def damped_step(jacobian, error, damping):"),
        ("def damped_step(:", 1, "line 1"),
        ("a = 1\n1 / 0", 1, "line 2"),
        (
            "def damped_step(jacobian, error, damping):\n    return lost",
            1,
            "NameError: name 'lost' is not defined (line 2)",
        ),
        ("def damped_step(jacobian):\n    return 1", 1, "TypeError"),
        ("def damped_step(jacobian, error, damping):\n    return 'nothing'", 1, "str"),
    ):
        path.write_text(text, "utf-8")
        found, words = judge_file(6, str(path))
        assert (found, said in words) == (code, True), words


@pytest.mark.parametrize(
    ("words", "said"), [(("15", "here.py"), "14 a whole body"), (("3", "no.py"), "no.py"), (("x", "here.py"), "x")]
)
def test_misuse_exits_with_2(
    words: tuple[str, ...], said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("here.py").write_text("", "utf-8")
    shown = run_poise("check", *words)
    assert shown.exit_code == 2
    assert said in shown.output


@pytest.mark.slow
def test_the_command_runs_a_file_apart(tmp_path: Path) -> None:
    path = tmp_path / "answer.py"
    path.write_text("print('mine')\n" + ANSWERS[4], "utf-8")
    shown = run_poise("check", "4", str(path))
    assert (shown.exit_code, shown.stdout.count("\n")) == (0, 1), shown.output
    assert json.loads(run_poise("check", "4", str(path), "--json").stdout)["right"] is True

    path.write_text("def transpose_step(jacobian, error):\n    return -jacobian.T @ error\n", "utf-8")
    shown = run_poise("check", "4", str(path), "--json")
    assert shown.exit_code == 1
    assert json.loads(shown.stdout)["right"] is False

    path.write_text("def transpose_step(jacobian, error):\n    while True:\n        pass\n", "utf-8")
    shown = run_poise("check", "4", str(path), "--time-limit", "2")
    assert shown.exit_code == 1
    assert "transpose_step" in shown.output
    assert "loop" in shown.output

    path.write_text("import os\n\ndef transpose_step(jacobian, error):\n    os._exit(3)\n", "utf-8")
    shown = run_poise("check", "4", str(path))
    assert shown.exit_code == 1
    assert "exit code 3" in shown.output
