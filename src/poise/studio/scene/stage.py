"""The stage: lights, the ground, and the camera's view."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from poise.arrays import Floats
from poise.model import Model
from poise.model.plane import is_planar
from poise.pictures.front import find_front

if TYPE_CHECKING:
    import viser

__all__ = ["VIEWS", "View", "find_direction", "find_view", "keep_above", "light_stage", "move_camera", "point_camera"]


PALE = ((240, 242, 244), (214, 219, 224), (190, 197, 204))  # ground, and its thin and thick lines
DARK = ((34, 37, 41), (52, 57, 63), (74, 81, 89))
WARM, COOL = (255, 248, 238), (214, 228, 255)
NARROW_ASPECT = 0.66  # width by height of a window, below which it is that of a phone
VIEWS = ("fit", "front", "side", "top")
NEAR_PLANE, FAR_PLANE = 2e-3, 100.0  # relative to the size of the view: the clipping planes of the camera
FOV = 0.72  # [rad], vertical field of view
FILL_SHARE = 0.84  # of the free part of the picture that a body fills at most
GROUND = {"y": "xz", "z": "xy", "x": "yz"}


def light_stage(
    scene: viser.SceneApi, model: Model, size: float, floor: float, *, shadows: bool = True, dark: bool = False
) -> None:
    """Light the scene softly from all sides, with one light that casts shadows, and add the ground."""
    up = model.up_direction
    scene.set_up_direction(tuple(up))
    scene.configure_environment_map(None)
    scene.configure_default_lights(enabled=False)
    scene.add_light_hemisphere("/lights/sky", sky_color=(255, 255, 255), ground_color=(205, 200, 195), intensity=2.4)
    ahead = find_front(model)
    side = np.cross(up, ahead)
    place = size * (2.6 * up + 2.0 * ahead - 1.2 * side)  # from the front, so that the face is lit
    scene.add_light_directional("/lights/key", position=tuple(place), intensity=1.7, cast_shadow=shadows, color=WARM)
    place = size * (1.2 * up - 2.4 * ahead + 0.6 * side)
    scene.add_light_directional("/lights/rim", position=tuple(place), intensity=0.8, color=COOL)
    ground = DARK if dark else PALE
    cell = 10.0 ** round(np.log10(size / 10))
    scene.add_grid(
        "/ground",
        plane=GROUND[model.up],  # type: ignore[arg-type]
        infinite_grid=True,
        cell_size=cell,
        section_size=5 * cell,
        cell_thickness=0.6,
        section_thickness=0.9,
        cell_color=ground[1],
        section_color=ground[2],
        fade_distance=7 * size,
        fade_from="origin",
        shadow_opacity=0.32,
        plane_color=ground[0],
        plane_opacity=1.0,
        position=tuple(up * (floor - 2e-3 * size)),
    )


@dataclass(frozen=True, slots=True, eq=False)
class View:
    """A view of the camera.

    Attributes:
        position: The position of the camera [m].
        look_at: The point in the middle of the view [m].
        size: The size of the visible scene [m].
    """

    position: Floats
    look_at: Floats
    size: float


def find_direction(model: Model, name: str) -> Floats:
    """Return the direction from the body to the camera for a named view."""
    if is_planar(model):  # seen from above: x to the right, y up
        return np.array([0.0, -0.01, 1.0])
    up = model.up_direction
    ahead = find_front(model)
    side = np.cross(up, ahead)
    away = {
        "fit": 1.35 * ahead + 0.62 * side + 0.28 * up,
        "front": ahead + 0.04 * up,
        "side": side + 0.04 * up,
        "top": up + 0.01 * ahead,  # looking straight down has no up direction
    }[name]
    out: Floats = away / np.linalg.norm(away)
    return out


def find_view(model: Model, size: float, points: Floats, away: Floats, aspect: float = 1.6) -> View:
    """Return the nearest view that shows all points from a direction, next to the panel and with a margin.

    A point at r to the right, a above and t towards the camera of the middle appears at (r / w + c d) / (d - t) and
    a / (h (d - t)), with d the distance, h and w = aspect h half the picture's height and width at distance one, c
    the middle of the free part of the picture, from -1 to 1, and e its half width: so d >= (r / w + (c + e) t) / e.

    Args:
        model: The body.
        size: The apparent size of the body [m].
        points: The points to show, (n, 3) [m].
        away: The direction from the points to the camera.
        aspect: The width of the window divided by its height.
    """
    away = away / np.linalg.norm(away)
    right = np.cross(model.up_direction, away)
    right /= max(float(np.linalg.norm(right)), 1e-9)
    free, half = find_free(aspect), np.array([aspect, 1.0]) * np.tan(FOV / 2)
    down = np.arccos(np.clip(away @ model.up_direction, -1.0, 1.0))  # angle to looking straight down
    tilt = min(np.arctan(free[1][0] * half[1]), 0.5 * down)  # a camera that shows a body above the middle looks down
    away = np.cos(tilt) * away + np.sin(tilt) * np.cross(away, right)
    axes = np.stack([right, np.cross(away, right), away], axis=1)
    seen = points @ axes
    middle = (seen.min(axis=0) + seen.max(axis=0)) / 2
    toward = seen[:, 2] - middle[2]
    distance = 0.9 * size
    for axis in (0, 1):
        center, reach = free[axis]
        off = (seen[:, axis] - middle[axis]) / half[axis]
        for side in (1.0, -1.0):
            distance = max(distance, float((side * off + (side * center + reach) * toward).max()) / reach)
    shift = [-center * distance * half[axis] for axis, (center, _) in enumerate(free)]
    look_at = axes @ (middle + np.array([*shift, 0.0]))
    extent = max(float(np.linalg.norm(np.ptp(points, axis=0))), 0.6 * size)
    return View(look_at + distance * away, look_at, extent)


def find_free(aspect: float) -> tuple[tuple[float, float], tuple[float, float]]:
    """Return the centre and half size of the area not covered by the panel, across and up; the picture is -1 to 1.

    The panel covers the right of a window, and the lower half of a phone.
    """
    if aspect > NARROW_ASPECT:
        covered = min(0.46 / aspect, 0.45)  # the panel's width does not depend on the window
        return (-covered, FILL_SHARE * (1.0 - covered)), (0.0, FILL_SHARE)
    return (0.0, FILL_SHARE), (0.45, FILL_SHARE * 0.55)


def point_camera(server: viser.ViserServer, model: Model, size: float, points: Floats) -> None:
    """Set the initial camera of future viewers: in front of the body, slightly above and to one side."""
    up, away = tuple(model.up_direction), find_direction(model, "fit")
    view = find_view(model, size, points, away)
    camera = server.initial_camera
    camera.position, camera.look_at, camera.up, camera.fov = tuple(view.position), tuple(view.look_at), up, FOV
    camera.near, camera.far = NEAR_PLANE * view.size, FAR_PLANE * view.size


def move_camera(client: viser.ClientHandle, model: Model, view: View) -> None:
    """Move one viewer's camera."""
    client.camera.up_direction = tuple(model.up_direction)
    client.camera.near, client.camera.far = NEAR_PLANE * view.size, FAR_PLANE * view.size
    client.camera.position, client.camera.look_at = tuple(view.position), tuple(view.look_at)


def keep_above(client: viser.ClientHandle, model: Model, floor: float, size: float) -> None:
    """Raise a viewer's camera if it is below the floor."""
    up = model.up_direction
    place = np.array(client.camera.position)
    missing = floor + 0.01 * size - float(up @ place)
    if missing > 1e-9:
        client.camera.position = tuple(place + missing * up)
