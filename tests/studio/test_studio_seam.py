"""The studio stands on the rig by what the rig offers: nothing private is touched, and nothing of it is overridden."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from paths import SOURCES
from source_trees import read_trees

ROOMS = ("studio", "pages")
OWN = ("self", "cls")


# viser has no public way to move many bones without comparing each twice; where its insides differ, setters are used
OF_VISER = {
    ("node_moves.py", "handle._impl"),
    ("node_moves.py", "node.api._queue_scene_message"),
    ("viser_server.py", "server._websock_server"),  # the number of messages in one window
}


def read_rooms() -> Iterator[tuple[Path, ast.Module]]:
    """Yield every file of the rooms, parsed."""
    for room in ROOMS:
        yield from ((path, tree) for path, tree in read_trees().items() if path.is_relative_to(SOURCES / room))


def is_private(name: str) -> bool:
    """Return whether a name is private."""
    return name.startswith("_") and not name.startswith(("__", "_repr_"))


@pytest.mark.slow
def test_nothing_private_of_another_object_is_touched() -> None:
    found = [
        f"{path.name}:{node.lineno} {ast.unparse(node)}"
        for path, tree in read_rooms()
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute) and is_private(node.attr) and ast.unparse(node.value) not in OWN
        if (path.name, ast.unparse(node)) not in OF_VISER
    ]
    assert not found


@pytest.mark.slow
def test_the_rig_is_had_by_its_door() -> None:
    found = [
        f"{path.name}:{node.lineno} {node.module}"
        for path, tree in read_rooms()
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("poise.rig.")
    ]
    assert not found


@pytest.mark.slow
def test_no_class_of_a_lower_room_is_made_another() -> None:
    for path, tree in read_rooms():
        lower = {
            alias.asname or alias.name
            for node in ast.walk(tree)
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("poise.")
            if str(node.module).split(".")[1] not in ROOMS
            for alias in node.names
        }
        bases = {ast.unparse(base) for node in ast.walk(tree) if isinstance(node, ast.ClassDef) for base in node.bases}
        assert not bases & lower, (path, bases & lower)
