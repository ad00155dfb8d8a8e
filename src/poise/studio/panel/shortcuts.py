"""Keyboard shortcuts, listed in viser's palette (Ctrl-K) and in the panel's help.

Viser uses W, A, S, D, Q, E and the arrow keys for the camera; these are not assigned.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from poise.studio.scene.rings import Rings
from poise.studio.scene.stage import VIEWS
from poise.studio.session import Session

__all__ = ["KEYS", "Shortcut", "Shortcuts", "describe_keys"]


@dataclass(frozen=True, slots=True)
class Shortcut:
    """A keyboard shortcut.

    Attributes:
        label: The name of the action.
        key: The key, in viser's notation.
        modifier: The modifier keys, in viser's notation, or None.
    """

    label: str
    key: str
    modifier: str | None = None

    @property
    def text(self) -> str:
        """The key combination as text."""
        held = {None: "", "shift": "Shift ", "cmd/ctrl": "Ctrl ", "cmd/ctrl+shift": "Ctrl Shift "}[self.modifier]
        return f"{held}{self.key.capitalize() if len(self.key) > 1 else self.key}"


KEYS = {
    "undo": Shortcut("Undo", "Z", "cmd/ctrl"),
    "redo": Shortcut("Redo", "Z", "cmd/ctrl+shift"),
    "play": Shortcut("Play or stop the clip", "space"),
    "next": Shortcut("Next frame of the clip", "N"),
    "previous": Shortcut("Previous frame of the clip", "B"),
    "in": Shortcut("Play from here (in point)", "I"),
    "out": Shortcut("Play up to here (out point)", "O"),
    "pin": Shortcut("Pin the chosen handle", "P"),
    "plant": Shortcut("Plant the chosen foot", "T"),
    "release": Shortcut("Release the chosen handle", "R"),
    "release_all": Shortcut("Release all handles", "R", "shift"),
    "fit": Shortcut("Fit the view", "F"),
    "front": Shortcut("View from the front", "1"),
    "side": Shortcut("View from the side", "2"),
    "top": Shortcut("View from above", "3"),
    "away": Shortcut("Put the turning rings away", "escape"),
    "x-ray": Shortcut("See through the body", "X"),
    "help": Shortcut("Help", "H"),
}


class Shortcuts:
    """The registered shortcuts of all viewers."""

    def __init__(self, session: Session, rings: Rings) -> None:
        self.session, self.rings = session, rings
        self.commands: dict[str, Any] = {}
        for name, key in KEYS.items():
            gui: Any = session.server.gui
            command = self.commands[name] = gui.add_command(key.label, hotkey=key.key, modifier=key.modifier)
            command.on_trigger(lambda event, name=name: self.press(name, event.client))

    def press(self, name: str, client: Any) -> None:
        """Run the action of a key, for the viewer who pressed it."""
        done = self.find_action(name, client)
        if done is not None:
            done()
            self.session.touch()

    def find_action(self, name: str, client: Any) -> Callable[[], object] | None:
        """Return the action of a key, or None if it does not apply."""
        session, player = self.session, self.session.player
        if name in VIEWS:
            return lambda: session.scenery.look(name, client)
        chosen = session.grips.chosen.get(-1 if client is None else client.client_id)
        if name in ("pin", "plant", "release"):
            do = getattr(session.puppet, name)
            return None if chosen is None else lambda: do(chosen)
        actions: dict[str, Callable[[], object]] = {
            "undo": session.undo,
            "redo": session.redo,
            "play": player.stop if player.playing else player.play,
            "next": lambda: player.step_frames(1),
            "previous": lambda: player.step_frames(-1),
            "in": lambda: player.set_part(start=player.seconds),
            "out": lambda: player.set_part(end=player.seconds),
            "release_all": session.puppet.release,
            "away": lambda: self.rings.put_away(-1 if client is None else client.client_id),
            "x-ray": lambda: session.scenery.set_see_through(not session.scenery.see_through),
            "help": lambda: show_help(client),
        }
        return actions[name]


def describe_keys() -> str:
    """Return all shortcuts as an HTML table."""
    box = "border:1px solid #9aa5b1;border-radius:4px;padding:0 5px;white-space:nowrap"
    rows = "".join(
        f"<tr><td style='padding:2px 10px 2px 0'><span style='{box}'>{key.text}</span></td><td>{key.label}</td></tr>"
        for key in KEYS.values()
    )
    return f"<table style='font-size:13px;border-spacing:0'>{rows}</table>"


def show_help(client: Any) -> None:
    """Open a window with all shortcuts, for one viewer."""
    if client is None:
        return
    with client.gui.add_modal("Keys") as window:
        client.gui.add_html(describe_keys())
        client.gui.add_html(
            "<div style='font-size:12px;margin-top:6px'>Ctrl K finds them by name. W A S D Q E and the arrows move the "
            "camera.</div>"
        )
        client.gui.add_button("Close").on_click(lambda _: window.close())
