"""Rate limiting of function calls."""

import threading
import time
from collections.abc import Callable

__all__ = ["Pace"]


class Pace:
    """A function that is called at most once per `every` seconds, and always once after the last request."""

    def __init__(self, do: Callable[[], None], every: float) -> None:
        self._do, self._every = do, every
        self._lock = threading.Lock()
        self._next = 0.0
        self._timer: threading.Timer | None = None

    def ask(self) -> None:
        """Request a call, now or when the pause is over."""
        with self._lock:
            wait = self._next - time.perf_counter()
            if wait > 0.0:
                self._start(wait)
                return
            self._next = time.perf_counter() + self._every
        self._do()

    def ask_later(self) -> None:
        """Request a call after `every` seconds."""
        with self._lock:
            self._start(self._every)

    def _start(self, wait: float) -> None:
        if self._timer is None:
            self._timer = threading.Timer(wait, self._finish)
            self._timer.daemon = True
            self._timer.start()

    def _finish(self) -> None:
        with self._lock:
            self._timer = None
            self._next = time.perf_counter() + self._every
        self._do()
