"""No package uses private members of another one."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from paths import SOURCES
from source_trees import read_nodes

FOREIGN = {  # private members of other libraries, and names that Python reserves
    "_exit",  # os
    "_impl",  # viser
    "_queue_scene_message",  # viser
    "_replace",  # named tuples
    "_repr_png_",  # IPython
    "_websock_server",  # viser
}


def find_package(path: Path) -> str:
    """Return the package of a module, or the module itself at the top."""
    return path.relative_to(SOURCES).with_suffix("").parts[0]


def is_own(value: ast.expr) -> bool:
    """Return whether an expression is `self` or `cls`."""
    return isinstance(value, ast.Name) and value.id in ("self", "cls")


def list_members(nodes: list[ast.AST]) -> Iterator[str]:
    """Yield the names that a module defines: functions, variables, attributes of classes and of self."""
    for node in nodes:
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            yield node.name
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store) and is_own(node.value):
            yield node.attr


@cache
def list_private_uses() -> list[tuple[str, str, str]]:
    """Return every use of a private member of anything but `self` and `cls`: the package, the member, the place."""
    return [
        (find_package(path), node.attr, f"{path.relative_to(SOURCES)}:{node.lineno}: {ast.unparse(node)}")
        for path, nodes in read_nodes().items()
        for node in nodes
        if isinstance(node, ast.Attribute) and re.match("_[^_]", node.attr) and not is_own(node.value)
    ]


def list_reach_ins() -> Iterator[tuple[str, str]]:
    """Yield the private members that are used in a package which does not define them, each with the place."""
    own: dict[str, set[str]] = {}
    for path, nodes in read_nodes().items():
        own.setdefault(find_package(path), set()).update(list_members(nodes))
    return ((name, place) for package, name, place in list_private_uses() if name not in own[package])


def test_no_package_uses_a_private_member_of_another() -> None:
    new = [place for name, place in list_reach_ins() if name not in FOREIGN]
    assert not new, "\n".join(new)


@pytest.mark.parametrize("member", ["_facts", "_native", "_options", "_solver", "_run"])
def test_the_private_members_of_solvers_are_used_there_alone(member: str) -> None:
    """A package that has a member of the same name uses its own one."""
    found = [place for package, name, place in list_private_uses() if name == member and package != "solvers"]
    assert not found, "\n".join(found)


def test_exceptions_name_members_that_are_used() -> None:
    assert {name for name, _ in list_reach_ins()} >= FOREIGN
