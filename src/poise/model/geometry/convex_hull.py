"""Convex hulls of points.

Source: Barber, Dobkin and Huhdanpaa, The quickhull algorithm for convex hulls, ACM TOMS 22(4), 1996.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from poise.arrays import Floats
from poise.errors import InvalidValue
from poise.model.geometry.triangles import is_closed, merge_points

__all__ = ["ConvexHull", "find_hull", "find_ring"]

Indices = NDArray[np.int64]
ROUNDING = (1e-12, 1e-10, 1e-8, 1e-6)  # relative to the extent: heights that count as zero, tried in this order
LEAST_AREA = 1e-10  # relative to the square of the extent: the normal of a smaller triangle is not used

MOST_HEIGHTS = 10_000_000  # computed at once


class ConvexHull(NamedTuple):
    """A convex hull.

    Attributes:
        corners: Its corners, (n, 3) [m].
        faces: Its triangles, (m, 3) rows of corners, seen from outside counter-clockwise.
        planes: Outward normal and offset d of each, (m, 4), ``n . x <= d`` inside; zero normals for those without area.
        solid: Whether it has a volume. Otherwise the triangles are one side of a polygon, a segment or a point.
    """

    corners: Floats
    faces: Indices
    planes: Floats
    solid: bool


def find_hull(points: Floats) -> ConvexHull:
    """Return the convex hull of points (n, 3), one or more."""
    points = merge_points(points)[0]
    center = 0.5 * (points.min(axis=0) + points.max(axis=0))
    local = points - center
    extent = float(np.abs(local).max())
    rounding = ROUNDING[0] * extent + 1e-15 * float(np.abs(points).max())
    start = find_simplex(local, rounding)
    used, rows = np.unique(list_faces(local, start, extent, rounding), return_inverse=True)
    rows = rows.reshape(-1, 3)
    planes = find_planes(local[used], rows)
    for some in np.array_split(np.arange(len(planes)), 1 + planes.size * len(used) // MOST_HEIGHTS):
        planes[some, 3] = np.maximum(planes[some, 3], (planes[some, :3] @ local[used].T).max(axis=1))
    planes[:, 3] += planes[:, :3] @ center
    return ConvexHull(points[used], rows, planes, len(start) == 4)


def list_faces(points: Floats, start: list[int], extent: float, rounding: float) -> Any:
    """Return the triangles of the hull that contains the simplex `start`, (m, 3)."""
    if len(start) < 3:
        return [start + start[-1:] * (3 - len(start))]
    if len(start) == 3:
        return fan_polygon(points, start)
    for share in ROUNDING:
        faces = grow_hull(points, start, max(rounding, share * extent))
        if is_closed(points, faces):
            return faces
    raise InvalidValue("ConvexMesh: vertices are nearly in one plane, and have no convex hull within rounding errors.")


def find_simplex(points: Floats, rounding: float) -> list[int]:
    """Return up to four points that are far apart: one if all are equal, two on a line, three in a plane."""
    found = [int(np.argmin(points[:, 0]))]
    away = points - points[found[0]]
    for _ in range(3):
        distances = np.linalg.norm(away, axis=1)
        far = int(np.argmax(distances))
        if distances[far] <= rounding:
            break
        found.append(far)
        unit = away[far] / distances[far]
        away = away - np.outer(away @ unit, unit)
    return found


def fan_polygon(points: Floats, plane: list[int]) -> list[list[int]]:
    """Return triangles of the convex hull of points in the plane of three of them."""
    one, two, three = points[plane]
    x = (two - one) / np.linalg.norm(two - one)
    y = np.cross(np.cross(x, three - one), x)
    ring = find_ring(np.stack([points @ x, points @ (y / np.linalg.norm(y))], axis=1))
    return [[ring[0], ring[k], ring[k + 1]] for k in range(1, len(ring) - 1)]


def find_ring(flat: Floats) -> list[int]:
    """Return the indices of the corners of the hull of points in a plane (n, 2), counter-clockwise.

    Source: A. Andrew, Another efficient algorithm for convex hulls in two dimensions, 1979: monotone chains.
    """
    order, points, ring = np.lexsort(flat.T[::-1]).tolist(), flat.tolist(), list[int]()
    for side in (order, order[::-1]):
        chain: list[int] = []
        for k in side:
            while len(chain) > 1 and measure_turn(points[chain[-2]], points[chain[-1]], points[k]) <= 0.0:
                chain.pop()
            chain.append(k)
        ring += chain[:-1]
    return ring or order[:1]


def measure_turn(a: list[float], b: list[float], c: list[float]) -> float:
    """Return twice the signed area of a triangle in a plane."""
    return (b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0])


def grow_hull(points: Floats, start: list[int], rounding: float) -> Indices:
    """Return the triangles of the hull of points: a tetrahedron that takes in the farthest point outside of it."""
    a, b, c, d = start
    if np.dot(np.cross(points[b] - points[a], points[c] - points[a]), points[d] - points[a]) > 0.0:
        b, c = c, b
    faces = np.array([[a, b, c], [a, d, b], [b, d, c], [c, d, a]])
    planes = find_planes(points, faces)
    rest = np.arange(len(points))
    heights, owners = measure_heights(points, planes)
    while True:
        out = heights > rounding
        rest, heights, owners = rest[out], heights[out], owners[out]
        if not len(rest):
            return faces
        apex = rest[np.argmax(heights)]
        seen = planes[:, :3] @ points[apex] - planes[:, 3] > rounding
        rim = list_horizon(faces[seen], len(points))
        new = np.column_stack([rim, np.full(len(rim), apex)])
        faces, planes = np.concatenate([faces[~seen], new]), np.concatenate([planes[~seen], find_planes(points, new)])
        moved = seen[owners]
        owners = (np.cumsum(~seen) - 1)[owners]
        heights[moved], owners[moved] = measure_heights(points[rest[moved]], planes[-len(new) :])
        owners[moved] += len(faces) - len(new)


def list_horizon(faces: Indices, count: int) -> Indices:
    """Return the sides (n, 2) of faces that no other one of them shares."""
    sides = np.concatenate([faces[:, [0, 1]], faces[:, [1, 2]], faces[:, [2, 0]]])
    return sides[~np.isin(sides @ np.array([count, 1]), sides @ np.array([1, count]))]


def measure_heights(points: Floats, planes: Floats) -> tuple[Floats, Indices]:
    """Return the height of each point over the plane that it is highest over, and the row of that plane."""
    heights = points @ planes[:, :3].T - planes[:, 3]
    owners = np.argmax(heights, axis=1)
    return heights[np.arange(len(points)), owners], owners


def find_planes(points: Floats, faces: Indices) -> Floats:
    """Return normal and offset of triangles, (m, 4); below all points, with a zero normal, for those without area."""
    a, b, c = (points[faces[:, k]] for k in range(3))
    normals = np.cross(b - a, c - a)
    sizes = np.linalg.norm(normals, axis=1)
    extent = float(np.abs(points).max())
    whole = sizes > LEAST_AREA * extent**2
    normals = np.where(whole[:, None], normals / np.where(whole, sizes, 1.0)[:, None], 0.0)
    offsets = np.where(whole, np.max([np.einsum("ij,ij->i", normals, p) for p in (a, b, c)], axis=0), 4.0 * extent)
    return np.column_stack([normals, offsets])
