"""The capsules of a body.

A part with collision solids is made of those: spheres and capsules unchanged, cylinders and boxes as the smallest
enclosing capsule along their longest side, meshes as a few capsules that contain them
(`poise.model.geometry.capsule_cover`). Parts whose meshes are missing, and every part of a body without solids, get
capsules from the skeleton (`poise.limits.skeleton`). `model.notes` has the largest excess, and the missing files.
"""

import numpy as np
from numpy.typing import NDArray

from poise.arrays import Floats
from poise.limits.skeleton import BodyCapsule, cover_missing, list_solids
from poise.model import Model
from poise.model.geometry.capsule_cover import cover_with_capsules
from poise.model.geometry.shapes import Box, Capsule, Cylinder, Mesh, Shape, Sphere
from poise.model.geometry.solids import make_triple
from poise.model.geometry.surfaces import open_surfaces
from poise.model.memo import keep_with_model
from poise.native import core

__all__ = ["BodyCapsule", "body_capsules", "capsule_distances", "cover_solid", "place_capsules"]

Pairs = NDArray[np.int64]


@keep_with_model
def body_capsules(model: Model) -> tuple[BodyCapsule, ...]:
    """Return all capsules of a body."""
    solids = list_solids(model)
    found = [cover_solid(shape) for shape in solids if not isinstance(shape.shape, Mesh)]
    found += cover_meshes(model, [shape for shape in solids if isinstance(shape.shape, Mesh)])
    return (*found, *cover_missing(model, solids, (capsule.frame for capsule in found)))


def cover_meshes(model: Model, meshes: list[Shape]) -> list[BodyCapsule]:
    """Return capsules that contain the meshes; those that are missing or unreadable are noted and left out."""
    reader, found, worst = open_surfaces(model), list[BodyCapsule](), (0.0, "")
    for shape in meshes:
        surface = reader.read(shape)
        if surface is not None:
            capsules, excess = cover_with_capsules(surface[0][surface[1]])
            found += [BodyCapsule(shape.frame, make_triple(c.a), make_triple(c.b), c.radius) for c in capsules]
            worst = max(worst, (excess, shape.frame))
    if found:
        model.memo.note(
            f"collision meshes are replaced by {len(found)} capsules that contain them and stand out by at most "
            f"{worst[0]:.3g} m (at {worst[1]!r}); poise.fit_spheres(model) is tighter."
        )
    for note in reader.notes:
        model.memo.note(f"{note} Parts without a readable mesh have capsules along their bones.")
    return found


def cover_solid(shape: Shape) -> BodyCapsule:
    """Return a capsule that encloses a solid."""
    solid, axis = shape.shape, np.array([0.0, 0.0, 1.0])
    if isinstance(solid, Sphere):
        half, radius = 0.0, solid.radius
    elif isinstance(solid, Capsule):
        half, radius = solid.length / 2, solid.radius
    elif isinstance(solid, Cylinder):
        half, radius = cover_cylinder(solid.radius, solid.length)
    elif isinstance(solid, Box):
        longest = int(np.argmax(solid.size))
        axis = np.eye(3)[longest]
        across = np.delete(np.array(solid.size), longest)
        half, radius = cover_cylinder(float(np.linalg.norm(across)) / 2, solid.size[longest])
    else:
        raise TypeError(f"{solid!r} is not a solid.")
    a, b = (make_triple(np.asarray(shape.offset.apply(sign * half * axis))) for sign in (-1.0, 1.0))
    return BodyCapsule(shape.frame, a, b, float(radius))


def cover_cylinder(radius: float, length: float) -> tuple[float, float]:
    """Return the half-length and radius of the enclosing capsule of a cylinder with the least volume [m]."""
    half = np.linspace(0.0, length / 2, 65)
    around = np.hypot(radius, length / 2 - half)
    best = int(np.argmin(around**2 * (2.0 * half + 4.0 / 3.0 * around)))
    return float(half[best]), float(around[best])


def capsule_distances(model: Model, capsules: tuple[BodyCapsule, ...], pairs: Pairs, q: Floats) -> Floats:
    """Return the gaps between m pairs of capsules in poses (..., nq) as (..., m) [m]; negative if they overlap."""
    used, rows = np.unique(pairs, return_inverse=True)
    a, b = place_capsules(model, tuple(capsules[k] for k in used), q)
    radius = np.array([capsules[k].radius for k in used])
    one, other = rows.reshape(-1, 2).T
    ends = (end[..., rows, :].reshape(-1, 3) for rows in (one, other) for end in (a, b))
    gaps = core.segment_distances(*ends).reshape(*a.shape[:-2], len(pairs))
    return np.asarray(gaps - radius[one] - radius[other])


def place_capsules(model: Model, capsules: tuple[BodyCapsule, ...], q: Floats) -> tuple[Floats, Floats]:
    """Return both ends of every capsule in the world, (..., n, 3) each [m]."""
    T = model.fk(q)[..., [model.frames.index(capsule.frame) for capsule in capsules], :3, :]
    x, y, z, origin = (T[..., k] for k in range(4))
    ends = np.array([(capsule.a, capsule.b) for capsule in capsules]).reshape(-1, 2, 3, 1)
    a, b = (x * end[:, 0] + y * end[:, 1] + z * end[:, 2] + origin for end in (ends[:, 0], ends[:, 1]))
    return a, b
