"""Hooks: values that a lower package gets from a higher one.

Imports point down, so a lower package that offers a feature of a higher one, as `Solution.why` does, declares a typed
hook. `poise/links.py`, above all of them, links every hook to its implementation; the first use imports it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, TypeVar

__all__ = ["Hook", "link_with"]

T = TypeVar("T")
_linkers: list[Callable[[], None]] = []


class Hook(Generic[T]):
    """A value from a higher package, imported on first use."""

    __slots__ = ("_load",)

    def __init__(self) -> None:
        self._load: Callable[[], T] | None = None

    def link(self, load: Callable[[], T]) -> Callable[[], T]:
        """Set the function that imports the value; usable as a decorator."""
        self._load = load
        return load

    def get(self) -> T:
        """Return the value."""
        if self._load is None:
            for linker in _linkers:
                linker()
        assert self._load is not None
        return self._load()


def link_with(linker: Callable[[], None]) -> None:
    """Set the function that links all hooks, called before the first hook is used."""
    _linkers[:] = [linker]
