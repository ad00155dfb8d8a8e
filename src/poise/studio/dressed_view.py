"""A body's own meshes in the scene, over the flesh that carries its handles."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from poise.model import Model
from poise.pictures.flesh import Color
from poise.spatial import Rotation
from poise.studio.dress import Dress, RigidPart, SkinPart

if TYPE_CHECKING:
    import viser

__all__ = ["DressedView"]

Floats = NDArray[np.float64]


class DressedView:
    """Rigid parts, each group on a node that moves with its frame, and skins whose bones move with theirs.

    What has not moved is not sent: a hand that is dragged costs the messages of an arm.
    """

    def __init__(self, scene: viser.SceneApi, name: str, model: Model, dress: Dress) -> None:
        self.model, self.dress = model, dress
        place = {frame: k for k, frame in enumerate(model.frames)}
        self.carried = sorted({part.frame for part in dress.rigid}, key=lambda frame: place[frame])
        self.rows = np.array([place[frame] for frame in self.carried], np.int64)
        self.nodes = [scene.add_frame(f"{name}/link_{k}", show_axes=False) for k in range(len(self.carried))]
        at = {frame: node.name for frame, node in zip(self.carried, self.nodes, strict=True)}
        self.links = [add_rigid(scene, f"{at[part.frame]}/{k}", part) for k, part in enumerate(dress.rigid)]
        self.skins = [add_skin(scene, f"{name}/skin_{k}", part) for k, part in enumerate(dress.skins)]
        self.bones = [bone for skin in self.skins for bone in skin.bones]
        self.bone_rows = np.array([place[frame] for part in dress.skins for frame in part.frames], np.int64)
        self.lit: dict[int, Color] = {}
        self._sent: dict[str, tuple[Floats, Floats]] = {}

    def show(self, T: Floats) -> None:
        """Move every link and bone: T has all frames of the model, (frames, 4, 4)."""
        self._send("links", self.nodes, T[self.rows])
        self._send("bones", self.bones, T[self.bone_rows])

    def _send(self, what: str, handles: list[Any], T: Floats) -> None:
        if not handles:
            return
        wxyz, positions = np.array(Rotation.from_matrix(T[:, :3, :3]).wxyz), T[:, :3, 3].copy()
        before = self._sent.get(what)
        if before is None:
            turned = slid = np.ones(len(handles), dtype=bool)
        else:
            turned = np.abs(wxyz - before[0]).max(axis=1) > 1e-5
            slid = np.abs(positions - before[1]).max(axis=1) > 1e-5 * self.model.length
            wxyz[~turned], positions[~slid] = before[0][~turned], before[1][~slid]
        for k in np.nonzero(turned)[0]:
            handles[k].wxyz = wxyz[k]
        for k in np.nonzero(slid)[0]:
            handles[k].position = positions[k]
        self._sent[what] = wxyz, positions

    def light(self, frames: Mapping[str, Color]) -> None:
        """Colour the links of these frames, and all others as they are; skins stay as they are."""
        lit = {k: frames[part.frame] for k, part in enumerate(self.dress.rigid) if part.frame in frames}
        for k in {*lit, *self.lit}:
            if lit.get(k) != self.lit.get(k):
                self.links[k].color = lit.get(k, self.dress.rigid[k].color)
        self.lit = lit

    def fade(self, opacity: float | None) -> None:
        """Draw the body so faintly, or as it is."""
        for link in self.links:
            link.opacity = opacity
        for skin in self.skins:
            skin.opacity = opacity

    def pick(self, tell: Callable[[str], None], find: Callable[[Floats, Floats], str | None]) -> None:
        """Wait for a click, and tell which frame moves what was clicked; `find` says so of a ray through a skin."""

        def end(frame: str, event: Any) -> None:
            self.stop_picking()
            found = frame or find(np.array(event.ray_origin), np.array(event.ray_direction))
            tell(found or self.model.frames[0])

        for link, part in zip(self.links, self.dress.rigid, strict=True):
            link.on_click(partial(end, part.frame))
        for skin in self.skins:
            skin.on_click(partial(end, ""))

    def stop_picking(self) -> None:
        """Wait for no click any more."""
        for node in (*self.links, *self.skins):
            node.remove_click_callback("all")


def add_rigid(scene: viser.SceneApi, name: str, part: RigidPart) -> viser.MeshHandle:
    """Add a rigid part to the scene."""
    return scene.add_mesh_simple(
        name, part.vertices, part.faces, color=part.color, side="double", cast_shadow=True, receive_shadow=True
    )


def add_skin(scene: viser.SceneApi, name: str, part: SkinPart) -> viser.MeshSkinnedHandle:
    """Add a skinned part to the scene."""
    return scene.add_mesh_skinned(
        name,
        part.vertices,
        part.faces,
        bone_wxyzs=part.wxyz,
        bone_positions=part.positions,
        skin_weights=part.table(),
        color=part.color,
        side="double",
        cast_shadow=True,
        receive_shadow=True,
    )
