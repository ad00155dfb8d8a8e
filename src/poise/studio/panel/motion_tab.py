"""The motion tab: a clip as a timeline, to play, scrub, lock feet, edit by hand and save."""

import math
from typing import Any

from numpy.typing import NDArray

from poise.formats.units import restore_units
from poise.kinematics.rest_frames import LEFT_OUT
from poise.studio.clips.second_body import SecondBody
from poise.studio.clips.timeline import cut_clip
from poise.studio.downloads import find_motion_kind, list_motion_kinds, send_motion
from poise.studio.markup import PLAIN
from poise.studio.notices import try_to
from poise.studio.panel.feet_folder import FeetFolder
from poise.studio.panel.keys_folder import KeysFolder
from poise.studio.panel.progress_bar import WorkBar
from poise.studio.panel.retarget_folder import CarryFolder
from poise.studio.panel.timeline_picture import draw_marker, draw_timeline
from poise.studio.puppet import FrameResult
from poise.studio.scene.ghost import Ghost
from poise.studio.session import Session
from poise.studio.web.throttle import Pace

__all__ = ["MotionTab"]

NOTHING = PLAIN.format("No motion yet: open a BVH or glTF file in the first tab, or record what you drag.")
MARKER_PAUSE = 1.0 / 15.0  # [s] between updates of the marker


