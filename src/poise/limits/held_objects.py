"""Objects that a body holds: they are parts of it.

Spheres and capsules are exact. Boxes are covered by parallel capsules, cylinders and convex meshes by spheres: they
contain the object and stand out by at most `BOX_EXCESS` or `MOST_EXCESS` of its extent.
"""

import math
from collections.abc import Iterable, Mapping
from enum import Enum
from typing import Any

import numpy as np

from poise.arrays import Floats
from poise.errors import InvalidValue
from poise.kinematics.parts import find_rigid_parts
from poise.kinematics.regions import Box, Capsule, ConvexMesh, Cylinder, Sphere
from poise.limits.capsules import BodyCapsule, capsule_distances
from poise.limits.pairs import Pairs, find_next_above
from poise.limits.spheres import widen
from poise.model import Model
from poise.model.geometry.solids import ORIGIN, make_triple
from poise.model.geometry.sphere_cover import cover_with_spheres
from poise.model.geometry.triangles import triangulate
from poise.spatial import Transform

__all__ = ["HeldRegion", "cover_held", "describe_held", "pair_held", "read_held"]

HeldRegion = Sphere | Box | Capsule | Cylinder | ConvexMesh
Held = tuple[tuple[str, HeldRegion], ...]

BOX_EXCESS = 0.05  # of the capsules that cover a box, relative to its longest side
MOST_EXCESS = 0.08  # of the spheres that cover another object, relative to its extent
ROUNDING = 1e-12  # relative


def read_held(held: Any) -> Held:
    """Return the held objects, each with its frame.

    Args:
        held: {frame: region, or list of regions}, or the result of this function.

    Raises:
        InvalidValue: It is something else, or a region cannot be held.
    """
    given = held.items() if isinstance(held, Mapping) else held
    out: list[tuple[str, HeldRegion]] = []
    try:
        for frame, regions in given:
            out += [(frame, each) for each in (regions if isinstance(regions, Iterable) else (regions,))]
    except (TypeError, ValueError):
        raise InvalidValue(
            f"Clearance: held is {held!r}; give {{frame: region}}, such as {{'hand': Box(...)}}."
        ) from None
    for frame, region in out:
        if not isinstance(frame, str):
            raise InvalidValue(f"Clearance: held has the key {frame!r}; it must be the name of a frame.")
        if not isinstance(region, HeldRegion):
            kinds = "a Sphere, Box, Capsule, Cylinder or ConvexMesh"
            raise InvalidValue(f"Clearance: held[{frame!r}] is {region!r}; it must be {kinds}, or a list of them.")
    return tuple(out)


def cover_held(held: Held) -> tuple[BodyCapsule, ...]:
    """Return the capsules of held objects."""
    return tuple(capsule for frame, region in held for capsule in cover(frame, region)[0])


def describe_held(held: Held) -> list[str]:
    """Return the number of capsules that cover each object, and their excess, as text."""
    out = []
    for frame, region in held:
        capsules, excess = cover(frame, region)
        if excess > 0.0:
            text = f"{len(capsules)} capsules or spheres contain it and stand out by at most {excess:.2g} m"
            out.append(f"Clearance counts {region.name or 'the object'} in {frame} as a part of the body: {text}.")
    return out


def cover(frame: str, region: HeldRegion) -> tuple[list[BodyCapsule], float]:
    """Return capsules that contain an object, and how far they stand out of it [m]."""
    name = region.name or f"the object in {frame}"
    if isinstance(region, Sphere):
        return [BodyCapsule(frame, region.center, region.center, region.radius, name)], 0.0
    if isinstance(region, Capsule) or (isinstance(region, Cylinder) and region.radius == 0.0):
        return [BodyCapsule(frame, region.start, region.end, region.radius, name)], 0.0
    if isinstance(region, Box):
        return cover_box(frame, region, name)
    corners, wider = find_surface(region)
    extent = float((corners.max(axis=(0, 1)) - corners.min(axis=(0, 1))).max())
    if isinstance(region, Cylinder):  # the same however it is turned
        extent = max(2.0 * region.radius, math.dist(region.start, region.end))
    if extent == 0.0:
        point = make_triple(corners[0, 0])
        return [BodyCapsule(frame, point, point, 0.0, name)], 0.0
    centers, radii, excess = cover_with_spheres(corners, MOST_EXCESS * extent - wider)
    balls = zip(map(make_triple, centers), radii.tolist(), strict=True)
    return [BodyCapsule(frame, center, center, radius, name) for center, radius in balls], excess + wider


