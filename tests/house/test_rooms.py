"""The rooms: no import circle of more than three files, counted with imports inside functions and for types alone."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

SOURCE = Path(__file__).parents[2] / "src"
MOST = 3  # files in one circle
LARGER = {"poise.model": 10}  # rooms that are not there yet; these may only shrink

Graph = dict[str, set[str]]


def read_imports() -> Graph:
    """Return what each module of the package imports, at its top or anywhere else."""
    files = {name_of(path): path for path in SOURCE.rglob("poise/**/*.py")}
    return {name: {other for other in named(path, files) if other != name} for name, path in files.items()}


def name_of(path: Path) -> str:
    """Return a file's name as `import` has it."""
    return ".".join(path.relative_to(SOURCE).with_suffix("").parts).removesuffix(".__init__")


def named(path: Path, files: dict[str, Path]) -> Iterator[str]:
    """Yield the modules that a file names in its imports."""
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name in files)
        elif isinstance(node, ast.ImportFrom) and node.module:
            whole = [f"{node.module}.{alias.name}" for alias in node.names]
            yield from (name if name in files else node.module for name in whole if node.module in files)


def reachable(graph: Graph, start: str) -> set[str]:
    """Return every module that a chain of imports leads to."""
    found: set[str] = set()
    ahead = list(graph[start])
    while ahead:
        name = ahead.pop()
        if name not in found:
            found.add(name)
            ahead += graph[name]
    return found


def test_no_circle_has_more_than_three_files() -> None:
    graph = read_imports()
    reach = {name: reachable(graph, name) for name in graph}
    circles = {frozenset({name, *(other for other in reach[name] if name in reach[other])}) for name in graph}
    for circle in circles:
        rooms = {".".join(name.split(".")[:2]) for name in circle}
        most = max(LARGER.get(room, MOST) for room in rooms)
        assert len(circle) <= most, sorted(circle)
    assert any(len(circle) > 1 for circle in circles)  # it does see them


def test_no_room_is_looked_up_by_name() -> None:
    """What the layers forbid to `import` is not found by a name either: `poise/__init__` alone knows the rooms."""
    for path in SOURCE.rglob("poise/**/*.py"):
        calls = [node for node in ast.walk(ast.parse(path.read_text("utf-8"))) if isinstance(node, ast.Call)]
        asked = [ast.unparse(call.args[0]) for call in calls if "import_module" in ast.unparse(call.func)]
        rooms = [text for text in asked if "'poise" in text]
        assert not rooms or path == SOURCE / "poise" / "__init__.py", (path, rooms)
