"""`check.py` of the course judges a file: right answers pass, known mistakes are described, and nothing hangs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from check import main
from course_answers import ANSWERS, SLIPS
from grader import EXERCISES, judge_file


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
    told = EXERCISES[number].judge(read_function(number, ANSWERS[number].replace(right, wrong, 1)))
    assert told is not None
    assert said in told


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
    told = EXERCISES[number].judge(read_function(number, text))
    assert told is not None
    assert said in told
    assert "Write it yourself" in told


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
        told, words = judge_file(6, str(path))
        assert (told, said in words) == (code, True), words


@pytest.mark.parametrize(
    ("words", "said"), [(("15", "here.py"), "14 a whole body"), (("3", "no.py"), "no.py"), (("x", "here.py"), "x")]
)
def test_misuse_exits_with_2(
    words: tuple[str, ...],
    said: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("here.py").write_text("", "utf-8")
    with pytest.raises(SystemExit, match="2"):
        main(words)
    assert said in capfd.readouterr().err


@pytest.mark.slow
def test_the_command_runs_a_file_apart(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "answer.py"

    def check(text: str, *words: str) -> tuple[int, str]:
        path.write_text(text, "utf-8")
        return main(("4", str(path), *words)), capfd.readouterr().out

    right = "print('mine')\n" + ANSWERS[4]
    code, shown = check(right)
    assert (code, shown.count("\n")) == (0, 1), shown
    assert json.loads(check(right, "--json")[1])["right"] is True
    code, shown = check("def transpose_step(jacobian, error):\n    return -jacobian.T @ error\n", "--json")
    assert (code, json.loads(shown)["right"]) == (1, False)
    code, shown = check("def transpose_step(jacobian, error):\n    while True:\n        pass\n", "--time-limit", "2")
    assert code == 1
    assert "transpose_step" in shown
    assert "loop" in shown
    code, shown = check("import os\n\ndef transpose_step(jacobian, error):\n    os._exit(3)\n")
    assert code == 1
    assert "exit code 3" in shown
