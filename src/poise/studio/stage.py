"""The stage: light, a ground to stand on, and where the camera looks from."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from poise.model import Model

if TYPE_CHECKING:
    import viser

__all__ = ["light_stage", "point_camera"]

Floats = NDArray[np.float64]

WARM, COOL = (255, 248, 238), (214, 228, 255)
NEAR, FAR = 2e-3, 100.0  # of what is shown: how near and how far the camera sees
GROUND = {"y": "xz", "z": "xy", "x": "yz"}


def light_stage(scene: viser.SceneApi, model: Model, size: float, floor: float, shadows: bool = True) -> None:
    """Light the scene softly from all sides, with one lamp that casts shadows and a pale ground to catch them."""
    up = model.up_direction
    scene.set_up_direction(tuple(up))
    scene.configure_environment_map(None)
    scene.configure_default_lights(enabled=False)
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


def point_camera(server: viser.ViserServer, model: Model, size: float, points: Floats) -> None:
    """Place the camera in front of the body, slightly above and to one side, for current and future viewers."""
    up = model.up_direction
    low, high = points.min(axis=0), points.max(axis=0)
    middle = (low + high) / 2
    size = max(float(np.linalg.norm(high - low)), 0.6 * size)
    ahead = np.roll(up, 1)  # a figure with y up looks along z, an arm with z up along x
    beside = np.cross(up, ahead)
    away = 1.35 * ahead + 0.62 * beside + 0.28 * up
    right = np.cross(up, away) / np.linalg.norm(np.cross(up, away))
    middle = middle + 0.14 * size * right  # the panel lies over the right of the window
    place = middle + size * away
    camera = server.initial_camera
    camera.position, camera.look_at, camera.up, camera.fov = tuple(place), tuple(middle), tuple(up), 0.72
    camera.near, camera.far = NEAR * size, FAR * size
    for client in server.get_clients().values():
        client.camera.up_direction = tuple(up)
        client.camera.near, client.camera.far = NEAR * size, FAR * size
        client.camera.position, client.camera.look_at = tuple(place), tuple(middle)
