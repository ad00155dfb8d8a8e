"""Budgets of the house: a file is one thing, and its name says which."""

from __future__ import annotations

from pathlib import Path

import pytest

from paths import ROOT

MOST_LINES = 400
NAMELESS = {"utils", "util", "common", "helpers", "misc"}
SOURCES = sorted(
    path
    for folder in ("src", "tests", "tools", "examples", "benchmarks")
    for path in (ROOT / folder).rglob("*")
    if path.suffix in {".py", ".h", ".cpp", ".cu"}
)


def test_there_is_something_to_measure() -> None:
    assert any(path.suffix == ".h" for path in SOURCES)
    assert any(path.suffix == ".py" for path in SOURCES)


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: str(path.relative_to(ROOT)))
def test_file_keeps_the_budget(path: Path) -> None:
    lines = len(path.read_text(encoding="utf-8").splitlines())
    assert lines <= MOST_LINES, f"{path.relative_to(ROOT)} has {lines} lines: ask whether it is two things"
    assert path.stem not in NAMELESS, f"{path.relative_to(ROOT)}: name the concept"
