"""The budget of lines of each room: new code is paid for by code that it replaces.

A room may only grow if another one shrinks: move lines from row to row, and lower the rows after a merge. The sums
never rise.
"""

from collections import Counter
from pathlib import Path

from paths import ROOT

CODE = {".py", ".h", ".in", ".cpp", ".cu"}
SCRIPTS = {".js", ".mjs"}
MOST_SOURCE = 120_693
MOST_TESTS = 66_062
MOST_OTHER = 10_780

SOURCE = {
    "anatomy": 3_833,
    "answers": 810,
    "batch": 2_727,
    "bridges": 1_277,
    "cli": 2_790,
    "diagnosis": 2_297,
    "files": 468,
    "formats": 14_514,
    "goals": 3_077,
    "kinematics": 2_100,
    "limits": 2_778,
    "methods": 1_121,
    "model": 6_348,
    "models": 1_053,
    "motion": 14_396,
    "native C++": 29_309,
    "native": 1_258,
    "pages": 1_431,
    "pictures": 3_262,
    "reach": 1_614,
    "rig": 3_750,
    "scale": 2_302,
    "solvers": 4_103,
    "spatial": 902,
    "studio": 9_366,
    "textbook": 3_067,
    "top": 740,
}
TESTS = {
    "anatomy": 2_400,
    "bridges": 1_796,
    "cli": 1_920,
    "device": 497,
    "examples": 227,
    "formats": 8_184,
    "fuzz": 209,
    "goals": 1_184,
    "house": 1_920,
    "laws": 3_820,
    "limits": 3_653,
    "model": 1_991,
    "motion": 7_388,
    "native C++": 1_613,
    "native": 1_389,
    "parity": 579,
    "rig": 2_544,
    "scale": 2_829,
    "solving": 8_186,
    "studio": 7_472,
    "support": 6_047,
    "top": 214,
}
OTHER = {"benchmarks": 6_076, "tools": 2_540, "docs": 2_164}
JAVASCRIPT = {"src": 1_771, "tests": 109}


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
