"""The learn tab: the Jacobian of the handle that was touched last."""

import time
from typing import Any

import numpy as np

from poise.arrays import Floats
from poise.errors import PoiseError
from poise.kinematics.parts import pick_frame
from poise.spatial import Rotation
from poise.studio.markup import PLAIN, SMALL, fill
from poise.studio.panel.charts import describe_step, draw_bars, draw_errors
from poise.studio.panel.lesson import (
    Wanderer,
    find_arrows,
    find_damping,
    find_ellipsoid,
    find_limited,
    find_moving_rows,
    take_step,
    trace_error,
)
from poise.studio.puppet import FrameResult
from poise.studio.scene.grips import COLORS
from poise.studio.session import Session

__all__ = ["LearnTab"]


BARS_PAUSE = 0.1  # [s] between updates of the bars
LONGEST_ARROW = 0.22  # length of the longest arrow, relative to body size
ITALIC = PLAIN.format("<i>{}</i>")


class LearnTab:
    """The tab of the lessons; created within its tab."""

    def __init__(self, session: Session) -> None:
        self.session = session
        gui: Any = session.server.gui
        self.handle = next(iter(session.grips.frames))
        self.title = gui.add_html(name_handle(self.handle))
        self.columns = gui.add_checkbox("Jacobian", False, hint="An arrow a joint: where it would move the handle")
        self.ball = gui.add_checkbox("Ellipsoid", False, hint="Manipulability: where a unit step of all joints leads")
        self.live = gui.add_checkbox("Singular values", True, hint="Compared with the damping of the steps")
        self.bars = gui.add_html("")
        with gui.add_folder("Null space"):
            self.free = gui.add_html("")
            self.mode = gui.add_slider("Direction", 1, 2, 1, 1)
            self.along = gui.add_slider("Move", -1.0, 1.0, 0.02, 0.0, hint="The body moves, the handle and pins do not")
        with gui.add_folder("One iteration"):
            self.mark = gui.add_button("Begin at the rest pose", hint="Targets stay")
            self.step = gui.add_button("Take one step")
            self.words = gui.add_html("")
            self.curve = gui.add_html("")
        self.wanderer: Wanderer | None = None
        self.count_modes()
        self.start: Floats | None = None
        self._looked = 0.0
        self._arrows: Any = None
        self._ball: Any = None
        self._busy: Floats | None = None  # the pose before the current drag
        self._before: Floats | None = None  # the pose at the last update of the bars
        self._used: tuple[Any, tuple[float, float] | None] = (None, None)  # a method, and the damping of its steps
        for box in (self.columns, self.ball, self.live):
            box.on_update(lambda _: session.touch())
        self.along.on_update(self.on_along)
        self.mode.on_update(lambda _: self.begin_walk())
        self.mark.on_click(lambda _: self.on_mark())
        self.step.on_click(lambda _: self.on_step())
        session.listeners.append(self.show)

    # ------------------------------------------------------------------------------------------ the frame

    def select(self, name: str) -> None:
        """Select the handle that was touched last."""
        if name != self.handle:
            self.handle = name
            self.title.content = name_handle(name)
            self.count_modes()
        self.session.touch()

    def show(self, frame: FrameResult, T: Floats) -> None:
        """Update the enabled displays, after every frame."""
        if self._busy is None and self.session.puppet.held:
            self._busy = frame.q
        elif not self.session.puppet.held:
            self._busy = None
        self.show_limits(frame.q)
        self.show_columns(frame.q)
        self.show_ball(frame.q, T)
        now = time.perf_counter()
        if self.live.value and now - self._looked > BARS_PAUSE:
            self._looked = now
            name = self.session.puppet.handles[self.handle].frame
            model = self.session.model
            values = find_ellipsoid(model, frame.q, name)[1][: len(find_moving_rows(model))] / model.length
            self.bars.content = draw_bars(values, self.find_damping(frame.q))
        if self.bars.visible != self.live.value:
            self.bars.visible = self.live.value

    def find_damping(self, q: Floats) -> tuple[float, float] | None:
        """Return the damping of the steps since the last update; unchanged if no steps were made."""
        before, self._before = self._before, q
        try:
            used = find_damping(self.session.puppet, q if before is None else before)
        except PoiseError:  # the method does not support the goals; the panel reports it
            return None
        method = self.session.puppet.settings.method
        self._used = (method, used) if used is not None or self._used[0] != method else self._used
        return self._used[1]

    def show_limits(self, q: Floats) -> None:
        """Highlight the joints at their limits."""
        model = self.session.model
        names = find_limited(model, q) if self.session.show_limits else []
        self.session.view.light({model.joint(name).frame: COLORS["limit"] for name in names})

    def show_columns(self, q: Floats) -> None:
        """Show the columns of the Jacobian as arrows at the handle."""
        if not self.columns.value:
            if self._arrows is not None:
                self._arrows.remove()
                self._arrows = None
            return
        model = self.session.model
        drawn = find_arrows(
            model, q, self.session.puppet.handles[self.handle].frame, LONGEST_ARROW * self.session.puppet.size
        )
        if self._arrows is not None and len(self._arrows.points) == len(drawn.points):
            self._arrows.points = drawn.points
            return
        if not len(drawn.points):
            return
        thin = 0.0045 * self.session.puppet.size
        self._arrows = self.session.server.scene.add_arrows(
            "/lesson/columns",
            drawn.points,
            np.repeat(drawn.colors[:, None], 1, axis=1).reshape(-1, 3),
            shaft_radius=thin,
            head_radius=2.4 * thin,
            head_length=6 * thin,
        )

    def show_ball(self, q: Floats, T: Floats) -> None:
        """Show the manipulability ellipsoid at the handle."""
        if not self.ball.value:
            if self._ball is not None:
                self._ball.visible = False
            return
        model = self.session.model
        frame = self.session.puppet.handles[self.handle].frame
        axes, half = find_ellipsoid(model, q, frame)
        if self._ball is None:
            self._ball = self.session.server.scene.add_icosphere(
                "/lesson/ball", radius=1.0, color=(120, 110, 220), opacity=0.28, subdivisions=4, cast_shadow=False,
                receive_shadow=False,
            )  # fmt: skip
        size = LONGEST_ARROW * self.session.puppet.size / max(float(half[0]), 1e-12)
        self._ball.scale = tuple(float(v) for v in np.maximum(size * half, 2e-3 * self.session.puppet.size))
        self._ball.wxyz = Rotation.from_matrix(axes).wxyz
        self._ball.position = pick_frame(model, frame, T)[:3, 3]
        self._ball.visible = True

    # ------------------------------------------------------------------------------------------ null space

    def begin_walk(self) -> None:
        """Start to move along the null space, from the current pose."""
        try:
            self.wanderer = Wanderer(self.session.puppet, self.handle, int(self.mode.value) - 1)
        except PoiseError:
            self.wanderer = None
        self.along.value = 0.0
        self.show_modes()

    def count_modes(self) -> None:
        """Show the free directions of another handle; the next move along one starts from the pose at that time."""
        self.begin_walk()
        self.wanderer = None

    def show_modes(self) -> None:
        """Show the number of free directions and the goals they keep."""
        walk = self.wanderer
        count = 0 if walk is None else walk.modes
        self.mode.max = max(count, 2)
        self.mode.disabled, self.along.disabled = count < 2, count == 0
        kept = "its place" if walk is not None and walk.turns else "its place and rotation"
        text = f"{count} direction{'s' if count != 1 else ''} in which {self.handle} keeps {kept}."
        self.free.content = fill(ITALIC, text if count else f"Nothing can move while {self.handle} stays.")

    def on_along(self, event: Any) -> None:
        """Move the body along the null space; the handle stays in place."""
        if event.client is None:
            return
        if self.wanderer is None:
            value = self.along.value
            self.begin_walk()
            self.along.value = value
        if self.wanderer is not None:
            self.session.puppet.place(self.wanderer.go(float(self.along.value)))
            self.session.puppet.rig.history.commit()
            self.session.touch()

    # ------------------------------------------------------------------------------------------ one iteration

    def on_mark(self) -> None:
        """Return to the rest pose and keep all targets: single steps and the curve start there."""
        self.start = np.array(self.session.model.rest)
        self.go(self.start)
        self.words.content = ""
        self.draw_curve()

    def on_step(self) -> None:
        """Take one iteration towards the targets, and show its parts."""
        puppet = self.session.puppet
        try:
            step = take_step(puppet, self.handle, puppet.q)
        except PoiseError as error:
            self.words.content = fill(SMALL, str(error))
            return
        self.words.content = describe_step(puppet.model, puppet.settings.method.name, self.handle, step)
        if step is not None:
            self.go(step.after)
        self.draw_curve()

    def go(self, q: Floats) -> None:
        """Set the configuration and keep all targets."""
        self.session.puppet.stand_at(q)
        self.session.touch()

    def draw_curve(self) -> None:
        """Draw the error by iteration, from the start of stepping or the rest pose."""
        puppet = self.session.puppet
        try:
            start = self.start if self.start is not None else np.array(puppet.model.rest)
            curve = trace_error(puppet, self.handle, start)
        except PoiseError:
            return
        self.curve.content = draw_errors(curve) if len(curve) > 1 else ""

    def change_body(self) -> None:
        """Reset everything for another body."""
        self.handle = next(iter(self.session.grips.frames))
        self.title.content = name_handle(self.handle)
        self.words.content = self.curve.content = ""
        self.count_modes()
        self.start = self._busy = self._before = None
        self._used = (None, None)
        for thing in (self._arrows, self._ball):
            if thing is not None:
                thing.remove()
        self._arrows = self._ball = None


def name_handle(handle: str) -> str:
    """Return the title with the name of the handle."""
    return fill(PLAIN.format("About <b>{}</b>, the handle touched last."), handle)
