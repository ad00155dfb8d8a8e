"""Clock: the time used by and left to a call that makes several searches."""

import time

__all__ = ["Clock"]


class Clock:
    """The time that a call has used and has left.

    Args:
        limit: Time limit [s]; None for no limit.
        spent: Time already used before the clock starts [s].
    """

    __slots__ = ("_begun", "_limit")

    def __init__(self, limit: float | None, spent: float = 0.0) -> None:
        self._begun = time.perf_counter() - spent
        self._limit = limit

    @property
    def seconds(self) -> float:
        """The time used so far [s]."""
        return time.perf_counter() - self._begun

    @property
    def left(self) -> float | None:
        """The time left [s], at least 0; None without a time limit."""
        return None if self._limit is None else max(self._limit - self.seconds, 0.0)

    @property
    def late(self) -> bool:
        """Whether no time is left."""
        return self.left == 0.0
