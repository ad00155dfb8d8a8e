"""A body as shaded solids on flat axes, painted back to front, with its shadow on the floor.

A solid is convex, so its outline is the hull of its projected corners; a rounded solid is painted as a few shrinking
outlines that get lighter towards the light. The drawing consists of polygons: sharp at any size in a PDF.
"""

from typing import Any

import numpy as np

from poise.arrays import Floats
from poise.kinematics import Pose
from poise.model.geometry.convex_hull import find_ring
from poise.pictures.body.solids import find_solids
from poise.pictures.body.stick import SHADOW, Camera
from poise.pictures.body.surface import Solid
from poise.pictures.marks import GoalMark

__all__ = ["BODY", "GHOST", "draw_clay", "draw_marks"]

BODY = "#8db0da"
GHOST = "#e6ebf0"
LAYERS = 11
EDGE = 0.12  # width of the edge around the end of a cylinder, relative to its radius
LIGHT = np.array([-0.42, 0.62])  # direction of the light in the picture, in radii
CIRCLE = np.stack([np.cos(t := np.linspace(0, 2 * np.pi, 25)[:-1]), np.sin(t)], axis=1)


def draw_clay(axes: Any, pose: Pose, camera: Camera, *, color: str = BODY, ghost: bool = False) -> None:
    """Draw a pose, shaded; a ghost is pale, flat and casts no shadow."""
    from matplotlib.collections import PolyCollection
    from matplotlib.colors import to_rgb

    solids = find_solids(pose.model)
    cores = [place_core(pose, solid) for solid in solids]
    if camera.floor is not None and not ghost:
        shade = [
            find_hull(draw_round(camera.cast_shadow(core), solid)) for core, solid in zip(cores, solids, strict=True)
        ]
        axes.add_collection(PolyCollection(shade, facecolor=SHADOW, edgecolor=SHADOW, linewidth=0.5, zorder=1))
    depths = np.array([camera.measure_depth(core).mean() for core in cores])
    span = max(float(np.ptp(depths)), 1e-9)
    polygons: list[Floats] = []
    colors: list[Floats] = []
    for k in np.argsort(-depths):
        base = np.array(to_rgb(color) if solids[k].color is None or ghost else solids[k].color)
        base = mix_colors(base, np.ones(3), 0.22 * (depths[k] - depths.min()) / span)  # distance fog
        flat, parts = camera.project(cores[k]), np.arange(1 if ghost else LAYERS) / LAYERS
        layers = [(shrink_outline(flat, solids[k], part), part**0.85) for part in parts]
        if solids[k].kind == "cylinder" and not ghost:
            layers.append(find_near_end(cores[k], camera))
        polygons += [outline for outline, _ in layers]
        dark, pale = 0.66 * base, mix_colors(base, np.ones(3), 0.6)
        colors += [base if ghost else mix_colors(dark, pale, light) for _, light in layers]
    order = 2 if ghost else 3
    axes.add_collection(PolyCollection(polygons, facecolor=colors, edgecolor=colors, zorder=order, linewidth=0.35))
    axes.autoscale_view()


def find_near_end(core: Floats, camera: Camera) -> tuple[Floats, float]:
    """Return the visible end of a cylinder, a polygon of the picture, and its brightness, 0 to 1."""
    far, near = sorted(core.reshape(2, -1, 3), key=lambda end: -float(camera.measure_depth(end).mean()))
    out = (near - far).mean(axis=0)
    up = float(out["xyz".index(camera.up or "z")]) / max(float(np.linalg.norm(out)), 1e-12)
    return find_hull(camera.project(near + EDGE * (near.mean(axis=0) - near))), 0.4 + 0.3 * up


