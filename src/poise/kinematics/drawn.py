"""Drawn: what draws itself.

`poise.plot` and `poise.show` belong to rooms far above the things they draw. So they are asked for through doors,
see `poise.doors`, and nothing down here knows where they lead.
"""

from __future__ import annotations

from os import PathLike
from typing import Any

from poise.doors import open_door
from poise.errors import PoiseError

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

    def _repr_html_(self) -> str | None:
        """Show the body in a notebook cell, to be turned and played; None where there is nothing to show."""
        try:
            return str(open_door("pages").show(self, browser=False)._repr_html_())
        except PoiseError:
            return None
