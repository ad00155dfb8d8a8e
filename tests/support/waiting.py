"""Waiting in tests for what another thread does: never a fixed time, so that a slow machine is only slow."""

from __future__ import annotations

import time
from collections.abc import Callable


def wait_until(true: Callable[[], object], seconds: float = 60.0) -> bool:
    """Wait until something is true, and return whether it became so."""
    end = time.monotonic() + seconds
    while not true() and time.monotonic() < end:
        time.sleep(0.01)
    return bool(true())
