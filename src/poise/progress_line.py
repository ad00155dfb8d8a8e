"""A line on stderr that shows the progress of a long call."""

from __future__ import annotations

import builtins
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from poise.errors import InvalidValue

__all__ = ["Progress", "watch_progress"]

Progress = Callable[[int, int], Any]
FIRST_REPORT_S, BETWEEN_REPORTS_S = 2.0, 0.5


@contextmanager
def watch_progress(given: Progress | bool | None, unit: str) -> Iterator[Progress | None]:
    """Yield a function of (done, total): the given one, or one that writes a line on stderr.

    Args:
        given: A function; True or False; or None, to write on a terminal and in a notebook only.
        unit: The plural of the things that are counted.

    Raises:
        InvalidValue: It is something else.
    """
    if not (given is None or isinstance(given, bool) or callable(given)):
        raise InvalidValue(f"progress is {given!r}; it must be a function of ({unit} done, {unit}), True or False.")
    if not (given is True or (given is None and (sys.stderr.isatty() or hasattr(builtins, "__IPYTHON__")))):
        yield None if given is False else given
        return
    line = ProgressLine(unit)
    try:
        yield line.report
    finally:
        line.clear()


class ProgressLine:
    """A line that is written again at intervals, and not at all by a short call."""

    def __init__(self, unit: str) -> None:
        self.unit, self.begun, self.written = unit, time.monotonic(), 0.0

    def report(self, done: int, total: int) -> None:
        """Write the share that is done and the time that is left."""
        now = time.monotonic()
        if now - self.begun < FIRST_REPORT_S or now - self.written < BETWEEN_REPORTS_S or not 0 < done < total:
            return
        self.written = now
        left = (now - self.begun) * (total - done) / done
        sys.stderr.write(f"\r{done:,} of {total:,} {self.unit}, {100 * done // total} %, about {left:.0f} s left  ")
        sys.stderr.flush()

    def clear(self) -> None:
        """Remove the line, if one was written."""
        if self.written:
            sys.stderr.write("\r" + " " * 79 + "\r")
            sys.stderr.flush()
