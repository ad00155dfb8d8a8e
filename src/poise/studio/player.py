"""A clip in the studio: what is played, at what time, and what is recorded while somebody drags."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

import numpy as np
from numpy.typing import NDArray

from poise.kinematics import Motion
from poise.model import Model

__all__ = ["Player"]

Floats = NDArray[np.float64]

FPS = 30.0  # of what is recorded
LONGEST = 120.0  # [s] of what is recorded
SAME = 1e-6  # [rad, m] less than this is the pose of the clip itself
RATE = 60.0  # poses in a second while it plays


class Player:
    """Plays a motion, and records one.

    What is done to the pose by hand while the clip stands still becomes part of it: the change at that time, as a
    velocity of the body, fades out within `spread` seconds before and after.

    Attributes:
        motion: What is played, edits included; None before there is any.
        original: The motion as it was opened.
        spread: How far an edit reaches before and after its time [s].
        seconds: Where in it the body is.
        loop: Whether it begins again at its end.
        speed: How fast it plays; 1 is its own pace.
        changed: Called after every change of these, with what has changed: "motion", "time" or "playing".

    Args:
        place: Puts the body at a configuration.
        lock: Held while the pose or the clip is changed.
    """

    def __init__(self, place: Callable[[Floats], None], lock: AbstractContextManager[Any] | None = None) -> None:
        self.motion: Motion | None = None
        self.original: Motion | None = None
        self.spread = 0.5
        self.seconds = 0.0
        self.loop = True
        self.speed = 1.0
        self.changed: list[Callable[[str], None]] = []
        self._place = place
        self._lock = threading.RLock() if lock is None else lock
        self._edits: dict[int, Floats] = {}  # frame of the clip to how it was changed there, (nv,)
        self._playing = threading.Event()
        self._recorded: list[tuple[float, Floats]] | None = None

    # ------------------------------------------------------------------------------------------ playing

    def open(self, motion: Motion | None) -> None:
        """Take another motion and show its first pose; None closes the one that is open."""
        self.stop()
        with self._lock:
            self.motion = self.original = motion
            self.seconds, self._edits = 0.0, {}
            if motion is not None:
                self._place(sample(motion, 0.0))  # with the clip, so that the pose before is no edit of it
        self.tell("motion")

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
        with self._lock:
            if self.motion is None:
                return
            if not self.playing:  # what stands still is a frame of the clip
                seconds = round(seconds * self.motion.fps) / self.motion.fps
            self.seconds = min(max(seconds, 0.0), self.duration)
            self._place(sample(self.motion, self.seconds))
        self.tell("time")

    def step_frames(self, count: int) -> None:
        """Go so many frames of the clip on, or back."""
        if self.motion is not None:
            frame = round(self.seconds * self.motion.fps) + count
            self.show_at(min(max(frame, 0), len(self.motion) - 1) / self.motion.fps)

    def play(self) -> None:
        """Begin to play, in a thread of its own."""
        if self.motion is not None and not self._playing.is_set():
            self._playing.set()
            self.tell("playing")
            threading.Thread(target=self.run, name="poise-player", daemon=True).start()

    def stop(self) -> None:
        """Stop at the frame that is nearest."""
        if self._playing.is_set():
            self._playing.clear()
            self.tell("playing")
            self.show_at(self.seconds)

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
            with self._lock:
                if self._playing.is_set():
                    self.show_at(seconds)
            time.sleep(max(1.0 / RATE - (time.perf_counter() - now), 0.0))
        if motion is self.motion:
            self.stop()

    # ------------------------------------------------------------------------------------------ editing

    @property
    def edited(self) -> bool:
        """Whether the clip was changed by hand."""
        return bool(self._edits)

    def keep(self, q: Floats) -> None:
        """Keep a pose that was made by hand at this time; the pose of the original takes an edit back."""
        with self._lock:
            if self.motion is None or self.original is None or self.playing:
                return
            model, frame = self.motion.model, round(self.seconds * self.motion.fps)
            if np.abs(model.difference(sample(self.motion, self.seconds), q)).max(initial=0.0) < SAME:
                return
            self._edits.pop(frame, None)
            change = model.difference(sample(self.spread_edits(), self.seconds), q)
            if np.abs(change).max(initial=0.0) >= SAME:
                self._edits[frame] = change
            self.motion = self.spread_edits()
        self.tell("motion")

    def spread_edits(self) -> Motion:
        """Return the original with all edits, each fading out around its time."""
        assert self.original is not None
        model, q = self.original.model, self.original.q.copy()
        reach = max(self.spread * self.original.fps, 1.0)
        for frame, change in self._edits.items():
            for k in range(max(0, math.ceil(frame - reach)), min(len(q) - 1, math.floor(frame + reach)) + 1):
                share = 0.5 + 0.5 * math.cos(math.pi * (k - frame) / reach)
                q[k] = model.integrate(q[k], share * change)
        return Motion(model, q, self.original.fps)

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


def sample(motion: Motion, seconds: float) -> Floats:
    """Return the configuration at a time, between two poses where the time is."""
    at = min(seconds * motion.fps, len(motion) - 1.0)
    low = int(at)
    high = min(low + 1, len(motion) - 1)
    step = motion.model.difference(motion.q[low], motion.q[high])
    return motion.model.integrate(motion.q[low], (at - low) * step)


def make_motion(model: Model, recorded: list[tuple[float, Floats]]) -> Motion | None:
    """Make a motion with even times of poses as they came; None of fewer than two."""
    if len(recorded) < 2:
        return None
    times = np.array([t for t, _ in recorded]) - recorded[0][0]
    wanted = np.arange(0.0, times[-1], 1.0 / FPS)
    rows = np.clip(np.searchsorted(times, wanted, side="right") - 1, 0, len(recorded) - 1)
    return Motion(model, np.array([recorded[k][1] for k in rows]), FPS) if len(rows) > 1 else None
