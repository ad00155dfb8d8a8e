"""The budget of lines of each room: new code is paid for by code that it replaces.

A room may only grow if another one shrinks: move lines from row to row, and lower the rows after a merge. The sums
never rise.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from paths import ROOT

CODE = {".py", ".h", ".in", ".cpp", ".cu"}
SCRIPTS = {".js", ".mjs"}
MOST_SOURCE = 113_400
MOST_TESTS = 60_770
MOST_OTHER = 10_070

SOURCE = {
    "anatomy": 3_400,
    "answers": 840,
    "batch": 2_900,
    "cli": 2_000,
    "diagnosis": 2_330,
    "files": 480,
    "formats": 12_920,
    "goals": 3_170,
    "kinematics": 2_120,
    "limits": 2_770,
    "methods": 1_180,
    "model": 6_330,
    "models": 1_000,
    "motion": 12_490,
    "native": 1_270,
    "native C++": 27_420,
    "pages": 1_460,
    "pictures": 3_250,
    "reach": 1_550,
    "rig": 3_810,
    "scale": 2_330,
    "solvers": 4_190,
    "spatial": 910,
    "studio": 9_440,
    "textbook": 3_100,
    "top": 740,
}
TESTS = {
    "anatomy": 2_190,
    "cli": 1_120,
    "device": 510,
    "examples": 240,
    "formats": 6_810,
    "fuzz": 220,
    "goals": 1_200,
    "house": 1_920,
    "laws": 4_110,
    "limits": 3_650,
    "model": 2_000,
    "motion": 6_620,
    "native": 1_500,
    "native C++": 1_530,
    "parity": 600,
    "rig": 2_580,
    "scale": 2_880,
    "solving": 8_060,
    "studio": 7_440,
    "support": 5_400,
    "top": 190,
}
OTHER = {"benchmarks": 5_620, "tools": 2_370, "docs": 2_080}
JAVASCRIPT = {"src": 1_600, "tests": 50}


def count_lines(folder: Path, suffixes: set[str]) -> Counter[str]:
    """Return the lines of each room below a folder; files outside of rooms are in "top"."""
    out: Counter[str] = Counter()
    for path in (path for path in folder.rglob("*") if path.suffix in suffixes):
        parts = path.relative_to(folder).parts
        room = parts[0] if len(parts) > 1 else "top"
        kind = " C++" if room == "native" and path.suffix != ".py" else ""
        out[room + kind] += len(path.read_bytes().splitlines())
    return out


def list_excess(counted: Counter[str], budget: dict[str, int]) -> list[str]:
    """Return the rooms with more lines than their budget."""
    return [
        f"{room}: {lines}, {budget.get(room, 0)} allowed"
        for room, lines in counted.items()
        if lines > budget.get(room, 0)
    ]


def test_no_room_of_the_source_exceeds_its_budget() -> None:
    assert list_excess(count_lines(ROOT / "src" / "poise", CODE), SOURCE) == []
    assert sum(SOURCE.values()) <= MOST_SOURCE


def test_no_room_of_the_tests_exceeds_its_budget() -> None:
    assert list_excess(count_lines(ROOT / "tests", CODE), TESTS) == []
    assert sum(TESTS.values()) <= MOST_TESTS


def test_benchmarks_tools_and_scripts_stay_within_their_budgets() -> None:
    counted = Counter({name: sum(count_lines(ROOT / name, CODE).values()) for name in OTHER})
    assert list_excess(counted, OTHER) == []
    assert sum(OTHER.values()) <= MOST_OTHER
    scripts = Counter({name: sum(count_lines(ROOT / name, SCRIPTS).values()) for name in JAVASCRIPT})
    assert list_excess(scripts, JAVASCRIPT) == []
