"""The folder of foot contacts: found, edited in a list, and locked, with a quality table."""

import html
from collections.abc import Callable
from typing import Any

from poise.errors import PoiseError
from poise.kinematics import Motion
from poise.motion import Contact, Contacts, Quality, measure_spot_speed
from poise.studio.clips.timeline import add_clip_path, add_contact, move_contact, remove_contact
from poise.studio.markup import SMALL
from poise.studio.notices import notify
from poise.studio.panel.charts import make_table
from poise.studio.session import Session

__all__ = ["FeetFolder", "tabulate_quality"]

NONE = "none yet"
MEASURES = (
    ("slip, mean [mm a frame]", "slip_mean", "{:.3f}"),
    ("slip, largest", "slip_max", "{:.2f}"),
    ("drift, largest [mm]", "drift_max", "{:.1f}"),
    ("off the floor [mm]", "height_mean", "{:.2f}"),
    ("below the floor [mm]", "sink_max", "{:.2f}"),
    ("step, largest [rad]", "step_max", "{:.3f}"),
    ("jerk, p95 [rad/s&sup3;]", "jerk_p95", "{:.0f}"),
    ("beyond limits [rad]", "limits_max", "{:.3g}"),
)


class FeetFolder:
    """The contacts of the clip in the panel.

    Attributes:
        chosen: The index of the chosen contact, or None.
        chosen_changed: Called when another contact is chosen.
    """

    def __init__(self, session: Session) -> None:
        self.session, self.editing = session, session.editing
        self.chosen: int | None = None
        self.chosen_changed: list[Callable[[], None]] = []
        gui: Any = session.server.gui
        with gui.add_folder("Feet that stand"):
            self.spot = gui.add_html("", visible=False)
            self.path = gui.add_button("Add the path", hint="It then walks over the ground", visible=False)
            self.find = gui.add_button("Find contacts", hint="Which heels and toes stand still, and when")
            self.lock = gui.add_button("Lock feet", hint="Holds every contact exactly; all else changes little")
            self.compare = gui.add_button("Quality", hint="Slip, drift, floor, jerk: before and after")
            self.report = gui.add_html("", visible=False)
            self.list = gui.add_dropdown("Contact", (NONE,), visible=False)
            self.ends = gui.add_multi_slider(
                "Stands [s]", 0.0, 1.0, 0.01, (0.0, 1.0), visible=False, hint="Move the ends of the chosen contact"
            )
            self.more = gui.add_button_group("Contacts", ("Remove", "Add here"), visible=False)
        self.buttons = (self.find, self.lock, self.compare, self.path)
        self._measured: Motion | None = None  # the clip whose speed on the spot is shown
        self.path.on_click(lambda event: self.edit(event.client, add_clip_path))
        self.find.on_click(lambda _: self.editing.find_contacts())
        self.lock.on_click(lambda _: self.editing.lock_feet())
        self.compare.on_click(lambda _: self.editing.compare())
        self.list.on_update(lambda event: self.on_choose() if event.client else None)
        self.ends.on_update(lambda event: self.on_ends(event.client) if event.client else None)
        self.more.on_click(lambda event: self.on_more(event.client))
        self.editing.background.changed.append(self.show_report)

    @property
    def ledger(self) -> Contacts | None:
        """The contacts of the clip, or None."""
        state = self.editing.state
        return None if state is None else state.contacts

    # ------------------------------------------------------------------------------------------ showing

    def show(self) -> None:
        """Update the list of contacts."""
        ledger = self.ledger
        lines = [] if ledger is None else [describe_contact(k, c, ledger.fps) for k, c in enumerate(ledger)]
        if not lines:
            self.chosen = None
        elif self.chosen is None or self.chosen >= len(lines):
            self.chosen = 0
        self.list.options = tuple(lines) or (NONE,)
        self.list.value = NONE if self.chosen is None else lines[self.chosen]
        for each in (self.list, self.ends, self.more):
            each.visible = bool(lines)
        self.show_ends()
        self.show_spot()
        self.show_report()

    def show_spot(self) -> None:
        """Show the speed of a clip on the spot, and the button that adds its path."""
        motion = self.session.player.motion
        if motion is not self._measured:
            self._measured = motion
            speed = 0.0 if motion is None else measure_spot_speed(motion)
            self.spot.content = SMALL.format(f"It walks on the spot at about {speed:.1f} m/s.")
            self.spot.visible = self.path.visible = speed > 0.0

    def show_ends(self) -> None:
        """Show the start and end of the chosen contact."""
        ledger = self.ledger
        if ledger is not None and self.chosen is not None:
            contact = ledger[self.chosen]
            self.ends.max, self.ends.step = round(ledger.frames / ledger.fps, 2), 0.01
            self.ends.value = (contact.start / ledger.fps, contact.end / ledger.fps)

    def show_report(self) -> None:
        """Show the report of the last operation, or the quality table."""
        if self.session.stopped:
            return
        editing = self.editing
        busy = editing.background.task is not None
        for button in self.buttons:
            button.disabled = editing.state is None or busy
        self.list.disabled = self.ends.disabled = busy
        if editing.compared is not None:
            content = tabulate_quality(("before", "now"), editing.compared)
        else:
            said = editing.background.refused or editing.note
            content = SMALL.format(html.escape(said).replace("\n", "<br>")) if said else ""
        self.report.content, self.report.visible = content, bool(content)

    # ------------------------------------------------------------------------------------------ callbacks

    def on_choose(self) -> None:
        """Choose a contact of the list, and go to its start."""
        ledger = self.ledger
        if ledger is not None and self.list.value in self.list.options:
            self.chosen = self.list.options.index(self.list.value)
            self.show_ends()
            self.session.player.show_at(ledger[self.chosen].start / ledger.fps)
            self.tell()

    def on_ends(self, client: Any) -> None:
        """Move the start and end of the chosen contact; if that fails, it is unchanged."""
        ledger, chosen = self.ledger, self.chosen
        if ledger is None or chosen is None:
            return
        start, end = (round(float(at) * ledger.fps) for at in self.ends.value)
        contact = ledger[chosen]
        if (start, end) != (contact.start, contact.end):
            end = min(max(end, start + 1), ledger.frames)
            self.edit(client, lambda state: move_contact(state, chosen, start, end), f"{contact.name} {contact.point}")
            self.follow(contact, start, end)

    def on_more(self, client: Any) -> None:
        """Remove the chosen contact, or add one of the same point at the current time."""
        ledger, chosen = self.ledger, self.chosen
        if ledger is None or chosen is None:
            return
        if self.more.value == "Remove":
            self.edit(client, lambda state: remove_contact(state, chosen))
            return
        frame, like = self.session.player.frame, ledger[chosen]
        if self.edit(client, lambda state: add_contact(state, like, frame)):
            self.follow(like, frame, frame + 1)

    def edit(self, client: Any, do: Any, going_on: str = "") -> bool:
        """Change the contacts and return whether that worked; otherwise show the error to the viewer."""
        try:
            return self.editing.change(do, going_on)
        except PoiseError as error:
            self.show_ends()
            notify(client, "That did not work", str(error), color="red")
            return False

    def follow(self, like: Contact, start: int, end: int) -> None:
        """Keep a contact chosen when its index changes."""
        for line, contact in enumerate(self.ledger or ()):
            if (
                (contact.frame, contact.point) == (like.frame, like.point)
                and contact.start < end
                and contact.end > start
            ):
                self.chosen = line
        self.show()
        self.tell()

    def tell(self) -> None:
        """Call the listeners of the chosen contact."""
        for listen in self.chosen_changed:
            listen()


def describe_contact(line: int, contact: Contact, fps: float) -> str:
    """Describe a contact on one line."""
    return f"{line + 1}. {contact.name} {contact.start / fps:.2f} to {contact.end / fps:.2f} s"


def tabulate_quality(names: tuple[str, str], found: tuple[Quality | None, Quality | None]) -> str:
    """Return a table of the quality of two clips, with units."""
    rows = []
    for word, field, form in MEASURES:
        values = ["" if one is None else form.format(getattr(one, field)) for one in found]
        rows.append([word, *values])
    return make_table(["", *names], rows)
