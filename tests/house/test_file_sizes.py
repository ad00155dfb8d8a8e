"""Budgets of the house: a file is one thing, and its name says which."""

from pathlib import Path

from paths import KERNELS, ROOT
from tiers import read_long_tests

MOST_LINES = 400
MOST_KERNEL_LINES = 500  # one rule is one header, and the algebra of some rules is long
NAMELESS = {"utils", "util", "common", "helpers", "misc"}
FOLDERS = ("src", "tools", "examples", "benchmarks", "tests")
SUFFIXES = {".py", ".h", ".cpp", ".cu"}
FILES = sorted(path for folder in FOLDERS for path in (ROOT / folder).rglob("*") if path.suffix in SUFFIXES)


def most_lines(path: Path) -> int:
    return MOST_KERNEL_LINES if path.is_relative_to(KERNELS) else MOST_LINES


def test_no_file_is_longer_than_its_budget() -> None:
    measured = {path: len(path.read_text("utf-8").splitlines()) for path in FILES}
    assert sum(path.suffix == ".h" for path in measured) > 50
    assert sum(path.suffix == ".py" for path in measured) > 200
    long = [f"{path.relative_to(ROOT)}: {lines}" for path, lines in measured.items() if lines > most_lines(path)]
    assert long == [], "ask whether it is two things"


def test_every_name_names_a_concept() -> None:
    assert [str(path.relative_to(ROOT)) for path in FILES if path.stem in NAMELESS] == []


def test_every_long_test_exists() -> None:
    names = [name.split("::") for name in read_long_tests()]
    texts = {file: (ROOT / file).read_text("utf-8") for file, *_ in names}
    assert [(file, test) for file, *tests in names for test in tests if f"def {test}(" not in texts[file]] == []
