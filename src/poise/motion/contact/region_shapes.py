"""The shapes of regions: their extent along a vertical line, and their signed distance from points.

A line x + t u through a solid in its own axes, with s the slopes of the line and p a point on it:

    slab      |p + t s| <= half                       box, caps of a cylinder
    round     |p + t s|^2 <= r^2, a quadratic in t    sphere, side of a cylinder
"""

import numpy as np

from poise.arrays import Floats
from poise.kinematics.height_map import HeightMap
from poise.kinematics.regions import Box, Capsule, Cylinder, HalfSpace, Sphere

__all__ = ["Obstacle", "find_extent", "measure_gap"]

Obstacle = Box | Capsule | Cylinder | HalfSpace | HeightMap | Sphere
Extent = tuple[Floats, Floats]
STEEPEST = 0.3  # cosine of the steepest ground: a steeper half-space is a wall
TINY = 1e-12


def find_extent(region: Obstacle, places: Floats, up: Floats) -> Extent:
    """Return the lowest and highest height of a region on the vertical line through each place [m].

    A line that misses the region has a lowest height of inf and a highest height of -inf.
    """
    heights = places @ up
    if isinstance(region, HeightMap):
        above = region.measure_heights(places)
        return np.where(np.isfinite(above), -np.inf, np.inf), np.where(np.isfinite(above), heights - above, -np.inf)
    if isinstance(region, HalfSpace):
        slope = float(up @ np.array(region.normal))
        if slope < STEEPEST:
            return np.full(heights.shape, np.inf), np.full(heights.shape, -np.inf)
        return np.full(heights.shape, -np.inf), heights + (region.offset - places @ np.array(region.normal)) / slope
    if isinstance(region, Sphere):
        ways = cut_round(places - np.array(region.center), np.broadcast_to(up, places.shape), region.radius)
    elif isinstance(region, Box):
        ways = cut_slabs((places - np.array(region.center)) @ region.matrix, up @ region.matrix, np.array(region.size))
    else:
        ways = cut_rod(region, places, up)
    missed = ways[0] > ways[1]
    return np.where(missed, np.inf, heights + ways[0]), np.where(missed, -np.inf, heights + ways[1])


def cut_slabs(local: Floats, way: Floats, size: Floats) -> Extent:
    """Return the lengths along a line at which it enters and leaves a box around the origin."""
    slope = np.where(np.abs(way) < TINY, TINY, way)
    ends = np.sort(np.stack([(-0.5 * size - local) / slope, (0.5 * size - local) / slope]), axis=0)
    return ends[0].max(axis=-1), ends[1].min(axis=-1)


def cut_round(local: Floats, way: Floats, radius: float) -> Extent:
    """Return the lengths along a line at which it enters and leaves a ball, or a circle, around the origin."""
    a, b, c = (way * way).sum(axis=-1), (local * way).sum(axis=-1), (local * local).sum(axis=-1) - radius * radius
    inside = b * b - a * c
    root = np.sqrt(np.maximum(inside, 0.0))
    a = np.maximum(a, TINY)
    out, back = np.where(inside < 0.0, np.inf, (-b - root) / a), np.where(inside < 0.0, -np.inf, (-b + root) / a)
    along = a <= TINY  # a line along the axis of a circle is inside it everywhere, or nowhere
    return (
        np.where(along, np.where(c <= 0.0, -np.inf, np.inf), out),
        np.where(along, np.where(c <= 0.0, np.inf, -np.inf), back),
    )


def cut_rod(rod: Capsule | Cylinder, places: Floats, up: Floats) -> Extent:
    """Return the lengths along vertical lines at which they enter and leave a capsule or a cylinder."""
    start, axis = np.array(rod.start), np.subtract(rod.end, rod.start)
    length = float(np.linalg.norm(axis))
    axis = axis / max(length, TINY) if length > TINY else np.array(up)
    local = places - start
    along, slope = local @ axis, float(up @ axis)
    across, way = local - along[..., None] * axis, np.broadcast_to(up - slope * axis, places.shape)
    side = cut_round(across, way, rod.radius)
    caps = cut_slabs(along[..., None] - 0.5 * length, np.array([slope]), np.array([length]))
    body = np.maximum(side[0], caps[0]), np.minimum(side[1], caps[1])
    if isinstance(rod, Cylinder):
        return body
    missed = body[0] > body[1]
    ways = [(np.where(missed, np.inf, body[0]), np.where(missed, -np.inf, body[1]))]
    ways += [
        cut_round(places - np.array(end), np.broadcast_to(up, places.shape), rod.radius) for end in (rod.start, rod.end)
    ]
    return np.min([low for low, _ in ways], axis=0), np.max([high for _, high in ways], axis=0)


def measure_gap(region: Obstacle, places: Floats) -> tuple[Floats, Floats]:
    """Return the signed distance of places (..., 3) from a region [m], negative inside, and its gradient (..., 3)."""
    if isinstance(region, HeightMap):
        return region.measure_gaps(places)
    if isinstance(region, HalfSpace):
        normal = np.array(region.normal)
        return places @ normal - region.offset, np.broadcast_to(normal, places.shape)
    if isinstance(region, Box):
        return measure_box_gap(places - np.array(region.center), region.matrix, 0.5 * np.array(region.size))
    if isinstance(region, Cylinder):
        return measure_cylinder_gap(region, places)
    start = np.array(region.center if isinstance(region, Sphere) else region.start)
    way = np.zeros(3) if isinstance(region, Sphere) else np.subtract(region.end, region.start)
    share = np.clip((places - start) @ way / max(float(way @ way), TINY), 0.0, 1.0)
    apart = places - start - share[..., None] * way
    far = np.linalg.norm(apart, axis=-1)
    return far - region.radius, apart / np.maximum(far, TINY)[..., None]


def measure_box_gap(offset: Floats, axes: Floats, half: Floats) -> tuple[Floats, Floats]:
    """Return the signed distance from a box with given axes and half sizes, and its gradient."""
    local = offset @ axes
    over = np.abs(local) - half
    outside = np.maximum(over, 0.0)
    far, face = np.linalg.norm(outside, axis=-1), np.argmax(over, axis=-1)
    inward = np.eye(3)[face]
    normals = np.where(far[..., None] > 0.0, outside / np.maximum(far, TINY)[..., None], inward)
    return np.where(far > 0.0, far, over.max(axis=-1)), normals * np.where(local < 0.0, -1.0, 1.0) @ axes.T


def measure_cylinder_gap(rod: Cylinder, places: Floats) -> tuple[Floats, Floats]:
    """Return the signed distance from a cylinder, and its gradient."""
    way = np.subtract(rod.end, rod.start)
    length = float(np.linalg.norm(way))
    axis = way / max(length, TINY)
    offset = places - 0.5 * np.add(rod.start, rod.end)
    along = offset @ axis
    across = offset - along[..., None] * axis
    wide = np.linalg.norm(across, axis=-1)
    side, cap = wide - rod.radius, np.abs(along) - 0.5 * length
    out = np.maximum(np.stack([side, cap], axis=-1), 0.0)
    far = np.linalg.norm(out, axis=-1)
    weights = np.where(
        far[..., None] > 0.0, out / np.maximum(far, TINY)[..., None], np.stack([side >= cap, side < cap], axis=-1)
    )
    radial = across / np.maximum(wide, TINY)[..., None]
    normals = weights[..., :1] * radial + weights[..., 1:] * np.sign(along)[..., None] * axis
    return np.where(far > 0.0, far, np.maximum(side, cap)), normals
