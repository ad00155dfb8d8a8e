"""A body in the scene, moved part by part."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from poise.arrays import Floats
from poise.kinematics.parts import find_rigid_parts
from poise.model import Model
from poise.pictures.body.flesh import Color, find_flesh
from poise.pictures.bounds import outline_pieces
from poise.pictures.rays import find_hit
from poise.studio.scene.mesh_parts import Dress
from poise.studio.scene.mesh_view import DressedView
from poise.studio.scene.node_moves import Movers

if TYPE_CHECKING:
    import viser

__all__ = ["BodyView"]


MAX_NODE_DEPTH = 16  # nested scene nodes; deeper parts are attached to the root


class BodyView:
    """The surfaces of a body in the scene, under one node.

    The nodes are nested like the parts of the body: a joint that turns is one small message, and anything fixed to a
    part (a handle) moves with it. The meshes of the body's file are shown once they are loaded: its flesh is then
    hidden, but still carries the handles.
    """

    def __init__(
        self,
        scene: viser.SceneApi,
        name: str,
        model: Model,
        *,
        color: Color | None = None,
        offset: Floats | None = None,
    ) -> None:
        self.model = model
        self.offset = np.zeros(3) if offset is None else offset
        self.flesh = find_flesh(model)
        self.root = scene.add_frame(name, show_axes=False, position=tuple(self.offset))
        self.rows = np.array([model.frames.index(part.frame) for part in self.flesh], dtype=np.int64)
        self.above = [-1] * len(self.flesh)  # the index of each one's parent part; -1 is the root
        self.names = [""] * len(self.flesh)
        for k in np.argsort(self.rows, kind="stable").tolist():
            self.above[k] = self.find_carrier(model.frame(self.flesh[k].frame).parent)
            self.names[k] = f"{name if self.above[k] < 0 else self.names[self.above[k]]}/{k}"
        self.plain = [part.color if color is None else color for part in self.flesh]
        self.nodes = [self.add(scene, k) for k in range(len(self.flesh))]
        self.movers = Movers(self.nodes, fine=1e-6, length=model.length)
        self.lit: dict[int, Color] = {}
        self.dressed: DressedView | None = None
        self._name, self._scene = name, scene
        self._opacity: float | None = None
        self._places: Floats | None = None
        self.picking, self.picked = False, -1.0  # whether a click on a part is awaited, and the time that ended

    def add(self, scene: viser.SceneApi, k: int) -> viser.MeshHandle:
        """Add one part to the scene."""
        surface = self.flesh[k].surface
        return scene.add_mesh_simple(
            self.names[k],
            surface.vertices.astype(np.float32),
            surface.faces.astype(np.uint32),
            color=self.plain[k],
            cast_shadow=True,
            receive_shadow=True,
        )

    def dress(self, dress: Dress) -> None:
        """Show the meshes of the body's file instead of its flesh."""
        self.dressed = DressedView(self._scene, self._name, self.model, dress, self.find_node, self.offset)
        for node in self.nodes:
            node.vertices, node.faces = np.zeros((3, 3), np.float32), np.array([[0, 1, 2]], np.uint32)
        if self._places is not None:
            self.dressed.show(self._places)
        if self._opacity is not None:
            self.dressed.fade(self._opacity)

    def find_carrier(self, frame: str | None) -> int:
        """Return the part that carries a frame; -1 for the root, also below very long chains."""
        for above in [] if frame is None else self.model.ancestors(frame):
            for k, part in enumerate(self.flesh):
                if part.frame == above and self.names[k]:
                    return k if self.names[k].count("/") < MAX_NODE_DEPTH else -1
        return -1

    def find_node(self, frame: str) -> tuple[str, Floats] | None:
        """Return the node that carries a frame rigidly, and the frame's transform in it; None if it is not drawn."""
        parts = find_rigid_parts(self.model)
        for k, part in enumerate(self.flesh):
            if parts[part.frame] == parts[frame]:
                above, own = (self.model.fk(self.model.rest, name) for name in (part.frame, frame))
                return self.names[k], np.linalg.inv(above) @ own
        return None

    def show(self, T: Floats) -> None:
        """Move every part to the frames T of the model, (frames, 4, 4). Only parts that moved are sent."""
        self._places = T
        if self.dressed is not None:
            self.dressed.show(T)
        if not self.nodes:  # a body without length has no flesh
            return
        at = T[self.rows]
        hung = np.array(self.above) >= 0
        local = at.copy()
        up = at[np.array(self.above)[hung]]
        turn = up[:, :3, :3].transpose(0, 2, 1)
        local[hung, :3, :3] = turn @ at[hung, :3, :3]
        local[hung, :3, 3] = np.einsum("nij,nj->ni", turn, at[hung, :3, 3] - up[:, :3, 3])
        self.movers.show(local)

    @property
    def places(self) -> Floats:
        """The displayed transforms of all frames of the model, (frames, 4, 4)."""
        return self.model.fk(np.array(self.model.rest)) if self._places is None else self._places

    def light(self, frames: Mapping[str, Color]) -> None:
        """Colour the parts of these frames; all others get their own colour."""
        if self.dressed is not None:
            parts = find_rigid_parts(self.model)
            colors = {parts[name]: color for name, color in frames.items()}
            self.dressed.light({f: colors[parts[f]] for f in self.dressed.carried if parts[f] in colors})
            return
        lit = {k: color for k, part in enumerate(self.flesh) for name, color in frames.items() if name in part.parts}
        if lit == self.lit:
            return
        for k in {*lit, *self.lit}:
            self.nodes[k].color = lit.get(k, self.plain[k])
        self.lit = lit

    def pick(self, tell: Callable[[str], None]) -> None:
        """Wait for a click on a part, and call `tell` with the frame that moves it."""
        self.picking = True

        def end(frame: str, _: object = None) -> None:
            self.stop_picking()
            tell(frame)

        if self.dressed is not None:
            self.dressed.pick(end, self.find_clicked)
            return
        for node, part in zip(self.nodes, self.flesh, strict=True):
            node.on_click(partial(end, part.frame))

    def stop_picking(self) -> None:
        """Stop waiting for a click."""
        if self.picking:
            self.picking, self.picked = False, time.perf_counter()
        if self.dressed is not None:
            self.dressed.stop_picking()
        for node in self.nodes:
            node.remove_click_callback("all")

    def find_clicked(self, origin: Floats, direction: Floats) -> str | None:
        """Return the frame that moves the first part on a ray, or None.

        Tests the flesh while flesh is shown: the meshes of the file may still be loading.
        """
        seen = () if self.dressed is None else None
        return find_hit(self.model, self.places, origin - self.offset, direction, pieces=seen)

    def fade(self, opacity: float | None) -> None:
        """Set the opacity of the body; None restores the original."""
        self._opacity = opacity
        if self.dressed is not None:
            self.dressed.fade(opacity)
            return
        for node in self.nodes:
            node.opacity = opacity

    def sample_points(self, T: Floats) -> Floats:
        """Return a few hundred points on the surface in the world, (n, 3) [m]."""
        if self.dressed is not None:
            return outline_pieces(self.model, T) + self.offset
        found = []
        for row, part in zip(self.rows, self.flesh, strict=True):
            some = part.surface.vertices[:: max(1, len(part.surface.vertices) // 60)]
            found.append(some @ T[row, :3, :3].T + T[row, :3, 3] + self.offset)
        return np.concatenate(found) if found else T[:, :3, 3] + self.offset

    def remove(self) -> None:
        """Remove the body from the scene."""
        if self.dressed is not None:
            self.dressed.remove()
        self.root.remove()
