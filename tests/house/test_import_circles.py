"""No circle of imports is longer than three files: what a file needs can be read without reading the room.

Counted are all imports of the package's own files: at the top, inside functions, and those for type checkers only.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping
from functools import cache
from pathlib import Path

import pytest

from paths import ROOT, SOURCES
from source_trees import read_nodes

LONGEST = 3

FILES = {
    ".".join(path.relative_to(ROOT / "src").with_suffix("").parts).removesuffix(".__init__"): path
    for path in sorted(SOURCES.rglob("*.py"))
}


@cache
def read_imports(path: Path) -> tuple[tuple[str, bool], ...]:
    """Return the files of the package that a file imports, each with whether only type checkers read that."""
    guards = (
        node
        for node in read_nodes()[path]
        if isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"
    )
    typed = {id(inner) for guard in guards for inner in ast.walk(guard)}
    found: list[tuple[str, bool]] = []
    for node in read_nodes()[path]:
        if isinstance(node, ast.Import):
            found.extend((alias.name, id(node) in typed) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: imports are absolute"
            base = node.module or ""
            named = (f"{base}.{alias.name}" for alias in node.names)
            found.extend((other if other in FILES else base, id(node) in typed) for other in named)
    return tuple((other, only) for other, only in found if other in FILES)


def read_graph(*, types: bool) -> dict[str, set[str]]:
    """Return for every file those that it imports; with `types` also those that only type checkers read."""
    return {
        name: {other for other, only in read_imports(path) if types or not only} - {name}
        for name, path in FILES.items()
    }


def find_circles(graph: Mapping[str, set[str]]) -> list[list[str]]:
    """Return the groups of files that reach each other, of two and more, the largest first."""
    reached = {name: find_reached(graph, name) for name in graph}
    groups = {tuple(sorted(b for b in reached[a] if a in reached[b])) for a in graph if a in reached[a]}
    return sorted((list(group) for group in groups if len(group) > 1), key=len, reverse=True)


def find_reached(graph: Mapping[str, set[str]], start: str) -> set[str]:
    """Return everything that can be reached from a file, itself only if a way leads back to it."""
    seen: set[str] = set()
    ahead = list(graph[start])
    while ahead:
        name = ahead.pop()
        if name not in seen:
            seen.add(name)
            ahead.extend(graph[name])
    return seen


def test_circles_are_found() -> None:
    graph = {"a": {"b"}, "b": {"c"}, "c": {"a"}, "d": {"a"}, "e": {"f"}, "f": {"e", "a"}, "g": set[str]()}
    assert find_circles(graph) == [["a", "b", "c"], ["e", "f"]]


@pytest.mark.slow
def test_no_circle_of_imports_is_longer_than_three_files() -> None:
    graph = read_graph(types=True)
    assert len(graph) > 250
    assert sum(map(len, graph.values())) > 1000
    assert [circle for circle in find_circles(graph) if len(circle) > LONGEST] == []


def test_what_is_loaded_has_no_circle_at_all() -> None:
    """Without what only type checkers read, imports form no circle: any file can be loaded first."""
    assert find_circles(read_graph(types=False)) == []
