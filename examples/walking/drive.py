"""Walk a figure across the studio stage with four keys, in real time: `python drive.py [BODY]`.

The browser reports key presses, repeatedly while a key is held, but not key releases. A key therefore counts as held
for `HOLDS` seconds after its last press, and each press extends all keys that are held: pressing a turn key while
walking ahead does not stop the walk.
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
HOLDS = 0.6  # [s] a key counts as held after its last press: keyboards wait 0.5 s before they repeat
RATE = 40.0  # poses per second
TRAIL = 200  # positions kept for the cameras
HINT = "I ahead, K back, J left, L right"


class Drive:
    """A checkbox in the studio's panel that enables the walking keys, and the thread that walks the body.

    Attributes:
        heard: The time of each key's last press (`time.perf_counter`).
        walker: The walking figure, or None if the body is not walking.
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
        self._lock = threading.RLock()  # the checkbox calls `switch` again, and other threads may call it meanwhile
        self._trail = np.zeros((0, 3))
        self.box.on_update(lambda _: self.switch(self.box.value))
        self.steps.on_click(lambda _: self.press_label(self.steps.value))

    # ------------------------------------------------------------------------------------------ keys

    def can_walk(self) -> bool:
        """Return whether the body has a free root and two feet."""
        stands = sum(handle.stands for handle in self.session.puppet.handles.values())
        return stands > 1 and find_root(self.session.model) is not None

    def switch(self, on: bool) -> None:
        """Enable or disable the walking keys; bodies that cannot walk are ignored."""
        with self._lock:
            on = on and self.can_walk()
            if self.box.value != on:
                self.box.value = on
            if on == self._on.is_set():
                return
            self.panel.keys.commands["in"].disabled = on  # its hotkey is a walking key meanwhile
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
        """Register the hotkey of one walking key."""
        gui: Any = self.session.server.gui
        command = gui.add_command(f"Walk: {label.lower()}", hotkey=key)

        async def on_key(_: Any) -> None:
            self.press(key)

        command.on_trigger(on_key)
        return command

    def press_label(self, label: str) -> None:
        """Press the key of a button."""
        self.switch(True)
        self.press(next(key for key, (name, _) in DRIVE_KEYS.items() if name == label))

    def press(self, key: str) -> None:
        """Register a key press, extend the keys that are held, and release the opposite key."""
        now = time.perf_counter()
        held = {k for k, at in self.heard.items() if now - at < HOLDS}
        opposite = next(k for k, (_, way) in DRIVE_KEYS.items() if way == tuple(-x for x in DRIVE_KEYS[key][1]))
        self.heard = dict.fromkeys((held | {key}) - {opposite}, now)

    def find_way(self) -> tuple[float, float]:
        """Return the speeds ahead and of turning, -1 to 1, from the keys that are held."""
        now = time.perf_counter()
        ways = [DRIVE_KEYS[key][1] for key, at in self.heard.copy().items() if now - at < HOLDS]
        return sum(way[0] for way in ways), sum(way[1] for way in ways)

    # ------------------------------------------------------------------------------------------ walking

    def run(self) -> None:
        """Walk until the keys are disabled or another body is opened."""
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
        """Advance the walk by some seconds; skip if the body stands, plays a motion, or is being dragged."""
        session, (ahead, turn) = self.session, self.find_way()
        with session.lock:
            puppet = session.puppet
            if puppet.held or session.player.playing or not self._on.is_set():
                self.walker = None
                return
            if self.walker is None:
                if not (ahead or turn):
                    return
                now = time.perf_counter()
                self.heard = {key: np.inf for key, at in self.heard.items() if now - at < HOLDS}  # until it can walk
                self.walker, self._trail = Walker(session.model, puppet.q), np.zeros((0, 3))
                self.heard = dict.fromkeys(self.heard, time.perf_counter())
                self.panel.follow.begin_trail()
            walker = self.walker
            puppet.turn_joint("walk", walker.step(seconds, ahead, turn))
            if not (ahead or turn) and not walker.swinging and np.abs(walker.speed).max() < SLOW and walker.settled:
                self.end()
        session.touch()
        self.show_trail(walker)

    def show_trail(self, walker: Walker) -> None:
        """Move the cameras along with the body."""
        self._trail = np.concatenate([self._trail[1 - TRAIL :], walker.find_place()[None]])
        if not self.session.stopped:
            self.panel.follow.follow_trail(self._trail)

    def end(self) -> None:
        """End the walk, as one undo step."""
        if self.walker is not None:
            self.walker = None
            self.session.puppet.end_turn()


if __name__ == "__main__":
    with Studio(sys.argv[1] if len(sys.argv) > 1 else "humanoid") as studio:
        Drive(studio)
        print(f"Open {studio.url}, tick 'Drive by keys' below 'Walk', then: {HINT}.")
        studio.wait()
