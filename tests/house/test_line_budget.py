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
MOST_SOURCE = 112_400
MOST_TESTS = 60_100
MOST_OTHER = 9_500

SOURCE = {
    "anatomy": 3_080,
    "answers": 840,
    "batch": 2_960,
    "cli": 1_840,
    "diagnosis": 2_350,
    "files": 480,
    "formats": 12_470,
    "goals": 3_160,
    "kinematics": 2_040,
    "limits": 2_680,
    "methods": 1_140,
    "model": 6_060,
    "models": 1_000,
    "motion": 12_560,
    "native": 1_270,
    "native C++": 27_100,
    "pages": 1_450,
    "pictures": 3_110,
    "reach": 1_520,
    "rig": 3_860,
    "scale": 2_470,
    "solvers": 4_180,
    "spatial": 870,
    "studio": 9_360,
    "textbook": 3_890,
    "top": 560,
}
TESTS = {
    "anatomy": 2_070,
    "cli": 1_190,
    "device": 500,
    "examples": 240,
    "formats": 6_580,
    "fuzz": 230,
    "goals": 1_210,
    "house": 1_740,
    "laws": 4_250,
    "limits": 3_280,
    "model": 2_020,
    "motion": 6_750,
    "native": 1_490,
    "native C++": 1_530,
    "parity": 490,
    "rig": 2_640,
    "scale": 2_950,
    "solving": 8_350,
    "studio": 7_390,
    "support": 4_880,
    "top": 150,
}
OTHER = {"benchmarks": 5_690, "tools": 2_620, "docs": 1_140}
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
