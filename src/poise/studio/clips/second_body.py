"""A second body next to the first: a retargeted clip that plays in step with the original."""

import shutil
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from poise.arrays import Floats
from poise.errors import FormatWarning
from poise.formats import load, load_within
from poise.kinematics import Motion
from poise.kinematics.carriers import find_root
from poise.kinematics.seen_shapes import has_own_look
from poise.model import Model
from poise.motion import Contacts, Mapping, Quality, Retargeted, quality, retarget
from poise.motion.retargeting.mapping import find_mapping
from poise.studio.clips.pairs import choose_color, list_ends, place_beside
from poise.studio.clips.player import sample
from poise.studio.puppet import measure_size
from poise.studio.scene.body_view import BodyView
from poise.studio.scene.mesh_parts import make_dress
from poise.studio.session import Session
from poise.studio.showable import convert_body
from poise.studio.web.background import Background
from poise.studio.web.uploads import strip_folders, write_upload

__all__ = ["SecondBody"]


OPEN_TASK, SOLVE_TASK = "Opening the other body", "Carrying the clip over"
CHOSEN_COLOR = (222, 52, 60)
CAMERA_POSES = 12  # poses of a clip that the camera frames


@dataclass(frozen=True, eq=False)
class CarriedClip:
    """A retargeted clip.

    Attributes:
        clip: The source clip.
        result: The retargeting result.
        before: The quality of the source clip.
        after: The quality of the result, with the same contacts.
    """

    clip: Motion
    result: Retargeted
    before: Quality
    after: Quality


