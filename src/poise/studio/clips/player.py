"""The player of the studio: plays a clip, and records a drag."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

import numpy as np

from poise.arrays import Floats
from poise.kinematics import Motion
from poise.model import Model
from poise.studio.clips.timeline import Timeline

__all__ = ["Player", "sample"]


RECORDING_FPS = 30.0  # of what is recorded
MAX_RECORDING_TIME = 120.0  # [s] of what is recorded
PLAYING_RATE = 60.0  # poses in a second while it plays
FRAME_TOLERANCE = 1e-9  # of a frame: nearer than this, a time is that of a frame


class Player:
    """Plays a motion, and records one.

    Attributes:
        timeline: The clip that is open, with all that was done to it; None before there is any.
        seconds: Where in it the body is.
        start: The in point [s]: playing begins there.
        end: The out point [s]: playing ends there.
        loop: Whether it begins again at its end.
        speed: How fast it plays; 1 is its own pace.
        changed: Called after every change of these, with what has changed: "motion", "time", "part" or "playing".

    Args:
        place: Puts the body at a configuration.
        lock: Held while the pose or the clip is changed.
    """

    def __init__(self, place: Callable[[Floats], None], lock: AbstractContextManager[Any] | None = None) -> None:
        self.timeline: Timeline | None = None
        self.seconds = 0.0
        self.start = self.end = 0.0
        self.loop = True
        self.speed = 1.0
        self.changed: list[Callable[[str], None]] = []
        self._place = place
        self._lock = threading.RLock() if lock is None else lock
        self._playing = threading.Event()
        self._recorded: list[tuple[float, Floats]] | None = None

    # ------------------------------------------------------------------------------------------ the clip

    @property
    def motion(self) -> Motion | None:
        """The motion that is played, with its edits; None if no clip is open."""
        return None if self.timeline is None else self.timeline.state.motion

    @property
    def original(self) -> Motion | None:
        """The motion as it was opened."""
        return None if self.timeline is None else self.timeline.state.original

    @property
    def edited(self) -> bool:
        """Whether the clip was changed."""
        return self.timeline is not None and self.timeline.state.edited

    @property
    def duration(self) -> float:
        """How long the motion is [s]."""
        return 0.0 if self.motion is None else max(float(self.motion.times[-1]), 1e-3)

    @property
    def frame(self) -> int:
        """The frame of the clip that is nearest to where the body is."""
        if self.motion is None:
            return 0
        return min(round(self.seconds * self.motion.fps), len(self.motion) - 1)

    def open(self, motion: Motion | None) -> None:
        """Take another motion and show its first pose; None closes the one that is open."""
        self.stop()
        with self._lock:
            self.timeline = None if motion is None else Timeline(motion)
            self.seconds, self.start, self.end = 0.0, 0.0, self.duration
            if motion is not None:
                self._place(sample(motion, 0.0))  # with the clip, so that the pose before does not count as an edit
        self.tell("motion")

    def refresh(self, *, place: bool = True) -> None:
        """Show the clip after something was done to it; without `place` the body stays where it is."""
        with self._lock:
            if self.motion is None:
                return
            whole = self.end >= self.duration or self.end <= self.start
            self.end = self.duration if whole else self.end
            self.start = min(self.start, max(self.end - 1.0 / self.motion.fps, 0.0))
            self.seconds = min(self.seconds, self.duration)
            if place and not self.playing:
                self._place(sample(self.motion, self.seconds))
        self.tell("motion")

    # ------------------------------------------------------------------------------------------ playing

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
            self.show_at(min(max(self.frame + count, 0), len(self.motion) - 1) / self.motion.fps)

    def set_part(self, start: float | None = None, end: float | None = None) -> None:
        """Set the in and out points [s], at least a frame apart."""
        if self.motion is None:
            return
        with self._lock:
            least = 1.0 / self.motion.fps
            first = self.start if start is None else start
            last = self.end if end is None else end
            if start is not None and end is None:
                last = max(last, first + least)
            self.end = min(max(last, least), self.duration)
            self.start = min(max(first, 0.0), max(self.end - least, 0.0))
        self.tell("part")

    def play(self) -> None:
        """Begin to play, in a thread of its own."""
        if self.motion is not None and not self._playing.is_set():
            self._playing.set()
            self.tell("playing")
            threading.Thread(target=self.run, name="poise-player", daemon=True).start()

    def stop(self) -> None:
        """Stop at the frame that is nearest."""
        if self._playing.is_set():
            with self._lock:  # nobody sees it stand between two frames
                self._playing.clear()
                self.show_at(self.seconds)
            self.tell("playing")

    def run(self) -> None:
        """Play until it is stopped, or to the out point."""
        timeline, before = self.timeline, time.perf_counter()
        while self._playing.is_set() and timeline is self.timeline:
            now = time.perf_counter()
            seconds = self.seconds + self.speed * (now - before)
            before = now
            if seconds > self.end or seconds < self.start:
                if seconds > self.end and not self.loop and self.seconds < self.end:
                    self.show_at(self.end)
                    break
                seconds = self.start
            with self._lock:
                if self._playing.is_set():
                    self.show_at(seconds)
            time.sleep(max(1.0 / PLAYING_RATE - (time.perf_counter() - now), 0.0))
        if timeline is self.timeline:
            self.stop()

    def tell(self, what: str) -> None:
        """Call all listeners with the kind of change."""
        for listen in self.changed:
            listen(what)

    # ------------------------------------------------------------------------------------------ recording

    @property
    def recording(self) -> bool:
        """Whether the poses that are shown are recorded."""
        return self._recorded is not None

    def record(self, q: Floats) -> None:
        """Begin to record at a configuration."""
        self._recorded = [(time.perf_counter(), q)]

    def watch(self, q: Floats) -> None:
        """Add the current pose to the recording."""
        kept = self._recorded
        if kept is not None and time.perf_counter() - kept[0][0] < MAX_RECORDING_TIME:
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
    if abs(at - round(at)) < FRAME_TOLERANCE:
        return np.array(motion.q[round(at)])
    low = int(at)
    high = min(low + 1, len(motion) - 1)
    step = motion.model.difference(motion.q[low], motion.q[high])
    return motion.model.integrate(motion.q[low], (at - low) * step)


def make_motion(model: Model, recorded: list[tuple[float, Floats]]) -> Motion | None:
    """Make a motion with even times of poses as they came; None of fewer than two."""
    if len(recorded) < 2:
        return None
    times = np.array([t for t, _ in recorded]) - recorded[0][0]
    wanted = np.arange(0.0, times[-1], 1.0 / RECORDING_FPS)
    rows = np.clip(np.searchsorted(times, wanted, side="right") - 1, 0, len(recorded) - 1)
    return Motion(model, np.array([recorded[k][1] for k in rows]), RECORDING_FPS) if len(rows) > 1 else None
