"""Bodies and clips in which every name tries to run a script in the page that shows it."""

import itertools
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np

import poise
from poise.model.geometry.shapes import Box
from waiting import wait_until

RUN = "parent.ran=1"
ATTACKS = (
    f'<iframe srcdoc="<script>{RUN}</script>"></iframe>',
    f"<img src=x onerror={RUN}>",
    f"\"><svg onload='{RUN}'>",
    f"' onmouseover='{RUN}' '",
    f"[click](javascript:{RUN})![seen](data:x)",
    f"</script><script>{RUN}</script>",
    f"-->{{0}}${{{RUN}}}<!--",
    "<b>*_bold_*</b>&lt;script&gt;",
)
HARMLESS = {"b", "br", "i", "p", "div", "span", "style", "button", "details", "summary", "sub", "sup"}
HARMLESS |= {"table", "tr", "td", "th", "svg", "circle", "line", "polyline", "rect", "text", "title"}


def make_names() -> Any:
    """Yield different names without end."""
    return (f"{attack}{k}" for k, attack in enumerate(itertools.cycle(ATTACKS)))


def make_body(joints: int = 9) -> poise.Model:
    """Return a chain of joints with boxes, frames, colours and roles, all with hostile names."""
    names = make_names()
    builder = poise.ModelBuilder(next(names))
    above = None
    for k in range(joints):
        name, axis = next(names), np.eye(3)[k % 3]
        builder.add_joint(
            name, above, "revolute", offset=(0.0, 0.0, 0.2 if k else 0.0), axis=axis, lower=-1.5, upper=1.5
        )
        builder.add_shape(name, Box((0.05, 0.05, 0.2)), color=(0.8, 0.5, 0.1, 1.0))
        above = name
    builder.add_frame(next(names), above, (0.0, 0.0, 0.2))
    return builder.build()


def make_clip(model: poise.Model, frames: int = 30) -> poise.Motion:
    """Return a clip of the hostile body."""
    swing = 0.4 * np.sin(np.linspace(0.0, 6.0, frames))[:, None]
    return poise.Motion(model, np.array(model.rest) + swing * np.ones(model.nq), fps=30.0)


def find_foreign(markup: str) -> list[str]:
    """Return the elements, event handlers and addresses in a piece of HTML that our panels never contain."""

    class Reader(HTMLParser):
        def __init__(self) -> None:
            super().__init__()
            self.found: list[str] = []

        def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
            self.found += [tag] if tag not in HARMLESS else []
            for name, value in attrs:
                ours = name == "onclick" and tag == "button" and "data-text" in dict(attrs)
                if (name.startswith("on") and not ours) or name in ("src", "srcdoc", "href"):
                    self.found.append(f"{tag} {name}={value}")

    reader = Reader()
    reader.feed(markup)
    return reader.found


def write_files(folder: Path) -> list[Path]:
    """Write the body as URDF, and its clip as glTF, to files with hostile names."""
    model = make_body()
    paths = [folder / "<img src=x onerror=parent.ran=1>.urdf", folder / "<svg onload=parent.ran=1>.glb"]
    poise.save(model, paths[0])
    poise.save(make_clip(model), paths[1])
    return paths


def use_every_tab(studio: Any) -> None:
    """Make every tab show the names of handles, joints and clips."""
    panel, handles = studio.panel, list(studio.session.grips.frames)
    for handle in handles[:8]:
        panel.select(0, handle)
        panel.learn.begin_walk()
        panel.learn.on_step()
        panel.pose.freeze(frozenset(panel.pose.joint.options))
    panel.pose.freeze(frozenset())
    if studio.session.player.motion is None:
        miss(studio, handles[-1])
    else:
        use_clip(studio)


def miss(studio: Any, handle: str) -> None:
    """Drag to a target out of reach, until the panel explains the miss."""
    studio.puppet.hold(handle, np.array((9.0, 9.0, 9.0)))
    studio.session.touch()
    assert wait_until(lambda: "Not everything can be reached" in studio.panel.status.content)
    studio.panel.learn.on_step()
    studio.puppet.release()


def use_clip(studio: Any) -> None:
    """Find feet in the clip, learn its style, and retarget it to another body."""
    studio.session.editing.find_contacts()
    assert wait_until(lambda: studio.session.editing.background.task is None)
    studio.learn_style(studio.session.player.motion)
    studio.carry(make_body())
    assert wait_until(lambda: studio.second_body.background.task is None)
    assert wait_until(lambda: studio.styles.background.task is None)
