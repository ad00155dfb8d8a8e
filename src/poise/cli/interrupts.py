"""Ctrl-C during imports and destructors.

Python ignores exceptions in destructors and in callbacks of weak references, and every import calls one. A
KeyboardInterrupt that is lost there is raised again 10 ms later.
"""

from __future__ import annotations

import signal
import sys
import threading
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sys import UnraisableHookArgs

__all__ = ["install_interrupt_hook"]

DELAY = 0.01  # s, by which time the callback has returned


def install_interrupt_hook() -> None:
    """Re-raise KeyboardInterrupts that Python swallows in destructors and callbacks."""
    before = sys.unraisablehook

    def look(dropped: UnraisableHookArgs) -> None:
        if not issubclass(dropped.exc_type, KeyboardInterrupt):
            before(dropped)
            return
        again = threading.Timer(DELAY, signal.raise_signal, (signal.SIGINT,))
        again.daemon = True
        again.start()

    sys.unraisablehook = look
