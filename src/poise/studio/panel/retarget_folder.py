"""The retargeting folder: the target body, the pairs of parts, the quality, and the file."""

import html
from typing import Any

from poise.errors import InvalidValue
from poise.formats.units import restore_units
from poise.studio.clips.pairs import mend_pair
from poise.studio.clips.second_body import SecondBody
from poise.studio.downloads import list_motion_kinds, send_motion
from poise.studio.markup import SMALL
from poise.studio.notices import try_to
from poise.studio.panel.feet_folder import tabulate_quality
from poise.studio.panel.progress_bar import WorkBar
from poise.studio.session import Session

__all__ = ["CarryFolder"]

CHOOSE = "choose …"
BUILT_IN = {"humanoid": 1.0, "humanoid as a child": 0.6, "humanoid as a giant": 1.5}
NO_CLIP = "Open a clip first: it can then be carried to any body with two legs or two arms."
HOW = "The same motion on another body: parts, size, floor and contacts are found. It must have two legs, or two arms."


class CarryFolder:
    """The folder of the second body.

    Attributes:
        second_body: The second body.
        picked: The frame clicked on the first body, until the second click.
    """

    def __init__(self, session: Session, second_body: SecondBody) -> None:
        self.session, self.second_body = session, second_body
        self.picked = ""
        gui: Any = session.server.gui
        with gui.add_folder("Carry to another body", expand_by_default=False):
            self.words = gui.add_html(SMALL.format(HOW))
            self.body = gui.add_dropdown("Onto", (CHOOSE, *BUILT_IN), initial_value=CHOOSE)
            self.file = gui.add_upload_button("Open another body …", hint="URDF, MJCF, BVH, glTF, VRM; or a ZIP of it")
            self.bar = WorkBar(session, self.second_body.background, self.second_body.background.cancel)
            self.part = gui.add_dropdown(
                "Part", (CHOOSE,), hint="The red line shows which parts are taken for the same"
            )
            self.source = gui.add_dropdown("In the clip", (CHOOSE,))
            self.target = gui.add_dropdown("On the other", (CHOOSE,))
            self.click = gui.add_button("Mend a pair by two clicks", hint="Click a part of one body, then of the other")
            self.again = gui.add_button("Solve again")
            self.lines = gui.add_checkbox("Lines between parts", True)
            self.report = gui.add_html("")
            self.kind = gui.add_dropdown("Result as", (CHOOSE,))
            self.save = gui.add_button("Save carried clip")
            self.leave = gui.add_button("Take the other body away")
        self.listen()
        self.show()

    def listen(self) -> None:
        """Connect the controls to their callbacks."""
        self.body.on_update(lambda event: self.on_body() if event.client else None)
        self.file.on_upload(lambda _: self.second_body.open_upload(self.file.value.name, self.file.value.content))
        self.part.on_update(lambda event: self.on_part() if event.client else None)
        self.source.on_update(lambda event: self.on_pair(event.client) if event.client else None)
        self.target.on_update(lambda event: self.on_pair(event.client) if event.client else None)
        self.click.on_click(lambda event: self.on_click(event.client))
        self.again.on_click(lambda _: self.second_body.solve())
        self.lines.on_update(lambda _: self.second_body.show_lines(self.lines.value))
        self.save.on_click(self.on_save)
        self.leave.on_click(lambda _: self.on_leave())
        self.second_body.changed.append(self.show)
        self.second_body.background.changed.append(self.show_report)
        self.session.player.changed.append(lambda what: self.show_report() if what == "motion" else None)

    # ------------------------------------------------------------------------------------------ showing

    def show(self) -> None:
        """Update the controls of the second body."""
        second_body = self.second_body
        there = second_body.model is not None
        for each in (self.part, self.source, self.target, self.click, self.again, self.lines, self.kind, self.save):
            each.visible = there
        self.leave.visible = there
        if second_body.model is not None and second_body.mapping is not None:
            roles = tuple(pair.role for pair in second_body.mapping)
            self.part.options = roles
            self.part.value = second_body.chosen if second_body.chosen in roles else roles[0]
            self.source.options, self.target.options = self.session.model.frames, second_body.model.frames
            self.kind.options = tuple(list_motion_kinds(second_body.model))
            self.show_pair()
        self.show_report()

    def show_pair(self) -> None:
        """Show the frames of the chosen role."""
        mapping = self.second_body.mapping
        if mapping is not None and self.part.value in mapping:
            pair = mapping.find(self.part.value)
            self.source.value, self.target.value = pair.source, pair.target

    def show_report(self) -> None:
        """Update the status, and the quality of the result."""
        if self.session.stopped:
            return
        second_body = self.second_body
        busy = second_body.background.task is not None
        nothing = self.session.player.motion is None
        self.body.disabled = self.file.disabled = nothing or busy
        self.again.disabled, self.save.disabled = busy, second_body.carried is None
        self.words.content = SMALL.format(NO_CLIP if nothing else self.describe())
        if second_body.carried is None or busy:
            self.report.content = ""
        else:
            carried = second_body.carried
            said = html.escape(carried.result.why()).replace("\n", "<br>")
            self.report.content = tabulate_quality(("source", "here"), (carried.before, carried.after)) + SMALL.format(
                said
            )

    def describe(self) -> str:
        """Describe the second body, and the next action."""
        second_body, picked = self.second_body, self.picked
        refused = second_body.background.refused
        if refused:
            return html.escape(refused)
        if second_body.model is None:
            return HOW
        if picked:
            return f"Now click the part of the other body that is <b>{html.escape(picked)}</b>."
        if second_body.stale:
            return "The clip has changed since: press Solve again."
        if second_body.carried is None or second_body.mapping is None or second_body.model is None:
            return "…"
        scale = second_body.carried.result.scale
        name = html.escape(second_body.model.name)
        return f"<b>{name}</b>: {len(second_body.mapping)} parts, 1 m of the path is {scale:.2f} m here."

    # ------------------------------------------------------------------------------------------ callbacks

    def on_body(self) -> None:
        """Open a built-in body as the second body."""
        if self.body.value in BUILT_IN:
            self.second_body.open("humanoid", scale=BUILT_IN[self.body.value])

    def on_part(self) -> None:
        """Highlight the pair of the chosen role."""
        self.second_body.choose(self.part.value)
        self.show_pair()

    def on_pair(self, client: Any) -> None:
        """Apply the two lists to the chosen role."""
        mapping, role = self.second_body.mapping, self.part.value
        if mapping is None or role not in mapping:
            return
        pair = mapping.find(role)
        if (pair.source, pair.target) != (self.source.value, self.target.value):
            source, target = self.source.value, self.target.value
            try_to(client, lambda: self.mend(mapping.replace(role, source=source, target=target), role))

    def on_click(self, client: Any) -> None:
        """Wait for a click on the first body, then for one on the second."""
        view = self.second_body.view
        if view is None:
            return
        self.picked = ""
        self.words.content = SMALL.format("Click a part of the body that moves.")
        for each in (self.session.view, view):
            each.stop_picking()
        self.session.player.stop()
        self.session.view.pick(lambda frame: self.on_first(frame, client))

    def on_first(self, frame: str, client: Any) -> None:
        """Store the frame clicked on the first body."""
        view = self.second_body.view
        if view is not None:
            self.picked = frame
            self.show_report()
            view.pick(lambda other: self.on_second(other, client))

    def on_second(self, frame: str, client: Any) -> None:
        """Pair the two clicked frames."""
        second_body, picked = self.second_body, self.picked
        self.picked = ""
        if second_body.mapping is None or second_body.model is None:
            return
        bodies, mapping = (self.session.model, second_body.model), second_body.mapping

        def mend() -> None:
            mended = mend_pair(mapping, bodies, (picked, frame))
            new = [pair.role for pair in mended if pair not in mapping.pairs]
            if not new:
                raise InvalidValue("these two are a pair already.")
            self.mend(mended, new[0])

        try_to(client, mend)
        self.show_report()

    def mend(self, mapping: Any, role: str) -> None:
        """Set the mapping, and retarget the clip again."""
        self.second_body.chosen = role
        self.second_body.mend(mapping)

    def on_save(self, event: Any) -> None:
        """Send the result to the viewer."""
        carried, kind, given = self.second_body.carried, self.kind.value, self.second_body.given
        if carried is not None and given is not None:
            send_motion(event.client, restore_units(carried.result.motion, given), kind, "_carried")

    def on_leave(self) -> None:
        """Remove the second body."""
        self.picked, self.body.value = "", CHOOSE
        self.session.view.stop_picking()
        self.second_body.remove()
        self.session.scenery.set_stage()
