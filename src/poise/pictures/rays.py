"""Ray casting: the body part under a click on a picture.

    o + t d = a + u (b - a) + v (c - a),   t > 0, u >= 0, v >= 0, u + v <= 1

Source: Möller and Trumbore, Fast, Minimum Storage Ray-Triangle Intersection, Journal of Graphics Tools 2(1), 1997.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from poise.arrays import Floats
from poise.model import Model
from poise.model.geometry.looks import Piece, deform
from poise.pictures.body.flesh import find_flesh
from poise.pictures.body.pieces import find_pieces

__all__ = ["find_hit", "meet_triangles"]


def meet_triangles(points: Any, triangles: Any, origin: Floats, direction: Floats) -> tuple[float, int]:
    """Return the distance along a ray to the first triangle, and its index; infinity and -1 if the ray hits none."""
    if not comes_near(np.asarray(points, np.float64), origin, direction):
        return np.inf, -1
    corners = np.asarray(points, np.float64)[np.asarray(triangles, np.int64)]
    a, one, two = corners[:, 0], corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0]
    across = np.cross(direction, two)
    size = np.einsum("ni,ni->n", one, across)
    flat = np.abs(size) < 1e-300
    over = 1.0 / np.where(flat, 1.0, size)
    from_a = origin - a
    u = np.einsum("ni,ni->n", from_a, across) * over
    beside = np.cross(from_a, one)
    v = (beside @ direction) * over
    t = np.einsum("ni,ni->n", two, beside) * over
    met = ~flat & (u >= 0.0) & (v >= 0.0) & (u + v <= 1.0) & (t > 0.0)
    if not met.any():
        return np.inf, -1
    far = np.where(met, t, np.inf)
    first = int(np.argmin(far))
    return float(far[first]), first


def comes_near(points: Floats, origin: Floats, direction: Floats) -> bool:
    """Return whether a ray hits the bounding sphere of points, which excludes most parts of a body."""
    if not len(points):
        return False
    low, high = points.min(axis=0), points.max(axis=0)
    away = 0.5 * (low + high) - origin
    off = away - direction * (away @ direction) / (direction @ direction)
    return bool(off @ off <= 0.2501 * ((high - low) @ (high - low)) + 1e-18 * (away @ away))


def find_hit(
    model: Model, T: Floats, origin: Floats, direction: Floats, *, pieces: Sequence[Piece] | None = None
) -> str | None:
    """Return the frame of the first surface that a ray hits, or None.

    Args:
        model: The body: its own meshes if its file has any, otherwise its flesh.
        T: The transforms of all frames of the model, (frames, 4, 4).
        origin: The start of the ray [m].
        direction: The direction of the ray.
        pieces: The visible meshes, by default all; an empty sequence tests the flesh.
    """
    best, frame = np.inf, None
    seen = find_pieces(model) if pieces is None else pieces
    for piece in seen:
        far, triangle = meet_triangles(deform(piece, model.frames, T), piece.patch.triangles, origin, direction)
        if far < best:
            best, frame = far, find_mover(piece, triangle)
    for part in () if seen else find_flesh(model):
        at = T[model.frames.index(part.frame)]
        placed = part.surface.vertices @ at[:3, :3].T + at[:3, 3]
        far, _ = meet_triangles(placed, part.surface.faces, origin, direction)
        if far < best:
            best, frame = far, part.frame
    return frame


def find_mover(piece: Piece, triangle: int) -> str:
    """Return the frame with the largest skinning weight at a triangle of a piece."""
    skin = piece.skin
    if skin is None:
        return piece.frame
    corners = np.asarray(piece.patch.triangles)[triangle]
    joints, weights = skin.joints[corners].ravel(), skin.weights[corners].ravel()
    return str(skin.frames[int(np.argmax(np.bincount(joints.astype(np.int64), weights)))])
