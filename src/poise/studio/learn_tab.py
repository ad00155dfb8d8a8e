"""The third tab: the Jacobian at work. Everything is about the handle that was touched last."""

from __future__ import annotations

import html
import time
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from poise.errors import PoiseError
from poise.spatial import Rotation
from poise.studio.charts import bars, falling, step_words
from poise.studio.grips import COLORS
from poise.studio.lesson import Wanderer, arrows, at_limits, damping_of, ellipsoid, error_curve, one_step
from poise.studio.puppet import Frame

if TYPE_CHECKING:
    from poise.studio.server import Studio

__all__ = ["LearnTab"]

Floats = NDArray[np.float64]

EVERY = 0.1  # [s] between two looks at the bars
LONG = 0.22  # of L: the longest arrow


class LearnTab:
    """Made inside the tab that holds it."""

    def __init__(self, studio: Studio) -> None:
        self.studio = studio
        gui: Any = studio.server.gui
        self.handle = next(iter(studio.grips.frames))
        self.title = gui.add_markdown(about(self.handle))
        self.columns = gui.add_checkbox("Jacobian", False, hint="An arrow a joint: where it would move the handle")
        self.ball = gui.add_checkbox("Ellipsoid", False, hint="Manipulability: where a unit step of all joints leads")
        self.live = gui.add_checkbox("Singular values", True, hint="Beside the damping of the steps that were made")
        self.bars = gui.add_html("")
        with gui.add_folder("Null space"):
            self.mode = gui.add_slider("Direction", 1, 40, 1, 1)
            self.along = gui.add_slider("Move", -1.0, 1.0, 0.02, 0.0, hint="The body moves, the handle and pins do not")
        with gui.add_folder("One iteration"):
            self.mark = gui.add_button("Begin at the rest pose", hint="What is asked stays asked")
            self.step = gui.add_button("Take one step")
            self.words = gui.add_html("")
            self.curve = gui.add_html("")
        self.wanderer: Wanderer | None = None
        self.start: Floats | None = None
        self._looked = 0.0
        self._arrows: Any = None
        self._ball: Any = None
        self._busy: Floats | None = None  # the pose before the drag that goes on
        self._before: Floats | None = None  # the pose at the last look at the bars
        self._used: tuple[Any, tuple[float, float] | None] = (None, None)  # a method, and how its steps were damped
        for box in (self.columns, self.ball, self.live):
            box.on_update(lambda _: studio.touch())
        self.along.on_update(self.on_along)
        self.mode.on_update(lambda _: self.begin_walk())
        self.mark.on_click(lambda _: self.on_mark())
        self.step.on_click(lambda _: self.on_step())
        studio.listeners.append(self.show)

    # ------------------------------------------------------------------------------------------ the frame

    def select(self, name: str) -> None:
        """Another handle was touched."""
        if name != self.handle:
            self.handle = name
            self.title.content = about(name)
            self.wanderer = None
        self.studio.touch()

    def show(self, frame: Frame, T: Floats) -> None:
        """After every frame."""
        if self._busy is None and self.studio.puppet.held:
            self._busy = frame.q
        elif not self.studio.puppet.held:
            self._busy = None
        self.show_limits(frame.q)
        self.show_columns(frame.q)
        self.show_ball(frame.q, T)
        now = time.perf_counter()
        if self.live.value and now - self._looked > EVERY:
            self._looked = now
            name = self.studio.puppet.handles[self.handle].frame
            values = ellipsoid(self.studio.model, frame.q, name)[1] / self.studio.model.length
            self.bars.content = bars(values, self.find_damping(frame.q))
        if self.bars.visible != self.live.value:
            self.bars.visible = self.live.value

    def find_damping(self, q: Floats) -> tuple[float, float] | None:
        """Find what damped the steps from the last look to this one; as before where nothing was to do."""
        before, self._before = self._before, q
        try:
            used = damping_of(self.studio.puppet, q if before is None else before)
        except PoiseError:  # the method does not serve this; the panel says so
            return None
        method = self.studio.puppet.settings.method
        self._used = (method, used) if used is not None or self._used[0] != method else self._used
        return self._used[1]

    def show_limits(self, q: Floats) -> None:
        """Joints at the end of their range, lit."""
        model = self.studio.model
        names = at_limits(model, q) if self.studio.panel.pose.show_limits.value else []
        self.studio.body.light({model.joint(name).frame: COLORS["limit"] for name in names})

    def show_columns(self, q: Floats) -> None:
        """Arrows at the handle."""
        if not self.columns.value:
            if self._arrows is not None:
                self._arrows.remove()
                self._arrows = None
            return
        model = self.studio.model
        drawn = arrows(model, q, self.studio.puppet.handles[self.handle].frame, LONG * model.length)
        if self._arrows is not None and len(self._arrows.points) == len(drawn.points):
            self._arrows.points = drawn.points
            return
        if not len(drawn.points):
            return
        thin = 0.0045 * model.length
        self._arrows = self.studio.server.scene.add_arrows(
            "/lesson/columns",
            drawn.points,
            np.repeat(drawn.colors[:, None], 1, axis=1).reshape(-1, 3),
            shaft_radius=thin,
            head_radius=2.4 * thin,
            head_length=6 * thin,
        )

    def show_ball(self, q: Floats, T: Floats) -> None:
        """The ellipsoid around the handle."""
        if not self.ball.value:
            if self._ball is not None:
                self._ball.visible = False
            return
        model = self.studio.model
        frame = self.studio.puppet.handles[self.handle].frame
        axes, half = ellipsoid(model, q, frame)
        if self._ball is None:
            self._ball = self.studio.server.scene.add_icosphere(
                "/lesson/ball", radius=1.0, color=(120, 110, 220), opacity=0.28, subdivisions=4, cast_shadow=False,
                receive_shadow=False,
            )  # fmt: skip
        size = LONG * model.length / max(float(half[0]), 1e-12)
        self._ball.scale = tuple(float(v) for v in np.maximum(size * half, 2e-3 * model.length))
        self._ball.wxyz = Rotation.from_matrix(axes).wxyz
        self._ball.position = T[model.frames.index(frame)][:3, 3]
        self._ball.visible = True

    # ------------------------------------------------------------------------------------------ null space

    def begin_walk(self) -> None:
        """From the pose as it is now."""
        try:
            self.wanderer = Wanderer(self.studio.puppet, self.handle, int(self.mode.value) - 1)
        except PoiseError:
            self.wanderer = None
        self.along.value = 0.0

    def on_along(self, event: Any) -> None:
        """The slider moved: the body does, the handle does not."""
        if event.client is None:
            return
        if self.wanderer is None:
            value = self.along.value
            self.begin_walk()
            self.along.value = value
        if self.wanderer is not None:
            self.studio.puppet.place(self.wanderer.go(float(self.along.value)))
            self.studio.puppet.rig.commit()
            self.studio.touch()

    # ------------------------------------------------------------------------------------------ one iteration

    def on_mark(self) -> None:
        """Back to the rest pose, with what is asked kept: single steps and the curve start there."""
        self.start = np.array(self.studio.model.rest)
        self.go(self.start)
        self.words.content = ""
        self.draw_curve()

    def on_step(self) -> None:
        """One iteration towards what is asked, taken apart; the body stands where it led."""
        puppet = self.studio.puppet
        try:
            step = one_step(puppet, self.handle, puppet.q)
        except PoiseError as error:
            self.words.content = f"<div style='font-size:12px'>{html.escape(str(error))}</div>"
            return
        self.words.content = step_words(puppet.model, self.handle, step)
        if step is not None:
            self.go(step.after)
        self.draw_curve()

    def go(self, q: Floats) -> None:
        """The body stands at q, and what is asked of it stays."""
        self.studio.puppet.stand_at(q)
        self.studio.touch()

    def draw_curve(self) -> None:
        """Error by iteration, from where stepping began, or from the rest pose."""
        puppet = self.studio.puppet
        try:
            start = self.start if self.start is not None else np.array(puppet.model.rest)
            curve = error_curve(puppet, self.handle, start)
        except PoiseError:
            return
        self.curve.content = falling(curve) if len(curve) > 1 else ""

    def changed_body(self) -> None:
        """Another body: nothing of the old one stays."""
        self.handle = next(iter(self.studio.grips.frames))
        self.title.content = about(self.handle)
        self.words.content = self.curve.content = ""
        self.wanderer = self.start = self._busy = self._before = None
        self._used = (None, None)
        for thing in (self._arrows, self._ball):
            if thing is not None:
                thing.remove()
        self._arrows = self._ball = None


def about(handle: str) -> str:
    """Which handle all this is about."""
    return f"About **{handle}**, the handle touched last."
