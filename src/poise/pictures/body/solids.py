"""Simple solids that a body is drawn with, each fixed to a frame.

A part whose file has visual boxes, cylinders, spheres or capsules is drawn as those. Meshes are not opened: a part
with meshes only, and every part of a body without shapes, is drawn as the capsules around its skeleton
(`poise.limits.skeleton`), with the volume of its mass as water. Capsules that meet get the same radius there, so that
limbs taper; see `arm_flesh` for arms.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from poise.arrays import Floats
from poise.kinematics.parts import find_rigid_parts
from poise.kinematics.seen_shapes import list_seen, shows_body
from poise.limits.skeleton import make_skeleton_capsules
from poise.model import Model, Object
from poise.model.geometry.shapes import Box, Capsule, Cylinder, Mesh, Shape, Sphere
from poise.model.memo import keep_with_model
from poise.pictures.body.arm_flesh import is_arm
from poise.pictures.body.flesh import cover_skeleton, find_standing, is_person, place_balls, taper_capsules
from poise.pictures.body.joint_balls import join_balls
from poise.pictures.body.surface import RoundCone
from poise.spatial import Transform
from poise.spatial.rotation import turn_z_to

__all__ = ["Solid", "find_overlays", "find_solids", "make_capsule", "place_object"]


HEAD_ROLES = ("head", "neck", "chest", "pelvis", "shoulder_l", "shoulder_r")
RAIL, RAIL_RODS, RAIL_COLOR = 0.004, 48, (0.55, 0.58, 0.62)  # curve of a path joint; radius per model length


@dataclass(frozen=True, slots=True, eq=False)
class Solid:
    """A convex solid fixed to a frame: a core (a box, or a cylinder along z), with a rounding radius around it.

    The core of a capsule is a segment, that of a ball a point.

    Attributes:
        frame: The frame that carries it, or None for the world.
        kind: "capsule", "cylinder" or "box".
        T_frame_solid: The transform from its own axes to the frame, (4, 4).
        half: The half extents of the core along its own axes [m].
        round: The radius around the core, at the low and the high end of its z axis [m].
        color: Red, green, blue, 0 to 1, or None for the body's own colour.
    """

    frame: str | None
    kind: str
    T_frame_solid: Floats
    half: tuple[float, float, float]
    round: tuple[float, float]
    color: tuple[float, float, float] | None = None


@keep_with_model
def find_solids(model: Model) -> tuple[Solid, ...]:
    """Return all solids of a body."""
    parts = find_rigid_parts(model)
    shapes = list_seen(model)
    solid = [shape for shape in shapes if not isinstance(shape.shape, Mesh)]
    served = {parts[model.frame(shape.frame).name] for shape in solid}
    meshed = {parts[model.frame(shape.frame).name] for shape in shapes} - served
    if not shows_body(model, shapes):
        meshed = {*parts.values()} - served
    if not shapes and (is_arm(model) or is_bare_person(model)):
        return tuple(make_cones(cover_skeleton(model)))
    bones = list(join_balls(model, make_skeleton_capsules(model, meshed if shapes else None)))
    drawn = {parts[bone.frame] for bone in bones} | served
    tapered = make_cones(taper_capsules(model, bones))
    found = (*(make_solid(shape) for shape in solid), *tapered, *make_head(model, drawn))
    return (*(found or make_cones(place_balls(model))), *lay_rails(model))


@keep_with_model
def find_overlays(model: Model) -> tuple[tuple[Solid, float], ...]:
    """Return the clear collision shapes that are drawn over visual ones, such as fitted spheres, with their opacity."""
    if all(shape.use == "collision" for shape in model.shapes):
        return ()
    solid = (shape for shape in model.shapes if shape.use == "collision" and not isinstance(shape.shape, Mesh))
    return tuple((make_solid(shape), shape.color[3]) for shape in solid if shape.color and shape.color[3] < 1.0)


def lay_rails(model: Model) -> list[Solid]:
    """Return the curves of path joints as thin rods, fixed to the parent parts."""
    found = []
    for joint in model.joints:
        if joint.path is not None:
            x = np.linspace(0.0, joint.path.length, RAIL_RODS + 1)
            places = joint.offset.apply(joint.path.transform(x)[:, :3, 3])
            rods = pairwise(places)
            found += [make_capsule(joint.parent, a, b, RAIL * model.length, RAIL_COLOR) for a, b in rods]
    return found


def is_bare_person(model: Model) -> bool:
    """Return whether a body has the roles of a person and no masses, as mocap skeletons do."""
    return model.mass == 0.0 and is_person(model)


def make_cones(cones: Iterable[tuple[str, RoundCone]]) -> list[Solid]:
    """Return round cones as solids."""
    return [make_capsule(frame, np.array(c.a), np.array(c.b), (c.start, c.end)) for frame, c in cones]


def make_head(model: Model, drawn: set[str | None]) -> list[Solid]:
    """Return a head for a body whose head has no size; its diameter is half the shoulder width."""
    place = find_head(model)
    if place is None or find_rigid_parts(model)[place[0]] in drawn:
        return []
    frame, up, radius = place
    return [make_capsule(frame, 0.7 * radius * up, 1.3 * radius * up, radius)]


def find_head(model: Model) -> tuple[str, Floats, float] | None:
    """Return the head's frame, the up direction in it, and a radius [m]; None if the body has no head."""
    if "head" not in model.roles:
        return None
    T = dict(zip(model.frames, model.fk(find_standing(model)), strict=True))
    at = {role: T[model.roles[role]][:3, 3] for role in HEAD_ROLES if role in model.roles}
    below = next((at[role] for role in ("neck", "chest", "pelvis") if role in at), None)
    wide = (
        float(np.linalg.norm(at["shoulder_l"] - at["shoulder_r"])) if "shoulder_l" in at and "shoulder_r" in at else 0.0
    )
    radius = 0.26 * wide or 0.05 * model.length
    up = model.up_direction if below is None else at["head"] - below
    long = float(np.linalg.norm(up))
    up = up / long if long > 1e-9 * model.length else model.up_direction
    return model.roles["head"], np.asarray(T[model.roles["head"]][:3, :3].T @ up), radius


