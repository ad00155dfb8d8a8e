"""The syntax trees of all modules of Poise, parsed once for all tests of a process."""

import ast
import gc
from functools import cache
from pathlib import Path

from paths import SOURCES

__all__ = ["read_nodes", "read_trees"]


@cache
def read_trees() -> dict[Path, ast.Module]:
    """Return the tree of every module, by its path; the garbage collector would take as long as the parser."""
    gc.disable()
    try:
        return {path: ast.parse(path.read_text("utf-8")) for path in sorted(SOURCES.rglob("*.py"))}
    finally:
        gc.enable()


@cache
def read_nodes() -> dict[Path, list[ast.AST]]:
    """Return all nodes of every module."""
    return {path: list(ast.walk(tree)) for path, tree in read_trees().items()}
