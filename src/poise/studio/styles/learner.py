"""The style learner: clips are read, retargeted and learned in the background."""

from collections.abc import Callable
from numbers import Real
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from poise.errors import FormatError, InvalidValue, PoiseError
from poise.formats.units import restore_units
from poise.goals import Style
from poise.kinematics import Motion
from poise.studio.session import Session
from poise.studio.styles.clips import StyleClip, StyleSource, learn_style, prepare_clip, read_clips
from poise.studio.web.background import Background
from poise.studio.web.uploads import strip_folders

__all__ = ["StyleLearner"]

LEARN = "Learning the style"


class StyleLearner:
    """The style of the body, learned from clips.

    Attributes:
        clips: The opened clips, in order, with their notes.
        background: The runner of long tasks; its listeners are called when a task starts, advances and ends.
        changed: Called when the clips, the style or its share change.
    """

    def __init__(self, session: Session) -> None:
        self.session, self.background = session, Background()
        self.clips: list[StyleClip] = []
        self.changed: list[Callable[[], None]] = []
        self._waiting: list[tuple[str, Callable[[], list[tuple[str, Motion | Style]]]]] = []
        self.background.changed.append(self._go_on)

    @property
    def style(self) -> Style | None:
        """The learned style, or None."""
        return self.session.puppet.settings.style

    @property
    def share(self) -> float:
        """The share of the style, from 0 (rest pose) to 1 (style); setting it moves the body."""
        return self.session.puppet.settings.share

    @share.setter
    def share(self, share: float) -> None:
        if isinstance(share, bool) or not isinstance(share, Real) or not np.isfinite(float(share)):
            raise InvalidValue(f"share is {share!r}; it must be a number from 0 (the own pose) to 1 (the style).")
        self.session.puppet.lean(share=min(1.0, max(0.0, float(share))))
        self.session.touch()
        self._tell()

    def restore_units(self) -> Style | None:
        """Return the style in the unit of the body's own file, to be saved."""
        given = self.session.given
        if given is self.session.model:
            return self.style
        kept = [StyleClip(c.name, restore_units(c.motion, given), c.note) for c in self.clips if c.motion is not None]
        return learn_style(kept, given)

    # ------------------------------------------------------------------------------------------ opening

    def open(self, thing: StyleSource, name: str = "") -> None:
        """Learn from a motion, a file of clips or a saved style, in addition to earlier ones."""
        model = self.session.given
        label = name if isinstance(thing, (Motion, Style)) else Path(thing).name
        self._wait_for(label, lambda: [(name or own, clip) for own, clip in read_clips(thing, model)])

    def open_upload(self, name: str, content: bytes) -> None:
        """Learn from an uploaded file, or a ZIP of several."""
        model, own = self.session.given, strip_folders(name)

        def read() -> list[tuple[str, Motion | Style]]:
            with TemporaryDirectory(prefix="poise-upload-") as folder, TemporaryDirectory() as inside:
                path = Path(folder) / own
                path.write_bytes(content)
                try:
                    return read_clips(path, model, inside)
                except FormatError as error:
                    raise FormatError(hide_folders(error.message, (folder, inside)), own, error.line) from None

        self._wait_for(own, read)

    def forget(self) -> None:
        """Drop all clips: the body returns to its own rest pose."""
        self._waiting.clear()
        self.background.cancel()
        self.clips = []
        self.session.puppet.lean(style=None, share=0.0)
        self.session.touch()
        self._tell()

    # ------------------------------------------------------------------------------------------ inside

    def _wait_for(self, name: str, read: Callable[[], list[tuple[str, Motion | Style]]]) -> None:
        self._waiting.append((name, read))
        self._go_on()

    def _go_on(self) -> None:
        """Start the waiting work, if no task is running."""
        if self.session.stopped or self.background.task is not None or not self._waiting:
            return
        waiting, self._waiting = self._waiting, []
        model, before = self.session.model, list(self.clips)

        def work(progress: Any) -> tuple[list[StyleClip], Style | None]:
            clips = [*before, *(clip for name, read in waiting for clip in open_clips(name, read, model, progress))]
            return clips, learn_style(clips, model)

        if not self.background.start(LEARN, work, lambda found: self._use(model, *found)):
            self._waiting = [*waiting, *self._waiting]

    def _use(self, model: Any, clips: list[StyleClip], style: Style | None) -> None:
        """Apply a learned style, unless another body was opened meanwhile."""
        with self.session.lock:
            if self.session.stopped or model is not self.session.model:
                return
            first = self.style is None and style is not None
            self.clips = clips
            self.session.puppet.lean(style=style, **({"share": 1.0} if first else {}))
            self.session.touch()
        self._tell()

    def _tell(self) -> None:
        if not self.session.stopped:
            for listen in self.changed:
                listen()


def open_clips(
    name: str, read: Callable[[], list[tuple[str, Motion | Style]]], model: Any, progress: Any
) -> list[StyleClip]:
    """Read clips and retarget them to the body; a file that cannot be read gives a clip with the error."""
    try:
        found = read()
    except PoiseError as error:
        return [StyleClip(name, None, getattr(error, "message", str(error)))]
    return [prepare_clip(own, clip, model, progress) for own, clip in found]


def hide_folders(words: str, folders: tuple[str, ...]) -> str:
    """Remove the folders of this machine from a message to a viewer."""
    for folder in folders:
        words = words.replace(f"{folder}/", "")
    return words
