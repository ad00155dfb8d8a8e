"""Drawn: what draws itself.

`poise.plot` and `poise.show` belong to the studio, far above the things they draw. So they are looked up by name when
they are asked for, and nothing down here depends on them.
"""

from __future__ import annotations

from importlib import import_module
from os import PathLike
from typing import Any

__all__ = ["Drawn"]


class Drawn:
    """A thing with pictures of itself."""

    __slots__ = ()

    def plot(self, path: str | PathLike[str] | None = None, **options: Any) -> Any:
        """A picture with matplotlib: `poise.plot` of this."""
        return import_module("poise").plot(self, path, **options)

    def show(self, path: str | PathLike[str] | None = None, **options: Any) -> Any:
        """A page to turn and play: `poise.show` of this."""
        return import_module("poise").show(self, path, **options)
