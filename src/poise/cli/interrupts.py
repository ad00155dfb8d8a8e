"""Ctrl-C, wherever it comes.

Python drops an exception that is raised where nothing can be: in a destructor, or in the callback of a weak reference,
of which every import calls one. A KeyboardInterrupt that is lost so is raised again a moment later.
"""

from __future__ import annotations

import signal
import sys
import threading
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sys import UnraisableHookArgs

__all__ = ["install_interrupt_hook"]

SOON = 0.01  # s: the callback is over by then


def install_interrupt_hook() -> None:
    """Re-raise KeyboardInterrupts that Python swallows in destructors and callbacks."""
    before = sys.unraisablehook

    def look(dropped: UnraisableHookArgs) -> None:
        if not issubclass(dropped.exc_type, KeyboardInterrupt):
            before(dropped)
            return
        again = threading.Timer(SOON, signal.raise_signal, (signal.SIGINT,))
        again.daemon = True
        again.start()

    sys.unraisablehook = look
