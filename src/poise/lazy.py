"""Lazy packages: modules whose names are imported when they are first used."""

from __future__ import annotations

import sys
from collections.abc import Callable, Collection, Mapping
from importlib import import_module
from typing import Any

__all__ = ["load_lazily"]


def load_lazily(
    package: str,
    homes: Mapping[str, str],
    *,
    also: Collection[str] = (),
    explain: Callable[[str], str] = "".format,
) -> tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]:
    """Return `__getattr__`, `__dir__` and `__all__` of a package; type checkers read its imports instead.

    Args:
        package: Its `__name__`.
        homes: Public names, separated by spaces, by the module that defines them; its own modules begin with a dot.
        also: Other public names: those that the package defines itself, and its submodules.
        explain: Returns where else an unknown name may be found, to be put before the list of names in the error.
    """
    where = {name: module for module, names in homes.items() for name in names.split()}
    public = sorted({*where, *also})

    def find(name: str) -> Any:
        if name in where:
            value = getattr(import_module(where[name], package), name)
        elif name in also:
            value = import_module(f".{name}", package)
        else:
            raise AttributeError(
                f"module {package!r} has no attribute {name!r}; {explain(name)}it has: {', '.join(public)}"
            )
        setattr(sys.modules[package], name, value)
        return value

    return find, lambda: [*public, *(["__version__"] if hasattr(sys.modules[package], "__version__") else [])], public
