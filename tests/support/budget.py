"""Time budgets of tests that bound what a hostile file may cost: far above what it takes, far below what goes wrong."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

__all__ = ["SLOWER", "within"]

SLOWER = 10.0 if "san" in os.environ.get("LD_PRELOAD", "") else 1.0  # a sanitizer watches every step


@contextmanager
def within(seconds: float, clock: Callable[[], float] = time.process_time) -> Iterator[None]:
    """What is inside takes less than so long, of this process's own time: a busy machine is not our business.

    Give `time.perf_counter` where another process does the work.
    """
    begun = clock()
    yield
    assert clock() - begun < seconds * SLOWER
