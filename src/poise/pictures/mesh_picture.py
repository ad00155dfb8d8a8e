"""A body's own meshes on flat axes: an image with light and shade, and its shadow on the floor below."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from poise.kinematics import Pose
from poise.model.looks import Material, Patch, Piece, deform, deform_normals
from poise.pictures.raster import FAINT, Canvas, Sheet, paint_sheets
from poise.pictures.stick import SHADOW, Camera

__all__ = ["draw_meshes"]

Floats = NDArray[np.float64]

PIXELS, SHADOW_PIXELS = 900, 400


def draw_meshes(
    axes: Any,
    pose: Pose,
    pieces: tuple[Piece, ...],
    camera: Camera,
    *,
    color: str | None = None,
    ghost: bool = False,
    pixels: int = PIXELS,
) -> None:
    """Draw one pose by its meshes, the body so many pixels large; a ghost is pale and throws no shadow.

    A given colour is that of all meshes.
    """
    from matplotlib.colors import to_rgb

    T = pose.model.fk(pose.q)
    right, up, near = camera.project(np.eye(3)).T[0], camera.project(np.eye(3)).T[1], -camera.measure_depth(np.eye(3))
    sheets, shadows = [], []
    for piece in pieces:
        if is_faint(piece.patch.material):
            continue
        points = deform(piece, pose.model.frames, T)
        normals = deform_normals(piece, pose.model.frames, T, points) @ np.stack([right, up, near]).T
        patch = piece.patch if color is None else paint_patch(piece.patch, to_rgb(color))
        sheets.append(Sheet(camera.project(points), camera.measure_depth(points), normals, patch))
        if camera.floor is not None and not ghost:
            shadows.append(
                Sheet(
                    camera.cast_shadow(points), np.zeros(len(points)), normals, Patch(patch.vertices, patch.triangles)
                )
            )
    if shadows:
        draw_shadow(axes, shadows, to_rgb(SHADOW))
    if sheets:
        image, extent = paint_sheets(sheets, int(pixels / max(len(axes.figure.axes) - 1, 1) ** 0.5))
        add_image(axes, image * (1, 1, 1, 0.35 if ghost else 1), extent, 2 if ghost else 3)


def is_faint(material: Material | None) -> bool:
    """Return whether so much shines through that nothing is drawn."""
    return material is not None and material.clear and material.color[3] < FAINT


def paint_patch(patch: Patch, rgb: tuple[float, float, float]) -> Patch:
    """Return the patch in one plain colour."""
    return Patch(patch.vertices, patch.triangles, Material((*rgb, 1.0)), None, patch.normals)


def draw_shadow(axes: Any, sheets: list[Sheet], rgb: tuple[float, float, float]) -> None:
    """Draw where the light from above does not come."""
    every = np.concatenate([sheet.flat for sheet in sheets])
    work = sum(float(np.prod(np.ptp(s.flat[s.patch.triangles.astype(np.int64)], axis=1), axis=1).sum()) for s in sheets)
    canvas = Canvas(every.min(axis=0), every.max(axis=0), SHADOW_PIXELS, 6 * work)
    for k, sheet in enumerate(sheets):
        canvas.draw(k, sheet)
    image = np.zeros((canvas.rows, canvas.columns, 4))
    image[..., :3] = rgb
    image[..., 3] = (canvas.sheet >= 0).reshape(canvas.rows, canvas.columns)
    add_image(axes, image[::-1], canvas.extent(), 1)


def add_image(axes: Any, image: Floats, extent: tuple[float, float, float, float], order: float) -> None:
    """Put an image on the axes, and let them grow around it."""
    shown = axes.imshow(image, extent=extent, zorder=order, interpolation="antialiased", aspect="equal")
    shown.sticky_edges.x[:] = shown.sticky_edges.y[:] = []
    axes.update_datalim([extent[::2], extent[1::2]])
    axes.autoscale_view()
