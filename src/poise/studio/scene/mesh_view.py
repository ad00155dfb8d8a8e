"""A body's own meshes in the scene, above the flesh that carries its handles."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from poise.arrays import Floats
from poise.model import Model
from poise.pictures.body.flesh import Color
from poise.spatial import Rotation
from poise.studio.scene.mesh_parts import Dress, RigidPart, SkinPart
from poise.studio.scene.node_moves import Movers

if TYPE_CHECKING:
    import viser

__all__ = ["DressedView"]

Carry = Callable[[str], tuple[str, Floats] | None]

CARRIED_SHARE = 0.6  # of a skin's bones: a skin is attached to a frame that carries more than this share
LEAST_VISIBLE_MOVE = 1e-5  # rotations [rad], and translations relative to model length, too small to be visible


class DressedView:
    """Rigid parts on the nodes of their frames, and skins whose bones move with their frames.

    A rigid part is attached to the flesh, which is moved anyway, and needs no message; without flesh, its frame gets a
    node. A skin is attached to the frame that carries most of its bones, such as the chest, and its bones move relative
    to that frame, so the bones of a limb that keeps its angles do not change. Only changes are sent: dragging a hand
    needs the messages of one arm.

    Attributes:
        carried: The frames of rigid parts.
        links: The nodes of the rigid parts.
        skins: The nodes of the skins.
        skin_root: The root node of all skins.
        carriers: The frame each skin is attached to, or None for the world.
        bones: All bones of all skins, in order.
    """

    def __init__(
        self, scene: viser.SceneApi, name: str, model: Model, dress: Dress, carry: Carry, offset: Floats
    ) -> None:
        self.model, self.dress = model, dress
        place = {frame: k for k, frame in enumerate(model.frames)}
        self.carried = sorted({part.frame for part in dress.rigid}, key=lambda frame: place[frame])
        at = {frame: carry(frame) for frame in self.carried}
        loose = [frame for frame in self.carried if at[frame] is None]
        nodes = [scene.add_frame(f"{name}/link_{k}", show_axes=False) for k in range(len(loose))]
        at |= {frame: (node.name, np.eye(4)) for frame, node in zip(loose, nodes, strict=True)}
        self.links = [add_rigid(scene, k, part, at[part.frame]) for k, part in enumerate(dress.rigid)]
        self.carriers = [find_carrier(model, part.frames) for part in dress.skins]
        self.skin_root = scene.add_frame(f"{name}_skins", show_axes=False, position=tuple(offset))
        held: dict[str | None, Any] = {
            frame: scene.add_frame(f"{self.skin_root.name}/{place[frame]}", show_axes=False)
            for frame in dict.fromkeys(self.carriers)
            if frame is not None
        }
        self.skins = [
            add_skin(scene, f"{held.get(frame, self.skin_root).name}/skin_{k}", part)
            for k, (part, frame) in enumerate(zip(dress.skins, self.carriers, strict=True))
        ]
        self.rows = np.array([place[frame] for frame in [*loose, *held] if frame is not None], np.int64)
        self.bone_rows = np.array([place[frame] for part in dress.skins for frame in part.frames], np.int64)
        on = [-1 if frame is None else place[frame] for frame in self.carriers]
        self.carrier_rows = np.repeat(np.array(on, np.int64), [len(part.frames) for part in dress.skins])
        self.movers = Movers([*nodes, *held.values()], fine=LEAST_VISIBLE_MOVE, length=model.length)
        self.bones = Movers(
            [bone for skin in self.skins for bone in skin.bones], fine=LEAST_VISIBLE_MOVE, length=model.length
        )
        self.lit: dict[int, Color] = {}

    def show(self, T: Floats) -> None:
        """Move all links and bones to the frames T of the model, (frames, 4, 4)."""
        self.movers.show(T[self.rows])
        self.bones.show(find_local(T, self.bone_rows, self.carrier_rows))

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
        """Remove the skins; links are removed with the flesh."""
        self.skin_root.remove()


def add_rigid(scene: viser.SceneApi, k: int, part: RigidPart, at: tuple[str, Floats] | None) -> viser.MeshHandle:
    """Add a rigid part to the scene; `at` is a node, and the transform of the part's frame in it."""
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


def find_carrier(model: Model, frames: Sequence[str]) -> str | None:
    """Return the deepest frame that carries most of these frames, or None."""
    count: dict[str, int] = {}
    for frame in frames:
        for above in model.ancestors(frame):
            count[above] = count.get(above, 0) + 1
    most = [name for name, n in count.items() if n > CARRIED_SHARE * len(frames)]
    return max(most, key=lambda name: len(model.ancestors(name)), default=None)


def find_local(T: Floats, rows: NDArray[np.int64], carriers: NDArray[np.int64]) -> Floats:
    """Return the transforms of frames relative to their carriers, (n, 4, 4); carrier -1 is the world."""
    out = T[rows]
    hung = np.flatnonzero(carriers >= 0)
    up = T[carriers[hung]]
    turn = up[:, :3, :3].transpose(0, 2, 1)
    out[hung, :3, 3] = np.einsum("nij,nj->ni", turn, out[hung, :3, 3] - up[:, :3, 3])
    out[hung, :3, :3] = turn @ out[hung, :3, :3]
    return out


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
