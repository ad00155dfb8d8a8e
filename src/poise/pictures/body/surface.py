"""Solids, their surfaces, and smooth closed surfaces around capsules, for the flesh of body parts.

A capsule is a segment with a radius at each end. The surface is the zero of the smooth minimum of their distances,

    f(p) = smin_i ( |p - (a_i + t_i (b_i - a_i))| - (r_i + t_i (s_i - r_i)) ),   t_i in [0, 1] nearest to p,

meshed by surface nets: one vertex in each cell of a grid that the surface crosses, moved onto it along the gradient.
Source: S. Gibson, Constrained elastic surface nets, MICCAI 1998; I. Quilez, Smooth minimum (polynomial), 2013.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from poise.arrays import Floats
from poise.model.geometry.shapes import Box, Capsule, Cylinder, Shape, Sphere
from poise.model.geometry.triangles import triangulate, triangulate_round
from poise.spatial.rotation import turn_z_to

__all__ = [
    "Solid",
    "Surface",
    "join_solids",
    "make_capsule",
    "make_cylinder",
    "make_solid",
    "mesh_solid",
    "round_surface",
]

Faces = NDArray[np.int64]

FINEST = 9  # three times the number of cells per smallest radius; fewer for large parts
MOST_CELLS = 36  # along the longest side
BLEND = 0.5  # mean radii: the width of a smooth transition


@dataclass(frozen=True, slots=True, eq=False)
class Solid:
    """A convex solid fixed to a frame: a core (a box, or a cylinder along z), with a rounding radius around it.

    The core of a capsule is a segment, that of a ball a point.

    Attributes:
        frame: The frame that carries it, or None for the world.
        kind: "capsule", "cylinder" or "box".
        T_frame_solid: The transform from its own axes to the frame, (4, 4).
        half: The half extents of the core along its own axes [m].
        round: The radius around the core, at the low and the high end of its z axis [m].
        color: Red, green, blue, 0 to 1, or None for the body's own colour.
    """

    frame: str | None
    kind: str
    T_frame_solid: Floats
    half: tuple[float, float, float]
    round: tuple[float, float]
    color: tuple[float, float, float] | None = None

    @property
    def ends(self) -> Floats:
        """The ends of the core on its z axis, in the frame [m], (2, 3)."""
        along = self.half[2] * self.T_frame_solid[:3, 2]
        return np.array(self.T_frame_solid[:3, 3] + [-along, along])


@dataclass(frozen=True, slots=True, eq=False)
class Surface:
    """A triangle mesh: vertices (n, 3) [m] and faces (m, 3), counter-clockwise from outside."""

    vertices: Floats
    faces: Faces


def make_capsule(
    frame: str | None,
    a: Floats,
    b: Floats,
    radius: float | tuple[float, float],
    color: tuple[float, float, float] | None = None,
) -> Solid:
    """Make a capsule between two points of a frame; a ball if they are equal."""
    length = float(np.linalg.norm(b - a))
    T = np.eye(4)
    T[:3, :3] = turn_z_to((b - a) / length) if length > 1e-12 else np.eye(3)
    T[:3, 3] = (a + b) / 2
    low, high = radius if isinstance(radius, tuple) else (radius, radius)
    return Solid(frame, "capsule", T, (0.0, 0.0, length / 2), (low, high), color)


def make_cylinder(
    a: Floats, b: Floats, radius: float, bevel: float, color: tuple[float, float, float] | None = None
) -> Solid:
    """Make a cylinder with rounded edges between two points of the world."""
    axis = make_capsule(None, a, b, bevel, color)
    return replace(axis, kind="cylinder", half=(radius - bevel, radius - bevel, axis.half[2] - bevel))


def make_solid(shape: Shape) -> Solid | None:
    """Convert a shape of the body's file to a solid; None for a mesh."""
    body, T = shape.shape, np.array(shape.offset.matrix)
    color = None if shape.color is None else shape.color[:3]
    if isinstance(body, Sphere):
        return Solid(shape.frame, "capsule", T, (0.0, 0.0, 0.0), (body.radius,) * 2, color)
    if isinstance(body, Capsule):
        return Solid(shape.frame, "capsule", T, (0.0, 0.0, body.length / 2), (body.radius,) * 2, color)
    if isinstance(body, Cylinder):
        return Solid(shape.frame, "cylinder", T, (body.radius, body.radius, body.length / 2), (0.0, 0.0), color)
    if isinstance(body, Box):
        x, y, z = body.size
        return Solid(shape.frame, "box", T, (x / 2, y / 2, z / 2), (0.0, 0.0), color)
    return None


def mesh_solid(solid: Solid) -> Surface:
    """Return the surface of a solid, counter-clockwise from outside."""
    x, y, z = (2.0 * half for half in solid.half)
    found = triangulate(Box((x, y, z))) if solid.kind == "box" else triangulate_round(x / 2.0, z, *solid.round)
    assert found is not None
    return Surface(found[0] @ solid.T_frame_solid[:3, :3].T + solid.T_frame_solid[:3, 3], found[1])