class MotionTab:
    """The tab of the clip; created within its tab."""

    def __init__(self, session: Session, second_body: SecondBody) -> None:
        self.session, self.player, self.editing = session, session.player, session.editing
        self.second_body = second_body
        gui: Any = session.server.gui
        self.about = gui.add_html(NOTHING)
        self.picture = gui.add_html("", visible=False)
        self.marker = gui.add_html("", visible=False)
        self.time = gui.add_slider("Time [s]", 0.0, 1.0, 0.01, 0.0, disabled=True)
        self.play = gui.add_checkbox("Play", False, disabled=True)
        self.part = gui.add_multi_slider(
            "Part [s]", 0.0, 1.0, 0.01, (0.0, 1.0), disabled=True, hint="In and out point: only this part is played"
        )
        self.history = gui.add_button_group("Change", ("Undo", "Redo"))
        self.ghost_on = gui.add_checkbox("Ghost of the original", False, hint="The clip as it was opened, see-through")
        self.bar = WorkBar(session, self.editing.background, self.editing.cancel)
        self.feet = FeetFolder(session)
        self.keys = KeysFolder(session)
        self.carry = CarryFolder(session, second_body)
        with gui.add_folder("Save", expand_by_default=False):
            self.kind = gui.add_dropdown("Clip as", tuple(list_motion_kinds(session.model)))
            self.save = gui.add_button("Save clip", disabled=True, hint="The visible clip, with all edits")
        with gui.add_folder("Pace, cut, record", expand_by_default=False):
            self.loop = gui.add_checkbox("Loop", True)
            self.speed = gui.add_slider("Speed", 0.1, 2.0, 0.1, 1.0)
            self.cut = gui.add_button(
                "Keep only this part", disabled=True, hint="Cut the clip to its in and out points"
            )
            self.record = gui.add_checkbox("Record", False, hint="Records your drag, 30 poses a second")
        self.ghost = Ghost(session)
        self._mark = Pace(self.draw_marker, MARKER_PAUSE)
        self.listen()
        self.show("motion")

    def listen(self) -> None:
        """Connect the controls to their callbacks."""
        session = self.session
        self.record.on_update(lambda _: self.on_record())
        self.play.on_update(lambda event: self.on_play() if event.client is not None else None)
        self.loop.on_update(lambda _: self.on_pace())
        self.speed.on_update(lambda _: self.on_pace())
        self.time.on_update(lambda event: self.player.show_at(float(self.time.value)) if event.client else None)
        self.part.on_update(lambda event: self.on_part() if event.client else None)
        self.cut.on_click(lambda event: try_to(event.client, self.on_cut))
        self.history.on_click(lambda _: session.undo() if self.history.value == "Undo" else session.redo())
        self.ghost_on.on_update(lambda _: self.ghost.show(self.ghost_on.value))
        self.save.on_click(self.on_save)
        self.player.changed.append(self.show)
        self.feet.chosen_changed.append(self.draw)
        session.listeners.append(self.watch)

    # ------------------------------------------------------------------------------------------ showing

    def show(self, what: str) -> None:
        """Update the controls after a change of the player."""
        if self.session.stopped:
            return
        if what == "motion":
            self.show_motion()
        if what == "part":
            self.part.value = (self.player.start, self.player.end)
            self.draw()
        self.play.value = self.player.playing
        if not self.time.disabled:
            self.time.value = min(self.player.seconds, self.time.max)
            self._mark.ask()

    def show_motion(self) -> None:
        """Show the open motion and its data."""
        motion = self.player.motion
        for each in (self.time, self.play, self.part, self.cut, self.save):
            each.disabled = motion is None
        self.picture.visible = self.marker.visible = motion is not None
        if motion is None:
            self.about.content = NOTHING
            self.ghost.show(False)
        else:
            length = self.player.duration
            cut = ", without the rest pose before it" if LEFT_OUT in motion.model.notes else ""
            about = f"<b>{len(motion)}</b> poses at {motion.fps:g} a second, {length:.2f} s{cut}."
            self.about.content = PLAIN.format(about)
            self.time.max = self.part.max = math.ceil(100 * length) / 100
            self.part.value = (self.player.start, self.player.end)
            if self.ghost_on.value and (self.ghost.view is None or self.ghost.view.model is not motion.model):
                self.ghost.show(True)
        self.feet.show()
        self.keys.show()
        self.draw()

    def draw(self) -> None:
        """Redraw the timeline."""
        state = self.editing.state
        if state is not None:
            self.picture.content = draw_timeline(state, (self.player.start, self.player.end), self.feet.chosen)
            self.draw_marker()

    def draw_marker(self) -> None:
        """Draw the marker of the current time."""
        state = self.editing.state
        if state is not None and not self.session.stopped:
            self.marker.content = draw_marker(state, self.player.seconds)

    # ------------------------------------------------------------------------------------------ callbacks

    def on_play(self) -> None:
        """Start or stop playback."""
        if self.play.value:
            self.player.play()
        else:
            self.player.stop()

    def on_pace(self) -> None:
        """Apply the speed and the loop box."""
        self.player.loop, self.player.speed = bool(self.loop.value), float(self.speed.value)

    def on_part(self) -> None:
        """Apply the in and out points."""
        start, end = self.part.value
        self.player.set_part(float(start), float(end))

    def on_cut(self) -> None:
        """Keep only the part between the in and out points."""
        motion = self.player.motion
        if motion is not None:
            start, end = round(self.player.start * motion.fps), round(self.player.end * motion.fps) + 1
            if self.editing.change(lambda state: cut_clip(state, start, end)):
                self.player.set_part(0.0, self.player.duration)
                self.player.show_at(max(self.player.seconds - start / motion.fps, 0.0))

    def on_save(self, event: Any) -> None:
        """Send the edited clip to the viewer."""
        motion, kind = self.player.motion, self.kind.value
        if motion is not None:
            given = restore_units(motion, self.session.given)
            send_motion(event.client, given, kind, "_edited" if self.player.edited else "")

    def on_record(self) -> None:
        """Start to record, or open the recording as a motion."""
        if self.record.value:
            self.player.record(self.session.puppet.q)
            self.about.content = PLAIN.format("Recording: drag something.")
        elif self.player.recording:
            self.player.finish(self.session.model)

    def watch(self, frame: FrameResult, T: NDArray[Any]) -> None:
        """Record the shown frame, and move the ghost."""
        if self.record.value:
            self.player.watch(frame.q)
        self.ghost.follow()

    def change_body(self) -> None:
        """Drop the motion of the previous body."""
        self.record.value = self.ghost_on.value = False
        self.ghost.show(False)
        self.second_body.remove()
        self.kind.options = tuple(list_motion_kinds(self.session.model))
        self.kind.value = find_motion_kind(self.session.model)
