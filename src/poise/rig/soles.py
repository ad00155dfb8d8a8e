"""Soles: the lowest places of a foot, by its solids, else by its meshes, else by its frames.

What is within LAYER of the lowest place in the rest pose touches the ground with it, as in `poise.goals.contacts`.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from poise.errors import PoiseError
from poise.formats.meshes import read_vertices
from poise.formats.packages import Finder
from poise.goals.contacts import LAYER, drop_repeated, find_ends, list_corners
from poise.model import Mesh, Model

__all__ = ["ORIGIN", "Place", "Triple", "find_sole", "place_of", "triple"]

Floats = NDArray[np.float64]
Triple = tuple[float, float, float]
Place = tuple[str, Triple]

ORIGIN: Triple = (0.0, 0.0, 0.0)
MOST = 8  # points of a sole


def find_sole(model: Model, frames: set[str]) -> list[Place]:
    """Return the lowest places of some frames in the rest pose, at most MOST of them, the outermost ones."""
    solids = [(frame, triple(point)) for frame, point in list_corners(model, frames)] or list_seen_points(model, frames)
    origins = [(name, ORIGIN) for name in model.frames if name in frames]
    places = [*origins, *(solids or list_mesh_points(model, frames))]
    heights = [float(place_of(model, place) @ model.up_direction) for place in places]
    ground = min(heights) + LAYER * model.length
    low = [(frame, np.array(point)) for (frame, point), h in zip(places, heights, strict=True) if h <= ground]
    return keep_corners(model, [(frame, triple(point)) for frame, point in drop_repeated(model, low)])


def list_seen_points(model: Model, frames: set[str]) -> list[Place]:
    """Return the corners of solids that are for the eye alone."""
    seen = [shape for shape in model.shapes if shape.frame in frames and shape.use == "visual"]
    return [(shape.frame, triple(np.asarray(shape.offset.apply(p)))) for shape in seen for p in find_ends(shape.shape)]


def list_mesh_points(model: Model, frames: set[str]) -> list[Place]:
    """Return the outermost of the lowest vertices of the meshes on some frames; none where no mesh can be read.

    Those that are for bumping are looked at first, those for the eye where there are none.
    """
    about = model._attached.look
    meshes = [shape for shape in model.shapes if isinstance(shape.shape, Mesh) and shape.frame in frames]
    found: list[Place] = []
    if about is None:
        return found
    finder = Finder(about)
    for use in (True, False):
        for shape in (shape for shape in meshes if (shape.use != "visual") == use and not found):
            mesh = shape.shape
            assert isinstance(mesh, Mesh)
            path = finder.find(mesh.path)
            vertices = None if path is None else read_quietly(str(path))
            if vertices is not None:
                matrix = np.array(shape.offset.matrix) @ np.diag([*mesh.scale, 1.0])
                points = vertices @ matrix[:3, :3].T + matrix[:3, 3]
                found += [(shape.frame, triple(points[k])) for k in find_lowest(model, shape.frame, points)]
    return found


def read_quietly(path: str) -> Floats | None:
    """Return the vertices of a mesh, (n, 3); None where it cannot be read."""
    try:
        return read_vertices(path)
    except (PoiseError, OSError):
        return None


def find_lowest(model: Model, frame: str, points: Floats) -> Iterator[int]:
    """Yield which points of a frame are the outermost ones of its lowest layer."""
    T = model.fk(model.rest, frame)
    places = points @ T[:3, :3].T + T[:3, 3]
    heights = places @ model.up_direction
    low = np.flatnonzero(heights <= heights.min() + LAYER * model.length)
    yield from (int(low[k]) for k in find_outermost(model, places[low]))


def keep_corners(model: Model, points: list[Place]) -> list[Place]:
    """Return the outermost points, at most MOST of them."""
    if len(points) <= MOST:
        return points
    return [points[k] for k in find_outermost(model, np.array([place_of(model, point) for point in points]))]


def find_outermost(model: Model, places: Floats) -> list[int]:
    """Return which places are the outermost ones seen from above, in MOST directions."""
    up = model.up_direction
    one = np.cross(up, np.eye(3)[int(np.argmin(np.abs(up)))])
    other = np.cross(up, one)
    turns = (np.arange(MOST) + 0.5) * (2.0 * np.pi / MOST)
    return sorted({int(np.argmax(places @ (np.cos(turn) * one + np.sin(turn) * other))) for turn in turns})


def place_of(model: Model, point: Place, q: Floats | None = None) -> Floats:
    """Return where a point of a frame is, in the rest pose unless q is given."""
    T = model.fk(model.rest if q is None else q, point[0])
    out: Floats = T[:3, :3] @ np.array(point[1]) + T[:3, 3]
    return out


def triple(x: Floats) -> Triple:
    """Return three plain numbers."""
    return float(x[0]), float(x[1]), float(x[2])
