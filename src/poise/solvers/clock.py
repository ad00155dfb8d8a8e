"""Clock: how long a call that makes several searches has taken, and how long the next one may take."""

from __future__ import annotations

import time

__all__ = ["Clock"]


class Clock:
    """The time that a call has used, and has left.

    Args:
        limit: Most seconds that it may take; None: as long as it takes.
        spent: Seconds that it has taken before.
    """

    __slots__ = ("_begun", "_limit")

    def __init__(self, limit: float | None, spent: float = 0.0) -> None:
        self._begun = time.perf_counter() - spent
        self._limit = limit

    @property
    def seconds(self) -> float:
        """Seconds that the call has taken."""
        return time.perf_counter() - self._begun

    @property
    def left(self) -> float | None:
        """Seconds that are left, at least 0; None without a time limit."""
        return None if self._limit is None else max(self._limit - self.seconds, 0.0)

    @property
    def late(self) -> bool:
        """Whether no time is left."""
        return self.left == 0.0