class SecondBody:
    """The body that a clip is retargeted to.

    Attributes:
        model: The body, in metres, or None.
        given: The body in the unit of its file, or None.
        mapping: The pairs of corresponding frames of both bodies.
        carried: The retargeted clip, or None before it is solved.
        background: The runner of long tasks; its listeners are called when a task starts, advances and ends.
        changed: Called when the body, the mapping or the result changes.
        chosen: The role whose pair is highlighted.
    """

    def __init__(self, session: Session) -> None:
        self.session, self.background = session, Background()
        self.model: Model | None = None
        self.given: Model | None = None
        self.mapping: Mapping | None = None
        self.carried: CarriedClip | None = None
        self.view: BodyView | None = None
        self.chosen = ""
        self.changed: list[Callable[[], None]] = []
        self._lines: list[Any] = []
        self._world = np.eye(4)
        self._made = 0
        self._wanted = False  # whether to retarget the clip as soon as possible
        self._folder = ""  # of the uploaded file, if any
        self.background.changed.append(self._go_on)
        session.listeners.append(lambda _, T: self.follow(T))
        session.scenery.beside.append(self.find_points)

    @property
    def clip(self) -> Motion | None:
        """The source clip."""
        return self.session.player.motion

    @property
    def stale(self) -> bool:
        """Whether the clip has changed since it was retargeted."""
        return self.carried is not None and self.carried.clip is not self.clip

    # ------------------------------------------------------------------------------------------ opening

    def open(self, thing: Model | str | PathLike[str], **options: Any) -> bool:
        """Load another body and retarget the clip to it; return whether the task was started."""
        clip = self.clip
        if clip is None:
            return False
        return self.background.start(
            OPEN_TASK,
            lambda _: match_body(clip, read_body(thing, **options)),
            lambda found: self._mount(*found),
        )

    def open_upload(self, name: str, content: bytes) -> bool:
        """Load an uploaded body and retarget the clip to it; return whether the task was started."""
        clip = self.clip
        if clip is None:
            return False

        def work(_: Any) -> tuple[Model, Model, Mapping, str]:
            folder = self.session.make_folder()
            path = write_upload(Path(folder), strip_folders(name), content)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", FormatWarning)
                return *match_body(clip, read_body(path, within=folder)), folder

        return self.background.start(OPEN_TASK, work, lambda found: self._mount(*found))

    def remove(self) -> None:
        """Remove the second body."""
        self._wanted = False
        self.background.cancel()
        with self.session.lock:
            self._clear()
            self.model = self.given = self.mapping = self.carried = None
        self._tell()

    def _mount(self, model: Model, given: Model, mapping: Mapping, folder: str = "") -> None:
        """Put the second body on the stage in its rest pose, until the clip is retargeted."""
        with self.session.lock:
            if self.session.stopped:
                return
            self._clear()
            self.model, self.given, self.mapping, self.carried, self._folder = model, given, mapping, None, folder
            self._made += 1
            self.view = BodyView(self.session.server.scene, f"/other_{self._made}", model)
            if has_own_look(model) and (dress := make_dress(model)) is not None:
                self.view.dress(dress)
            self._stand()
            self._draw_lines()
            self._wanted = True
            self.look()
            self._tell()

    def _clear(self) -> None:
        """Remove the second body from the stage, and delete its uploaded file."""
        for line in self._lines:
            line.remove()
        if self.view is not None:
            self.view.remove()
        self.view, self._lines = None, []
        if self._folder:
            shutil.rmtree(self._folder, ignore_errors=True)
            self._folder = ""

    # ------------------------------------------------------------------------------------------ solving

    def solve(self) -> bool:
        """Start to retarget the current clip with the current mapping; return whether the task was started."""
        clip, model, mapping, state = self.clip, self.model, self.mapping, self.session.editing.state
        if clip is None or model is None or state is None:
            return False
        ledger = state.contacts
        return self.background.start(
            SOLVE_TASK, lambda progress: carry_clip(clip, model, mapping, ledger, progress), self._take
        )

    def mend(self, mapping: Mapping) -> None:
        """Set the mapping, and retarget the clip again."""
        with self.session.lock:
            self.mapping, self._wanted = mapping, True
            self._draw_lines()
        self.background.cancel()
        self._tell()
        self._go_on()

    def _take(self, carried: CarriedClip) -> None:
        """Show the result."""
        with self.session.lock:
            if self.session.stopped or carried.result.motion.model is not self.model:
                return
            self.carried = carried
            self._stand()
            self.look()
            self._tell()

    def _go_on(self) -> None:
        """Start the pending retargeting."""
        if self._wanted and self.background.task is None and not self.session.stopped:
            self._wanted = False
            self.solve()

    # ------------------------------------------------------------------------------------------ showing

    def _stand(self) -> None:
        """Place the second body next to the first, on the same floor."""
        if self.model is None or self.clip is None:
            return
        if self.carried is None:
            motion = Motion(self.model, np.array(self.model.rest)[None], 1.0)
            heights = self.model.fk(np.array(self.model.rest))[:, :3, 3] @ self.model.up_direction
            floor = float(heights.min())
        else:
            motion, floor = self.carried.result.motion, self.carried.result.contacts.floor or 0.0
        size = self.session.puppet.size + measure_size(self.model, np.array(self.model.rest))
        self._world = place_beside(self.clip, motion, (self.session.scenery.floor, floor), size)
        self.follow()

    def follow(self, T: Floats | None = None) -> None:
        """Update the second body and the lines for the current time; `T` has the transforms of the first body."""
        view, model = self.view, self.model
        if view is None or model is None:
            return
        seconds = self.session.player.seconds
        q = np.array(model.rest) if self.carried is None else sample(self.carried.result.motion, seconds)
        places = self._world @ model.fk(q)
        view.show(places)
        if self._lines and self.mapping is not None:
            first = self.session.model
            own = first.fk(self.session.puppet.q) if T is None else T
            ends = list_ends(self.mapping, (first, model), (own, places)).astype(np.float32)
            self._lines[0].points = ends
            picked = [k for k, pair in enumerate(self.mapping) if pair.role == self.chosen]
            self._lines[1].visible = bool(picked)
            if picked:
                self._lines[1].points = ends[picked]

    def _draw_lines(self) -> None:
        """Draw a line between the two frames of each pair."""
        for line in self._lines:
            line.remove()
        self._lines = []
        if self.mapping is None or not len(self.mapping):
            return
        scene, name = self.session.server.scene, f"/map_{self._made}"
        colors = np.array([[choose_color(pair.role)] * 2 for pair in self.mapping], dtype=np.uint8)
        points = np.zeros((len(self.mapping), 2, 3), dtype=np.float32)
        usual = scene.add_line_segments(f"{name}/pairs", points, colors, thickness=2.0, thickness_units="screen")
        chosen = scene.add_line_segments(
            f"{name}/chosen", points[:1], CHOSEN_COLOR, thickness=5.0, thickness_units="screen", visible=False
        )
        self._lines = [usual, chosen]
        self.follow()

    def show_lines(self, on: bool) -> None:
        """Show or hide the lines."""
        for line in self._lines[:1]:
            line.visible = on

    def choose(self, role: str) -> None:
        """Highlight the pair of one role."""
        self.chosen = role
        with self.session.lock:
            self.follow()

    def look(self) -> None:
        """Point the cameras so that both bodies are visible throughout the clip."""
        if not self.session.stopped:
            self.session.scenery.show_points(self.session.scenery.find_points())

    def find_points(self) -> Floats:
        """Return points of the second body over its clip, (n, 3) [m]; none without a second body."""
        if self.view is None or self.model is None:
            return np.zeros((0, 3))
        motion = None if self.carried is None else self.carried.result.motion
        poses = np.array(self.model.rest)[None] if motion is None else motion.q[:: max(1, len(motion) // CAMERA_POSES)]
        return np.concatenate([self.view.sample_points(self._world @ self.model.fk(q)) for q in poses])

    def _tell(self) -> None:
        if not self.session.stopped:
            for listen in self.changed:
                listen()


def read_body(thing: Model | str | PathLike[str], within: str = "", **options: Any) -> Model:
    """Load a body with a free base; one with a fixed base is loaded again with a free one."""
    if isinstance(thing, Model):
        return thing

    def read(**more: Any) -> Model:
        return load_within(thing, within, **options, **more) if within else load(thing, **options, **more)

    model = read()
    if find_root(model) is None:
        model = read(base="free")
    return model


def match_body(clip: Motion, given: Model) -> tuple[Model, Model, Mapping]:
    """Return a body in metres, as given, and the mapping to it from the clip's body.

    Raises:
        InvalidValue: One of the bodies is not a biped.
    """
    model = convert_body(given)
    if has_own_look(model):
        make_dress(model)  # slow; cached in the model
    return model, given, find_mapping(clip.model, model)


def carry_clip(
    clip: Motion, model: Model, mapping: Mapping | None, ledger: Contacts | None, progress: Callable[[int, int], object]
) -> CarriedClip:
    """Retarget a clip, and measure the quality before and after."""
    result = retarget(
        clip, model, mapping, contacts="auto" if ledger is None else ledger, keep_rest=True, progress=progress
    )
    return CarriedClip(clip, result, quality(clip, contacts=ledger), result.quality)
