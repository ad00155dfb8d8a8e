"""The last tab: play a motion from a file, or one that was recorded here, with a time slider."""

from __future__ import annotations

import math
import threading
import time
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from poise.kinematics import Motion
from poise.studio.puppet import Frame

if TYPE_CHECKING:
    from poise.studio.server import Studio

__all__ = ["MotionTab"]

Floats = NDArray[np.float64]

FPS = 30.0  # of what is recorded
LONGEST = 120.0  # [s] of what is recorded


class MotionTab:
    """Made inside the tab that holds it."""

    def __init__(self, studio: Studio) -> None:
        self.studio = studio
        gui: Any = studio.server.gui
        self.motion: Motion | None = None
        self.about = gui.add_markdown(NOTHING)
        self.record = gui.add_checkbox("Record", False, hint="Keeps what you drag, 30 poses a second")
        self.play = gui.add_checkbox("Play", False, disabled=True)
        self.loop = gui.add_checkbox("Again and again", True)
        self.time = gui.add_slider("Time [s]", 0.0, 1.0, 0.01, 0.0, disabled=True)
        self.speed = gui.add_slider("Speed", 0.1, 2.0, 0.1, 1.0)
        self._taken: list[tuple[float, Floats]] = []
        self._playing = threading.Event()
        self.record.on_update(self.on_record)
        self.play.on_update(self.on_play)
        self.time.on_update(self.on_time)
        studio.listeners.append(self.watch)

    # ------------------------------------------------------------------------------------------ a motion

    def take(self, motion: Motion) -> None:
        """A motion to play."""
        self.motion = motion
        length = max(float(motion.times[-1]), 1e-3)
        self.about.content = f"**{len(motion)}** poses at {motion.fps:g} a second, {length:.2f} s."
        self.time.max, self.time.step = math.ceil(100 * length) / 100, 0.01
        self.time.disabled = self.play.disabled = False
        self.time.value = 0.0
        self.show_at(0.0)

    def show_at(self, seconds: float) -> None:
        """The pose at a time, between two poses where the time is."""
        motion = self.motion
        if motion is None:
            return
        at = min(max(seconds * motion.fps, 0.0), len(motion) - 1.0)
        low = int(at)
        high = min(low + 1, len(motion) - 1)
        step = motion.model.difference(motion.q[low], motion.q[high])
        self.studio.puppet.place(motion.model.integrate(motion.q[low], (at - low) * step))
        self.studio.touch()

    # ------------------------------------------------------------------------------------------ playing

    def on_time(self, event: Any) -> None:
        """The slider was moved by a viewer."""
        if event.client is not None:
            self.show_at(float(self.time.value))

    def on_play(self, event: Any) -> None:
        """Starts or stops."""
        if not self.play.value:
            self._playing.clear()
        elif self.motion is not None and not self._playing.is_set():
            self._playing.set()
            threading.Thread(target=self.run, name="poise-motion", daemon=True).start()

    def run(self) -> None:
        """Plays until it is stopped, or the end."""
        motion, before = self.motion, time.perf_counter()
        seconds = float(self.time.value)
        while self._playing.is_set() and motion is self.motion and motion is not None:
            now = time.perf_counter()
            seconds += float(self.speed.value) * (now - before)
            before = now
            if seconds > float(motion.times[-1]):
                if not self.loop.value:
                    break
                seconds = 0.0
            self.show_at(seconds)
            self.time.value = seconds
            time.sleep(max(1.0 / 60.0 - (time.perf_counter() - now), 0.0))
        self._playing.clear()
        self.play.value = False

    # ------------------------------------------------------------------------------------------ recording

    def on_record(self, event: Any) -> None:
        """Starts, or makes a motion of what was seen."""
        if self.record.value:
            self._taken = [(time.perf_counter(), self.studio.puppet.q)]
            self.about.content = "Recording: drag something."
            return
        taken, self._taken = self._taken, []
        motion = even(self.studio, taken)
        if motion is None:
            self.about.content = NOTHING
        else:
            self.take(motion)

    def watch(self, frame: Frame, T: Floats) -> None:
        """After every frame."""
        if self.record.value and self._taken and time.perf_counter() - self._taken[0][0] < LONGEST:
            self._taken.append((time.perf_counter(), frame.q))

    def changed_body(self) -> None:
        """The motion was another body's."""
        self._playing.clear()
        self.motion, self._taken = None, []
        self.about.content = NOTHING
        self.record.value = self.play.value = False
        self.time.disabled = self.play.disabled = True


NOTHING = "No motion yet: open a BVH or glTF file in the first tab, or record what you drag."


def even(studio: Studio, taken: list[tuple[float, Floats]]) -> Motion | None:
    """Poses at even times from poses as they came; None of fewer than two."""
    if len(taken) < 2:
        return None
    times = np.array([t for t, _ in taken]) - taken[0][0]
    wanted = np.arange(0.0, times[-1], 1.0 / FPS)
    rows = np.clip(np.searchsorted(times, wanted, side="right") - 1, 0, len(taken) - 1)
    return Motion(studio.model, np.array([taken[k][1] for k in rows]), FPS) if len(rows) > 1 else None
