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
from poise.studio.moving import Movers

if TYPE_CHECKING:
    import viser

__all__ = ["DressedView"]

Floats = NDArray[np.float64]
Carry = Callable[[str], tuple[str, Floats] | None]

FINE = 1e-5  # turns [rad] and slides [of the body's length] that are too small to be seen


class DressedView:
    """Rigid parts on the nodes that carry their frames, and skins whose bones move with theirs.

    A rigid part hangs on the flesh, which is moved anyway, and costs no message; where there is none, its frame gets a
    node. What has not moved is not sent: a hand that is dragged costs the messages of an arm.
    """

    def __init__(self, scene: viser.SceneApi, name: str, model: Model, dress: Dress, carry: Carry) -> None:
        self.model, self.dress = model, dress
        place = {frame: k for k, frame in enumerate(model.frames)}
        self.carried = sorted({part.frame for part in dress.rigid}, key=lambda frame: place[frame])
        at = {frame: carry(frame) for frame in self.carried}
        loose = [frame for frame in self.carried if at[frame] is None]
        self.rows = np.array([place[frame] for frame in loose], np.int64)
        nodes = [scene.add_frame(f"{name}/link_{k}", show_axes=False) for k in range(len(loose))]
        at |= {frame: (node.name, np.eye(4)) for frame, node in zip(loose, nodes, strict=True)}
        self.links = [add_rigid(scene, k, part, at[part.frame]) for k, part in enumerate(dress.rigid)]
        self.skins = [add_skin(scene, f"{name}/skin_{k}", part) for k, part in enumerate(dress.skins)]
        self.bone_rows = np.array([place[frame] for part in dress.skins for frame in part.frames], np.int64)
        self.movers = Movers(nodes, fine=FINE, length=model.length)
        self.bones = Movers([bone for skin in self.skins for bone in skin.bones], fine=FINE, length=model.length)
        self.lit: dict[int, Color] = {}

    def show(self, T: Floats) -> None:
        """Move every link and bone: T has all frames of the model, (frames, 4, 4)."""
        self.movers.show(T[self.rows])
        self.bones.show(T[self.bone_rows])

    def light(self, frames: Mapping[str, Color]) -> None:
        """Colour the links of these frames, and all others as they are; skins stay as they are."""
        lit = {k: frames[part.frame] for k, part in enumerate(self.dress.rigid) if part.frame in frames}
        for k in {*lit, *self.lit}:
            if lit.get(k) != self.lit.get(k):
                self.links[k].color = lit.get(k, self.dress.rigid[k].color)
        self.lit = lit

    def fade(self, opacity: float | None) -> None:
        """Draw the body so faintly, or as it is."""
        nodes: list[Any] = [*self.links, *self.skins]
        parts: list[RigidPart | SkinPart] = [*self.dress.rigid, *self.dress.skins]
        for node, part in zip(nodes, parts, strict=True):
            node.opacity = part.opacity if opacity is None else opacity * (part.opacity or 1.0)

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


def add_rigid(scene: viser.SceneApi, k: int, part: RigidPart, at: tuple[str, Floats] | None) -> viser.MeshHandle:
    """Add a rigid part to the scene, on a node and where on it its frame is."""
    assert at is not None
    name, T = at
    return scene.add_mesh_simple(
        f"{name}/mesh_{k}",
        part.vertices,
        part.faces,
        color=part.color,
        opacity=part.opacity,
        side="double",
        cast_shadow=part.opacity is None,
        receive_shadow=True,
        wxyz=Rotation.from_matrix(T[:3, :3]).wxyz,
        position=T[:3, 3],
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
        opacity=part.opacity,
        side="double",
        cast_shadow=part.opacity is None,
        receive_shadow=True,
    )
