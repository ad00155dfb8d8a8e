"""The pose tab: the body, the chosen handle, undo and redo, frozen joints, and files."""

import contextlib
from typing import Any

from poise import models
from poise.studio.downloads import find_kind, list_kinds, make_file, name_file
from poise.studio.markup import PLAIN, fill, shorten_lists
from poise.studio.notices import notify, try_to
from poise.studio.panel.style_folder import StyleFolder
from poise.studio.session import Session
from poise.studio.settings import list_movable
from poise.studio.styles.learner import StyleLearner
from poise.studio.web.uploads import open_upload

__all__ = ["PoseTab"]

NONE = "<i>none</i>"
LEVELS = {"usual": None, "first": 0, "second": 1, "third": 2, "last": 4}


class PoseTab:
    """The tab of the body and its handles; created within its tab."""

    def __init__(self, session: Session, styles: StyleLearner) -> None:
        self.session = session
        gui: Any = session.server.gui
        self.body = gui.add_dropdown("Body", self.list_bodies(), initial_value=session.model.name)
        self.file = gui.add_upload_button("Open a file", hint="URDF, MJCF, BVH, glTF, VRM, a DH table; or a saved pose")
        self.handle_place = gui.add_folder("Handle")
        self.history = gui.add_button_group("Change", ("Undo", "Redo"))
        self.whole = gui.add_button_group("Body", ("Mirror", "Reset"))
        self.let_go = gui.add_button("Release all", hint="No handle is pinned or placed any more")
        self.style = StyleFolder(session, styles)
        with gui.add_folder("Frozen joints", expand_by_default=False):
            self.joint = gui.add_dropdown(
                "Joint", list_movable(session.model), hint="A frozen joint does not move by one bit"
            )
            self.frozen = gui.add_checkbox("Frozen", False)
            self.thaw = gui.add_button("Thaw all")
            self.list = gui.add_html(PLAIN.format(NONE))
        with gui.add_folder("Save", expand_by_default=False):
            self.kind = gui.add_dropdown(
                "As",
                tuple(list_kinds(session.model)),
                initial_value=find_kind(session.model),
                hint="The visible clip with its edits, or the pose without a clip",
            )
            self.save = gui.add_button("Save")
        with gui.add_folder("View", expand_by_default=False):
            self.look = gui.add_button_group("Look from", ("Fit", "Front", "Side", "Top"))
            self.show_handles = gui.add_checkbox("Handles", True)
            self.x_ray = gui.add_checkbox(
                "See through the body", False, hint="Handles inside it can be seen and dragged"
            )
            self.shadows = gui.add_checkbox("Shadows", session.scenery.shadows, hint="Turn off without a GPU")
            self.dark = gui.add_checkbox("Dark", session.scenery.dark)
            self.show_limits = gui.add_checkbox("Light joints at their limit", True)
            self.symmetric = gui.add_checkbox("Both sides together", False, hint="Drag one hand and the other follows")
        self.own: dict[int, dict[str, Any]] = {}
        self.listen()

    # ------------------------------------------------------------------------------------------ lists

    def list_bodies(self) -> tuple[str, ...]:
        """List the built-in bodies, and the current one."""
        known = ("humanoid", *(name for name in models.names() if name != "humanoid"))
        name = self.session.model.name
        return known if name in known else (name, *known)

    # ------------------------------------------------------------------------------------------ listening

    def listen(self) -> None:
        """Connect the controls to their callbacks."""
        self.body.on_update(self.on_body)
        self.file.on_upload(self.on_file)
        self.history.on_click(lambda event: self.on_action(event.client, self.history.value))
        self.whole.on_click(lambda event: self.on_action(event.client, self.whole.value))
        self.let_go.on_click(lambda _: self.ask(self.session.puppet.release))
        self.joint.on_update(lambda _: self.show_frozen())
        self.frozen.on_update(self.on_frozen)
        self.thaw.on_click(lambda _: self.freeze(frozenset()))
        self.save.on_click(self.on_save)
        self.show_handles.on_update(lambda _: self.on_view())
        self.look.on_click(lambda event: self.session.scenery.look(self.look.value.lower(), event.client))
        self.dark.on_update(lambda _: self.session.scenery.darken(self.dark.value))
        self.x_ray.on_update(lambda _: self.session.scenery.set_see_through(self.x_ray.value))
        self.shadows.on_update(lambda _: self.session.scenery.relight(self.shadows.value))
        self.symmetric.on_update(lambda e: try_to(e.client, self.on_symmetric))
        self.show_limits.on_update(lambda _: self.on_limits())

    def ask(self, do: Any, *given: Any) -> None:
        """Call a function and request a frame."""
        do(*given)
        self.session.touch()

    def on_body(self, event: Any) -> None:
        """Open another body from the list."""
        if event.client is not None and self.body.value != self.session.model.name:
            try_to(event.client, lambda: self.session.show(self.body.value))

    def on_file(self, event: Any) -> None:
        """Open an uploaded file."""
        given, client = self.file.value, event.client
        waits = None if client is None else client.add_notification(f"Loading {given.name} …", "", loading=True)
        opened = try_to(client, lambda: open_upload(self.session, given.name, given.content))
        if waits is not None:
            waits.remove()
        if opened:
            notify(client, f"{given.name} is open.", self.describe_file(), color="teal")

    def describe_file(self) -> str:
        """Describe the open file."""
        motion = self.session.player.motion
        parts = [] if motion is None else [f"{len(motion)} poses, played in the Motion tab"]
        return shorten_lists("; ".join([*parts, *self.session.model.notes[:3]]))

    def on_action(self, client: Any, word: str) -> None:
        """Undo, redo, mirror or reset."""
        session, puppet = self.session, self.session.puppet
        do = {"Undo": session.undo, "Redo": session.redo, "Mirror": puppet.mirror, "Reset": puppet.reset}[word]
        try_to(client, lambda: self.ask(do))
        self.show_frozen()

    def on_frozen(self, event: Any) -> None:
        """Freeze or unfreeze the chosen joint."""
        if event.client is None:
            return
        name, frozen = self.joint.value, frozenset(self.session.puppet.rig.state.frozen)
        self.freeze(frozen | {name} if self.frozen.value else frozen - {name})

    def freeze(self, joints: frozenset[str]) -> None:
        """Freeze exactly these joints."""
        self.ask(self.session.puppet.freeze, joints)
        self.show_frozen()

    def show_frozen(self) -> None:
        """Update the list of frozen joints, and the box of the chosen one."""
        frozen = self.session.puppet.rig.state.frozen
        self.frozen.value = self.joint.value in frozen
        self.list.content = fill(PLAIN, ", ".join(sorted(frozen))) if frozen else PLAIN.format(NONE)

    def on_view(self) -> None:
        """Show or hide the handles."""
        for node in self.session.grips.nodes.values():
            node.visible = self.show_handles.value

    def on_limits(self) -> None:
        """Enable or disable the highlighting of joints at their limits."""
        self.session.show_limits = self.show_limits.value
        self.session.touch()

    def on_symmetric(self) -> None:
        """Enable or disable symmetric dragging."""
        with self.session.puppet.lock:
            self.session.puppet.rig.symmetric = self.symmetric.value

    def on_save(self, event: Any) -> None:
        """Send a file to the viewer."""
        kind = self.kind.value
        client = event.client

        def make() -> None:
            content = make_file(self.session, kind, client)
            client.send_file_download(name_file(self.session, kind), content, save_immediately=True)

        if try_to(client, make):
            notify(client, f"{kind} saved.", color="teal")

    # ------------------------------------------------------------------------------------------ one viewer's own

    def join(self, client: Any) -> None:
        """Add the handle folder of a new viewer."""
        names = tuple(self.session.grips.frames)
        with self.handle_place:
            own = {
                "name": client.gui.add_dropdown("Handle", names),
                "pin": client.gui.add_button_group("Where it is", ("Pin", "Plant", "Release")),
                "weight": client.gui.add_slider("Weight", 0.05, 3.0, 0.05, 1.0),
                "level": client.gui.add_dropdown("Priority", tuple(LEVELS), initial_value="usual"),
            }
        self.own[client.client_id] = own
        viewer = client.client_id
        own["name"].on_update(lambda e: self.session.grips.choose(viewer, own["name"].value) if e.client else None)
        own["pin"].on_click(lambda _: self.on_pin(own))
        own["weight"].on_update(lambda e: self.on_weight(own) if e.client else None)
        own["level"].on_update(lambda e: self.on_weight(own) if e.client else None)

    def on_pin(self, own: dict[str, Any]) -> None:
        """Pin, plant or release the chosen handle."""
        puppet = self.session.puppet
        do = {"Pin": puppet.pin, "Plant": puppet.plant, "Release": puppet.release}[own["pin"].value]
        try_to(None, lambda: self.ask(do, own["name"].value))

    def on_weight(self, own: dict[str, Any]) -> None:
        """Apply the weight and the priority of the handle."""
        puppet, name = self.session.puppet, own["name"].value
        weights, levels = dict(puppet.settings.weights), dict(puppet.settings.levels)
        weights[name] = own["weight"].value
        level = LEVELS[own["level"].value]
        levels.pop(name, None)
        if level is not None:
            levels[name] = level
        self.ask(lambda: puppet.change(weights=weights, levels=levels))

    def select(self, viewer: int, name: str) -> None:
        """Select the handle that a viewer touched."""
        own = self.own.get(viewer)
        if own is None:
            return
        settings = self.session.puppet.settings
        own["name"].value = name
        own["weight"].value = settings.weights.get(name, 1.0)
        level = settings.levels.get(name)
        own["level"].value = next(word for word, number in LEVELS.items() if number == level)

    def leave(self, viewer: int) -> None:
        """Remove the data of a viewer who has left."""
        self.own.pop(viewer, None)

    def change_body(self) -> None:
        """Update the lists for another body."""
        self.body.options = self.list_bodies()
        self.body.value = self.session.model.name
        self.joint.options = list_movable(self.session.model)
        self.kind.options = tuple(list_kinds(self.session.model))
        self.kind.value = find_kind(self.session.model)
        self.show_frozen()
        self.style.change_body()
        for own in list(self.own.values()):
            with contextlib.suppress(RuntimeError):  # of a viewer who is leaving
                own["name"].options = tuple(self.session.grips.frames)
        self.on_view()
