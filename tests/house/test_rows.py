"""The table of the 96 rows: every call runs, and its comparisons are true."""

from __future__ import annotations

import importlib
import re
from typing import Any

import numpy as np
import pytest

from paths import DOCS
from poise.pictures import Picture

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
