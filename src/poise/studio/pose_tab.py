"""The first tab: which body, the chosen handle, undo and friends, joints that are frozen, and files."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from poise import models
from poise.errors import PoiseError
from poise.studio.saving import KINDS, saved
from poise.studio.uploads import opened

if TYPE_CHECKING:
    from poise.studio.server import Studio

__all__ = ["PoseTab"]

LEVELS = {"usual": None, "first": 0, "second": 1, "third": 2, "last": 4}


class PoseTab:
    """Made inside the tab that holds it."""

    def __init__(self, studio: Studio) -> None:
        self.studio = studio
        gui: Any = studio.server.gui
        self.body = gui.add_dropdown("Body", self.bodies(), initial_value=studio.model.name)
        self.file = gui.add_upload_button("Open a file", hint="URDF, MJCF, BVH, glTF, VRM, a DH table; or a saved pose")
        self.handle_place = gui.add_folder("Handle")
        self.history = gui.add_button_group("Change", ("Undo", "Redo"))
        self.whole = gui.add_button_group("Body", ("Mirror", "Reset"))
        self.let_go = gui.add_button("Let everything go", hint="No handle is pinned or placed any more")
        with gui.add_folder("Frozen joints", expand_by_default=False):
            self.joint = gui.add_dropdown("Joint", self.joints(), hint="A frozen joint does not move by one bit")
            self.frozen = gui.add_checkbox("Frozen", False)
            self.thaw = gui.add_button("Thaw all")
            self.list = gui.add_markdown("*none*")
        with gui.add_folder("Save", expand_by_default=False):
            self.kind = gui.add_dropdown(
                "As", tuple(KINDS), hint="HTML, GLB and BVH hold the motion where there is one"
            )
            self.save = gui.add_button("Save")
        with gui.add_folder("View", expand_by_default=False):
            self.show_handles = gui.add_checkbox("Handles", True)
            self.shadows = gui.add_checkbox("Shadows", studio.shadows, hint="Off is lighter where there is no GPU")
            self.show_limits = gui.add_checkbox("Light joints at their limit", True)
            self.symmetric = gui.add_checkbox("Both sides together", False, hint="Drag one hand and the other follows")
        self.own: dict[int, dict[str, Any]] = {}
        self.listen()

    # ------------------------------------------------------------------------------------------ what it lists

    def bodies(self) -> tuple[str, ...]:
        """The built-in bodies, and the one that is shown."""
        known = ("humanoid", *(name for name in models.names() if name != "humanoid"))
        name = self.studio.model.name
        return known if name in known else (name, *known)

    def joints(self) -> tuple[str, ...]:
        """Joints that can be frozen."""
        return tuple(j.name for j in self.studio.model.joints if j.nv and not j.mimic)

    # ------------------------------------------------------------------------------------------ listening

    def listen(self) -> None:
        """Ties every button to what it does."""
        self.body.on_update(self.on_body)
        self.file.on_upload(self.on_file)
        self.history.on_click(lambda event: self.on_action(event.client, self.history.value))
        self.whole.on_click(lambda event: self.on_action(event.client, self.whole.value))
        self.let_go.on_click(lambda _: self.asked(self.studio.puppet.release))
        self.joint.on_update(lambda _: self.show_frozen())
        self.frozen.on_update(self.on_frozen)
        self.thaw.on_click(lambda _: self.freeze(frozenset()))
        self.save.on_click(self.on_save)
        self.show_handles.on_update(lambda _: self.on_view())
        self.shadows.on_update(lambda _: self.studio.relight(self.shadows.value))
        self.symmetric.on_update(lambda e: self.try_to(e.client, self.on_symmetric))
        self.show_limits.on_update(lambda _: self.studio.touch())

    def asked(self, do: Any, *given: Any) -> None:
        """Does it, and solves."""
        do(*given)
        self.studio.touch()

    def on_body(self, event: Any) -> None:
        """Another body from the list."""
        if event.client is not None and self.body.value != self.studio.model.name:
            self.try_to(event.client, lambda: self.studio.show(self.body.value))

    def on_file(self, event: Any) -> None:
        """A file was dropped or chosen."""
        given = self.file.value
        if self.try_to(event.client, lambda: opened(self.studio, given.name, given.content)):
            self.tell(event.client, f"{given.name} is open.", self.about_file(), "teal")

    def about_file(self) -> str:
        """What a viewer should know of the file that is open."""
        motion = self.studio.panel.motion.motion
        told = [] if motion is None else [f"{len(motion)} poses: play them in the Motion tab"]
        return "; ".join([*told, *self.studio.model.notes[:3]])

    def on_action(self, client: Any, word: str) -> None:
        """Undo, redo, mirror, reset."""
        puppet = self.studio.puppet
        do = {"Undo": puppet.undo, "Redo": puppet.redo, "Mirror": puppet.mirror, "Reset": puppet.reset}[word]
        self.try_to(client, lambda: self.asked(do))
        self.show_frozen()

    def on_frozen(self, event: Any) -> None:
        """The chosen joint is frozen, or thawed."""
        if event.client is None:
            return
        name, frozen = self.joint.value, frozenset(self.studio.puppet.rig.frozen)
        self.freeze(frozen | {name} if self.frozen.value else frozen - {name})

    def freeze(self, joints: frozenset[str]) -> None:
        """These joints, and no others."""
        self.asked(self.studio.puppet.freeze, joints)
        self.show_frozen()

    def show_frozen(self) -> None:
        """The list, and the box of the chosen joint."""
        frozen = self.studio.puppet.rig.frozen
        self.frozen.value = self.joint.value in frozen
        self.list.content = ", ".join(sorted(frozen)) or "*none*"

    def on_view(self) -> None:
        """Handles seen or not."""
        for node in self.studio.grips.nodes.values():
            node.visible = self.show_handles.value

    def on_symmetric(self) -> None:
        """A drag on one side is made on the other too."""
        with self.studio.puppet.lock:
            self.studio.puppet.rig.symmetric = self.symmetric.value

    def on_save(self, event: Any) -> None:
        """A file for the viewer who asked."""
        kind = self.kind.value
        client = event.client

        def make() -> None:
            content = saved(self.studio, kind, client)
            stem = Path(self.studio.model.name).stem or "pose"
            client.send_file_download(f"{stem}{KINDS[kind]}", content, save_immediately=True)

        if self.try_to(client, make):
            self.tell(client, f"{kind} saved.", "", "teal")

    def try_to(self, client: Any, do: Any) -> bool:
        """Does it, and says whether; what goes wrong is told to the viewer who asked, in words."""
        try:
            do()
        except PoiseError as error:
            self.tell(client, "That did not work", str(error), "red")
            return False
        return True

    def tell(self, client: Any, title: str, body: str, color: Any) -> None:
        """A note in the corner of one viewer's window."""
        if client is not None:
            client.add_notification(title, body, auto_close_seconds=12.0, color=color)

    # ------------------------------------------------------------------------------------------ one viewer's own

    def join(self, client: Any) -> None:
        """A viewer has come: it gets a folder for the handle that it chooses."""
        names = tuple(self.studio.grips.frames)
        with self.handle_place:
            own = {
                "name": client.gui.add_dropdown("Handle", names),
                "pin": client.gui.add_button_group("Where it is", ("Pin", "Let go")),
                "weight": client.gui.add_slider("Weight", 0.05, 3.0, 0.05, 1.0),
                "level": client.gui.add_dropdown("Served", tuple(LEVELS), initial_value="usual"),
            }
        self.own[client.client_id] = own
        viewer = client.client_id
        own["name"].on_update(lambda e: self.studio.grips.choose(viewer, own["name"].value) if e.client else None)
        own["pin"].on_click(lambda _: self.on_pin(own))
        own["weight"].on_update(lambda e: self.on_weight(own) if e.client else None)
        own["level"].on_update(lambda e: self.on_weight(own) if e.client else None)

    def on_pin(self, own: dict[str, Any]) -> None:
        """The buttons under the handle's name."""
        puppet = self.studio.puppet
        self.asked(puppet.pin if own["pin"].value == "Pin" else puppet.release, own["name"].value)

    def on_weight(self, own: dict[str, Any]) -> None:
        """How much the handle counts, and when it is served."""
        puppet, name = self.studio.puppet, own["name"].value
        weights, levels = dict(puppet.settings.weights), dict(puppet.settings.levels)
        weights[name] = own["weight"].value
        level = LEVELS[own["level"].value]
        levels.pop(name, None)
        if level is not None:
            levels[name] = level
        self.asked(lambda: puppet.change(weights=weights, levels=levels))

    def select(self, viewer: int, name: str) -> None:
        """The viewer touched a handle: its folder shows it."""
        own = self.own.get(viewer)
        if own is None:
            return
        settings = self.studio.puppet.settings
        own["name"].value = name
        own["weight"].value = settings.weights.get(name, 1.0)
        level = settings.levels.get(name)
        own["level"].value = next(word for word, number in LEVELS.items() if number == level)

    def leave(self, viewer: int) -> None:
        """The viewer is gone."""
        self.own.pop(viewer, None)

    def changed_body(self) -> None:
        """Other handles and joints."""
        self.body.options = self.bodies()
        self.body.value = self.studio.model.name
        self.joint.options = self.joints()
        self.show_frozen()
        for own in self.own.values():
            own["name"].options = tuple(self.studio.grips.frames)
        self.on_view()
