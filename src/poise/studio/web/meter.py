"""Timings of the last frames: solve time, frame rate, and delay from mouse event to pose."""

import threading
import time
from collections import deque

import numpy as np

__all__ = ["Meter"]


class Meter:
    """A record of the last 400 measurements, in seconds."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self.solves: deque[float] = deque(maxlen=400)
        self.delays: deque[float] = deque(maxlen=400)
        self.frames: deque[float] = deque(maxlen=400)

    def add(self, solve: float, event: float | None) -> None:
        """Add a frame: its solve time [s], and the time of its mouse event (`perf_counter`).

        `event` is None without a mouse event.
        """
        now = time.perf_counter()
        with self._lock:
            self.solves.append(solve)
            self.frames.append(now)
            if event is not None:
                self.delays.append(now - event)

    def summarize(self) -> dict[str, float]:
        """Return medians and 99th percentiles [ms], and the frame rate of the last burst [1/s]."""
        with self._lock:
            solves, delays, frames = (np.array(of) for of in (self.solves, self.delays, self.frames))
        steps = np.diff(frames)
        steps = steps[steps < 0.25][-60:]
        return {
            "solve_ms": find_percentile(solves, 50),
            "solve_ms_p99": find_percentile(solves, 99),
            "delay_ms": find_percentile(delays, 50),
            "delay_ms_p99": find_percentile(delays, 99),
            "frames_per_second": float(1.0 / steps.mean()) if len(steps) else 0.0,
        }


def find_percentile(seconds: np.ndarray, at: float) -> float:
    """Return a percentile in milliseconds, or 0 without values."""
    return float(1e3 * np.percentile(seconds, at)) if len(seconds) else 0.0
