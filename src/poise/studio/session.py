"""A session of the studio: a body on a stage, its handles, a clip, and the solver thread.

One thread solves. Messages of the browser only set targets and wake it; it solves, shows the pose, sends it
immediately, and continues until the body has settled. Several viewers share one body, see `poise.studio.scene.grips`.
The panel (`poise.studio.panel.panel`) is built on top of this and listens as a `Watcher`.
"""

import shutil
import threading
import traceback
import weakref
from collections.abc import Callable
from tempfile import mkdtemp
from typing import Any, Protocol

from poise.arrays import Floats
from poise.errors import PoiseError
from poise.formats.meshes.looks import find_look
from poise.formats.units import to_metres
from poise.kinematics import Motion, Pose
from poise.kinematics.seen_shapes import has_own_look
from poise.model import Model
from poise.solvers.report.explanation import Explanation
from poise.studio.clips.edits import ClipEditor
from poise.studio.clips.player import Player
from poise.studio.notices import notify
from poise.studio.puppet import FrameResult, Puppet
from poise.studio.scene.body_view import BodyView
from poise.studio.scene.grips import Grips
from poise.studio.scene.map_view import MapView
from poise.studio.scene.mesh_parts import make_dress
from poise.studio.scene.objects_view import ObjectsView
from poise.studio.scene.scenery import Scenery
from poise.studio.showable import Opening, Showable, read_opening
from poise.studio.web.background import start_thread
from poise.studio.web.gate import Gate
from poise.studio.web.meter import Meter
from poise.studio.web.viser_server import start_server

__all__ = ["SETTLED", "Session", "Watcher"]


SETTLING_RATE = 60.0  # frames per second while the body settles
SETTLED = 2e-4  # [rad] per frame: smaller motions count as standing still
MESH_WAIT = 0.6  # [s] to wait for meshes when a body is opened
EXPLAIN_DELAY = 0.35  # [s] of standing still with a missed handle before it is explained


class Watcher(Protocol):
    """The interface of a session's listener."""

    def change_body(self) -> None:
        """Update for another body."""

    def select(self, viewer: int, name: str) -> None:
        """Select the handle that a viewer touched."""

    def join(self, client: Any) -> None:
        """Add the controls of a new viewer."""

    def leave(self, viewer: int) -> None:
        """Remove the data of a viewer who has left."""

    def report(self, frame: FrameResult, refused: str) -> None:
        """Report a frame; `refused` is the error of a method that does not support the goals."""

    def explain(self, explanation: Explanation) -> None:
        """Explain why a handle is missed."""


