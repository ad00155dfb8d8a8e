"""The folder of keys: the changes made by hand, in a list."""

from typing import Any

from poise.studio.clips.keys import PoseKey
from poise.studio.clips.timeline import SPREAD
from poise.studio.session import Session

__all__ = ["KeysFolder"]

NONE = "none yet"
HOW = "Stop the clip, go to a time, drag a handle: a key is made there. It spreads smoothly, and feet that stand stay."


class KeysFolder:
    """The keys of the clip in the panel."""

    def __init__(self, session: Session) -> None:
        self.session, self.editing = session, session.editing
        gui: Any = session.server.gui
        with gui.add_folder("Keys"):
            self.how = gui.add_html(f"<div style='font-size:12px;padding:0 10px;line-height:1.4'>{HOW}</div>")
            self.spread = gui.add_slider(
                "Spread [s]", 0.1, 2.0, 0.1, SPREAD, hint="How far keys reach before and after their frames"
            )
            self.list = gui.add_dropdown("Key", (NONE,), visible=False)
            self.remove = gui.add_button("Remove this key", visible=False)
        self.spread.on_update(lambda event: self.on_spread() if event.client else None)
        self.list.on_update(lambda event: self.on_choose() if event.client else None)
        self.remove.on_click(lambda _: self.on_remove())
        self.editing.background.changed.append(self.show_busy)

    @property
    def keys(self) -> tuple[PoseKey, ...]:
        """The keys of the clip."""
        state = self.editing.state
        return () if state is None else state.keys

    def show(self) -> None:
        """Update the list of keys."""
        state = self.editing.state
        lines = [] if state is None else [describe_key(key, state.motion.fps) for key in state.keys]
        frames = [key.frame for key in self.keys]
        now = self.session.player.frame
        self.list.options = tuple(lines) or (NONE,)
        self.list.value = NONE if not lines else lines[frames.index(now) if now in frames else 0]
        self.list.visible = self.remove.visible = bool(lines)
        if state is not None:
            self.spread.value = state.spread
        self.show_busy()

    def show_busy(self) -> None:
        """Disable the controls while a task runs."""
        if self.session.stopped:
            return
        task = self.editing.background.task
        self.remove.disabled = self.spread.disabled = task is not None

    def on_choose(self) -> None:
        """Go to the chosen key."""
        frame, state = self.find_chosen(), self.editing.state
        if frame is not None and state is not None:
            self.session.player.show_at(frame / state.motion.fps)

    def on_remove(self) -> None:
        """Remove the chosen key from the clip."""
        frame = self.find_chosen()
        if frame is not None:
            self.editing.remove_key(frame)

    def on_spread(self) -> None:
        """Apply the spread slider."""
        self.editing.set_spread(float(self.spread.value))

    def find_chosen(self) -> int | None:
        """Return the frame of the chosen key, or None."""
        keys = self.keys
        if not keys or self.list.value not in self.list.options:
            return None
        key: PoseKey = keys[self.list.options.index(self.list.value)]
        return key.frame


def describe_key(key: PoseKey, fps: float) -> str:
    """Describe a key on one line."""
    names = key.names
    moved = ", ".join(names[:2]) + (f" and {len(names) - 2} more" if len(names) > 2 else "")
    return f"{key.frame / fps:.2f} s: {moved}"
