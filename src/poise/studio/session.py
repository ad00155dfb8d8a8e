"""What is shown in the browser and the thread that moves it: a body on a stage, its handles, a clip.

One thread solves. The browser's messages only say what is wanted and wake it; it solves, shows the pose, sends it at
once, and goes on until the body has settled. Several viewers look at one body; `poise.studio.grips` says how they share
it. The panel is built on top of this, in `poise.studio.panel`; what a session tells it is a `Watcher`.
"""

from __future__ import annotations

import threading
import traceback
from collections.abc import Callable
from os import PathLike
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from poise.errors import PoiseError
from poise.formats import load
from poise.kinematics import Pose
from poise.model import Model
from poise.solvers.explanation import Explanation
from poise.studio.body_view import BodyView
from poise.studio.grips import Grips
from poise.studio.meter import Meter
from poise.studio.player import Player
from poise.studio.puppet import FrameResult, Puppet
from poise.studio.serve import start_server
from poise.studio.stage import light_stage, point_camera

__all__ = ["Session", "Watcher"]

Floats = NDArray[np.float64]

RATE = 60.0  # frames in a second while the body settles
SETTLED = 2e-4  # [rad] less than this in a frame is standing still
PATIENCE = 0.35  # [s] of standing still with a handle missed before why() is asked


class Watcher(Protocol):
    """Who is told what happens in a session."""

    def change_body(self) -> None:
        """Show another body."""

    def select(self, viewer: int, name: str) -> None:
        """Show the handle that a viewer touched."""

    def leave(self, viewer: int) -> None:
        """Forget a viewer who has left."""

    def report(self, frame: FrameResult, refused: str) -> None:
        """Report a frame; `refused` says why the method does not serve what is asked."""

    def explain(self, explanation: Explanation) -> None:
        """Explain why a handle is missed."""


