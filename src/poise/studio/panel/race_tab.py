"""The race tab: the same drag with several methods, side by side. Each method moves its own body."""

import html
from typing import Any

import numpy as np

from poise.arrays import Floats
from poise.errors import PoiseError
from poise.methods import find_method, names
from poise.pictures.body.flesh import Color
from poise.pictures.front import find_front
from poise.studio.markup import PLAIN
from poise.studio.panel.charts import make_table
from poise.studio.puppet import FrameResult, Puppet
from poise.studio.scene.body_view import BodyView
from poise.studio.scene.grips import COLORS
from poise.studio.session import SETTLED, Session

__all__ = ["RaceTab"]


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


class RacingBody:
    """The body of one method in the race."""

    def __init__(self, session: Session, method: str, place: Floats, color: Color, steps: int) -> None:
        self.method, self.color = method, color
        self.puppet = Puppet(session.model)
        self.puppet.change(method=find_method(method), max_steps=steps)
        self.view = BodyView(session.server.scene, f"/race/{method}", session.model, color=color, offset=place)
        self.label = session.server.scene.add_label(f"/race/{method}/name", method, anchor="bottom-center")
        self.refused = ""
        self.last = FrameResult(self.puppet.q)
        self.place = place
        self.target = session.server.scene.add_icosphere(
            f"/race/{method}/target", radius=0.012 * session.puppet.size, color=COLORS["missed"], cast_shadow=False
        )
        self.target.visible = False

    def follow(self, leader: Puppet) -> None:
        """Make a frame with the leader's targets."""
        rig = self.puppet.rig
        rig.state.copy_targets(leader.rig.state, keep=leader.held)  # handles in hand keep their own pins
        self.puppet.held, self.puppet.gaze = dict(leader.held), leader.gaze
        try:
            self.last, self.refused = self.puppet.frame(), ""
        except PoiseError as error:
            self.refused = str(error)
        self.show_target(leader)
        T = self.puppet.model.fk(self.last.q)
        self.view.show(T)
        self.label.position = T[:, :3, 3].mean(axis=0) + np.ptp(T[:, :3, 3], axis=0) * leader.model.up_direction * 0.66

    def show_target(self, leader: Puppet) -> None:
        """Show the target of the handle in hand, or of a missed one."""
        names = list(leader.held) or sorted(self.last.missed)
        wanted = leader.find_target(names[-1]) if names else None
        self.target.visible = wanted is not None
        if wanted is not None:
            self.target.position = tuple((wanted if wanted.ndim == 1 else wanted[:3, 3]) + self.place)

    def remove(self) -> None:
        """Remove the body from the scene."""
        self.target.remove()
        self.label.remove()
        self.view.remove()


class RaceTab:
    """The tab of the race; created within its tab."""

    def __init__(self, session: Session) -> None:
        self.session = session
        gui: Any = session.server.gui
        gui.add_html(PLAIN.format("The same drag, method by method. Drag a handle of the body in the middle."))
        self.on = gui.add_checkbox("Race", False)
        self.steps = gui.add_slider("Steps a frame", 1, 25, 1, 1, hint="1 shows how the methods differ")
        self.table = gui.add_html("")
        self.boxes = {name: gui.add_checkbox(name, name in USUAL) for name in SHOWN}
        self.racers: list[RacingBody] = []
        self.wide = False
        self.on.on_update(lambda _: self.line_up())
        self.steps.on_update(lambda _: self.line_up())
        for box in self.boxes.values():
            box.on_update(lambda _: self.line_up())
        session.listeners.append(self.show)
        session.movers.append(self.is_moving)

    def line_up(self) -> None:
        """Place a body for each chosen method; none if the race is off."""
        with self.session.lock:
            for racer in self.racers:
                racer.remove()
            self.racers = []
            self.table.content = ""
            chosen = [name for name, box in self.boxes.items() if box.value] if self.on.value else []
            for k, name in enumerate(chosen):
                color = PAINTS[k % len(PAINTS)]
                self.racers.append(RacingBody(self.session, name, self.find_place(k), color, int(self.steps.value)))
            self.frame_all(bool(self.racers))
        self.session.touch()

    def frame_all(self, all_of_them: bool) -> None:
        """Show all bodies when the race starts or ends."""
        if all_of_them == self.wide:
            return
        self.wide = all_of_them
        T = self.session.model.fk(self.session.puppet.q)
        bodies = [self.session.view, *(racer.view for racer in self.racers)]
        self.session.scenery.show_points(np.concatenate([body.sample_points(T) for body in bodies]))

    def find_place(self, k: int) -> Floats:
        """Return the offset of the k-th body: alternately left and right, and a little behind [m]."""
        up = self.session.model.up_direction
        ahead = find_front(self.session.model)
        side = (1 + k // 2) * (1 if k % 2 == 0 else -1)
        across: Floats = np.cross(up, ahead)
        out: Floats = self.session.puppet.size * (0.62 * side * across - 0.22 * abs(side) * ahead)
        return out

    def show(self, frame: FrameResult, T: Floats) -> None:
        """Make a frame of every racer after the body's own, and update the table."""
        if not self.racers:
            return
        for racer in self.racers:
            racer.follow(self.session.puppet)
        held = list(self.session.puppet.held) or list(frame.errors)
        rows, colors = [], []
        leader = [
            find_method(self.session.puppet.settings.method).name + " (body)",
            describe_error(frame, held),
            f"{1e6 * frame.seconds:.0f}",
        ]
        rows.append([*leader, str(frame.steps)])
        colors.append("#8a8f96")
        for racer in self.racers:
            words = [
                html.escape(racer.method),
                describe_error(racer.last, held),
                f"{1e6 * racer.last.seconds:.0f}",
                str(racer.last.steps),
            ]
            rows.append([words[0], "not supported", "", ""] if racer.refused else words)
            colors.append(f"rgb{racer.color}")
        self.table.content = make_table(["method", "error", "us", "steps"], rows, colors)

    def is_moving(self) -> bool:
        """Return whether a method is still moving."""
        return any(racer.last.moved > SETTLED and not racer.refused for racer in self.racers)

    def change_body(self) -> None:
        """Restart the race with another body."""
        for racer in self.racers:
            racer.remove()
        self.racers = []
        self.line_up()


def describe_error(frame: FrameResult, names: list[str]) -> str:
    """Format the largest position error of some handles."""
    errors = [frame.errors[name][0] for name in names if name in frame.errors]
    return f"{1e3 * max(errors):.2f} mm" if errors else "-"
