"""The progress bar of a background task, with a cancel button."""

from collections.abc import Callable
from typing import Any

from poise.studio.markup import SMALL, fill
from poise.studio.session import Session
from poise.studio.web.background import Background

__all__ = ["WorkBar"]


class WorkBar:
    """A bar that is visible while a background task runs."""

    def __init__(self, session: Session, background: Background, cancel: Callable[[], object]) -> None:
        self.session, self.background = session, background
        gui: Any = session.server.gui
        self.words = gui.add_html("", visible=False)
        self.bar = gui.add_progress_bar(0.0, visible=False, animated=True)
        self.cancel = gui.add_button("Cancel", visible=False)
        self.cancel.on_click(lambda _: cancel())
        background.changed.append(self.show)

    def show(self) -> None:
        """Show the running task, if any."""
        if self.session.stopped:
            return
        task = self.background.task
        busy = task is not None
        if task is not None:
            done, total = task.frames
            done_part = f", pass {task.passes + (done < total)}: {done} of {total} frames" if total else ""
            self.words.content = fill(SMALL, f"{task.name}{done_part} …")
            self.bar.value = 100.0 * task.share
        for each in (self.words, self.bar, self.cancel):
            if each.visible != busy:
                each.visible = busy
