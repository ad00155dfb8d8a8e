"""The last tab: play a motion from a file, or one that was recorded here, with a time slider."""

from __future__ import annotations

import math
from typing import Any

from numpy.typing import NDArray

from poise.studio.puppet import FrameResult
from poise.studio.session import Session

__all__ = ["MotionTab"]

NOTHING = "No motion yet: open a BVH or glTF file in the first tab, or record what you drag."


class MotionTab:
    """The panel of the player; made inside the tab that holds it."""

    def __init__(self, session: Session) -> None:
        self.session, self.player = session, session.player
        gui: Any = session.server.gui
        self.about = gui.add_markdown(NOTHING)
        self.record = gui.add_checkbox("Record", False, hint="Keeps what you drag, 30 poses a second")
        self.play = gui.add_checkbox("Play", False, disabled=True)
        self.loop = gui.add_checkbox("Loop", True)
        self.time = gui.add_slider("Time [s]", 0.0, 1.0, 0.01, 0.0, disabled=True)
        self.speed = gui.add_slider("Speed", 0.1, 2.0, 0.1, 1.0)
        self.record.on_update(lambda _: self.on_record())
        self.play.on_update(lambda event: self.on_play() if event.client is not None else None)
        self.loop.on_update(lambda _: self.on_pace())
        self.speed.on_update(lambda _: self.on_pace())
        self.time.on_update(lambda event: self.player.show_at(float(self.time.value)) if event.client else None)
        self.player.changed.append(self.show)
        session.listeners.append(self.watch)
        self.show("motion")

    def show(self, what: str) -> None:
        """Show what the player does; it says what has changed."""
        if what == "motion":
            self.show_motion()
        self.play.value = self.player.playing
        if not self.time.disabled:
            self.time.value = min(self.player.seconds, self.time.max)

    def show_motion(self) -> None:
        """Show which motion is open."""
        motion = self.player.motion
        self.time.disabled = self.play.disabled = motion is None
        if motion is None:
            self.about.content = NOTHING
            return
        length = self.player.duration
        self.about.content = f"**{len(motion)}** poses at {motion.fps:g} a second, {length:.2f} s."
        self.time.max, self.time.step = math.ceil(100 * length) / 100, 0.01

    def on_play(self) -> None:
        """Start or stop, as the box says."""
        if self.play.value:
            self.player.play()
        else:
            self.player.stop()

    def on_pace(self) -> None:
        """Take the speed, and whether it loops."""
        self.player.loop, self.player.speed = bool(self.loop.value), float(self.speed.value)

    def on_record(self) -> None:
        """Begin to record, or make a motion of what was seen."""
        if self.record.value:
            self.player.record(self.session.puppet.q)
            self.about.content = "Recording: drag something."
        elif self.player.recording:
            self.player.finish(self.session.model)

    def watch(self, frame: FrameResult, T: NDArray[Any]) -> None:
        """Record the frame that was shown."""
        if self.record.value:
            self.player.watch(frame.q)

    def change_body(self) -> None:
        """Forget the motion, which was another body's."""
        self.record.value = False
