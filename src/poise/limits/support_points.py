"""Support points: the points of a body that can touch a plane, and the limit that keeps them on one side of it.

A convex shape touches a plane at its support point in the direction of the plane. Spheres and capsules are balls around
their ends, boxes and cylinders have their corners and rims, and a mesh has the vertices that are extreme in many
directions, which is exact to a few millimetres for parts of a person's size. Visual shapes that stand out of the
collision shapes of their frame belong to the body, because they are what one sees. Parts without readable shapes have
the capsules of their bones (`poise.limits.skeleton`). Unlike the capsules that contain a mesh, support points are on
it, so that a body rests on a floor and not above it.
"""

from dataclasses import dataclass

import numpy as np

from poise.arrays import Floats
from poise.limits.capsules import cover_solid
from poise.limits.clearance import Clearance
from poise.limits.skeleton import BodyCapsule, cover_missing, list_solids
from poise.model import Model
from poise.model.geometry.shapes import Capsule, Shape, Sphere
from poise.model.geometry.solids import make_triple
from poise.model.geometry.surfaces import SurfaceReader, find_protruding, open_surfaces, read_vertices
from poise.model.memo import keep_with_model
from poise.spatial.directions import spread_directions

__all__ = ["AROUND", "PointClearance", "SupportPoints", "find_support_points", "pair_points", "thin_points"]

AXES = np.concatenate([np.eye(3), -np.eye(3)])
MIRROR = (1.0, -1.0, 1.0)
AROUND = np.concatenate([spread_directions(64, 0.5) * MIRROR, AXES])  # of extreme vertices: 25 degrees apart
MANY = np.concatenate([spread_directions(1000, 0.5) * MIRROR, AXES])  # to check a hull: 6 degrees apart
THIN = 3  # of these directions, every third one serves for few points


@dataclass(frozen=True, eq=False, slots=True)
class SupportPoints:
    """The support points of one frame.

    Attributes:
        frame: The frame.
        points: Their positions in the frame, (n, 3) [m].
        radius: The radius of the ball around each, (n,) [m].
        solid: Whether they are from the shapes of the body, not from its bones.
        seen: Whether they are from a visual shape that stands out of the collision shapes.
    """

    frame: str
    points: Floats
    radius: Floats
    solid: bool
    seen: bool = False


@dataclass(frozen=True)
class PointClearance(Clearance):
    """Keep given balls of the body out of the world's half-spaces; segments between two balls are two of them."""

    points: tuple[BodyCapsule, ...] = ()

    def capsules(self, model: Model) -> tuple[BodyCapsule, ...]:
        """Return the given balls and segments."""
        return self.points


@keep_with_model
def find_support_points(model: Model, error: float | None = None) -> tuple[SupportPoints, ...]:
    """Return the support points of every part of a body with shapes, mass or bones; one or more entries per frame.

    With an `error` [m], as many vertices are chosen that their convex hull is exact to within it.
    """
    solids, reader = list_solids(model), open_surfaces(model)
    found = [each for shape in solids if (each := touch(shape, reader, error)) is not None]
    for shape, vertices in find_protruding(model, model.frames, reader):
        found.append(choose_points(shape.frame, vertices, error, seen=True))
    bones = cover_missing(model, solids, (each.frame for each in found))
    return (*found, *(make_ball_ends(capsule, solid=False) for capsule in bones))


def touch(shape: Shape, reader: SurfaceReader, error: float | None) -> SupportPoints | None:
    """Return the support points of a shape, or None if its mesh is missing or unreadable."""
    if isinstance(shape.shape, (Sphere, Capsule)):
        return make_ball_ends(cover_solid(shape), solid=True)
    vertices = read_vertices(shape, reader)
    if vertices is None:
        return None
    return choose_points(shape.frame, vertices, error)


def choose_points(frame: str, vertices: Floats, error: float | None, *, seen: bool = False) -> SupportPoints:
    """Return the support points of a shape with given vertices in its frame (n, 3)."""
    points = vertices[np.unique(np.argmax(AROUND @ vertices.T, axis=1))]
    points = points if error is None else add_corners(points, vertices, error)
    return SupportPoints(frame, points, np.zeros(len(points)), solid=True, seen=seen)


def add_corners(points: Floats, vertices: Floats, error: float) -> Floats:
    """Return points of a hull and further vertices, the farthest outside first, until all are inside to within `error`.

    The distance is measured in the directions MANY.
    """
    blocks = np.array_split(MANY, 10)
    outer = vertices[np.unique(np.concatenate([np.argmax(ways @ vertices.T, axis=1) for ways in blocks]))]
    heights = outer @ MANY.T
    most, own = heights.max(axis=0), (points @ MANY.T).max(axis=0)
    chosen = list[int]()
    while (missing := most - own).max() > error:
        chosen.append(int(heights[:, int(missing.argmax())].argmax()))
        own = np.maximum(own, heights[chosen[-1]])
    return np.concatenate([points, outer[chosen]])


def thin_points(part: SupportPoints) -> SupportPoints:
    """Return about a third of the support points of a part: those that are extreme in every third direction."""
    kept = np.unique(np.argmax(part.points @ AROUND[::THIN].T + part.radius[:, None], axis=0))
    return SupportPoints(part.frame, part.points[kept], part.radius[kept], part.solid)


def make_ball_ends(capsule: BodyCapsule, *, solid: bool) -> SupportPoints:
    """Return the balls at the ends of a capsule, a single one for a sphere."""
    ends = np.array([capsule.a] if capsule.a == capsule.b else [capsule.a, capsule.b])
    return SupportPoints(capsule.frame, ends, np.full(len(ends), capsule.radius), solid)


def pair_points(frame: str, points: Floats, radius: Floats) -> list[BodyCapsule]:
    """Return segments whose ends are the given points; half-spaces are kept clear of both ends."""
    out = []
    for size in np.unique(radius):
        own = points[radius == size]
        own = own if len(own) % 2 == 0 else np.concatenate([own, own[-1:]])
        out += [
            BodyCapsule(frame, make_triple(a), make_triple(b), float(size))
            for a, b in zip(own[::2], own[1::2], strict=True)
        ]
    return out
