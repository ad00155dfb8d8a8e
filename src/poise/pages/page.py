"""`poise.show`: an interactive page in one HTML file that needs no network."""

from __future__ import annotations

import json
import os
import sys
import tempfile
import webbrowser
from dataclasses import dataclass
from html import escape
from os import PathLike
from pathlib import Path
from typing import Any

from poise.errors import FormatError, InvalidValue
from poise.files.paths import convert_path
from poise.files.target import replace_file
from poise.pages.scenes import make_dragged_scene, make_scene
from poise.pictures.body.stick import Camera

__all__ = ["Page", "show"]

HERE = Path(__file__).parent
HEIGHT = 520  # of the iframe in a notebook [pixels]


@dataclass(frozen=True, slots=True)
class Page:
    """An HTML page; notebooks display it.

    Attributes:
        html: The whole page.
        path: The path it was written to, or None.
    """

    html: str
    path: Path | None = None

    def save(self, path: str | PathLike[str]) -> Page:
        """Write the page atomically, through a temporary file."""
        if Path(convert_path(path)).suffix.lower() not in ("", ".html", ".htm"):
            advice = f"use the suffix .html. For a picture type poise.plot(thing, {str(path)!r})."
            raise FormatError(f"is not a page; {advice}", str(path))
        with replace_file(path) as rough:
            rough.write_text(self.html, encoding="utf-8")
        return Page(self.html, Path(path))

    def _repr_html_(self) -> str:
        frame = f'width="100%" height="{HEIGHT}" style="border:0;border-radius:8px"'
        return f'<iframe srcdoc="{escape(self.html, quote=True)}" {frame}></iframe>'

    def __repr__(self) -> str:
        where = "not written" if self.path is None else str(self.path)
        return f"<Page: {len(self.html) / 1000:.0f} kB, {where}>"


def show(
    thing: Any,
    path: str | PathLike[str] | None = None,
    *,
    title: str | None = None,
    note: str | None = None,
    camera: Camera | None = None,
    drag: bool = False,
    browser: bool | None = None,
) -> Page:
    """Show a body on an interactive page: one HTML file that works offline.

    Args:
        thing: A `Solution` (with record=True its search plays), a list of solutions (they play one after the other,
            with their targets), a `Pose`, a `Model`, a `Rig`, a `Motion`, `Track` or `Retargeted`, a `ReachMap`, a
            `LoopTrace`, or a `Race`, which plays all methods side by side; a list of races has a row for each body.
        path: The file to write. Without it, a temporary file is written if a browser is to be opened.
        title: The page's title; by default the body's name.
        note: The line below the title.
        camera: The initial view: its azimuth and elevation.
        drag: Whether the body can be dragged by its handles. The page then contains the kernels and solves by itself;
            feet on the ground are planted, limits hold, and a motion is solved again at the frame shown. In a race
            the targets can be dragged, and all methods solve again.
        browser: Whether to open the page. By default only without a `path`, outside notebooks, and if a display is
            available.

    Returns:
        The page: `.save(path)`, `.html`, and an interactive frame in a notebook.

    Raises:
        InvalidValue: `thing` cannot be shown, or with `drag` is neither one body nor races.
        MissingExtra: `drag` needs the kernels in WebAssembly, which `make wasm` builds and wheels contain.
    """
    scene = make_dragged_scene(thing) if drag else make_scene(thing)
    scene.title = scene.title if title is None else title
    scene.note = scene.note if note is None else note
    if camera is not None:
        scene.azimuth, scene.elevation = camera.azimuth, camera.elevation
    page = Page(write_html(scene.to_data()))
    opens = (path is None and has_display() and not is_in_notebook()) if browser is None else browser
    if path is not None:
        page = page.save(path)
    elif opens:
        page = page.save(Path(tempfile.mkdtemp(prefix="poise-")) / "page.html")
    if opens and page.path is not None:
        webbrowser.open(page.path.resolve().as_uri())
    return page


def write_html(data: dict[str, Any]) -> str:
    """Write the HTML of a scene.

    Every < in the data is escaped, so text cannot close the script element.
    """
    try:
        text = json.dumps(data, separators=(",", ":"), allow_nan=False).replace("<", "\\u003c")
    except ValueError:
        raise InvalidValue(
            "a pose or an error is not finite, as in a diverged loop; show the part before it."
        ) from None
    names = ["viewer.js", "bytes.js", "meshes.js", "player.js"]
    if "drag" in data:
        own = ["race.js"] if "races" in data["drag"] else ["lesson.js", "goal_choice.js", "drag.js"]
        names += ["kernels.js", "handles.js", *own]
    if "live" in data:
        names += ["handles.js", "live.js"]
    script = "\n".join((HERE / name).read_text("utf-8") for name in names)
    page = (HERE / "page.html").read_text("utf-8")
    return page.replace("/*SCRIPT*/", script).replace("/*SCENE*/", text)


def has_display() -> bool:
    """Return whether a browser can open a window on this machine."""
    return sys.platform in ("darwin", "win32") or bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))


def is_in_notebook() -> bool:
    """Return whether the code runs in a notebook."""
    shell = sys.modules.get("IPython")
    return shell is not None and type(shell.get_ipython()).__name__ == "ZMQInteractiveShell"
