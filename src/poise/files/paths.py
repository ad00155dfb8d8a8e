"""Paths as given by a user."""

from os import fsdecode
from pathlib import Path

from poise.errors import InvalidValue

__all__ = ["convert_path", "path_exists"]


def convert_path(path: object) -> str:
    """Return a path as text."""
    try:
        return fsdecode(path)  # type: ignore[arg-type]
    except TypeError:
        raise InvalidValue(f"a path must be a string or a pathlib.Path, not {path!r}.") from None


def path_exists(path: str) -> bool:
    """Return whether a path exists; False for an invalid name."""
    try:
        return Path(path).exists()
    except (OSError, ValueError):
        return False