class Session:
    """A body in the scene of a server, and the thread that moves it.

    Attributes:
        server: The viser server.
        gate: The access rules of the server.
        puppet: The body, independent of the browser: its pose, pins and targets, in metres.
        given: The body in the unit of its file, in which poses and motions are saved.
        view: The body in the scene.
        grips: The handles in the scene.
        player: The player of the clip.
        editing: The editor of the clip.
        scenery: The stage, its colours and cameras.
        objects_view: The objects that move with the clip.
        meter: Timings of the last frames.
        listeners: Called after every frame, with its result and the transforms of all frames of the model.
        movers: Called after every frame; each returns whether something other than the body still moves.
        watcher: The listener of the session, or None before the panel exists.
        lock: A lock, held while the scene or the panel is changed.
        last: The result of the last frame.
        stopped: Whether the studio is closing, so that nothing is shown any more.
        show_limits: Whether parts with joints at their limits are highlighted.
    """

    puppet: Puppet
    given: Model
    view: BodyView
    grips: Grips
    last: FrameResult

    def __init__(
        self, opening: Opening, gate: Gate, *, host: str, port: int, shadows: bool, dark: bool = False
    ) -> None:
        self.server, self.gate = start_server(host, port, "Poise", gate), gate
        self.host, self.port = host, self.server.get_port()
        self.meter = Meter()
        self.listeners: list[Callable[[FrameResult, Floats], None]] = []
        self.movers: list[Callable[[], bool]] = []
        self.watcher: Watcher | None = None
        self.lock, self._showing = threading.RLock(), threading.Lock()
        self.player = Player(self.start_at, self.lock)
        self.editing = ClipEditor(self.player, lambda: self.puppet, self.lock)
        self.scenery = Scenery(self.server, self.player, lambda: self.stopped, shadows=shadows, dark=dark)
        self.show_limits = True
        self._wake = threading.Event()
        self._event: float | None = None
        self.stopped = False
        self._requests = 0
        self._bodies = 0
        self._uploads = mkdtemp(prefix="poise-upload-")  # with a folder for each uploaded file
        self._remove_uploads = weakref.finalize(self, shutil.rmtree, self._uploads, ignore_errors=True)
        self._folder = ""  # of the displayed file
        self.map_view = MapView(self.scenery)
        self.objects_view = ObjectsView(self.scenery)
        self._mount(opening)
        self._thread = threading.Thread(target=self._run, name="poise-studio", daemon=True)

    # ------------------------------------------------------------------------------------------ requests

    @property
    def model(self) -> Model:
        """The body, in metres."""
        return self.puppet.model

    @property
    def pose(self) -> Pose:
        """The current pose, in metres; setting it updates the browser, and converts a pose in another unit."""
        return self.puppet.pose

    @pose.setter
    def pose(self, pose: Pose) -> None:
        shown = to_metres(pose)
        if shown.model != self.model:
            self.show(pose)
        else:
            self.puppet.place(shown.q)
        self.touch()

    def start_at(self, q: Floats) -> None:
        """Set the configuration as the new start of undo and reset."""
        self.puppet.start_at(q)
        self.touch()

    def show(self, thing: Showable, within: str = "") -> None:
        """Show another body, pose or motion in the same window; a table moves the current body.

        Args:
            thing: The object or file to show.
            within: The only folder from which files are read; "" for no restriction.

        Raises:
            FormatError: The file cannot be read; the previous body stays.
        """
        with self._showing:  # a second file waits until the first is on the stage
            opening = read_opening(thing, self.given, within)
            self.player.open(None)
            if opening.motion is None or opening.model != self.model:
                with self.lock:
                    self._mount(opening)
                    if self.watcher is not None:
                        self.watcher.change_body()
            with self.lock:
                self.given = opening.given
                self.map_view.show(opening.map)
            self.play(opening.motion)
        self.touch()

    def make_folder(self) -> str:
        """Return a new folder for an uploaded file, removed when the studio or the program ends."""
        return mkdtemp(dir=self._uploads)

    def keep_folder(self, folder: str) -> None:
        """Keep the folder of an uploaded file while its body is shown: saving needs the original file."""
        before, self._folder = self._folder, folder
        if before:
            shutil.rmtree(before, ignore_errors=True)

    def play(self, motion: Motion | None) -> None:
        """Open a motion of the current body, and play it."""
        if motion is not None:
            self.player.open(motion)
            self.scenery.set_stage()
            self.player.play()

    def undo(self) -> bool:
        """Undo the last change, of the clip if one is open; return whether there was one."""
        done = self.editing.undo()
        self.touch()
        return done

    def redo(self) -> bool:
        """Redo the last undone change; return whether there was one."""
        done = self.editing.redo()
        self.touch()
        return done

    def touch(self, event: float | None = None) -> None:
        """Request a frame. `event` is the time of the mouse event (`time.perf_counter`)."""
        if event is not None and self.player.playing:
            self.player.stop()  # a mouse event stops the clip
        if event is not None:
            self._touched = True
        if event is not None and self._event is None:
            self._event = event
        self._requests += 1
        self._wake.set()

    def start(self) -> None:
        """Accept viewers, and start the solver thread."""
        self.server.on_client_connect(self._welcome)
        self.server.on_client_disconnect(self._forget)
        self._thread.start()
        self.touch()

    def stop(self) -> None:
        """Close the studio."""
        with self.lock:  # other threads finish drawing before this, or skip it
            self.stopped = True
        self.player.stop()
        self.editing.cancel()
        self._wake.set()
        self._thread.join(timeout=5.0)
        self.server.stop()
        self._remove_uploads()

    def wait(self) -> None:
        """Wait until Ctrl-C."""
        try:
            while self._thread.is_alive():
                self._thread.join(timeout=0.5)
        except KeyboardInterrupt:
            self.stop()

    # ------------------------------------------------------------------------------------------ the scene

    def _mount(self, opening: Opening) -> None:
        """Put a new body on the stage."""
        model, self.given = opening.model, opening.given
        with self.server.atomic():
            if hasattr(self, "grips"):
                self.grips.remove()
                self.view.remove()
            self.puppet = Puppet(model, opening.pose)
            self.last = FrameResult(self.puppet.q)  # drops the misses of the previous body
            self._bodies += 1  # unique node names: late messages never reach the next body
            T = model.fk(self.puppet.q)
            self.view = BodyView(self.server.scene, f"/body_{self._bodies}", model)
            self.scenery.show_body(self.puppet, self.view)
            self.grips = Grips(self.server, self.puppet, self.view, f"/beside_{self._bodies}", self.touch, self._select)
            self.view.show(T)
            self.grips.show(T, self.last)
            self.scenery.set_stage()
        self.look_notes: tuple[str, ...] = ()
        self._touched = False  # whether a handle was dragged since
        if has_own_look(model):
            read = threading.Event()
            start_thread(self._read_look, model, self._bodies, read, name="poise-look")
            if read.wait(MESH_WAIT):  # a small body gets its meshes before it is shown
                with self.lock:
                    self._put_on(model, self._bodies, camera=True)

    def _read_look(self, model: Model, number: int, read: threading.Event) -> None:
        """Load the meshes of a body's file, which may take a while, then show them instead of flesh."""
        make_dress(model)
        read.set()
        with self.lock:
            self._put_on(model, number, camera=not self._touched)

    def _put_on(self, model: Model, number: int, *, camera: bool) -> None:
        """Show the body's own meshes, and notify the viewers once about missing ones."""
        if self._bodies != number or self.stopped or self.view.dressed is not None:
            return
        dress = make_dress(model)
        if dress is not None:
            with self.server.atomic():
                self.view.dress(dress)
                self.scenery.set_stage(camera=camera)
        if not self.look_notes:
            self.look_notes = find_look(model).notes
            for client in self.server.get_clients().values():
                self._report_missing(client)

    def _report_missing(self, client: Any) -> None:
        """Notify a viewer about missing meshes of the body."""
        for note in self.look_notes:
            notify(client, "Not all of the body can be drawn", note, seconds=20.0)

    def _welcome(self, client: Any) -> None:
        """Set up the camera and the panel of a new viewer, one viewer at a time."""
        with self.lock:
            if client.client_id not in self.server.get_clients():
                return  # already disconnected
            self._report_missing(client)
            self.scenery.welcome(client)
            if self.watcher is not None:
                self.watcher.join(client)

    def _select(self, viewer: int, name: str) -> None:
        if self.watcher is not None:
            self.watcher.select(viewer, name)

    def _forget(self, client: Any) -> None:
        with self.lock:
            self.grips.leave(client.client_id)
            if self.watcher is not None:
                self.watcher.leave(client.client_id)
        self.touch()

    # ------------------------------------------------------------------------------------------ the thread

    def _run(self) -> None:
        """Run the solver thread: wait for requests, solve until the body is still, start explanations of misses."""
        explained = True
        while not self.stopped:
            woken = self._wake.wait(timeout=None if explained else EXPLAIN_DELAY)
            if self.stopped:
                return
            if not woken:
                explained = True
                start_thread(self._explain, self._requests, name="poise-reason")
                continue
            self._wake.clear()
            try:
                self._settle()
            except Exception:  # a frame that fails is printed; the next one is tried
                traceback.print_exc()
            explained = not self.last.missed

    def _explain(self, request: int) -> None:
        """Explain misses, which takes a while; drop the explanation if the targets have changed meanwhile."""
        found = self.puppet.explain()
        with self.lock:
            if found is not None and request == self._requests and not self.stopped and self.watcher is not None:
                self.watcher.explain(found)

    def _settle(self) -> None:
        """Make frames until nothing moves; mouse events are handled immediately."""
        for _ in range(400):
            moved = self._frame()
            settled = moved < SETTLED and not any(is_moving() for is_moving in self.movers)
            if self.stopped or (settled and not self._wake.is_set()):
                self._keep_edit()
                return
            self._wake.wait(timeout=1.0 / SETTLING_RATE)
            self._wake.clear()

    def _keep_edit(self) -> None:
        """Store changes of the pose made by hand in the clip."""
        with self.lock:
            if not self.puppet.held and not self.stopped:
                self.editing.keep()

    def _frame(self) -> float:
        """Solve, show and send one frame; return the largest change of a coordinate."""
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
                self.objects_view.follow()
                for listen in self.listeners:
                    listen(frame, T)
            self.server.flush()
            self.last = frame
            self.meter.add(frame.seconds, event)
            if self.watcher is not None:
                self.watcher.report(frame, refused)
        return frame.moved
