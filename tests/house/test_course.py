"""The notebooks of the course are made from its page, and run from top to bottom before anything is solved."""

import contextlib
import io
import json
import re
import sys
from typing import Any

import matplotlib as mpl
import pytest

mpl.use("Agg")

import matplotlib.pyplot as plt

from course_answers import ANSWERS
from grader import EXERCISES
from paths import DOCS, TOOLS

sys.path.insert(0, str(TOOLS))

from notebooks import make_notebooks

NAMES = {number: f"exercise_{number}.ipynb" for number in EXERCISES}


def read_cells(number: int) -> list[str]:
    notebook = json.loads((DOCS / "course" / NAMES[number]).read_text("utf-8"))
    assert (notebook["nbformat"], notebook["nbformat_minor"]) == (4, 5)
    return ["".join(cell["source"]) for cell in notebook["cells"] if cell["cell_type"] == "code"]


def run_cells(cells: list[str]) -> tuple[str, bool]:
    """Run them in one namespace; return what the check prints, and whether something is drawn."""
    names: dict[str, Any] = {"__name__": "notebook"}
    said = ""
    plt.close("all")
    for cell in cells:
        with contextlib.redirect_stdout(io.StringIO()) as out:
            exec(compile(cell, "notebook", "exec"), names)
        said = out.getvalue() if ".judge(" in cell else said
    drawn = bool(plt.get_fignums()) and all(plt.figure(number).axes for number in plt.get_fignums())
    plt.close("all")
    return said, drawn or names.get("picture") is not None


def test_notebooks_are_what_the_page_says() -> None:
    """Type `python tools/notebooks.py` when this fails."""
    made = make_notebooks()
    assert list(made) == list(NAMES.values())
    assert {path.name for path in (DOCS / "course").glob("*.ipynb")} == set(made)
    for name, text in made.items():
        assert (DOCS / "course" / name).read_text("utf-8") == text
        assert len(text) < 10_000


@pytest.mark.parametrize("number", EXERCISES)
def test_an_unsolved_notebook_runs_and_says_what_to_write(number: int) -> None:
    cells = read_cells(number)
    assert any(f"def {EXERCISES[number].signature}:" in cell for cell in cells)
    said, drawn = run_cells(cells)
    assert f"NotImplementedError: write exercise {number} here" in said
    assert not drawn


@pytest.mark.parametrize("number", EXERCISES)
def test_a_notebook_with_the_answer_says_right_and_draws(number: int) -> None:
    cells = [ANSWERS[number] if "NotImplementedError" in cell else cell for cell in read_cells(number)]
    assert run_cells(cells) == ("right\n", True)


def test_every_question_has_an_answer_to_unfold() -> None:
    sections = re.split(r"(?m)^## \d+\. ", (DOCS / "course" / "exercises.md").read_text("utf-8"))[1:]
    looks = {number: text.split("\nLook: ")[1].split("\n\n")[0] for number, text in enumerate(sections, 1)}
    asking = [number for number, look in looks.items() if "?" in look]
    assert len(asking) >= 7
    for number in asking:
        answer = re.findall(r"<details><summary>Answer</summary>\n(.{80,})\n</details>", sections[number - 1])
        assert len(answer) == 1, looks[number]
        assert answer[0] in json.dumps(json.loads((DOCS / "course" / NAMES[number]).read_text("utf-8")))


def test_no_answer_is_shipped() -> None:
    """What stands in the notebooks and pages does not pass."""
    pages = "".join(path.read_text("utf-8") for path in (DOCS / "course").iterdir() if path.is_file())
    for answer in ANSWERS.values():
        assert answer.rsplit("def ", 1)[1].split(":\n", 1)[1] not in pages
