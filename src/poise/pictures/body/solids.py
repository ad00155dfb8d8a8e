"""Simple solids that a body is drawn with, each fixed to a frame.

A part whose file has visual boxes, cylinders, spheres or capsules is drawn as those. Meshes are not opened: a part
with meshes only, and every part of a body without shapes, is drawn as the capsules around its skeleton
(`poise.limits.skeleton`), with the volume of its mass as water. Capsules that meet get the same radius there, so that
limbs taper; see `arm_flesh` for arms.
"""

from dataclasses import replace
from itertools import pairwise

import numpy as np

from poise.arrays import Floats
from poise.kinematics.parts import find_rigid_parts
from poise.kinematics.seen_shapes import list_seen, shows_body
from poise.limits.skeleton import make_skeleton_capsules
from poise.model import Model, Object
from poise.model.geometry.shapes import Shape
from poise.model.memo import keep_with_model
from poise.pictures.body.arm_flesh import shape_arm
from poise.pictures.body.flesh import cover_skeleton, find_standing, is_person, place_balls, taper_capsules
from poise.pictures.body.joint_balls import join_balls
from poise.pictures.body.surface import Solid, make_capsule, make_solid
from poise.spatial import Transform

__all__ = ["find_overlays", "find_solids", "place_object"]


HEAD_ROLES = ("head", "neck", "chest", "pelvis", "shoulder_l", "shoulder_r")
RAIL, RAIL_RODS, RAIL_COLOR = 0.004, 48, (0.55, 0.58, 0.62)  # curve of a path joint; radius per model length


@keep_with_model
def find_solids(model: Model) -> tuple[Solid, ...]:
    """Return all solids of a body."""
    parts = find_rigid_parts(model)
    shapes = list_seen(model)
    own = [solid for solid in map(make_solid, shapes) if solid is not None]
    served = {parts[model.frame(str(solid.frame)).name] for solid in own}
    meshed = {parts[model.frame(shape.frame).name] for shape in shapes} - served
    if not shows_body(model, shapes):
        meshed = {*parts.values()} - served
    grown = () if shapes else shape_arm(model) or tuple(cover_skeleton(model) if is_bare_person(model) else ())
    if grown:
        return grown
    bones = list(join_balls(model, make_skeleton_capsules(model, meshed if shapes else None)))
    drawn = {parts[bone.frame] for bone in bones} | served
    tapered = taper_capsules(model, bones)
    found = (*own, *tapered, *make_head(model, drawn))
    return (*(found or place_balls(model)), *lay_rails(model))


@keep_with_model
def find_overlays(model: Model) -> tuple[tuple[Solid, float], ...]:
    """Return the clear collision shapes that are drawn over visual ones, such as fitted spheres, with their opacity."""
    if all(shape.use == "collision" for shape in model.shapes):
        return ()
    clear = [shape for shape in model.shapes if shape.use == "collision" and shape.color and shape.color[3] < 1.0]
    return tuple((solid, shape.color[3]) for shape in clear if shape.color and (solid := make_solid(shape)))


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


def place_object(thing: Object, T_world_thing: Floats | None = None) -> Solid:
    """Convert an object to a solid, in its own axes or at its transform in the world."""
    offset = Transform.from_matrix(thing.offset if T_world_thing is None else T_world_thing @ thing.offset)
    shape = type(thing.shape)(**thing.shape.sizes)
    solid = make_solid(Shape("", shape, offset, "both", thing.color))
    assert solid is not None
    return replace(solid, frame=None)
