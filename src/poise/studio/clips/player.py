"""The player of the studio: plays clips and records drags."""

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


RECORDING_FPS = 30.0  # frame rate of a recording
MAX_RECORDING_TIME = 120.0  # [s] longest recording
PLAYING_RATE = 60.0  # poses shown per second during playback
FRAME_TOLERANCE = 1e-9  # in frames: times closer than this to a frame are that frame


class Player:
    """The player and recorder of motions.

    Attributes:
        timeline: The open clip with its edit history, or None.
        seconds: The current time in the clip [s].
        start: The in point [s], where playback starts.
        end: The out point [s], where playback ends.
        loop: Whether playback repeats.
        speed: The playback speed; 1 is real time.
        changed: Called after every change with its kind: "motion", "time", "part" or "playing".

    Args:
        place: Sets the body's configuration.
        lock: A lock, held while the pose or the clip is changed.
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
        """The motion to play, with its edits, or None if no clip is open."""
        return None if self.timeline is None else self.timeline.state.motion

    @property
    def original(self) -> Motion | None:
        """The motion as it was opened, or None."""
        return None if self.timeline is None else self.timeline.state.original

    @property
    def edited(self) -> bool:
        """Whether the clip was edited."""
        return self.timeline is not None and self.timeline.state.edited

    @property
    def duration(self) -> float:
        """The duration of the motion [s]."""
        return 0.0 if self.motion is None else max(float(self.motion.times[-1]), 1e-3)

    @property
    def frame(self) -> int:
        """The frame of the clip nearest to the current time."""
        if self.motion is None:
            return 0
        return min(round(self.seconds * self.motion.fps), len(self.motion) - 1)

    def open(self, motion: Motion | None) -> None:
        """Open a motion and show its first pose; None closes the open clip."""
        self.stop()
        with self._lock:
            self.timeline = None if motion is None else Timeline(motion)
            self.seconds, self.start, self.end = 0.0, 0.0, self.duration
            if motion is not None:
                self._place(sample(motion, 0.0))  # under the lock, so that the previous pose does not count as an edit
        self.tell("motion")

    def refresh(self, *, place: bool = True) -> None:
        """Update after an edit of the clip; without `place` the body keeps its pose."""
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
        """Whether playback is running."""
        return self._playing.is_set()

    def show_at(self, seconds: float) -> None:
        """Show the pose at a time [s]: interpolated during playback, otherwise at the nearest frame."""
        with self._lock:
            if self.motion is None:
                return
            if not self.playing:  # a paused clip is at a frame
                seconds = round(seconds * self.motion.fps) / self.motion.fps
            self.seconds = min(max(seconds, 0.0), self.duration)
            self._place(sample(self.motion, self.seconds))
        self.tell("time")

    def step_frames(self, count: int) -> None:
        """Move by a number of frames, forward or back."""
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
        """Start playback, in its own thread."""
        if self.motion is not None and not self._playing.is_set():
            self._playing.set()
            self.tell("playing")
            threading.Thread(target=self.run, name="poise-player", daemon=True).start()

    def stop(self) -> None:
        """Stop playback at the nearest frame."""
        if self._playing.is_set():
            with self._lock:  # no other thread sees it between two frames
                self._playing.clear()
                self.show_at(self.seconds)
            self.tell("playing")

    def run(self) -> None:
        """Play until stopped, or to the out point."""
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
        """Whether the shown poses are being recorded."""
        return self._recorded is not None

    def record(self, q: Floats) -> None:
        """Start to record, with the first pose."""
        self._recorded = [(time.perf_counter(), q)]

    def watch(self, q: Floats) -> None:
        """Add a pose to the recording."""
        kept = self._recorded
        if kept is not None and time.perf_counter() - kept[0][0] < MAX_RECORDING_TIME:
            kept.append((time.perf_counter(), q))

    def finish(self, model: Model) -> None:
        """End the recording and open it as a motion, if it has at least two poses."""
        kept, self._recorded = self._recorded, None
        motion = make_motion(model, kept or [])
        if motion is None:
            self.tell("motion")
        else:
            self.open(motion)


def sample(motion: Motion, seconds: float) -> Floats:
    """Return the configuration at a time [s], interpolated between two frames."""
    at = min(seconds * motion.fps, len(motion) - 1.0)
    if abs(at - round(at)) < FRAME_TOLERANCE:
        return np.array(motion.q[round(at)])
    low = int(at)
    high = min(low + 1, len(motion) - 1)
    step = motion.model.difference(motion.q[low], motion.q[high])
    return motion.model.integrate(motion.q[low], (at - low) * step)


def make_motion(model: Model, recorded: list[tuple[float, Floats]]) -> Motion | None:
    """Resample recorded poses to a motion with a constant frame rate; None if fewer than two remain."""
    if len(recorded) < 2:
        return None
    times = np.array([t for t, _ in recorded]) - recorded[0][0]
    wanted = np.arange(0.0, times[-1], 1.0 / RECORDING_FPS)
    rows = np.clip(np.searchsorted(times, wanted, side="right") - 1, 0, len(recorded) - 1)
    return Motion(model, np.array([recorded[k][1] for k in rows]), RECORDING_FPS) if len(rows) > 1 else None
