"""Armatures as Poise models: bones are joints, at Blender's own rest matrices.

A bone is a ball joint at its head, with the axes of the bone, or an Euler joint if its rotation is limited. The base is
the bone that carries all known body parts, such as the hips: it is free, and bones above it, which belong to no body
part, only carry it. A bone below that is translated has a locked joint ``<bone>_position``. Ends of bones without
children are frames, ``<bone>_end``.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import bpy
import numpy as np

import poise
from poise.spatial import Rotation

from .bone_ranges import BoneRange, is_local_limit, read_range
from .samples import Array, Samples, place_rests, sample_now

__all__ = ["Body", "read_body"]

STILL = 1e-4  # relative to the size of the armature: a shorter translation of a bone is rounding
HARMLESS = ("LIMIT_LOCATION", "LIMIT_SCALE", "MAINTAIN_VOLUME")  # constraints that do not turn a bone


@dataclass(frozen=True)
class Body:
    """An armature as a Poise model; it keeps names, as undo replaces Blender's objects.

    Attributes:
        name: The armature object.
        model: The model, in the axes of the world.
        bones: The bones of the model, parents first.
        base: The bone that moves the whole body.
        sliding: The bones below the base that are translated.
        warnings: What the model leaves out.
    """

    name: str
    model: poise.Model
    bones: tuple[str, ...]
    base: str
    sliding: frozenset[str]
    warnings: tuple[str, ...]

    @property
    def armature(self) -> Any:
        """The armature object."""
        return bpy.data.objects[self.name]

    def read(self, samples: Samples) -> Array:
        """Return the configurations of sampled frames, (frames, nq)."""
        places = dict(zip(samples.names, np.moveaxis(samples.find_places(), 1, 0), strict=True))
        q = np.tile(self.model.rest, (len(samples.poses), 1))
        for bone in self.bones:
            joint, above = self.model.joint(bone), bone
            moved = places[bone]
            if bone != self.base:
                above = self.armature.data.bones[bone].parent.name
                moved = np.linalg.inv(places[above]) @ moved
            slide = self.model.joint(f"{bone}_position") if bone in self.sliding else None
            moved = np.linalg.inv((slide or joint).offset.matrix) @ moved
            turn = Rotation.from_matrix(moved[:, :3, :3])
            angles = turn.to_euler(joint.order) if joint.kind == "euler" else turn.wxyz
            q[:, joint.q] = np.hstack([moved[:, :3, 3], angles]) if joint.kind == "free" else angles
            if slide is not None:
                q[:, slide.q] = moved[:, :3, 3]
        return q

    def place(self, q: Array) -> Array:
        """Return the places of the bones in the world, (..., bones, 4, 4)."""
        rows = [self.model.frames.index(bone) for bone in self.bones]
        return np.asarray(self.model.fk(q)[..., rows, :, :])


def read_body(armature: Any, samples: Samples | None = None) -> Body:
    """Return the model of an armature.

    Args:
        armature: The armature object.
        samples: The frames to represent; by default the present one.
    """
    held = sample_now(armature) if samples is None else samples
    root = max((bone for bone in armature.data.bones if bone.parent is None), key=lambda b: len(b.children_recursive))
    body = build_body(armature, held, root)
    carrier = find_carrier(armature, body)
    return body if carrier == root.name else build_body(armature, held, armature.data.bones[carrier])


def build_body(armature: Any, samples: Samples, base: Any) -> Body:
    """Build the model of a bone and all below it."""
    builder = poise.ModelBuilder(armature.name)
    rests = place_rests(armature, samples.objects[0])
    sliding = set(find_sliding(armature, samples, rests))
    bones = list(walk(base))
    for bone in bones:
        parent, offset = None, rests[bone.name]
        ranges = read_range(armature.pose.bones[bone.name]) if bone.use_inherit_rotation else None
        if bone != base:
            parent, offset = bone.parent.name, np.linalg.inv(rests[bone.parent.name]) @ offset
        if bone != base and bone.name in sliding:
            slide = f"{bone.name}_position"
            builder.add_joint(slide, parent, "translation3", offset=offset, locked=True)
            parent, offset = slide, np.eye(4)
        add_turn(builder, bone.name, parent, offset, ranges, free=bone == base)
        if not bone.children:
            builder.add_frame(f"{bone.name}_end", bone.name, (0.0, bone.length * samples.scale, 0.0))
    model = builder.build()
    names = tuple(bone.name for bone in bones)
    held = frozenset(sliding & set(names) - {base.name})
    return Body(
        armature.name, model.with_roles(poise.roles(model)), names, base.name, held, tuple(find_flaws(armature, bones))
    )


def add_turn(
    builder: poise.ModelBuilder, name: str, parent: str | None, offset: Array, ranges: BoneRange | None, *, free: bool
) -> None:
    """Add the joint that turns a bone, and moves it if it is free."""
    if free:
        builder.add_joint(name, parent, "free", offset=offset)
    elif ranges is None:
        builder.add_joint(name, parent, "ball", offset=offset)
    else:
        low, high = ranges.lower, ranges.upper
        builder.add_joint(name, parent, "euler", offset=offset, order=ranges.order, lower=low, upper=high)


def walk(bone: Any) -> Iterator[Any]:
    """Yield a bone and all below it, parents first."""
    yield bone
    for child in bone.children:
        yield from walk(child)


def find_sliding(armature: Any, samples: Samples, rests: dict[str, Array]) -> Iterator[str]:
    """Yield the bones whose heads move relative to their parents."""
    places = dict(zip(samples.names, np.moveaxis(samples.find_places(), 1, 0), strict=True))
    heads = np.array([rest[:3, 3] for rest in rests.values()])
    size = float(np.ptp(heads, axis=0).max())
    for bone in armature.data.bones:
        if bone.parent is not None:
            moved = (np.linalg.inv(places[bone.parent.name]) @ places[bone.name])[:, :3, 3]
            rest = (np.linalg.inv(rests[bone.parent.name]) @ rests[bone.name])[:3, 3]
            if np.abs(moved - rest).max() > STILL * size:
                yield bone.name


def find_carrier(armature: Any, body: Body) -> str:
    """Return the lowest bone above all bones with roles, or the base if the body has no pelvis."""
    roles = body.model.roles
    if "pelvis" not in roles:
        return body.base
    lines = []
    for frame in set(roles.values()):
        bone = armature.data.bones.get(frame) or armature.data.bones.get(str(body.model.frame(frame).parent))
        if bone is not None:
            lines.append([bone, *bone.parent_recursive])
    shared = [bone.name for bone in lines[0] if all(bone in line for line in lines)]
    return str(shared[0]) if shared else body.base


def find_flaws(armature: Any, bones: list[Any]) -> Iterator[str]:
    """Yield sentences on what the model of these bones leaves out."""
    posed = [armature.pose.bones[bone.name] for bone in bones]
    driven = [bone.name for bone in posed if any(is_driving(constraint) for constraint in bone.constraints)]
    scaled = [bone.name for bone in posed if max(abs(x - 1.0) for x in bone.scale) > 1e-3]
    if driven:
        yield f"Constraints move {list_names(driven)}; bake them first (Pose, Animation, Bake Action), or they win."
    if scaled:
        yield f"The scales of {list_names(scaled)} are ignored."


def is_driving(constraint: Any) -> bool:
    """Return whether a constraint turns its bone in a way that the model leaves out."""
    active = not constraint.mute and constraint.influence > 0.0
    return active and constraint.type not in HARMLESS and not is_local_limit(constraint)


def list_names(names: list[str], most: int = 3) -> str:
    """Return the first names as text."""
    return ", ".join(names[:most]) + (f" and {len(names) - most} more" if len(names) > most else "")