def shrink_outline(flat: Floats, solid: Solid, part: float) -> Floats:
    """Return the outline of a solid, shrunk by `part` and moved towards the light; angular solids shrink less."""
    if solid.kind == "cylinder":  # shrunk to its axis
        ends = flat.reshape(2, -1, 2).mean(axis=1)
        way = ends[1] - ends[0]
        long = float(np.linalg.norm(way))
        light = LIGHT - way * (LIGHT @ way) / max(long * long, 1e-12)
        middle = np.repeat(ends, len(flat) // 2, axis=0)
        return find_hull(middle + (1 - part) * (flat - middle) + 0.4 * part * solid.half[0] * light)
    if max(solid.round) == 0.0:
        centre = flat.mean(axis=0)
        return find_hull(centre + (1 - 0.25 * part) * (flat - centre))
    lit = flat + 0.55 * part * np.repeat(solid.round, len(flat) // 2)[:, None] * LIGHT
    return find_hull(draw_round(lit, solid, 1.0 - part))


def mix_colors(a: Floats, b: Floats, part: float) -> Floats:
    """Mix two colours; 0 gives the first, 1 the second."""
    out: Floats = (1 - part) * a + part * b
    return out


def place_core(pose: Pose, solid: Solid) -> Floats:
    """Return the corners of a solid's core in the world, (n, 3); those of a cylinder include its rounded edges."""
    if solid.kind == "capsule":
        corners = np.array([[0.0, 0.0, -1.0], [0.0, 0.0, 1.0]])
    elif solid.kind == "cylinder":
        corners = np.concatenate([np.insert(CIRCLE, 2, z, axis=1) for z in (-1.0, 1.0)])
    else:
        corners = np.array([[x, y, z] for z in (-1, 1) for x in (-1, 1) for y in (-1, 1)], dtype=np.float64)
    T = solid.T_frame_solid if solid.frame is None else pose.model.fk(pose.q, solid.frame) @ solid.T_frame_solid
    half = np.array(solid.half) + (max(solid.round) if solid.kind == "cylinder" else 0.0)
    out: Floats = (corners * half) @ T[:3, :3].T + T[:3, 3]
    return out


def draw_round(flat: Floats, solid: Solid, part: float = 1.0) -> Floats:
    """Return points of the picture around a solid's core, (n, 2); the first half of `flat` is its low end."""
    if solid.kind == "cylinder" or max(solid.round) == 0.0:
        return flat
    radii = np.repeat(solid.round, len(flat) // 2) * part
    out: Floats = (flat[:, None, :] + radii[:, None, None] * CIRCLE).reshape(-1, 2)
    return out


def find_hull(flat: Floats) -> Floats:
    """Return the corners of the convex hull."""
    return flat[find_ring(flat)]


# ------------------------------------------------------------------------------------------------ goals


def draw_marks(axes: Any, marks: list[GoalMark], camera: Camera) -> None:
    """Draw the goals of a solution: places with plumb lines, gazes, supports, the centre of mass."""
    for mark in marks:
        flat = camera.project(mark.points)
        if mark.kind == "place":
            draw_place(axes, mark, camera)
        elif mark.kind == "gaze":
            axes.plot(*flat.T, "--", color=mark.color, linewidth=1.1, zorder=4)
        elif mark.kind == "support":
            closed = np.concatenate([flat, flat[:1]])
            axes.fill(*closed.T, facecolor=mark.color, alpha=0.16, linewidth=0, zorder=1.5)
            axes.plot(*closed.T, color=mark.color, linewidth=1.0, zorder=1.6)
        else:
            axes.plot(*flat.T, ":", color=mark.color, linewidth=1.1, zorder=4.5)
            axes.plot(*flat[0], "o", color="white", markeredgecolor=mark.color, markersize=6, zorder=5)
            axes.plot(*flat[0], "+", color=mark.color, markersize=6, zorder=5)


def draw_place(axes: Any, mark: GoalMark, camera: Camera) -> None:
    """Draw a ring with a dot at the target, and a line to the frame if the target was missed."""
    target, held = camera.project(mark.points)
    if camera.floor is not None:
        below = camera.cast_shadow(mark.points[0])
        axes.plot([target[0], below[0]], [target[1], below[1]], ":", color=mark.color, linewidth=0.9, zorder=1.7)
    if not mark.reached:
        axes.plot([target[0], held[0]], [target[1], held[1]], "-", color=mark.color, linewidth=1.4, zorder=5)
    axes.plot(*target, "o", color="none", markeredgecolor="white", markersize=9.5, markeredgewidth=3.4, zorder=5)
    axes.plot(*target, "o", color="none", markeredgecolor=mark.color, markersize=9.5, markeredgewidth=1.8, zorder=5.1)
    axes.plot(*target, "o", color=mark.color, markersize=3.6, markeredgewidth=0, zorder=5.1)
