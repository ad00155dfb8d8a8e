"""A body's own meshes in the scene, above the flesh that carries its handles."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from poise.arrays import Floats
from poise.model import Model
from poise.pictures.body.flesh import Color
from poise.spatial import Rotation
from poise.studio.scene.mesh_parts import Dress, Paint, RigidPart, SkinPart
from poise.studio.scene.node_moves import Movers

if TYPE_CHECKING:
    import viser

__all__ = ["DressedView"]

Carry = Callable[[str], tuple[str, Floats] | None]

CARRIED_SHARE = 0.6  # of a skin's bones: a skin is attached to a frame that carries more than this share
JPEG_QUALITY = 88
LEAST_VISIBLE_MOVE = 1e-5  # rotations [rad], and translations relative to model length, too small to be visible


class DressedView:
    """Rigid parts on the nodes of their frames, and skins whose bones move with their frames.

    A rigid part is attached to the flesh, which is moved anyway, and needs no message; without flesh, its frame gets a
    node. Skins are attached to the frame that carries most of their bones, such as the chest, and the bones move
    relative to that frame, so the bones of a limb that keeps its angles do not change. Only changes are sent: dragging
    a hand needs the messages of one arm. The page draws all skins with the bones of the first one, see `page.js`, so
    that no part lags behind another, and paints the parts that have a node of texture coordinates.

    Attributes:
        carried: The frames of rigid parts.
        links: The nodes of the rigid parts.
        skins: The nodes of the skins.
        roots: The nodes to remove: the root of all skins, and that of the textures.
        carrier: The frame that skins are attached to, or None for the world.
        bones: The bones of the skins.
    """

    def __init__(
        self, scene: viser.SceneApi, name: str, model: Model, dress: Dress, carry: Carry, offset: Floats
    ) -> None:
        self.model, self.dress = model, dress
        place = {frame: k for k, frame in enumerate(model.frames)}
        self.roots = [scene.add_frame(f"{name}_{kind}", show_axes=False) for kind in ("skins", "paint")]
        self.roots[0].position = tuple(offset)
        for k, image in enumerate(dress.images):
            scene.add_image(f"{self.roots[1].name}/{k}", image, 1.0, 1.0, jpeg_quality=JPEG_QUALITY, visible=False)
        self.carried = sorted({part.frame for part in dress.rigid}, key=lambda frame: place[frame])
        at = {frame: carry(frame) for frame in self.carried}
        loose = [frame for frame in self.carried if at[frame] is None]
        nodes = [scene.add_frame(f"{name}/link_{k}", show_axes=False) for k in range(len(loose))]
        at |= {frame: (node.name, np.eye(4)) for frame, node in zip(loose, nodes, strict=True)}
        self.links = [add_rigid(scene, k, part, at[part.frame]) for k, part in enumerate(dress.rigid)]
        frames = dress.skins[0].frames if dress.skins else ()
        self.carrier, holder = find_carrier(model, frames), self.roots[0]
        if self.carrier is not None:
            holder = scene.add_frame(f"{holder.name}/{place[self.carrier]}", show_axes=False)
            loose, nodes = [*loose, self.carrier], [*nodes, holder]
        self.skins = [add_skin(scene, f"{holder.name}/skin_{k}", part) for k, part in enumerate(dress.skins)]
        self.rows = np.array([place[frame] for frame in loose], np.int64)
        self.bone_rows = np.array([place[frame] for frame in frames], np.int64)
        self.movers = Movers(nodes, fine=LEAST_VISIBLE_MOVE, length=model.length)
        bones = self.skins[0].bones if self.skins else ()
        self.bones = Movers(bones, fine=LEAST_VISIBLE_MOVE, length=model.length)
        self.lit: dict[int, Color] = {}

    def show(self, T: Floats) -> None:
        """Move all links and bones to the frames T of the model, (frames, 4, 4)."""
        self.movers.show(T[self.rows])
        carrier = np.eye(4) if self.carrier is None else T[self.model.frames.index(self.carrier)]
        self.bones.show(find_local(T[self.bone_rows], carrier))

    def light(self, frames: Mapping[str, Color]) -> None:
        """Colour the links of these frames; all others get their own colour. Skins do not change."""
        lit = {k: frames[part.frame] for k, part in enumerate(self.dress.rigid) if part.frame in frames}
        for k in {*lit, *self.lit}:
            if lit.get(k) != self.lit.get(k):
                self.links[k].color = lit.get(k, self.dress.rigid[k].color)
        self.lit = lit

    def fade(self, opacity: float | None) -> None:
        """Set the opacity of the body; None restores the original."""
        nodes: list[Any] = [*self.links, *self.skins]
        parts: list[RigidPart | SkinPart] = [*self.dress.rigid, *self.dress.skins]
        for node, part in zip(nodes, parts, strict=True):
            node.opacity = part.opacity if opacity is None else opacity * (part.opacity or 1.0)

    def pick(self, tell: Callable[[str], None], find: Callable[[Floats, Floats], str | None]) -> None:
        """Wait for a click, and call `tell` with the frame that moves the clicked part, found by `find` for a skin."""

        def end(frame: str, event: Any) -> None:
            self.stop_picking()
            found = frame or find(np.array(event.ray_origin), np.array(event.ray_direction))
            tell(found or self.model.frames[0])

        for link, part in zip(self.links, self.dress.rigid, strict=True):
            link.on_click(partial(end, part.frame))
        for skin in self.skins:
            skin.on_click(partial(end, ""))

    def stop_picking(self) -> None:
        """Stop waiting for a click."""
        for node in (*self.links, *self.skins):
            node.remove_click_callback("all")

    def remove(self) -> None:
        """Remove the skins and textures; links are removed with the flesh."""
        for root in self.roots:
            root.remove()


def add_rigid(scene: viser.SceneApi, k: int, part: RigidPart, at: tuple[str, Floats] | None) -> viser.MeshHandle:
    """Add a rigid part to the scene; `at` is a node, and the transform of the part's frame in it."""
    assert at is not None
    name, T = at
    node = scene.add_mesh_simple(
        f"{name}/mesh_{k}",
        part.vertices,
        part.faces,
        color=part.color,
        opacity=part.opacity,
        side="double",
        cast_shadow=part.opacity is None,
        receive_shadow=False,  # the shadow maps of viser draw stripes on round surfaces
        wxyz=Rotation.from_matrix(T[:3, :3]).wxyz,
        position=T[:3, 3],
    )
    add_paint(scene, node.name, part.paint)
    return node