def cover_box(frame: str, box: Box, name: str) -> tuple[list[BodyCapsule], float]:
    """Return capsules along the longest side of a box that contain it, and how far they stand out of it [m].

    Each contains a column with sides a >= b: its radius is sqrt(a^2 + 2 b^2) / 2, and its segment ends b / 2 before the
    ends of the column, so that it stands out by the radius less b / 2, at the ends and at the sides.
    """
    *across, along = np.argsort(box.size).tolist()
    sizes, counts = np.array([box.size[k] for k in across]), np.ones(2)
    while True:  # ends: the columns become thinner
        a, b = sorted((sizes / counts).tolist(), reverse=True)
        radius = math.sqrt(a * a + 2.0 * b * b) / 2.0
        if radius - b / 2.0 <= BOX_EXCESS * box.size[along]:
            break
        counts[np.argmax(sizes / counts)] += 1.0
    place, half = box.placement or Transform(None, ORIGIN), (box.size[along] - b) / 2.0
    out = []
    for one in np.arange(counts[0]):
        for other in np.arange(counts[1]):
            ends = np.zeros((2, 3))
            ends[:, across] = (np.array([one, other]) + 0.5) / counts * sizes - sizes / 2.0
            ends[:, along] = -half, half
            start, end = (make_triple(np.asarray(place.apply(point))) for point in ends)
            out.append(BodyCapsule(frame, start, end, radius * (1.0 + ROUNDING), name))
    return out, radius - b / 2.0


def find_surface(region: Cylinder | ConvexMesh) -> tuple[Floats, float]:
    """Return triangles that contain an object, (n, 3, 3), and how far they stand out of it [m]."""
    if isinstance(region, ConvexMesh):
        return region.vertices[region.faces], 0.0
    outer, wider = widen(Cylinder(**region.sizes), 0.0)
    triangles = triangulate(outer)
    assert triangles is not None, "only meshes have no triangles"
    place = region.placement
    vertices = triangles[0] if place is None else np.asarray(place.apply(triangles[0]))
    return vertices[triangles[1]], wider


def pair_held(model: Model, own: tuple[BodyCapsule, ...], held: tuple[BodyCapsule, ...], touch: float) -> Pairs:
    """Return the pairs of held objects with the body and with each other, (m, 2) rows of the capsules of both.

    Left out are the part that holds an object, those joined to it by one joint, and those below it that are closer
    than `touch` [m] to the object at rest: fingers around it.
    """
    if not held:
        return np.zeros((0, 2), np.int64)
    parts, capsules = find_rigid_parts(model), (*own, *held)
    of = [parts[model.frame(capsule.frame).name] for capsule in capsules]
    above = find_next_above(model, parts, set(of), set(of))
    kinds = {(a, b): relate(above, a, b) for a in set(of) for b in set(of[len(own) :])}
    pairs = np.array(
        [(i, k) for k in range(len(own), len(of)) for i in range(k) if kinds[of[i], of[k]] is not Relation.JOINED],
        np.int64,
    ).reshape(-1, 2)
    near = capsule_distances(model, capsules, pairs, np.array(model.rest)) <= touch
    names = [(of[i], capsules[k].name, kinds[of[i], of[k]]) for i, k in pairs.tolist()]
    around = {name for name, touching in zip(names, near, strict=True) if touching and name[2] is Relation.BELOW}
    return pairs[[name not in around for name in names]]


class Relation(Enum):
    """The place of a part relative to the part that holds an object."""

    JOINED = "it is the same part, or one joint joins them"
    BELOW = "its descendant"
    OTHER = "another part"


def relate(above: Mapping[str | None, str | None], part: str | None, holder: str | None) -> Relation:
    """Return the place of a part relative to the holder of an object; `above` has the next part above each."""
    if part == holder or (part in above and above[part] == holder) or (holder in above and above[holder] == part):
        return Relation.JOINED
    while part in above:
        part = above[part]
        if part == holder and part is not None:
            return Relation.BELOW
    return Relation.OTHER
