"""The scene: light, ground, and a body that is moved part by part."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from poise.kinematics.parts import rigid_parts
from poise.model import Model
from poise.spatial import Rotation
from poise.studio.flesh import Color, flesh

if TYPE_CHECKING:
    import viser

__all__ = ["Body", "light_stage", "point_camera"]

Floats = NDArray[np.float64]

DEEPEST = 16  # parts that hang on one another; longer chains are laid flat
WARM, COOL = (255, 248, 238), (214, 228, 255)
GROUND = {"y": "xz", "z": "xy", "x": "yz"}


def light_stage(scene: viser.SceneApi, model: Model, floor: float, shadows: bool = True) -> None:
    """Soft light from all sides, one lamp that casts shadows, and a pale ground to catch them."""
    up = model.up_direction
    scene.set_up_direction(tuple(up))
    scene.configure_environment_map(None)
    scene.configure_default_lights(enabled=False)
    size = model.length
    one, two = np.roll(up, 1), np.roll(up, 2)
    scene.add_light_hemisphere("/lights/sky", sky_color=(255, 255, 255), ground_color=(205, 200, 195), intensity=1.1)
    place = size * (3.0 * up + 1.6 * one + 2.0 * two)
    scene.add_light_directional("/lights/key", position=tuple(place), intensity=2.2, cast_shadow=shadows, color=WARM)
    place = size * (1.2 * up - 2.4 * one - 0.6 * two)
    scene.add_light_directional("/lights/rim", position=tuple(place), intensity=0.8, color=COOL)
    cell = 10.0 ** round(np.log10(size / 10))
    scene.add_grid(
        "/ground",
        plane=GROUND[model.up],  # type: ignore[arg-type]
        infinite_grid=True,
        cell_size=cell,
        section_size=5 * cell,
        cell_thickness=0.6,
        section_thickness=0.9,
        cell_color=(214, 219, 224),
        section_color=(190, 197, 204),
        fade_distance=7 * size,
        fade_from="origin",
        shadow_opacity=0.32,
        plane_color=(240, 242, 244),
        plane_opacity=1.0,
        position=tuple(up * (floor - 2e-3 * size)),
    )


def point_camera(server: viser.ViserServer, model: Model, points: Floats) -> None:
    """Before the body, a little above and beside it; for those that come and those that are there."""
    up = model.up_direction
    low, high = points.min(axis=0), points.max(axis=0)
    middle = (low + high) / 2
    size = max(float(np.linalg.norm(high - low)), 0.6 * model.length)
    ahead = np.roll(up, 1)  # a figure with y up looks along z, an arm with z up along x
    beside = np.cross(up, ahead)
    away = 1.35 * ahead + 0.62 * beside + 0.28 * up
    right = np.cross(up, away) / np.linalg.norm(np.cross(up, away))
    middle = middle + 0.14 * size * right  # the panel lies over the right of the window
    place = middle + size * away
    camera = server.initial_camera
    camera.position, camera.look_at, camera.up, camera.fov = tuple(place), tuple(middle), tuple(up), 0.72
    for client in server.get_clients().values():
        client.camera.up_direction = tuple(up)
        client.camera.position, client.camera.look_at = tuple(place), tuple(middle)


class Body:
    """A body's surfaces in the scene, under one name.

    Each part hangs on the part that carries it, as in the body itself: a joint that turns is one small message, and
    what is fixed to a part (a handle) goes along for nothing.
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
        self.flesh = flesh(model)
        self.root = scene.add_frame(name, show_axes=False, position=tuple(self.offset))
        self.rows = np.array([model.frames.index(part.frame) for part in self.flesh], dtype=np.int64)
        self.above = [-1] * len(self.flesh)  # the part that each one hangs on; -1 is the root
        self.names = [""] * len(self.flesh)
        for k in np.argsort(self.rows, kind="stable").tolist():
            self.above[k] = self.carrier(model.frame(self.flesh[k].frame).parent)
            self.names[k] = f"{name if self.above[k] < 0 else self.names[self.above[k]]}/{k}"
        self.plain = [part.color if color is None else color for part in self.flesh]
        self.nodes = [self.add(scene, k) for k in range(len(self.flesh))]
        self.lit: dict[int, Color] = {}
        self._shown: tuple[Floats, Floats] | None = None

    def add(self, scene: viser.SceneApi, k: int) -> viser.MeshHandle:
        """One part."""
        surface = self.flesh[k].surface
        return scene.add_mesh_simple(
            self.names[k],
            surface.vertices.astype(np.float32),
            surface.faces.astype(np.uint32),
            color=self.plain[k],
            cast_shadow=True,
            receive_shadow=True,
        )

    def carrier(self, frame: str | None) -> int:
        """The part that a frame is fixed to or hangs on; -1 for none, and for what hangs on a very long chain."""
        for above in [] if frame is None else self.model.ancestors(frame):
            for k, part in enumerate(self.flesh):
                if part.frame == above and self.names[k]:
                    return k if self.names[k].count("/") < DEEPEST else -1
        return -1

    def fixed_to(self, frame: str) -> tuple[str, Floats] | None:
        """The node that carries a frame rigidly, and where on it the frame is; None where nothing is drawn there."""
        parts = rigid_parts(self.model)
        T = dict(zip(self.model.frames, self.model.fk(np.array(self.model.rest)), strict=True))
        for k, part in enumerate(self.flesh):
            if parts[part.frame] == parts[frame]:
                return self.names[k], np.linalg.inv(T[part.frame]) @ T[frame]
        return None

    def show(self, T: Floats) -> None:
        """Moves every part: T has all frames of the model, (frames, 4, 4). What has not moved is not sent."""
        at = T[self.rows]
        hung = np.array(self.above) >= 0
        local = at.copy()
        up = at[np.array(self.above)[hung]]
        turn = up[:, :3, :3].transpose(0, 2, 1)
        local[hung, :3, :3] = turn @ at[hung, :3, :3]
        local[hung, :3, 3] = np.einsum("nij,nj->ni", turn, at[hung, :3, 3] - up[:, :3, 3])
        wxyz, positions = np.array(Rotation.from_matrix(local[:, :3, :3]).wxyz), local[:, :3, 3]
        if self._shown is None:
            turned = slid = np.ones(len(self.nodes), dtype=bool)
        else:
            turned = np.abs(wxyz - self._shown[0]).max(axis=1) > 1e-6
            slid = np.abs(positions - self._shown[1]).max(axis=1) > 1e-6 * self.model.length
        for k in np.nonzero(turned)[0]:
            self.nodes[k].wxyz = wxyz[k]
        for k in np.nonzero(slid)[0]:
            self.nodes[k].position = positions[k]
        if self._shown is not None:  # what was not sent stays as it was, so that slow drifts are not lost
            wxyz[~turned], positions[~slid] = self._shown[0][~turned], self._shown[1][~slid]
        self._shown = (wxyz, positions)

    def light(self, frames: Mapping[str, Color]) -> None:
        """Colours the parts that these frames belong to, and the others plainly."""
        lit = {k: color for k, part in enumerate(self.flesh) for name, color in frames.items() if name in part.parts}
        if lit == self.lit:
            return
        for k in {*lit, *self.lit}:
            self.nodes[k].color = lit.get(k, self.plain[k])
        self.lit = lit

    def points(self, T: Floats) -> Floats:
        """Where its surface is, (n, 3), a few hundred points."""
        found = []
        for row, part in zip(self.rows, self.flesh, strict=True):
            some = part.surface.vertices[:: max(1, len(part.surface.vertices) // 60)]
            found.append(some @ T[row, :3, :3].T + T[row, :3, 3] + self.offset)
        return np.concatenate(found)

    def visible(self, shown: bool) -> None:
        """Whether it is seen."""
        self.root.visible = shown

    def remove(self) -> None:
        """Out of the scene."""
        self.root.remove()