def round_surface(cones: Sequence[Solid]) -> Surface:
    """Mesh the surface around all capsules, with smooth transitions."""
    radii = [radius for cone in cones for radius in cone.round]
    soft = BLEND * float(np.mean(radii))
    ends = np.array([cone.ends for cone in cones])
    reach = max(radii) + soft
    low, high = ends.min(axis=(0, 1)) - reach, ends.max(axis=(0, 1)) + reach
    cell = max(min(radii) / FINEST * 3.0, float((high - low).max()) / MOST_CELLS)
    counts = np.ceil((high - low) / cell).astype(int) + 1
    grid = np.stack(np.meshgrid(*(low[k] + cell * np.arange(counts[k]) for k in range(3)), indexing="ij"), axis=-1)
    values = measure_distance(grid.reshape(-1, 3), cones, soft).reshape(counts)
    vertices, faces = net_surface(grid, values)
    for _ in range(4):
        vertices = vertices - step_onto(vertices, cones, soft, 0.05 * cell)
    return Surface(vertices, faces)


def join_solids(solids: Sequence[Solid]) -> Surface:
    """Return the surfaces of several solids as one."""
    surfaces = [mesh_solid(solid) for solid in solids]
    starts = np.cumsum([0, *(len(surface.vertices) for surface in surfaces)])
    faces = [surface.faces + start for surface, start in zip(surfaces, starts, strict=False)]
    return Surface(np.concatenate([surface.vertices for surface in surfaces]), np.concatenate(faces))


def measure_distance(points: Floats, cones: Sequence[Solid], soft: float) -> Floats:
    """Return the signed distance of points (n, 3) from the blended surface; negative inside."""
    out: Floats | None = None
    for cone in cones:
        (a, b), (start, end) = cone.ends, cone.round
        along = b - a
        length = float(along @ along)
        t = np.clip((points - a) @ along / length, 0.0, 1.0) if length > 0 else np.zeros(len(points))
        away = np.linalg.norm(points - a - t[:, None] * along, axis=1) - (start + t * (end - start))
        if out is None:
            out = away
        else:
            h = np.maximum(soft - np.abs(out - away), 0.0) / max(soft, 1e-12)
            out = np.minimum(out, away) - 0.25 * soft * h * h
    assert out is not None
    return out


def step_onto(points: Floats, cones: Sequence[Solid], soft: float, step: float) -> Floats:
    """Return the displacement of points from the surface, along its gradient, (n, 3)."""
    offsets = step * np.concatenate([np.eye(3), -np.eye(3)])
    around = measure_distance((points[None] + offsets[:, None]).reshape(-1, 3), cones, soft).reshape(6, -1)
    slope = ((around[:3] - around[3:]) / (2 * step)).T
    steep = np.maximum((slope * slope).sum(axis=1), 0.25)
    moved: Floats = (measure_distance(points, cones, soft) / steep)[:, None] * slope
    return moved


def net_surface(grid: Floats, values: Floats) -> tuple[Floats, Faces]:
    """Return vertices and triangles where values change sign on a grid of points (x, y, z, 3)."""
    shape = np.array(values.shape) - 1
    inside = values < 0.0
    total, hits = np.zeros((*shape, 3)), np.zeros(shape)
    corners = [np.array(c) for c in np.ndindex(2, 2, 2)]
    for i, one in enumerate(corners):
        for other in corners[i + 1 :]:
            if np.abs(one - other).sum() != 1:
                continue
            u, v = (tuple(slice(c[k], c[k] + shape[k]) for k in range(3)) for c in (one, other))
            cut = inside[u] != inside[v]
            t = np.where(cut, values[u] / np.where(cut, values[u] - values[v], 1.0), 0.0)[..., None]
            total += np.where(cut[..., None], grid[u] + t * (grid[v] - grid[u]), 0.0)
            hits += cut
    used = hits > 0
    index = np.full(tuple(shape), -1)
    index[used] = np.arange(int(used.sum()))
    return total[used] / hits[used][:, None], net_faces(inside, index)


def net_faces(inside: NDArray[np.bool_], index: Faces) -> Faces:
    """Return two triangles around each grid edge that the surface crosses."""
    quads = []
    for axis in range(3):
        j, k = (axis + 1) % 3, (axis + 2) % 3
        first = np.moveaxis(inside, (axis, j, k), (0, 1, 2))
        cells = np.moveaxis(index, (axis, j, k), (0, 1, 2))
        here, there = first[:-1, 1:-1, 1:-1], first[1:, 1:-1, 1:-1]
        for inward, flip in ((here & ~there, False), (~here & there, True)):
            x, y, z = np.nonzero(inward)
            ring = [cells[x, y + dy, z + dz] for dy, dz in ((0, 0), (1, 0), (1, 1), (0, 1))]
            quads.append(np.stack(ring[::-1] if flip else ring, axis=1))
    q = np.concatenate(quads)
    return np.concatenate([q[:, [0, 1, 2]], q[:, [0, 2, 3]]])
