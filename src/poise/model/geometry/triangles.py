"""Triangulate simple solids: boxes, cylinders, balls and capsules around their own origin. Merge loose triangles.

Vertices (n, 3) [m] and faces (m, 3), seen from outside counter-clockwise.
"""

import numpy as np
from numpy.typing import NDArray

from poise.model.geometry.shapes import Box, Capsule, Cylinder, Geometry, Sphere

__all__ = ["AROUND", "RINGS", "is_closed", "join_corners", "merge_points", "triangulate", "triangulate_round"]

Triangles = tuple[NDArray[np.float64], NDArray[np.int64]]

AROUND = 32
RINGS = 12


def triangulate(solid: Geometry) -> Triangles | None:
    """Return the surface of a solid, or None for a mesh, which is a file."""
    if isinstance(solid, Box):
        return triangulate_box(solid.size)
    if isinstance(solid, Sphere):
        return triangulate_round(0.0, 0.0, solid.radius, solid.radius)
    if isinstance(solid, Capsule):
        return triangulate_round(0.0, solid.length, solid.radius, solid.radius)
    if isinstance(solid, Cylinder):
        return triangulate_round(solid.radius, solid.length, 0.0, 0.0)
    return None


def triangulate_box(size: tuple[float, float, float]) -> Triangles:
    """Return a box with four vertices per side, so that its edges stay sharp."""
    vertices: list[NDArray[np.float64]] = []
    faces: list[list[int]] = []
    for axis in range(3):
        for sign in (-1.0, 1.0):
            first = len(vertices)
            for u, v in ((-1, -1), (1, -1), (1, 1), (-1, 1)):
                p = np.zeros(3)
                p[axis], p[(axis + 1) % 3], p[(axis + 2) % 3] = sign, u, v
                vertices.append(p)
            order = [0, 1, 2, 0, 2, 3] if sign > 0 else [0, 2, 1, 0, 3, 2]
            faces += [[first + k for k in order[:3]], [first + k for k in order[3:]]]
    return np.array(vertices) * np.array(size) / 2, np.array(faces, np.int64)


def triangulate_round(core: float, length: float, low: float, high: float) -> Triangles:
    """Return a cylinder around z with edges of two radii, flattened at 45 degrees, or a capsule if its core is a line.

    The core has a radius and a length; `low` and `high` are added around its ends.
    """
    angle = np.pi / 2 * np.array([-1.0, 0.0, 0.0, 1.0]) if core else np.linspace(-np.pi / 2, np.pi / 2, 2 * RINGS)
    below = np.arange(len(angle)) < len(angle) / 2
    around, middle = np.where(below, low, high), np.where(below, -length / 2, length / 2)
    radii, heights = core + around * np.cos(angle), middle + around * np.sin(angle)
    return revolve(np.pad(radii, 1), np.pad(heights, 1, mode="edge")) if core else revolve(radii, heights)


def revolve(radii: NDArray[np.float64], heights: NDArray[np.float64]) -> Triangles:
    """Revolve a profile about z; repeated profile points make sharp edges."""
    turn = np.linspace(0.0, 2 * np.pi, AROUND, endpoint=False)
    ring = np.stack([np.cos(turn), np.sin(turn)], axis=1)
    flat = radii[:, None, None] * ring
    tall = np.repeat(heights[:, None, None], AROUND, axis=1)
    vertices = np.concatenate([flat, tall], axis=-1).reshape(-1, 3)
    k = np.arange(len(radii) * AROUND).reshape(len(radii), AROUND)
    a, b = k[:-1], k[1:]
    c, d = np.roll(b, -1, axis=1), np.roll(a, -1, axis=1)
    faces = np.concatenate([np.stack([a, c, b], axis=-1), np.stack([a, d, c], axis=-1)]).reshape(-1, 3)
    p, q, r = (vertices[faces[:, i]] for i in range(3))
    area = np.linalg.norm(np.cross(q - p, r - p), axis=1)
    return vertices, faces[area > 1e-18 + 1e-9 * area.max(initial=0.0)]


def merge_points(points: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Return the different points of (n, 3), and the row of each given one among them."""
    order = np.lexsort(points.T)
    new = np.diff(points[order], axis=0, prepend=np.nan).any(axis=1)
    number = np.empty(len(points), np.int64)
    number[order] = np.cumsum(new) - 1
    return points[order[new]], number


def is_closed(vertices: NDArray[np.float64], triangles: NDArray[np.int64]) -> bool:
    """Return whether every side of a triangle is the side of exactly one other one; equal vertices count as one."""
    rows = merge_points(vertices)[1][triangles]
    rows = rows[(rows != np.roll(rows, 1, axis=1)).all(axis=1)]
    sides = np.sort(np.concatenate([rows[:, [0, 1]], rows[:, [1, 2]], rows[:, [2, 0]]]), axis=1)
    counts = np.unique(sides @ np.array([len(vertices), 1]), return_counts=True)[1]
    return bool((counts == 2).all())


def join_corners(corners: NDArray[np.float32]) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
    """Convert loose triangles to vertices and indices; equal corners are merged."""
    bits = np.ascontiguousarray(corners + np.float32(0)).view(np.uint32).astype(np.uint64)  # removes the sign of zeros
    key = bits[:, 0] * np.uint64(0x9E3779B97F4A7C15)
    key ^= (bits[:, 1] + (key >> np.uint64(29))) * np.uint64(0xBF58476D1CE4E5B9)
    key ^= (bits[:, 2] + (key >> np.uint64(32))) * np.uint64(0x94D049BB133111EB)
    _, first, number = np.unique(key, return_index=True, return_inverse=True)
    return corners[first], number.reshape(-1, 3).astype(np.int64)