class Session:
    """A body in the scene of a server, and the thread that moves it.

    Attributes:
        server: The server of viser.
        puppet: What is held, pinned and asked: the body without the browser.
        view: The body in the scene.
        grips: Its handles in the scene.
        player: The clip that is open.
        meter: Figures of the last frames.
        listeners: Called after every frame, with what it came to and the transforms of all frames of the model.
        watcher: Who is told what happens; None until there is a panel.
        lock: Held while the scene is changed.
        last: The last frame.
        show_limits: Whether parts are lit whose joint stands at the end of its range.
    """

    puppet: Puppet
    view: BodyView
    grips: Grips

    def __init__(self, model: Model, pose: Pose | None, *, host: str, port: int, shadows: bool) -> None:
        self.server = start_server(host, port, "Poise")
        self.host, self.port, self.shadows = host, self.server.get_port(), shadows
        self.meter = Meter()
        self.player = Player(self.put)
        self.listeners: list[Callable[[FrameResult, Floats], None]] = []
        self.watcher: Watcher | None = None
        self.lock = threading.RLock()
        self.show_limits = True
        self.last = FrameResult(np.zeros(0))
        self._wake = threading.Event()
        self._event: float | None = None
        self._stopping = False
        self._asked = 0
        self._bodies = 0
        self._mount(model, pose)
        self.server.on_client_disconnect(self._forget)
        self._thread = threading.Thread(target=self._run, name="poise-studio", daemon=True)

    # ------------------------------------------------------------------------------------------ what is asked

    @property
    def model(self) -> Model:
        """The body."""
        return self.puppet.model

    @property
    def pose(self) -> Pose:
        """The pose in which the body stands now; set it, and the browser shows it."""
        return self.puppet.pose

    @pose.setter
    def pose(self, pose: Pose) -> None:
        if pose.model != self.model:
            self.show(pose)
        else:
            self.puppet.place(pose.q)
        self.touch()

    def put(self, q: Floats) -> None:
        """Put the body at a configuration."""
        self.puppet.place(q)
        self.touch()

    def show(self, model: Model | Pose | str | PathLike[str]) -> None:
        """Show another body in the same window.

        Raises:
            FormatError: The file cannot be read; the old body stays.
        """
        body, pose = read_body(model)
        self.player.open(None)
        with self.lock:
            self._mount(body, pose)
            if self.watcher is not None:
                self.watcher.change_body()
        self.touch()

    def relight(self, shadows: bool) -> None:
        """Light the stage with shadows, or without."""
        self.shadows = shadows
        points = self.view.sample_points(self.model.fk(self.puppet.q))
        light_stage(self.server.scene, self.model, float(points[:, self.model.up_axis].min()), shadows)

    def touch(self, event: float | None = None) -> None:
        """Ask for a frame. `event` is when the mouse asked for it (`time.perf_counter`)."""
        if event is not None and self._event is None:
            self._event = event
        self._asked += 1
        self._wake.set()

    def start(self) -> None:
        """Start to solve."""
        self._thread.start()
        self.touch()

    def stop(self) -> None:
        """Close the studio."""
        self._stopping = True
        self.player.stop()
        self._wake.set()
        self._thread.join(timeout=5.0)
        self.server.stop()

    def wait(self) -> None:
        """Wait until Ctrl-C."""
        try:
            while self._thread.is_alive():
                self._thread.join(timeout=0.5)
        except KeyboardInterrupt:
            self.stop()

    # ------------------------------------------------------------------------------------------ the scene

    def _mount(self, model: Model, pose: Pose | None) -> None:
        """Put a new body on the stage."""
        if hasattr(self, "grips"):
            self.grips.remove()
            self.view.remove()
        with self.server.atomic():
            self.puppet = Puppet(model, pose)
            self._bodies += 1  # every body has names of its own: late messages never reach the next one
            T = model.fk(self.puppet.q)
            self.view = BodyView(self.server.scene, f"/body_{self._bodies}", model)
            points = self.view.sample_points(T)
            light_stage(self.server.scene, model, float(points[:, model.up_axis].min()), self.shadows)
            self.grips = Grips(self.server, self.puppet, self.view, f"/beside_{self._bodies}", self.touch, self._select)
            self.view.show(T)
            self.grips.show(T, self.last)
            point_camera(self.server, model, points)

    def _select(self, viewer: int, name: str) -> None:
        if self.watcher is not None:
            self.watcher.select(viewer, name)

    async def _forget(self, client: Any) -> None:
        self.grips.leave(client.client_id)
        if self.watcher is not None:
            self.watcher.leave(client.client_id)
        self.touch()

    # ------------------------------------------------------------------------------------------ the thread

    def _run(self) -> None:
        """Wait, solve until the body stands still, have it explained what is missed, wait."""
        explained = True
        while not self._stopping:
            woken = self._wake.wait(timeout=None if explained else PATIENCE)
            if self._stopping:
                return
            if not woken:
                explained = True
                threading.Thread(target=self._explain, args=(self._asked,), daemon=True).start()
                continue
            self._wake.clear()
            try:
                self._settle()
            except Exception:  # a frame that fails is said on the terminal; the next one is tried
                traceback.print_exc()
            explained = not self.last.missed

    def _explain(self, asked: int) -> None:
        """Ask why, which takes a while; drop the answer where something else has been asked meanwhile."""
        found = self.puppet.explain()
        if found is not None and asked == self._asked and not self._stopping and self.watcher is not None:
            self.watcher.explain(found)

    def _settle(self) -> None:
        """Make frame after frame until nothing moves; what the mouse asks meanwhile is served at once."""
        for _ in range(400):
            moved = self._frame()
            if self._stopping or (moved < SETTLED and not self._wake.is_set()):
                return
            self._wake.wait(timeout=1.0 / RATE)
            self._wake.clear()

    def _frame(self) -> float:
        """Solve, show and send one frame; return how far the body moved."""
        event, self._event = self._event, None
        with self.lock:
            try:
                frame = self.puppet.frame()
                refused = ""
            except PoiseError as error:
                frame, refused = FrameResult(self.puppet.q), str(error)
            T = self.model.fk(frame.q)
            with self.server.atomic():
                self.view.show(T)
                self.grips.show(T, frame)
                for listen in self.listeners:
                    listen(frame, T)
            self.server.flush()
            self.last = frame
            self.meter.add(frame.seconds, event)
            if self.watcher is not None:
                self.watcher.report(frame, refused)
        return frame.moved


def read_body(model: Model | Pose | str | PathLike[str]) -> tuple[Model, Pose | None]:
    """Read a body and the pose that was given with it, if one was."""
    if isinstance(model, Pose):
        return model.model, model
    return (model if isinstance(model, Model) else load(model)), None
