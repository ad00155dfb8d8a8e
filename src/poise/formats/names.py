"""Unique names for parts that a file does not name."""

from __future__ import annotations

__all__ = ["reserve_name"]


def reserve_name(name: str, taken: set[str]) -> str:
    """Return the name, with a number if it is already taken, and reserve it."""
    number, free = 2, name
    while free in taken:
        free, number = f"{name}{number}", number + 1
    taken.add(free)
    return free
