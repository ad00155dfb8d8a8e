"""The picture of a reach map: cut open around the body, next to its section."""

from typing import Any

import numpy as np

from poise.batch import ReachMap
from poise.model.plane import is_planar
from poise.pictures.body.stick import Camera
from poise.pictures.maps.faces import VoxelFaces, choose_colors, find_faces
from poise.pictures.plots import draw_scene, make_figure

__all__ = ["draw_map"]

LIGHT = 0.35  # relative darkening of faces that are turned away


def draw_map(found: ReachMap, look: dict[str, Any]) -> Any:
    """Draw the map around its body, next to the section through its middle."""
    made, (left, right) = make_figure(9.6, 4.7, panels=2, widths=(1.15, 1.0))
    planar = found.model is not None and is_planar(found.model)
    flat = planar or found.transforms is not None
    camera = look["camera"] or (Camera.look_down() if planar else Camera())
    camera = camera.on(found.model) if found.model is not None else camera
    height = "xyz".index(camera.up or "z")
    cut = None if flat else choose_cut(camera, height)
    draw_faces(left, find_faces(found, cut=cut), camera)
    if found.pose is not None:
        draw_scene(left, found.pose, camera=camera, style=look["style"])
    left.set_aspect("equal")
    left.autoscale_view()
    left.set_axis_off()
    bases = "" if found.transforms is None else f"bases for {len(found.transforms)} poses: "
    left.set_title(f"{bases}{found.frame} of {found.name}", loc="left", fontsize=11)
    across = height if flat else (cut or (0, 0))[0]
    draw_section(made, right, found, across, height)
    return made


def choose_cut(camera: Camera, height: int) -> tuple[int, int]:
    """Return the horizontal axis closest to the line of sight, and the viewer's side of it."""
    depth = camera.measure_depth(np.eye(3))
    depth[height] = 0.0
    axis = int(np.argmax(np.abs(depth)))
    return axis, int(-np.sign(depth[axis]))


def draw_faces(axes: Any, faces: VoxelFaces, camera: Camera) -> None:
    """Draw the faces towards the viewer, farthest first."""
    from matplotlib.collections import PolyCollection

    towards = -camera.measure_depth(faces.normals)
    seen = np.flatnonzero(towards > 1e-9)
    depth = camera.measure_depth(faces.corners[seen].mean(axis=1))
    seen = seen[np.argsort(-depth)]
    shade = 1.0 - LIGHT * (1.0 - towards[seen])
    colors = choose_colors(faces.shares[seen]) * shade[:, None]
    axes.add_collection(
        PolyCollection(
            list(camera.project(faces.corners[seen])), facecolors=colors, edgecolors=colors, linewidths=0.3, zorder=1
        )
    )


def draw_section(made: Any, axes: Any, found: ReachMap, across: int, height: int) -> None:
    """Draw the middle layer of voxels across an axis, coloured by the share of orientations reached."""
    level = next(k for k in range(3) if k not in (across, height))
    x, y = [k for k in range(3) if k != across] if across == height else (level, height)
    layer = found.shape[across] // 2
    share = np.take(found.reached, layer, axis=across)
    share = share if x < y else share.T
    edges = [found.origin[k] + found.spacing * (np.arange(found.shape[k] + 1) - 0.5) for k in (x, y)]
    tones = axes.pcolormesh(*edges, np.ma.masked_equal(share, 0.0).T, cmap="viridis", vmin=0.0, vmax=1.0)
    place = found.origin[across] + found.spacing * layer
    axes.set_aspect("equal")
    axes.set(xlabel=f"{'xyz'[x]} [m]", ylabel=f"{'xyz'[y]} [m]")
    axes.set_title(f"section at {'xyz'[across]} = {place:.2g} m", loc="left", fontsize=9, color="#666666")
    if found.transforms is not None:
        axes.plot(found.transforms[:, x, 3], found.transforms[:, y, 3], ".", color="#cc3311", markersize=4)
    what = "orientations" if found.transforms is None else "poses"
    made.colorbar(tones, ax=axes, label=f"share of {what} reached", shrink=0.8)
