"""Doors upwards: what a low room asks of a high one.

Imports point down, and no room names one above it. Where a low room offers something that a high one makes, as
`Solution.why` does, it asks for a door by name; `poise/__init__`, which stands above all rooms, says which room is
behind each door. That room is imported when its door is first opened.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

__all__ = ["lead", "open_door"]

_ROOMS: dict[str, str] = {}


def lead(door: str, room: str) -> None:
    """Say which room, as `import` names it, is behind a door."""
    _ROOMS[door] = room


def open_door(door: str) -> Any:
    """Return the room behind a door."""
    return import_module(_ROOMS[door])
