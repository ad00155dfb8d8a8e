"""Packages stay small, and every class has a name of its own."""

from __future__ import annotations

import ast
import re
from collections import defaultdict

from paths import SOURCES

MOST_FILES = 20  # of a package, without its subpackages
SHELVES = {"goals", "methods", "textbook", "cli"}  # one entry a file
FIELD_TERMS = {"closed", "coupled", "mapping", "quadruped", "retargeting", "speed"}  # terms of the field, public names


def test_no_package_has_too_many_files() -> None:
    folders = {file.parent for file in SOURCES.rglob("*.py")} - {SOURCES / name for name in SHELVES}
    counts = {str(folder.relative_to(SOURCES)): len(list(folder.glob("*.py"))) for folder in folders}
    assert not {name: count for name, count in counts.items() if count > MOST_FILES}


def test_every_class_has_its_own_name() -> None:
    homes = defaultdict(list)
    for file in sorted(SOURCES.rglob("*.py")):
        for node in ast.walk(ast.parse(file.read_text("utf-8"))):
            if isinstance(node, ast.ClassDef):
                homes[node.name].append(file.relative_to(SOURCES).as_posix())
    assert not {name: files for name, files in homes.items() if len(files) > 1}


def test_modules_are_named_by_nouns() -> None:
    stems = {file.stem for file in SOURCES.rglob("*.py")} - FIELD_TERMS
    assert not sorted(stem for stem in stems if re.search("(ing|ed)$", stem))


def test_type_aliases_of_arrays_are_defined_once() -> None:
    pattern = re.compile(r"^(Floats|Ints|Triple)\b.* = ", re.MULTILINE)
    found = [
        str(file.relative_to(SOURCES)) for file in SOURCES.rglob("*.py") if pattern.search(file.read_text("utf-8"))
    ]
    assert found == ["arrays.py"]
