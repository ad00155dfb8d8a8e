"""Time budgets of tests with hostile files: far above the usual time, far below that of a failure."""

import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

__all__ = ["SLOWER", "within"]

SLOWER = 10.0 if "san" in os.environ.get("LD_PRELOAD", "") else 1.0  # sanitizers slow down every step


@contextmanager
def within(seconds: float, clock: Callable[[], float] = time.process_time) -> Iterator[None]:
    """Check that a block takes less than a time limit, in CPU time of this process, independent of other load.

    Pass `time.perf_counter` if another process does the work.
    """
    begun = clock()
    yield
    assert clock() - begun < seconds * SLOWER
