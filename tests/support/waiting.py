"""Waiting for other threads in tests, without fixed delays, so that tests pass on slow machines."""

import time
from collections.abc import Callable


def wait_until(true: Callable[[], object], seconds: float = 60.0) -> bool:
    """Wait until a condition is true; return whether it became true."""
    end = time.monotonic() + seconds
    while not true() and time.monotonic() < end:
        time.sleep(0.01)
    return bool(true())
