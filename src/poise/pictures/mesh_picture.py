"""Pictures of a body's own meshes on flat axes: a shaded image, and its shadow on the floor."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from poise.arrays import Floats
from poise.kinematics import Pose
from poise.model.geometry.looks import Material, Patch, Piece, deform, deform_normals
from poise.pictures.body.pieces import make_piece
from poise.pictures.body.stick import SHADOW, Camera
from poise.pictures.body.surface import Solid, mesh_solid
from poise.pictures.raster import Canvas, Sheet, count_pixels, paint_sheets
from poise.pictures.textures import find_opacity

__all__ = ["draw_meshes"]


PIXELS, SHADOW_PIXELS = 900, 400
WORLD = " world"  # no frame of a body has this name


def draw_meshes(
    axes: Any,
    pose: Pose,
    pieces: tuple[Piece, ...],
    camera: Camera,
    *,
    color: str | None = None,
    ghost: bool = False,
    pixels: int = PIXELS,
    pixel: float = 0.0,
    beside: Sequence[Solid] = (),
    closed: bool = False,
) -> None:
    """Draw a pose with its meshes in an image of `pixels` pixels; a ghost is pale and casts no shadow.

    `color` applies to all meshes of the body; solids next to the body, in the world, keep their own. The image is not
    finer than `pixel`, the side of a pixel of the final picture [m], if that is given. `closed` meshes have no holes:
    their back faces are skipped.
    """
    from matplotlib.colors import to_rgb

    T, frames = pose.model.fk(pose.q), pose.model.frames
    things = tuple(make_thing(solid) for solid in beside)
    if things:
        T, frames = np.concatenate([T, np.eye(4)[None]]), (*frames, WORLD)
    right, up, near = camera.project(np.eye(3)).T[0], camera.project(np.eye(3)).T[1], -camera.measure_depth(np.eye(3))
    sheets, shadows = [], []
    for piece in (*pieces, *things):
        opacity = find_opacity(piece.patch.material)
        if opacity == 0.0:
            continue
        points = deform(piece, frames, T)
        normals = deform_normals(piece, frames, T, points) @ np.stack([right, up, near]).T
        own = color is None or piece.frame == WORLD
        patch = piece.patch if own else paint_patch(piece.patch, to_rgb(str(color)))
        whole = closed or piece.frame == WORLD
        sheets.append(Sheet(camera.project(points), camera.measure_depth(points), normals, patch, whole))
        if camera.floor is not None and not ghost and opacity == 1.0:
            shadows.append(
                Sheet(
                    camera.cast_shadow(points), np.zeros(len(points)), normals, Patch(patch.vertices, patch.triangles)
                )
            )
    if shadows:
        draw_shadow(axes, shadows, to_rgb(SHADOW), pixel)
    if sheets:
        image, extent = paint_sheets(sheets, int(pixels / max(len(axes.figure.axes) - 1, 1) ** 0.5), pixel)
        add_image(axes, image * (1, 1, 1, 0.35 if ghost else 1), extent, 2 if ghost else 3)


def make_thing(solid: Solid) -> Piece:
    """Convert a solid of the world to a piece."""
    return make_piece(mesh_solid(solid), WORLD, np.eye(4), None if solid.color is None else (*solid.color, 1.0))


def paint_patch(patch: Patch, rgb: tuple[float, float, float]) -> Patch:
    """Return the patch in one uniform colour."""
    return Patch(patch.vertices, patch.triangles, Material((*rgb, 1.0)), None, patch.normals)


def draw_shadow(axes: Any, sheets: list[Sheet], rgb: tuple[float, float, float], pixel: float = 0.0) -> None:
    """Draw the shadow of sheets that are projected on the floor."""
    every = np.concatenate([sheet.flat for sheet in sheets])
    pixels = count_pixels(every, SHADOW_PIXELS, pixel)
    work = sum(float(np.prod(np.ptp(s.flat[s.patch.triangles.astype(np.int64)], axis=1), axis=1).sum()) for s in sheets)
    canvas = Canvas(every.min(axis=0), every.max(axis=0), pixels, 6 * work)
    for k, sheet in enumerate(sheets):
        canvas.draw(k, sheet)
    image = np.zeros((canvas.rows, canvas.columns, 4))
    image[..., :3] = rgb
    image[..., 3] = (canvas.sheet >= 0).reshape(canvas.rows, canvas.columns)
    add_image(axes, image[::-1], canvas.extent(), 1)


def add_image(axes: Any, image: Floats, extent: tuple[float, float, float, float], order: float) -> None:
    """Add an image to the axes, and extend their limits to it."""
    shown = axes.imshow(image, extent=extent, zorder=order, interpolation="antialiased", aspect="equal")
    shown.sticky_edges.x[:] = shown.sticky_edges.y[:] = []
    axes.update_datalim([extent[::2], extent[1::2]])
    axes.autoscale_view()
