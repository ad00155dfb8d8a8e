"""Studio: a body in the browser, to be taken hold of."""

from __future__ import annotations

import html
from collections.abc import Iterable
from os import PathLike
from pathlib import Path

from poise.errors import FormatError, InvalidValue
from poise.goals import Style
from poise.kinematics import Motion
from poise.model import Model
from poise.studio.clips.second_body import read_body
from poise.studio.opening import Opening, Showable, read_opening
from poise.studio.panel.panel import Panel
from poise.studio.session import Session
from poise.studio.styles.clips import StyleSource
from poise.studio.web.gate import EVERYWHERE, Gate

__all__ = ["Studio"]


class Studio(Session):
    """A body in the browser.

        studio = Studio("humanoid")
        print(studio.url)

    In a notebook, the studio as the last line of a cell shows itself. It listens on this machine alone unless `host`
    says otherwise. Only who has the whole address, with its token, can move the body, and load and save through the
    browser.

    Args:
        model: A Model, a Pose, a Motion, a ReachMap, a built-in name or a file; a motion is played, a map drawn around
            its body.
        host: The address to listen on; "0.0.0.0" is every network that this machine is in.
        port: The port, or the next free one.
        shadows: Whether the body casts any; without, it is lighter on browsers that have no GPU.
        dark: Whether everything is shown dark.
        onto: Another body, as a Model, a built-in name or a file: the motion is carried over to it, beside the first.
        style: Clips, as motions or files, or a `Style`: what is dragged looks like them.
        allow_origin: Origins of a proxy through which the studio is used, such as "https://hub.example".

    Attributes:
        gate: Who may connect; `gate.token` is the secret in the address.
        puppet: What is held, pinned and asked: the body without the browser.
        panel: The panel beside it.
        meter: Figures of the last frames.
    """

    def __init__(
        self,
        model: Showable = "humanoid",
        *,
        host: str = "127.0.0.1",
        port: int = 8080,
        shadows: bool = True,
        dark: bool = False,
        onto: Model | str | PathLike[str] | None = None,
        style: Iterable[StyleSource] | StyleSource = (),
        allow_origin: Iterable[str] | str = (),
    ) -> None:
        gate = Gate.make(host, allow_origin)
        opening = read_opening(model)
        other = None if onto is None else read_other(opening, onto)  # refused before a page is served
        clips = list_sources(style)
        super().__init__(opening, gate, host=host, port=port, shadows=shadows, dark=dark)
        self.watcher = self.panel = Panel(self)
        self.map_view.show(opening.map)
        self.start()
        self.play(opening.motion)
        if other is not None:
            self.carry(other)
        for clip in clips:
            self.learn_style(clip)

    def learn_style(self, clip: StyleSource) -> None:
        """Learn from a motion, a file of clips or a saved style, beside those before: what is dragged looks like them.

        It is learned in the background; what came of it is shown in the panel, under Style.
        """
        self.panel.pose.style.styling.open(clip)

    def carry(self, onto: Model | str | PathLike[str]) -> bool:
        """Carry the clip that is open over to another body, which stands beside the first; return whether it began.

        Raises:
            InvalidValue: No clip is open.
        """
        if self.player.motion is None:
            raise InvalidValue(f"{self.model.name!r} has no motion that could be carried over: open a clip.")
        return self.panel.motion.carry.beside.open(onto)

    @property
    def url(self) -> str:
        """The address to open, with the token that lets its viewer in."""
        shown = "127.0.0.1" if self.host in EVERYWHERE else f"[{self.host}]" if ":" in self.host else self.host
        return f"http://{shown}:{self.port}/?token={self.gate.token}"

    def __enter__(self) -> Studio:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def _repr_html_(self) -> str:
        look = 'style="width: 100%; height: 640px; border: 0" title="Poise studio"'
        return f'<iframe src="{html.escape(self.url)}" {look}></iframe>'

    def __repr__(self) -> str:
        return f"<Studio of {self.model.name!r} at {self.url}>"


def list_sources(style: Iterable[StyleSource] | StyleSource | None) -> list[StyleSource]:
    """Return what a style is learned from.

    Raises:
        InvalidValue: Something is no clip.
        FormatError: A file is not there.
    """
    alone = isinstance(style, (Motion, Style, str, bytes, PathLike)) or not isinstance(style, Iterable)
    clips: list[StyleSource] = [] if style is None else [style] if alone else list(style)  # type: ignore[arg-type, list-item]
    for clip in clips:
        if not isinstance(clip, (Motion, Style, str, PathLike)):
            raise InvalidValue(f"style has {clip!r}; it takes clips, as motions or files, or a Style.")
        if not isinstance(clip, (Motion, Style)) and not Path(clip).is_file():
            raise FormatError("is not there; style= takes clips, as motions or files.", str(clip))
    return clips


def read_other(opening: Opening, onto: Model | str | PathLike[str]) -> Model:
    """Read the body that a clip is carried to.

    Raises:
        InvalidValue: There is no clip that could be carried over.
        FormatError: The file cannot be read.
    """
    if opening.motion is None:
        raise InvalidValue(f"onto={onto!r}: {opening.model.name!r} has no motion that could be carried over.")
    return read_body(onto)
