"""The race: the same drag, several methods, side by side. Each racer is a body of its own that sees the same wishes."""

from __future__ import annotations

import html
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from poise.errors import PoiseError
from poise.methods import by_name, names
from poise.studio.charts import table
from poise.studio.flesh import Color
from poise.studio.puppet import Frame, Puppet
from poise.studio.stage import Body, point_camera

if TYPE_CHECKING:
    from poise.studio.server import Studio

__all__ = ["RaceTab"]

Floats = NDArray[np.float64]

USUAL = ("transpose", "dls", "sdls", "ccd")
PAINTS: tuple[Color, ...] = (
    (204, 121, 167),
    (86, 160, 211),
    (230, 159, 60),
    (110, 170, 110),
    (170, 140, 210),
    (150, 150, 150),
)
SHOWN = tuple(name for name in names() if name not in ("auto", "lm", "sequential"))


class Racer:
    """One method's body."""

    def __init__(self, studio: Studio, method: str, place: Floats, color: Color, steps: int) -> None:
        self.method, self.color = method, color
        self.puppet = Puppet(studio.model)
        self.puppet.change(method=by_name(method), max_steps=steps)
        self.body = Body(studio.server.scene, f"/race/{method}", studio.model, color=color, offset=place)
        self.label = studio.server.scene.add_label(f"/race/{method}/name", method, anchor="bottom-center")
        self.refused = ""
        self.last = Frame(self.puppet.q)

    def follow(self, leader: Puppet) -> None:
        """A frame with the leader's wishes."""
        rig = self.puppet.rig
        theirs = leader.rig._state
        kept = {name: wish for name, wish in theirs.places.items() if name not in leader.held}
        rig._state = replace(rig._state, places={**kept, **dragged(rig, leader)}, frozen=theirs.frozen)
        self.puppet.held, self.puppet.gaze = dict(leader.held), leader.gaze
        try:
            self.last, self.refused = self.puppet.frame(), ""
        except PoiseError as error:
            self.refused = str(error)
        T = self.puppet.model.fk(self.last.q)
        self.body.show(T)
        self.label.position = T[:, :3, 3].mean(axis=0) + np.ptp(T[:, :3, 3], axis=0) * leader.model.up_direction * 0.66

    def remove(self) -> None:
        """Out of the race."""
        self.label.remove()
        self.body.remove()


def dragged(rig: Any, leader: Puppet) -> dict[str, Any]:
    """Wishes of handles in hand: each racer's own, so that pins that are dragged stay its own."""
    return {name: wish for name, wish in rig._state.places.items() if name in leader.held}


class RaceTab:
    """Made inside the tab that holds it."""

    def __init__(self, studio: Studio) -> None:
        self.studio = studio
        gui: Any = studio.server.gui
        gui.add_markdown("The same drag, method beside method. Drag a handle of the body in the middle.")
        self.on = gui.add_checkbox("Race", False)
        self.steps = gui.add_slider("Steps a frame", 1, 25, 1, 1, hint="1 shows how the methods differ")
        self.table = gui.add_html("")
        self.boxes = {name: gui.add_checkbox(name, name in USUAL) for name in SHOWN}
        self.racers: list[Racer] = []
        self.wide = False
        self.on.on_update(lambda _: self.line_up())
        self.steps.on_update(lambda _: self.line_up())
        for box in self.boxes.values():
            box.on_update(lambda _: self.line_up())
        studio.listeners.append(self.show)

    def line_up(self) -> None:
        """The racers that are chosen, beside the body; none where the race is off."""
        with self.studio._lock:
            for racer in self.racers:
                racer.remove()
            self.racers = []
            self.table.content = ""
            chosen = [name for name, box in self.boxes.items() if box.value] if self.on.value else []
            for k, name in enumerate(chosen):
                color = PAINTS[k % len(PAINTS)]
                self.racers.append(Racer(self.studio, name, self.place(k), color, int(self.steps.value)))
            self.look(bool(self.racers))
        self.studio.touch()

    def look(self, all_of_them: bool) -> None:
        """Everybody in view, when the race begins or ends."""
        if all_of_them == self.wide:
            return
        self.wide = all_of_them
        T = self.studio.model.fk(self.studio.puppet.q)
        bodies = [self.studio.body, *(racer.body for racer in self.racers)]
        point_camera(self.studio.server, self.studio.model, np.concatenate([body.points(T) for body in bodies]))

    def place(self, k: int) -> Floats:
        """Left and right of the body by turns, and a little behind it."""
        up = self.studio.model.up_direction
        ahead = np.roll(up, 1)
        side = (1 + k // 2) * (1 if k % 2 == 0 else -1)
        across: Floats = np.cross(up, ahead)
        out: Floats = self.studio.model.length * (0.62 * side * across - 0.22 * abs(side) * ahead)
        return out

    def show(self, frame: Frame, T: Floats) -> None:
        """After every frame: the racers make theirs."""
        if not self.racers:
            return
        for racer in self.racers:
            racer.follow(self.studio.puppet)
        held = list(self.studio.puppet.held) or list(frame.errors)
        rows, colors = [], []
        leader = [
            by_name(self.studio.puppet.settings.method).name + " (body)",
            far(frame, held),
            f"{1e6 * frame.seconds:.0f}",
        ]
        rows.append([*leader, str(frame.steps)])
        colors.append("#8a8f96")
        for racer in self.racers:
            words = [
                html.escape(racer.method),
                far(racer.last, held),
                f"{1e6 * racer.last.seconds:.0f}",
                str(racer.last.steps),
            ]
            rows.append([words[0], "refused", "", ""] if racer.refused else words)
            colors.append(f"rgb{racer.color}")
        self.table.content = table(["method", "error", "us", "steps"], rows, colors)

    def changed_body(self) -> None:
        """Racers are of the body that is shown."""
        for racer in self.racers:
            racer.remove()
        self.racers = []
        self.line_up()


def far(frame: Frame, names: list[str]) -> str:
    """The largest error among some handles."""
    errors = [frame.errors[name][0] for name in names if name in frame.errors]
    return f"{1e3 * max(errors):.2f} mm" if errors else "-"
