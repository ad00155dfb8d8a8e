"""Studio: a body in the browser, to be taken hold of."""

from __future__ import annotations

from poise.studio.opening import Showable, read_opening
from poise.studio.panel import Panel
from poise.studio.session import Session

__all__ = ["Studio"]


class Studio(Session):
    """A body in the browser.

        studio = Studio("humanoid")
        print(studio.url)

    In a notebook, the studio as the last line of a cell shows itself. It listens on this machine alone unless `host`
    says otherwise: who can reach the port can move the body, and load and save through the browser.

    Args:
        model: A Model, a Pose, a Motion, a ReachMap, a built-in name or a file; a motion is played, a map drawn around
            its body.
        host: The address to listen on; "0.0.0.0" is every network that this machine is in.
        port: The port, or the next free one.
        shadows: Whether the body casts any; without, it is lighter on browsers that have no GPU.
        dark: Whether everything is shown dark.

    Attributes:
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
    ) -> None:
        opening = read_opening(model)
        super().__init__(opening, host=host, port=port, shadows=shadows, dark=dark)
        self.watcher = self.panel = Panel(self)
        self.map_view.show(opening.map)
        self.start()
        self.play(opening.motion)

    @property
    def url(self) -> str:
        """Where to look."""
        shown = "127.0.0.1" if self.host in ("0.0.0.0", "") else self.host
        return f"http://{shown}:{self.port}"

    def __enter__(self) -> Studio:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def _repr_html_(self) -> str:
        return f'<iframe src="{self.url}" style="width: 100%; height: 640px; border: 0" title="Poise studio"></iframe>'

    def __repr__(self) -> str:
        return f"<Studio of {self.model.name!r} at {self.url}>"
