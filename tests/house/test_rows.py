"""The table of the 96 rows: every call runs, and its comparisons are true."""

import importlib
import inspect
import re
from typing import Any

import numpy as np
import pytest

import poise
from paths import DOCS
from poise.model.joints.kinds import KINDS
from poise.pictures import Picture
from poise.solvers.options import SolveOptions

PAGE = (DOCS / "rows.md").read_text("utf-8")
ROW = re.compile(
    r"^\| (?P<number>\d+) \| (?P<what>.*?) \| (?P<part>in part: )?(?:`(?P<call>[^`]*)`|not yet) \|"
    r"(?: `(?P<figure>.*)` \|)?$",
    re.MULTILINE,
)
ROWS = list(ROW.finditer(PAGE))
MISSING: set[int] = set()
IN_PART: set[int] = set()


@pytest.fixture(scope="module")
def names() -> dict[str, Any]:
    """What the page's own lines define."""
    lines = re.search(r"^```python\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
    assert lines is not None
    known: dict[str, Any] = {}
    exec(compile(lines[1], "rows.md", "exec"), known)
    return known


def test_all_rows_are_there_once() -> None:
    assert [int(row["number"]) for row in ROWS] == list(range(1, 97))


def test_the_page_says_what_is_missing() -> None:
    assert {int(row["number"]) for row in ROWS if row["call"] is None} == MISSING
    assert {int(row["number"]) for row in ROWS if row["part"]} == IN_PART


@pytest.mark.parametrize("row", [row for row in ROWS if row["call"]], ids=lambda row: row["number"])
def test_the_call_of_a_row_runs(row: re.Match[str], names: dict[str, Any]) -> None:
    shown = eval(compile(row["call"], f"rows.md, row {row['number']}", "eval"), names)
    assert isinstance(shown, (bool, np.bool_))
    assert shown


@pytest.mark.parametrize("row", [row for row in ROWS if row["figure"]], ids=lambda row: row["number"])
def test_the_call_of_a_figure_draws_it(row: re.Match[str], names: dict[str, Any]) -> None:
    assert isinstance(eval(compile(row["figure"], f"rows.md, figure {row['number']}", "eval"), names), Picture)


BOOKS = (DOCS / "textbook" / "index.md").read_text("utf-8")
CALLED = sorted(set(re.findall(r"`(?:poise\.)?((?:goals|limits|methods|textbook)\.\w+)", BOOKS)))


@pytest.mark.parametrize("name", CALLED)
def test_what_the_bibliography_points_at_is_there(name: str) -> None:
    room, thing = name.split(".")
    assert hasattr(importlib.import_module(f"poise.{room}"), thing)


def test_the_bibliography_has_every_text_that_is_named() -> None:
    named = (
        "Rabbani Rotenberg Esteves Parent Cao Murray Featherstone Lasa Buss Kim Welman Orin Nakamura Kuffner Grochow"
    )
    assert [
        name for name in [*named.split(), "Lasenby", "Chrysanthou", "Baerlocher", "pinv"] if name not in BOOKS
    ] == []


GLOSSARY = (DOCS / "glossary.md").read_text("utf-8")
WORDS = {
    word.strip().lower()
    for line in GLOSSARY.splitlines()
    if line.startswith("| ")
    for word in line.split("|")[1].split(",")
}
ROOMS = {"Transform": poise.Transform, "model": poise.Model, "solution": poise.Solution, "Status": poise.Status}
NAMED = sorted(set(re.findall(r"`(\w+)\.(\w+)", GLOSSARY)))


@pytest.mark.parametrize(
    "word",
    [
        *("overconstrained", "underconstrained", "channel order", "ill-conditioned", "level of detail", "statistical"),
        *("trim", "wedge", "finite difference", "jacobian transpose", "on-path", "off-path", "twist", "adjoint"),
        *("singularity robust", "damped least squares", "pinv", "jt", "null space", "redundant", "repeatability"),
    ],
)
def test_the_glossary_has_the_words_of_the_texts(word: str) -> None:
    assert word in WORDS


@pytest.mark.parametrize(("room", "name"), NAMED, ids=".".join)
def test_the_calls_of_the_glossary_exist(room: str, name: str) -> None:
    there = poise if room == "poise" else ROOMS.get(room) or getattr(poise, room)
    assert hasattr(there, name) or name in ("q", "status")  # set when a solution is made


def test_the_glossary_names_methods_joints_and_keywords_that_exist() -> None:
    methods = re.findall(r'method="([^"]*)"', GLOSSARY)
    kinds = re.findall(r'add_joint\([^)]*?, "(\w+)"', GLOSSARY)
    assert len(methods) >= 15
    assert len(kinds) >= 8
    assert all(poise.methods.find_method(method) for method in methods)
    assert set(kinds) <= set(KINDS)
    options = set(inspect.signature(poise.Solver.solve).parameters) | set(vars(SolveOptions)["__annotations__"])
    goal = {"tolerance", "weight", "priority"}
    assert set(re.findall(r"`(\w+)=`", GLOSSARY)) - goal <= options


def test_every_word_of_the_glossary_names_its_text() -> None:
    """A row names at least one text: R, U, C, P, D, or all of them."""
    rows = [line.split("|")[2] for line in GLOSSARY.splitlines() if line.startswith("| ") and "word |" not in line]
    assert len(rows) > 70
    assert all(re.search(r"\b[RUCPD]\b|\ball\b", where) for where in rows)