def add_skin(scene: viser.SceneApi, name: str, part: SkinPart) -> viser.MeshSkinnedHandle:
    """Add a skinned part to the scene."""
    node = scene.add_mesh_skinned(
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
        receive_shadow=False,  # the shadow maps of viser draw stripes on round surfaces
    )
    add_paint(scene, node.name, part.paint)
    return node


def add_paint(scene: viser.SceneApi, name: str, paint: Paint | None) -> None:
    """Add the texture of a part: hidden nodes whose vertices are its texture coordinates and its normals."""
    if paint is not None:
        uv = np.column_stack([paint.uv, np.zeros(len(paint.uv))]).astype(np.float32)
        for what, values in ((f"uv_{paint.image}", uv), ("normal", paint.normals)):
            scene.add_mesh_simple(f"{name}/{what}", values, np.zeros((1, 3), np.uint32), visible=False)


def find_carrier(model: Model, frames: Sequence[str]) -> str | None:
    """Return the deepest frame that carries most of these frames, or None."""
    count: dict[str, int] = {}
    for frame in frames:
        for above in model.ancestors(frame):
            count[above] = count.get(above, 0) + 1
    most = [name for name, n in count.items() if n > CARRIED_SHARE * len(frames)]
    return max(most, key=lambda name: len(model.ancestors(name)), default=None)


def find_local(T: Floats, carrier: Floats) -> Floats:
    """Return transforms (n, 4, 4) relative to a carrier, (4, 4)."""
    out, turn = T.copy(), carrier[:3, :3].T
    out[:, :3, 3] = (out[:, :3, 3] - carrier[:3, 3]) @ turn.T
    out[:, :3, :3] = turn @ out[:, :3, :3]
    return out
