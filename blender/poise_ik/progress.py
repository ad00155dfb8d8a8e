"""Progress in Blender's mouse pointer."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import bpy

__all__ = ["show_progress"]


@contextmanager
def show_progress() -> Iterator[Callable[[int, int], None]]:
    """Show the share of frames that are done, by the function that the block gets."""
    manager = bpy.context.window_manager
    manager.progress_begin(0, 100)
    try:
        yield lambda done, total: manager.progress_update(100 * done // max(total, 1))
    finally:
        manager.progress_end()
