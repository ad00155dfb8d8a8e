"""Handles in the scene: drawing and mouse interaction.

Dragging a grip moves the body in the plane of the screen; clicking it pins or releases it. The grip that a viewer
touched last has a gizmo, visible to that viewer only: arrows and rings that move and turn it along one axis. A grip
belongs to the viewer who drags it until the mouse is released; drags by others are ignored meanwhile, and the server
does not move a gizmo that is in use.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from poise.arrays import Floats
from poise.kinematics.parts import pick_frame
from poise.model import Model
from poise.pictures.body.flesh import Color
from poise.rig import Handle
from poise.spatial import Rotation
from poise.studio.puppet import FrameResult, Puppet
from poise.studio.scene.arrows import add_arrows, project_on_axis
from poise.studio.scene.body_view import BodyView
from poise.studio.scene.grip_shapes import UNIT, shape_grip

if TYPE_CHECKING:
    import viser

__all__ = ["COLORS", "Grips"]


COLORS: dict[str, Color] = {
    "free": (24, 168, 156),
    "placed": (120, 190, 60),
    "planted": (52, 152, 219),
    "pinned": (60, 92, 214),
    "held": (245, 166, 35),
    "missed": (222, 52, 60),
    "limit": (178, 152, 220),
}
CLICK_PAUSE = 0.15  # [s] after a drag during which a click belongs to that drag


class Grips:
    """All handles of a body in the scene.

    Args:
        server: The viser server.
        puppet: The body they move.
        view: The body they are attached to.
        root: The name of the root node of the handles.
        touch: Called after a mouse event, with its time.
        select: Called with a viewer's number and the handle they touched.
    """

    def __init__(
        self,
        server: viser.ViserServer,
        puppet: Puppet,
        view: BodyView,
        root: str,
        touch: Callable[[float], None],
        select: Callable[[int, str], None],
    ) -> None:
        self.server, self.puppet, self.touch, self.select = server, puppet, touch, select
        self.view = view
        self.root = server.scene.add_frame(root, show_axes=False)
        self.owners: dict[str, int] = {}  # the viewer who drags each handle
        self.chosen: dict[int, str] = {}  # the handle each viewer touched last
        self.gizmos: dict[int, Any] = {}
        self.pins_by_click = True  # otherwise clicks select the part underneath, see rings.py
        self.turning: set[int] = set()  # viewers who are using their gizmo
        self.frames = {name: h.frame for name, h in puppet.handles.items() if is_moved(puppet.model, h.frame)}
        self.looks = {
            name: shape_grip(puppet.model, puppet.handles[name], puppet.q, puppet.size) for name in self.frames
        }
        self.nodes: dict[str, Any] = {}
        self.loose: list[str] = []  # on parts that are not drawn
        self._offsets: dict[str, Floats] = {}
        self._slides: dict[int, tuple[Floats, Floats, float]] = {}  # the start of each viewer's arrow drag
        self._states: dict[str, str] = {}
        self._ended: dict[str, float] = {}
        for name in self.frames:
            self.nodes[name] = self.add(name)
        line = np.zeros((1, 2, 3), dtype=np.float32)
        self.thread = server.scene.add_line_segments(
            f"{root}/misses", line, COLORS["missed"], thickness=3.0, thickness_units="screen", visible=False
        )
        self.target = server.scene.add_icosphere(
            f"{root}/target",
            radius=0.3 * UNIT * puppet.size,
            color=COLORS["missed"],
            visible=False,
            cast_shadow=False,
        )

    # ------------------------------------------------------------------------------------------ making

    def add(self, name: str) -> Any:
        """Add a grip with its mouse callbacks."""
        look = self.looks[name]
        fixed = self.view.find_node(self.puppet.handles[name].frame)
        above, T = (self.root.name, np.eye(4)) if fixed is None else fixed
        if fixed is None:
            self.loose.append(name)
        node = self.server.scene.add_mesh_simple(
            f"{above}/{name}",
            look.vertices,
            look.faces,
            color=COLORS["free"],
            opacity=look.opacity,
            cast_shadow=False,
            receive_shadow=False,
            wxyz=Rotation.from_matrix(T[:3, :3]).wxyz,
            position=T[:3, 3] + T[:3, :3] @ look.offset,
        )

        async def on_drag(event: Any) -> None:
            self.drag(name, event)

        async def on_click(event: Any) -> None:
            self.click(name, event.client_id)

        node.on_drag("left")(on_drag)
        node.on_click(on_click)
        return node

    def remove(self) -> None:
        """Remove all grips from the scene."""
        for viewer in list(self.gizmos):
            if viewer in self.server.get_clients():
                self.gizmos.pop(viewer).remove()
        self.root.remove()

    # ------------------------------------------------------------------------------------------ the mouse

    def drag(self, name: str, event: Any) -> None:
        """Drag a grip: its target follows the mouse in the plane of the screen."""
        now = time.perf_counter()
        if event.phase == "start":
            if self.owners.setdefault(name, event.client_id) != event.client_id:
                return
            self._offsets[name] = self.puppet.transform(name)[:3, 3] - np.array(event.start_position)
            self.choose(event.client_id, name)
        if self.owners.get(name) != event.client_id:
            return
        if event.phase == "end":
            self.end(name)
        else:
            target = np.array(event.end_position) + self._offsets[name]
            self.puppet.hold(name, self.keep_rotation(name, target))
        self.touch(now)

    def keep_rotation(self, name: str, target: Floats) -> Floats:
        """Return the target of a dragged handle: feet, the head and pins keep their rotation."""
        handle = self.puppet.handles[name]
        if name not in self.puppet.fixed and not handle.stands and handle.kind != "gaze":
            return target
        held = self.puppet.held.get(name)
        out = self.puppet.transform(name) if held is None or held.ndim == 1 else held.copy()
        out[:3, 3] = target
        return out

    def end(self, name: str) -> None:
        """End a drag (mouse up)."""
        self.owners.pop(name, None)
        self._ended[name] = time.perf_counter()
        self.puppet.let_go(name)

    def click(self, name: str, viewer: int) -> None:
        """Pin or release a grip; one that is being dragged is ignored."""
        if (
            not self.pins_by_click
            or name in self.owners
            or time.perf_counter() - self._ended.get(name, -1.0) < CLICK_PAUSE
        ):
            return
        if name in self.puppet.fixed:
            self.puppet.release(name)
        else:
            self.puppet.plant(name)
        self.choose(viewer, name)
        self.touch(time.perf_counter())

    def turn(self, name: str, event: Any) -> None:
        """Move or turn a handle with its gizmo: position and rotation become its target."""
        now = time.perf_counter()
        viewer = -1 if event.client_id is None else event.client_id
        if event.phase == "start":
            self.owners.setdefault(name, viewer)
            self.turning.add(viewer)
        if event.phase == "end":
            self.turning.discard(viewer)
        if self.owners.get(name) != viewer:
            return
        if event.phase == "end":
            self.end(name)
        else:
            self.puppet.hold(name, read_gizmo(event.target, self.puppet.handles[name]))
        self.touch(now)

    def slide(self, name: str, axis: int, event: Any) -> None:
        """Drag a handle by an arrow: it moves along one of its axes and keeps its rotation."""
        now, viewer = time.perf_counter(), event.client_id
        eye = np.array(event.client.camera.position)
        if event.phase == "start":
            if self.owners.setdefault(name, viewer) != viewer:
                return
            T = self.puppet.transform(name)
            self._slides[viewer] = (
                T,
                T[:3, axis].copy(),
                project_on_axis(T[:3, 3], T[:3, axis], eye, np.array(event.start_position)),
            )
        if self.owners.get(name) != viewer or viewer not in self._slides:
            return
        if event.phase == "end":
            del self._slides[viewer]
            self.end(name)
        else:
            T, line, start = self._slides[viewer]
            target = T.copy()
            target[:3, 3] += (project_on_axis(T[:3, 3], line, eye, np.array(event.end_position)) - start) * line
            self.puppet.hold(name, target[:3, 3] if self.puppet.handles[name].kind == "pole" else target)
        self.touch(now)

    def leave(self, viewer: int) -> None:
        """Release the handles of a viewer who has left."""
        for name in [name for name, owner in self.owners.items() if owner == viewer]:
            self.end(name)
        self.turning.discard(viewer)
        self._slides.pop(viewer, None)
        self.drop(viewer)

    # ------------------------------------------------------------------------------------------ choosing

    def choose(self, viewer: int, name: str) -> None:
        """Move a viewer's gizmo to this handle."""
        if self.chosen.get(viewer) == name:
            return
        self.chosen[viewer] = name
        self.select(viewer, name)
        client = self.server.get_clients().get(viewer)
        if client is None:
            return
        if viewer in self.gizmos:
            self.gizmos.pop(viewer).remove()
        T = self.puppet.transform(name)
        handle = self.puppet.handles[name]
        gizmo = client.scene.add_transform_controls(
            "/gizmo",
            scale=0.16 * self.puppet.size,
            line_width=2.5,
            depth_test=False,
            opacity=0.75,
            disable_axes=True,  # replaced by those of arrows.py
            disable_sliders=True,
            disable_rotations=handle.kind == "pole",
            wxyz=Rotation.from_matrix(T[:3, :3]).wxyz,
            position=T[:3, 3],
        )

        async def on_turn(event: Any) -> None:
            self.turn(name, event)

        gizmo.on_update(on_turn)
        add_arrows(client, "/gizmo", self.puppet, handle.frame, lambda axis, event: self.slide(name, axis, event))
        self.gizmos[viewer] = gizmo

    def drop(self, viewer: int) -> None:
        """Remove a viewer's gizmo and selection."""
        self.chosen.pop(viewer, None)
        gizmo = self.gizmos.pop(viewer, None)
        if gizmo is not None and viewer in self.server.get_clients():
            gizmo.remove()

    # ------------------------------------------------------------------------------------------ showing

    def show(self, T: Floats, frame: FrameResult) -> None:
        """Update the grips in the colours of their states, and draw a red line at each missed one."""
        for name in self.loose:
            at = pick_frame(self.puppet.model, self.frames[name], T)
            self.nodes[name].wxyz = Rotation.from_matrix(at[:3, :3]).wxyz
            self.nodes[name].position = self.find_place(name, T)
        for name, node in self.nodes.items():
            state = self.find_state(name, frame)
            if self._states.get(name) != state:
                node.color = COLORS[state]
                self._states[name] = state
        for viewer, gizmo in list(self.gizmos.items()):
            name = self.chosen.get(viewer, "")
            if name in self.frames and viewer not in self.turning:
                at = pick_frame(self.puppet.model, self.frames[name], T)
                gizmo.wxyz, gizmo.position = Rotation.from_matrix(at[:3, :3]).wxyz, at[:3, 3]
        self.show_misses(T, frame)

    def find_place(self, name: str, T: Floats | None = None) -> Floats:
        """Return the position of a grip in the world [m]."""
        frames = self.puppet.model.fk(self.puppet.q) if T is None else T
        at = pick_frame(self.puppet.model, self.frames[name], frames)
        out: Floats = at[:3, 3] + at[:3, :3] @ self.looks[name].offset
        return out

    def find_state(self, name: str, frame: FrameResult) -> str:
        """Return the state of a handle, a key of `COLORS`."""
        if name in frame.missed:
            return "missed"
        if name in self.puppet.held:
            return "held"
        if name in self.puppet.planted:
            return "planted"
        if name in self.puppet.pins:
            return "pinned"
        return "free" if self.puppet.find_target(name) is None else "placed"

    def show_misses(self, T: Floats, frame: FrameResult) -> None:
        """Draw a line from each missed handle to its target."""
        pairs = []
        for name in frame.missed:
            wanted = self.puppet.find_target(name)
            if wanted is not None:
                at = pick_frame(self.puppet.model, self.frames[name], T)[:3, 3]
                pairs.append((at, wanted if wanted.ndim == 1 else wanted[:3, 3]))
        if pairs:
            self.thread.points = np.array(pairs, dtype=np.float32)
            self.target.position = pairs[0][1]
        if self.thread.visible != bool(pairs):
            self.thread.visible = self.target.visible = bool(pairs)


def is_moved(model: Model, frame: str) -> bool:
    """Return whether any joint moves a frame."""
    return any(joint.nv or joint.mimic for joint in model.joints_above(frame))


def read_gizmo(gizmo: Any, handle: Handle) -> Floats:
    """Return the target set by a gizmo: a transform, or a point for a pole."""
    T = np.eye(4)
    T[:3, :3] = Rotation(gizmo.wxyz).matrix
    T[:3, 3] = gizmo.position
    return T[:3, 3].copy() if handle.kind == "pole" else T
