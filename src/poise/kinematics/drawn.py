"""Drawn: what draws itself.

`poise.plot` and `poise.show` belong to rooms far above the things they draw. So they are asked for through doors,
see `poise.doors`, and nothing down here knows where they lead.
"""

from __future__ import annotations

from os import PathLike
from typing import Any

from poise.doors import open_door

__all__ = ["Drawn"]


class Drawn:
    """A thing with pictures of itself."""

    __slots__ = ()

    def plot(self, path: str | PathLike[str] | None = None, **options: Any) -> Any:
        """Draw this with matplotlib, as `poise.plot` does."""
        return open_door("pictures").plot(self, path, **options)

    def show(self, path: str | PathLike[str] | None = None, **options: Any) -> Any:
        """Show this on a page to turn and play, as `poise.show` does."""
        return open_door("pages").show(self, path, **options)
