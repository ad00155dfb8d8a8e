"""Surfaces: of simple solids, and smooth closed ones around round cones, for the flesh of body parts.

A round cone is a segment with a radius at each end. The surface is the zero of the smooth minimum of their distances,

    f(p) = smin_i ( |p - (a_i + t_i (b_i - a_i))| - (r_i + t_i (s_i - r_i)) ),   t_i in [0, 1] nearest to p,

meshed by surface nets: one vertex in each cell of a grid that the surface crosses, moved onto it along the gradient.
Source: S. Gibson, Constrained elastic surface nets, MICCAI 1998; I. Quilez, Smooth minimum (polynomial), 2013.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from poise.arrays import Floats
from poise.model.geometry.shapes import Geometry
from poise.model.geometry.triangles import triangulate
from poise.spatial import Transform

__all__ = ["RoundCone", "Surface", "mesh_solid", "round_surface"]

Faces = NDArray[np.int64]

FINEST = 9  # three times the number of cells per smallest radius; fewer for large parts
MOST_CELLS = 36  # along the longest side


@dataclass(frozen=True, slots=True)
class RoundCone:
    """A segment from a to b [m], with a radius at each end [m]."""

    a: tuple[float, float, float]
    b: tuple[float, float, float]
    start: float
    end: float


@dataclass(frozen=True, slots=True, eq=False)
class Surface:
    """A triangle mesh: vertices (n, 3) [m] and faces (m, 3), counter-clockwise from outside."""

    vertices: Floats
    faces: Faces

    def place(self, offset: Transform) -> Surface:
        """Return the surface at a transform."""
        return Surface(np.asarray(offset.apply(self.vertices)), self.faces)


def mesh_solid(solid: Geometry) -> Surface | None:
    """Return the surface of a solid, counter-clockwise from outside; None for a mesh."""
    found = triangulate(solid)
    return None if found is None else Surface(*found)


def round_surface(cones: Sequence[RoundCone], blend: float = 0.5) -> Surface:
    """Mesh the surface around all cones; `blend` is the width of the smooth transition, in mean radii."""
    radii = [radius for cone in cones for radius in (cone.start, cone.end)]
    soft = blend * float(np.mean(radii))
    ends = np.array([(cone.a, cone.b) for cone in cones])
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


def measure_distance(points: Floats, cones: Sequence[RoundCone], soft: float) -> Floats:
    """Return the signed distance of points (n, 3) from the blended surface; negative inside."""
    out: Floats | None = None
    for cone in cones:
        a, along = np.array(cone.a), np.subtract(cone.b, cone.a)
        length = float(along @ along)
        t = np.clip((points - a) @ along / length, 0.0, 1.0) if length > 0 else np.zeros(len(points))
        away = np.linalg.norm(points - a - t[:, None] * along, axis=1) - (cone.start + t * (cone.end - cone.start))
        if out is None:
            out = away
        else:
            h = np.maximum(soft - np.abs(out - away), 0.0) / max(soft, 1e-12)
            out = np.minimum(out, away) - 0.25 * soft * h * h
    assert out is not None
    return out


def step_onto(points: Floats, cones: Sequence[RoundCone], soft: float, step: float) -> Floats:
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