def make_capsule(
    frame: str | None,
    a: Floats,
    b: Floats,
    radius: float | tuple[float, float],
    color: tuple[float, float, float] | None = None,
) -> Solid:
    """Make a capsule between two points of a frame; a ball if they are equal."""
    length = float(np.linalg.norm(b - a))
    T = np.eye(4)
    T[:3, :3] = turn_z_to((b - a) / length) if length > 1e-12 else np.eye(3)
    T[:3, 3] = (a + b) / 2
    low, high = radius if isinstance(radius, tuple) else (radius, radius)
    return Solid(frame, "capsule", T, (0.0, 0.0, length / 2), (low, high), color)


def place_object(thing: Object, T_world_thing: Floats | None = None) -> Solid:
    """Convert an object to a solid, in its own axes or at its transform in the world."""
    offset = Transform.from_matrix(thing.offset if T_world_thing is None else T_world_thing @ thing.offset)
    shape = type(thing.shape)(**thing.shape.sizes)
    return replace(make_solid(Shape("", shape, offset, "both", thing.color)), frame=None)


def make_solid(shape: Shape) -> Solid:
    """Convert a shape of the body's file to a solid."""
    body, T = shape.shape, np.array(shape.offset.matrix)
    color = None if shape.color is None else shape.color[:3]
    if isinstance(body, Sphere):
        return Solid(shape.frame, "capsule", T, (0.0, 0.0, 0.0), (body.radius,) * 2, color)
    if isinstance(body, Capsule):
        return Solid(shape.frame, "capsule", T, (0.0, 0.0, body.length / 2), (body.radius,) * 2, color)
    if isinstance(body, Cylinder):
        return Solid(shape.frame, "cylinder", T, (body.radius, body.radius, body.length / 2), (0.0, 0.0), color)
    assert isinstance(body, Box)
    x, y, z = body.size
    return Solid(shape.frame, "box", T, (x / 2, y / 2, z / 2), (0.0, 0.0), color)
