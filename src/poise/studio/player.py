"""A clip in the studio: what is played, at what time, and what is recorded while somebody drags."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from poise.kinematics import Motion
from poise.model import Model

__all__ = ["Player"]

Floats = NDArray[np.float64]

FPS = 30.0  # of what is recorded
LONGEST = 120.0  # [s] of what is recorded
RATE = 60.0  # poses in a second while it plays


class Player:
    """Plays a motion, and records one.

    Attributes:
        motion: What is played; None before there is any.
        seconds: Where in it the body is.
        loop: Whether it begins again at its end.
        speed: How fast it plays; 1 is its own pace.
        changed: Called after every change of these, with what has changed: "motion", "time" or "playing".

    Args:
        place: Puts the body at a configuration.
    """

    def __init__(self, place: Callable[[Floats], None]) -> None:
        self.motion: Motion | None = None
        self.seconds = 0.0
        self.loop = True
        self.speed = 1.0
        self.changed: list[Callable[[str], None]] = []
        self._place = place
        self._playing = threading.Event()
        self._recorded: list[tuple[float, Floats]] | None = None

    # ------------------------------------------------------------------------------------------ playing

    def open(self, motion: Motion | None) -> None:
        """Take another motion and show its first pose; None closes the one that is open."""
        self.stop()
        self.motion, self.seconds = motion, 0.0
        self.tell("motion")
        if motion is not None:
            self.show_at(0.0)

    @property
    def duration(self) -> float:
        """How long the motion is [s]."""
        return 0.0 if self.motion is None else max(float(self.motion.times[-1]), 1e-3)

    @property
    def playing(self) -> bool:
        """Whether it plays."""
        return self._playing.is_set()

    def show_at(self, seconds: float) -> None:
        """Show the pose at a time, between two poses where the time is."""
        motion = self.motion
        if motion is None:
            return
        self.seconds = min(max(seconds, 0.0), self.duration)
        at = min(self.seconds * motion.fps, len(motion) - 1.0)
        low = int(at)
        high = min(low + 1, len(motion) - 1)
        step = motion.model.difference(motion.q[low], motion.q[high])
        self._place(motion.model.integrate(motion.q[low], (at - low) * step))
        self.tell("time")

    def play(self) -> None:
        """Begin to play, in a thread of its own."""
        if self.motion is not None and not self._playing.is_set():
            self._playing.set()
            self.tell("playing")
            threading.Thread(target=self.run, name="poise-player", daemon=True).start()

    def stop(self) -> None:
        """Stop where it is."""
        if self._playing.is_set():
            self._playing.clear()
            self.tell("playing")

    def run(self) -> None:
        """Play until it is stopped, or to the end."""
        motion, before = self.motion, time.perf_counter()
        while self._playing.is_set() and motion is self.motion:
            now = time.perf_counter()
            seconds = self.seconds + self.speed * (now - before)
            before = now
            if seconds > self.duration:
                if not self.loop:
                    break
                seconds = 0.0
            self.show_at(seconds)
            time.sleep(max(1.0 / RATE - (time.perf_counter() - now), 0.0))
        if motion is self.motion:
            self.stop()

    def tell(self, what: str) -> None:
        """Tell everybody who listens that something has changed."""
        for listen in self.changed:
            listen(what)

    # ------------------------------------------------------------------------------------------ recording

    @property
    def recording(self) -> bool:
        """Whether what is seen is recorded."""
        return self._recorded is not None

    def record(self, q: Floats) -> None:
        """Begin to record at a configuration."""
        self._recorded = [(time.perf_counter(), q)]

    def watch(self, q: Floats) -> None:
        """Add what is seen now to what is recorded."""
        kept = self._recorded
        if kept is not None and time.perf_counter() - kept[0][0] < LONGEST:
            kept.append((time.perf_counter(), q))

    def finish(self, model: Model) -> None:
        """End the recording and open it as a motion, where it has two poses."""
        kept, self._recorded = self._recorded, None
        motion = make_motion(model, kept or [])
        if motion is None:
            self.tell("motion")
        else:
            self.open(motion)


def make_motion(model: Model, recorded: list[tuple[float, Floats]]) -> Motion | None:
    """Make a motion with even times of poses as they came; None of fewer than two."""
    if len(recorded) < 2:
        return None
    times = np.array([t for t, _ in recorded]) - recorded[0][0]
    wanted = np.arange(0.0, times[-1], 1.0 / FPS)
    rows = np.clip(np.searchsorted(times, wanted, side="right") - 1, 0, len(recorded) - 1)
    return Motion(model, np.array([recorded[k][1] for k in rows]), FPS) if len(rows) > 1 else None
