"""Names for what a file does not name."""

from __future__ import annotations

__all__ = ["unused"]


def unused(name: str, taken: set[str]) -> str:
    """The name, with a number where it is taken; it is taken then."""
    number, free = 2, name
    while free in taken:
        free, number = f"{name}{number}", number + 1
    taken.add(free)
    return free
