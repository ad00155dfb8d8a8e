"""Notebook cells: the display of a model, a pose or a motion in Jupyter."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from poise.hooks import Hook

__all__ = ["CELL_WRITER", "CellWriter", "NotebookCell"]

CellWriter: TypeAlias = Callable[[object], "str | None"]
CELL_WRITER = Hook[CellWriter]()


class NotebookCell:
    """A base class for objects that Jupyter displays as a page."""

    __slots__ = ()

    def _repr_html_(self) -> str | None:
        """Return the cell in HTML, or None if there is nothing to draw."""
        return CELL_WRITER.get()(self)
