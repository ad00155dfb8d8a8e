"""The budget of lines of each room: new code is paid for by code that it replaces.

A room may only grow if another one shrinks: move lines from row to row, and lower the rows after a merge. The sums
never rise.
"""

from collections import Counter
from pathlib import Path

from paths import ROOT

CODE = {".py", ".h", ".in", ".cpp", ".cu"}
SCRIPTS = {".js", ".mjs"}
MOST_SOURCE = 118_212
MOST_TESTS = 64_608
MOST_OTHER = 10_622
LENT_SOURCE, LENT_TESTS = 560, 150  # to `motion/problem`, until it replaces stages of `retarget`

SOURCE = {
    "anatomy": 3_818,
    "answers": 787,
    "batch": 2_730,
    "bridges": 1_277,
    "cli": 2_459,
    "diagnosis": 2_300,
    "files": 470,
    "formats": 13_164,
    "goals": 3_080,
    "kinematics": 2_100,
    "limits": 2_777,
    "methods": 1_130,
    "model": 6_340,
    "models": 1_053,
    "motion": 14_950,
    "native C++": 28_760,
    "native": 1_260,
    "pages": 1_450,
    "pictures": 3_270,
    "reach": 1_361,
    "rig": 3_750,
    "scale": 2_308,
    "solvers": 4_110,
    "spatial": 910,
    "studio": 9_358,
    "textbook": 3_060,
    "top": 740,
}
TESTS = {
    "anatomy": 2_396,
    "bridges": 1_751,
    "cli": 1_520,
    "device": 500,
    "examples": 230,
    "formats": 7_179,
    "fuzz": 210,
    "goals": 1_190,
    "house": 1_908,
    "laws": 4_080,
    "limits": 3_693,
    "model": 1_991,
    "motion": 7_566,
    "native C++": 1_520,
    "native": 1_401,
    "parity": 580,
    "rig": 2_550,
    "scale": 2_840,
    "solving": 8_043,
    "studio": 7_476,
    "support": 5_936,
    "top": 198,
}
OTHER = {"benchmarks": 5_926, "tools": 2_540, "docs": 2_156}
JAVASCRIPT = {"src": 1_611, "tests": 86}


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
    assert sum(SOURCE.values()) <= MOST_SOURCE + LENT_SOURCE


def test_no_room_of_the_tests_exceeds_its_budget() -> None:
    assert list_excess(count_lines(ROOT / "tests", CODE), TESTS) == []
    assert sum(TESTS.values()) <= MOST_TESTS + LENT_TESTS


def test_benchmarks_tools_and_scripts_stay_within_their_budgets() -> None:
    counted = Counter({name: sum(count_lines(ROOT / name, CODE).values()) for name in OTHER})
    assert list_excess(counted, OTHER) == []
    assert sum(OTHER.values()) <= MOST_OTHER
    scripts = Counter({name: sum(count_lines(ROOT / name, SCRIPTS).values()) for name in JAVASCRIPT})
    assert list_excess(scripts, JAVASCRIPT) == []
