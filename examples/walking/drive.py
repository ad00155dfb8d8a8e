"""Walk a figure over the stage of the studio with four keys, in real time: `python drive.py [BODY]`.

The browser reports that a key is pressed, again and again while it is held, but not that it was released. So a key
holds for a moment after it was heard last, and while any key is heard all that hold go on: who walks ahead and then
turns, walks on.
"""

from __future__ import annotations

import sys
import threading
import time
from typing import Any

import numpy as np
from walker import SLOW, Walker

from poise.kinematics.carriers import find_root
from poise.studio import Studio

__all__ = ["DRIVE_KEYS", "Drive"]


DRIVE_KEYS = {
    "I": ("Ahead", (1.0, 0.0)),
    "K": ("Back", (-1.0, 0.0)),
    "J": ("Left", (0.0, 1.0)),
    "L": ("Right", (0.0, -1.0)),
}
HOLDS = 0.6  # [s] a key holds after it was heard: a keyboard waits half a second before it repeats
RATE = 40.0  # poses in a second
TRAIL = 200  # places that the cameras follow
HINT = "I ahead, K back, J left, L right"


class Drive:
    """A checkbox in the panel of a studio that lets keys drive, and the thread that walks.

    Attributes:
        heard: When each key was heard last (`time.perf_counter`).
        walker: The figure that walks; None while nobody drives it.
    """

    def __init__(self, studio: Studio) -> None:
        self.session, self.panel = studio.session, studio.panel
        gui: Any = self.session.server.gui
        with gui.add_folder("Walk", expand_by_default=False):
            self.box = gui.add_checkbox("Drive by keys", False, hint=HINT)
            self.steps = gui.add_button_group("Go", tuple(label for label, _ in DRIVE_KEYS.values()))
        self.heard: dict[str, float] = {}
        self.walker: Walker | None = None
        self._commands: list[Any] = []
        self._on = threading.Event()
        self._trail = np.zeros((0, 3))
        self.box.on_update(lambda _: self.switch(self.box.value))
        self.steps.on_click(lambda _: self.press_label(self.steps.value))

    # ------------------------------------------------------------------------------------------ keys

    def can_walk(self) -> bool:
        """Return whether the body has a free root and two feet."""
        stands = sum(handle.stands for handle in self.session.puppet.handles.values())
        return stands > 1 and find_root(self.session.model) is not None

    def switch(self, on: bool) -> None:
        """Let keys drive, or not; a body that cannot walk is not driven."""
        on = on and self.can_walk()
        if self.box.value != on:
            self.box.value = on
        if on == self._on.is_set():
            return
        self.panel.keys.commands["in"].disabled = on  # its key drives meanwhile
        for command in self._commands:
            command.remove()
        self._commands = [self.add_command(key, label) for key, (label, _) in DRIVE_KEYS.items()] if on else []
        self.heard.clear()
        if on:
            self.session.player.stop()
            self._on.set()
            threading.Thread(target=self.run, name="poise-drive", daemon=True).start()
        else:
            self._on.clear()

    def add_command(self, key: str, label: str) -> Any:
        """Listen to one key."""
        gui: Any = self.session.server.gui
        command = gui.add_command(f"Walk: {label.lower()}", hotkey=key)

        async def on_key(_: Any) -> None:
            self.press(key)

        command.on_trigger(on_key)
        return command

    def press_label(self, label: str) -> None:
        """Press the key that a button stands for."""
        self.switch(True)
        self.press(next(key for key, (name, _) in DRIVE_KEYS.items() if name == label))

    def press(self, key: str) -> None:
        """Hear a key: it holds for a moment, and so do those that held."""
        now = time.perf_counter()
        held = {k for k, at in self.heard.items() if now - at < HOLDS}
        opposite = next(k for k, (_, way) in DRIVE_KEYS.items() if way == tuple(-x for x in DRIVE_KEYS[key][1]))
        self.heard = dict.fromkeys((held | {key}) - {opposite}, now)

    def find_way(self) -> tuple[float, float]:
        """Return how fast to go ahead and to turn, by the keys that hold."""
        now = time.perf_counter()
        ways = [DRIVE_KEYS[key][1] for key, at in self.heard.copy().items() if now - at < HOLDS]
        return sum(way[0] for way in ways), sum(way[1] for way in ways)

    # ------------------------------------------------------------------------------------------ walking

    def run(self) -> None:
        """Walk until it is switched off."""
        before = time.perf_counter()
        model = self.session.model
        while self._on.is_set() and not self.session.stopped:
            now = time.perf_counter()
            if self.session.model is not model:  # another body was opened
                self.switch(False)
                break
            self.go(now - before)
            before = now
            time.sleep(max(1.0 / RATE - (time.perf_counter() - now), 0.0))
        self.end()

    def go(self, seconds: float) -> None:
        """Walk on for a moment; a body that stands, or is in somebody's hand, is left alone."""
        session, (ahead, turn) = self.session, self.find_way()
        with session.lock:
            puppet = session.puppet
            if puppet.held or session.player.playing or not self._on.is_set():
                self.walker = None
                return
            if self.walker is None:
                if not (ahead or turn):
                    return
                self.walker, self._trail = Walker(session.model, puppet.q), np.zeros((0, 3))
                self.panel.follow.begin_trail()
            walker = self.walker
            puppet.turn_joint("walk", walker.step(seconds, ahead, turn))
            if not (ahead or turn) and not walker.swinging and np.abs(walker.speed).max() < SLOW and walker.settled:
                self.end()
        session.touch()
        self.show_trail(walker)

    def show_trail(self, walker: Walker) -> None:
        """Take the cameras along."""
        self._trail = np.concatenate([self._trail[1 - TRAIL :], walker.find_place()[None]])
        self.panel.follow.follow_trail(self._trail)

    def end(self) -> None:
        """Let the body stand where it came to: the whole walk is one change."""
        if self.walker is not None:
            self.walker = None
            self.session.puppet.end_turn()


if __name__ == "__main__":
    with Studio(sys.argv[1] if len(sys.argv) > 1 else "humanoid") as studio:
        Drive(studio)
        print(f"Open {studio.url}, tick 'Drive by keys' below 'Walk', then: {HINT}.")
        studio.wait()
