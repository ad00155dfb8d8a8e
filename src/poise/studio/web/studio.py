"""Studio: interactive posing of a body in the browser."""

from __future__ import annotations

import html
from collections.abc import Iterable
from os import PathLike
from pathlib import Path

from poise.errors import FormatError, InvalidValue
from poise.formats.units import restore_units
from poise.goals import Style
from poise.kinematics import Motion, Pose
from poise.model import Model
from poise.studio.clips.second_body import SecondBody, read_body
from poise.studio.panel.panel import Panel
from poise.studio.puppet import Puppet
from poise.studio.session import Session
from poise.studio.showable import Opening, Showable, read_opening
from poise.studio.styles.clips import StyleSource
from poise.studio.styles.learner import StyleLearner
from poise.studio.web.gate import EVERYWHERE, Gate
from poise.studio.web.meter import Meter

__all__ = ["Studio"]


class Studio:
    """A body in the browser.

        studio = Studio("humanoid")
        print(studio.url)

    In a notebook, a studio as the last line of a cell is displayed. It listens on this machine only, unless `host` is
    given. The address contains a token: whoever has it can move the body, and load and save files through the
    browser.

    The stage is in metres. A body in another unit is converted; `model`, `pose` and saved files keep its own unit.

    Args:
        model: A Model, a Pose, a Motion, a ReachMap, a built-in name or a file; a motion is played, a map drawn around
            its body.
        host: The address to listen on; "0.0.0.0" is every network of this machine.
        port: The port; if it is in use, the next free one.
        shadows: Whether the body casts shadows; without, it is faster in browsers without a GPU.
        dark: Whether the colours are dark.
        onto: Another body, as a Model, a built-in name or a file, to retarget the motion to; shown next to the first.
        style: Clips, as motions or files, or a `Style`: dragged poses resemble them.
        allow_origin: Origins of a proxy in front of the studio, such as "https://hub.example".

    Attributes:
        session: The body in the scene of a server, and the thread that moves it.
        panel: The panel next to the body.
        second_body: The body that the clip is retargeted to.
        styles: The style learner.
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
        other = None if onto is None else read_other(opening, onto)  # raises before the server starts
        clips = list_sources(style)
        self.session = Session(opening, gate, host=host, port=port, shadows=shadows, dark=dark)
        self.second_body, self.styles = SecondBody(self.session), StyleLearner(self.session)
        self.session.watcher = self.panel = Panel(self.session, self.second_body, self.styles)
        self.session.map_view.show(opening.map)
        self.session.start()
        self.session.play(opening.motion)
        if other is not None:
            self.carry(other)
        for clip in clips:
            self.learn_style(clip)

    # ------------------------------------------------------------------------------------------ the body

    @property
    def model(self) -> Model:
        """The body, in its own unit."""
        return self.session.given

    @property
    def puppet(self) -> Puppet:
        """The body, independent of the browser: its pose, pins and targets."""
        return self.session.puppet

    @property
    def pose(self) -> Pose:
        """The current pose, in the unit of `model`; setting it updates the browser."""
        return restore_units(self.session.pose, self.session.given)

    @pose.setter
    def pose(self, pose: Pose) -> None:
        self.session.pose = pose

    def show(self, thing: Showable) -> None:
        """Show another body, pose or motion in the same window; a table moves the current body.

        Raises:
            FormatError: The file cannot be read; the previous body stays.
        """
        self.session.show(thing)

    def undo(self) -> bool:
        """Undo the last change, of the clip if one is open; return whether there was one."""
        return self.session.undo()

    def redo(self) -> bool:
        """Redo the last undone change; return whether there was one."""
        return self.session.redo()

    # ------------------------------------------------------------------------------------------ clips

    def learn_style(self, clip: StyleSource) -> None:
        """Learn from a motion, a file of clips or a saved style, in addition to earlier ones.

        Runs in the background; the result is shown in the panel, under Style.
        """
        self.styles.open(clip)

    def carry(self, onto: Model | str | PathLike[str]) -> bool:
        """Retarget the open clip to another body, next to the first; return whether the task was started.

        Raises:
            InvalidValue: No clip is open.
        """
        if self.session.player.motion is None:
            raise InvalidValue(f"{self.model.name!r} has no motion that could be carried over: open a clip.")
        return self.second_body.open(onto)

    # ------------------------------------------------------------------------------------------ the server

    @property
    def gate(self) -> Gate:
        """The access rules; `gate.token` is the secret in the address."""
        return self.session.gate

    @property
    def port(self) -> int:
        """The port of the server."""
        return self.session.port

    @property
    def meter(self) -> Meter:
        """Timings of the last frames."""
        return self.session.meter

    @property
    def url(self) -> str:
        """The address to open, including the token."""
        host = self.session.host
        shown = "127.0.0.1" if host in EVERYWHERE else f"[{host}]" if ":" in host else host
        return f"http://{shown}:{self.port}/?token={self.gate.token}"

    def wait(self) -> None:
        """Wait until Ctrl-C."""
        self.session.wait()

    def stop(self) -> None:
        """Close the studio."""
        self.session.stop()

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
    """Return the sources of a style.

    Raises:
        InvalidValue: A source is not a clip.
        FormatError: A file does not exist.
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
    """Load the body that a clip is retargeted to.

    Raises:
        InvalidValue: No clip is open.
        FormatError: The file cannot be read.
    """
    if opening.motion is None:
        raise InvalidValue(f"onto={onto!r}: {opening.model.name!r} has no motion to retarget.")
    return read_body(onto)
