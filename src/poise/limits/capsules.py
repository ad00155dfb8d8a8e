"""The capsules of a body, and the pairs that may collide.

A part with collision solids is made of those: spheres and capsules unchanged, cylinders and boxes as the smallest
enclosing capsule along their longest side. Meshes are not opened: a part that has only meshes, and every part of a body
without solids, gets capsules from the skeleton (`poise.limits.skeleton`).

Pairs exclude capsules on the same part, on adjacent parts of the tree, and on two parts that are closer than the
clearance in the rest pose.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from poise.arrays import Floats
from poise.kinematics.parts import find_rigid_parts
from poise.limits.skeleton import BodyCapsule, make_skeleton_capsules
from poise.model import Model
from poise.model.geometry.shapes import Box, Capsule, Cylinder, Mesh, Shape, Sphere
from poise.model.geometry.solids import make_triple
from poise.model.memo import keep_with_model
from poise.native import core

__all__ = ["BodyCapsule", "body_capsules", "capsule_distances", "choose_pairs"]

Pairs = NDArray[np.int64]

TOUCH = 1e-6  # of L: gaps below this are rounding errors


@keep_with_model
def body_capsules(model: Model) -> tuple[BodyCapsule, ...]:
    """Return all capsules of a body."""
    solids = [shape for shape in model.shapes if shape.use in ("both", "collision")]
    if all(isinstance(shape.shape, Mesh) for shape in solids):
        parts = find_rigid_parts(model)
        meshed = {parts[model.frame(shape.frame).name] for shape in solids}
        return tuple(make_skeleton_capsules(model, meshed if meshed else None))
    parts = find_rigid_parts(model)
    found = [cover_solid(shape) for shape in solids if not isinstance(shape.shape, Mesh)]
    served = {parts[model.frame(capsule.frame).name] for capsule in found}
    meshed = {parts[model.frame(shape.frame).name] for shape in solids} - served
    return (*found, *make_skeleton_capsules(model, meshed))


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
    """Return the gaps between pairs of capsules in a pose [m]; negative if they overlap."""
    a, b = place_capsules(model, capsules, q)
    radius = np.array([capsule.radius for capsule in capsules])
    one, other = pairs[:, 0], pairs[:, 1]
    gaps: Floats = core.segment_distances(a[one], b[one], a[other], b[other]) - radius[one] - radius[other]
    return gaps


def place_capsules(model: Model, capsules: tuple[BodyCapsule, ...], q: Floats) -> tuple[Floats, Floats]:
    """Return both ends of every capsule in the world, (n, 3) each [m]."""
    T = model.fk(q)[[model.frames.index(capsule.frame) for capsule in capsules]]
    ends = np.array([(capsule.a, capsule.b) for capsule in capsules])
    world = np.einsum("nij,nkj->nki", T[:, :3, :3], ends) + T[:, None, :3, 3]
    return world[:, 0], world[:, 1]


@keep_with_model
def choose_pairs(model: Model, capsules: tuple[BodyCapsule, ...], distance: float) -> Pairs:
    """Return the pairs of capsules to keep apart, (m, 2), cached and read-only."""
    parts = find_rigid_parts(model)
    of = [parts[model.frame(capsule.frame).name] for capsule in capsules]
    above = find_next_above(model, parts, set(of))
    pairs = np.array(
        [
            (i, j)
            for j in range(len(capsules))
            for i in range(j)
            if of[i] != of[j] and above.get(of[i], of[i]) != of[j] and above.get(of[j], of[j]) != of[i]
        ],
        dtype=np.int64,
    ).reshape(-1, 2)
    if not len(pairs):
        pairs.setflags(write=False)
        return pairs
    touch = distance + TOUCH * model.length
    near = capsule_distances(model, capsules, pairs, np.array(model.rest)) <= touch
    touching = {frozenset((of[i], of[j])) for i, j in pairs[near]}
    apart: Pairs = pairs[[frozenset((of[i], of[j])) not in touching for i, j in pairs]]
    apart.setflags(write=False)
    return apart


def find_next_above(
    model: Model, parts: dict[str | None, str | None], drawn: set[str | None]
) -> dict[str | None, str | None]:
    """Return the closest ancestor with capsules for each part; parts without capsules are skipped."""
    out: dict[str | None, str | None] = {}
    for part in drawn - {None}:
        assert part is not None
        above = parts[model.frame(part).parent]
        while above is not None and above not in drawn:
            above = parts[model.frame(above).parent]
        if above in drawn:
            out[part] = above
    return out
