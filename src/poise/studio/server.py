"""Studio: a body in the browser, to be taken hold of.

One thread solves. The browser's messages only say what is wanted and wake it; it solves, shows the pose, sends it at
once, and goes on until the body has settled. Several viewers look at one body; `poise.studio.grips` says how they share
it.
"""

from __future__ import annotations

import threading
import traceback
from collections.abc import Callable
from os import PathLike
from typing import Any

import numpy as np
from numpy.typing import NDArray

from poise.errors import PoiseError
from poise.formats import load
from poise.kinematics import Pose
from poise.model import Model
from poise.studio.grips import Grips
from poise.studio.meter import Meter
from poise.studio.page import start_server
from poise.studio.puppet import Frame, Puppet
from poise.studio.stage import Body, light_stage, point_camera

__all__ = ["Studio"]

Floats = NDArray[np.float64]

RATE = 60.0  # frames in a second while the body settles
SETTLED = 2e-4  # [rad] less than this in a frame is standing still
PATIENCE = 0.35  # [s] of standing still with a handle missed before why() is asked


class Studio:
    """A body in the browser.

        studio = Studio("humanoid")
        print(studio.url)

    In a notebook, the studio as the last line of a cell shows itself. It listens on this machine alone unless `host`
    says otherwise: who can reach the port can move the body, and load and save through the browser.

    Args:
        model: A Model, a Pose, a built-in name or a file.
        host: The address to listen on; "0.0.0.0" is every network that this machine is in.
        port: The port, or the next free one.
        shadows: Whether the body casts any; without, it is lighter on browsers that have no GPU.

    Attributes:
        puppet: What is held, pinned and asked: the body without the browser.
        meter: Figures of the last frames.
    """

    puppet: Puppet
    body: Body
    grips: Grips

    def __init__(
        self,
        model: Model | Pose | str | PathLike[str] = "humanoid",
        *,
        host: str = "127.0.0.1",
        port: int = 8080,
        shadows: bool = True,
    ) -> None:
        from poise.studio.panel import Panel

        pose = model if isinstance(model, Pose) else None
        body = model.model if isinstance(model, Pose) else model if isinstance(model, Model) else load(model)
        self.server = start_server(host, port, "Poise")
        self.host, self.port, self.shadows = host, self.server.get_port(), shadows
        self.meter = Meter()
        self.listeners: list[Callable[[Frame, Floats], None]] = []
        self._wake = threading.Event()
        self._event: float | None = None
        self._stopping = False
        self._asked = 0
        self._bodies = 0
        self._lock = threading.RLock()  # what is in the scene
        self._last = Frame(np.zeros(0))
        self.server.gui.configure_theme(show_logo=False, show_share_button=False, brand_color=(9, 96, 90))
        self._mount(body, pose)
        self.panel = Panel(self)
        self.server.on_client_disconnect(self._left)
        self._thread = threading.Thread(target=self._run, name="poise-studio", daemon=True)
        self._thread.start()
        self.touch()

    # ------------------------------------------------------------------------------------------ for Python

    @property
    def url(self) -> str:
        """Where to look."""
        shown = "127.0.0.1" if self.host in ("0.0.0.0", "") else self.host
        return f"http://{shown}:{self.port}"

    @property
    def model(self) -> Model:
        """The body."""
        return self.puppet.model

    @property
    def pose(self) -> Pose:
        """As the body stands now; set it, and the browser shows it."""
        return self.puppet.pose

    @pose.setter
    def pose(self, pose: Pose) -> None:
        if pose.model != self.model:
            self.show(pose)
        else:
            self.puppet.place(pose.q)
        self.touch()

    def show(self, model: Model | Pose | str | PathLike[str]) -> None:
        """Another body in the same window.

        Raises:
            FormatError: The file cannot be read; the old body stays.
        """
        pose = model if isinstance(model, Pose) else None
        body = model.model if isinstance(model, Pose) else model if isinstance(model, Model) else load(model)
        with self._lock:
            self._mount(body, pose)
            self.panel.changed_body()
        self.touch()

    def relight(self, shadows: bool) -> None:
        """With shadows, or without."""
        self.shadows = shadows
        points = self.body.points(self.model.fk(self.puppet.q))
        light_stage(self.server.scene, self.model, float(points[:, self.model.up_axis].min()), shadows)

    def touch(self, event: float | None = None) -> None:
        """Something is asked: solve. `event` is when the mouse asked (`time.perf_counter`)."""
        if event is not None and self._event is None:
            self._event = event
        self._asked += 1
        self._wake.set()

    def stop(self) -> None:
        """Closes the studio."""
        self._stopping = True
        self._wake.set()
        self._thread.join(timeout=5.0)
        self.server.stop()

    def wait(self) -> None:
        """Until Ctrl-C."""
        try:
            while self._thread.is_alive():
                self._thread.join(timeout=0.5)
        except KeyboardInterrupt:
            self.stop()

    def __enter__(self) -> Studio:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def _repr_html_(self) -> str:
        return f'<iframe src="{self.url}" style="width: 100%; height: 640px; border: 0" title="Poise studio"></iframe>'

    def __repr__(self) -> str:
        return f"<Studio of {self.model.name!r} at {self.url}>"

    # ------------------------------------------------------------------------------------------ the scene

    def _mount(self, model: Model, pose: Pose | None) -> None:
        """A new body on the stage."""
        if hasattr(self, "grips"):
            self.grips.remove()
            self.body.remove()
        with self.server.atomic():
            self.puppet = Puppet(model, pose)
            self._bodies += 1  # every body has names of its own: late messages never reach the next one
            T = model.fk(self.puppet.q)
            self.body = Body(self.server.scene, f"/body_{self._bodies}", model)
            points = self.body.points(T)
            light_stage(self.server.scene, model, float(points[:, model.up_axis].min()), self.shadows)
            self.grips = Grips(
                self.server, self.puppet, self.body, f"/beside_{self._bodies}", self.touch, self._selected
            )
            self.body.show(T)
            self.grips.show(T, self._last)
            point_camera(self.server, model, points)

    def _selected(self, viewer: int, name: str) -> None:
        self.panel.select(viewer, name)

    async def _left(self, client: Any) -> None:
        self.grips.leave(client.client_id)
        self.panel.leave(client.client_id)
        self.touch()

    # ------------------------------------------------------------------------------------------ the thread

    def _run(self) -> None:
        """Waits, solves until the body stands still, has explained what is missed, waits."""
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
            explained = not self._last.missed

    def _explain(self, asked: int) -> None:
        """Asks why, which takes a while; dropped where something else has been asked meanwhile."""
        found = self.puppet.explanation()
        if found is not None and asked == self._asked and not self._stopping:
            self.panel.explain(found)

    def _settle(self) -> None:
        """Frame after frame until nothing moves; a new wish of the mouse is served at once."""
        for _ in range(400):
            moved = self._frame()
            if self._stopping or (moved < SETTLED and not self._wake.is_set()):
                return
            self._wake.wait(timeout=1.0 / RATE)
            self._wake.clear()

    def _frame(self) -> float:
        """One frame: solve, show, send. Returns how far it moved."""
        event, self._event = self._event, None
        with self._lock:
            try:
                frame = self.puppet.frame()
                refused = ""
            except PoiseError as error:
                frame, refused = Frame(self.puppet.q), str(error)
            T = self.model.fk(frame.q)
            with self.server.atomic():
                self.body.show(T)
                self.grips.show(T, frame)
                for listen in self.listeners:
                    listen(frame, T)
            self.server.flush()
            self._last = frame
            self.meter.add(frame.seconds, event)
            self.panel.report(frame, refused)
        return frame.moved
