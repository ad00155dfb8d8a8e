"""Poses of a model written to bones: as channels, and as keyframes of a new action.

Blender converts each matrix to the bone's own channels, so that the options of a bone, such as Inherit Rotation and
Local Location, count as they do in Blender.
"""

from collections.abc import Callable
from typing import Any

import bpy
import numpy as np
from mathutils import Matrix, Quaternion, Vector

import poise

from .body import Body
from .samples import Array, Samples, find_nearest_turns, sample_now

__all__ = ["write_clip", "write_pose"]


def write_pose(body: Body, q: Array, samples: Samples | None = None, frame: int = 0) -> Array:
    """Set the bones to a configuration, (nq,), and return their matrices in the armature's space, (bones, 4, 4).

    Args:
        body: The body.
        q: The configuration.
        samples: Where the object and the bones above the base are; by default where they are now.
        frame: The row of `samples`.
    """
    armature = body.armature
    held = sample_now(armature) if samples is None else samples
    poses = find_poses(body.place(q), held.objects[frame])
    matrices = {name: Matrix(pose.tolist()) for name, pose in zip(body.bones, poses, strict=True)}
    for name in body.bones:
        posed = armature.pose.bones[name]
        bone, options = posed.bone, {}
        if bone.parent is not None:
            above = matrices.get(bone.parent.name) or Matrix(held.find_pose(bone.parent.name)[frame].tolist())
            options = {"parent_matrix": above, "parent_matrix_local": bone.parent.matrix_local}
        basis = bone.convert_local_to_pose(matrices[name], bone.matrix_local, invert=True, **options)
        place, turn, _ = basis.decompose()
        set_rotation(posed, turn)
        if is_moving(body, name):
            posed.location = place
    return poses


def find_poses(places: Array, placed: Array) -> Array:
    """Return places in the world in the space of an object, with rotations without its scale."""
    poses = np.linalg.inv(placed) @ places
    poses[..., :3, :3] = find_nearest_turns(poses[..., :3, :3])
    return np.asarray(poses)


def is_moving(body: Body, name: str) -> bool:
    """Return whether a bone has a location of its own."""
    return name == body.base or name in body.sliding


def set_rotation(posed: Any, turn: Quaternion) -> None:
    """Set the rotation of a bone in its own mode, as near to its present values as possible."""
    if posed.rotation_mode == "QUATERNION":
        posed.rotation_quaternion = -turn if turn.dot(posed.rotation_quaternion) < 0.0 else turn
    elif posed.rotation_mode == "AXIS_ANGLE":
        axis, angle = turn.to_axis_angle()
        before, *old = posed.rotation_axis_angle
        if axis.dot(Vector(old)) < 0.0:
            axis, angle = -axis, -angle
        posed.rotation_axis_angle = (angle + 2.0 * np.pi * round((before - angle) / (2.0 * np.pi)), *axis)
    else:
        posed.rotation_euler = turn.to_euler(posed.rotation_mode, posed.rotation_euler)


def write_clip(
    body: Body,
    clip: poise.Motion,
    samples: Samples,
    first: int,
    name: str,
    *,
    keep: bool = True,
    progress: Callable[[int, int], object] | None = None,
) -> Any:
    """Write a clip as keyframes of a new action, and return the action.

    Args:
        body: The body.
        clip: The clip, one frame of the scene each.
        samples: Where the object and the bones above the base are, for each frame; one row stands for all.
        first: The frame of the scene with which it starts.
        name: The name of the action.
        keep: Whether the new action keeps all other curves of the present one.
        progress: Called with the number of frames done and the total.
    """
    armature = body.armature
    start_action(body, name, keep=keep)
    for k, q in enumerate(clip.q):
        write_pose(body, q, samples, min(k, len(samples.objects) - 1))
        for bone in body.bones:
            posed = armature.pose.bones[bone]
            posed.keyframe_insert(find_channel(posed), frame=first + k, group=bone)
            if is_moving(body, bone):
                posed.keyframe_insert("location", frame=first + k, group=bone)
        if progress is not None:
            progress(k + 1, len(clip.q))
    action = armature.animation_data.action
    action.name = name
    bpy.context.scene.frame_set(bpy.context.scene.frame_current)
    return action


def find_channel(posed: Any) -> str:
    """Return the property that has the rotation of a bone."""
    named = {"QUATERNION": "rotation_quaternion", "AXIS_ANGLE": "rotation_axis_angle"}
    return named.get(posed.rotation_mode, "rotation_euler")


def start_action(body: Body, name: str, *, keep: bool) -> None:
    """Give the armature an action of its own to write into; the present one keeps a user."""
    data = body.armature.animation_data_create()
    old = data.action
    if old is not None:
        old.use_fake_user = True
    if old is None or not keep:
        data.action = None  # the first keyframe makes an action, in new versions with its slot
        return
    data.action = old.copy()
    data.action.name = name
    paths = {f'pose.bones["{bpy.utils.escape_identifier(bone)}"]' for bone in body.bones}
    for curves in list_curves(data):
        for curve in [curve for curve in curves if is_replaced(curve.data_path, paths)]:
            curves.remove(curve)


def is_replaced(path: str, bones: set[str]) -> bool:
    """Return whether the curve of a data path moves one of these bones."""
    bone, _, channel = path.rpartition(".")
    return bone in bones and (channel == "location" or channel.startswith("rotation"))


def list_curves(data: Any) -> list[Any]:
    """Return the collections of curves that move a data block; since Blender 4.4 they belong to a slot."""
    slot = getattr(data, "action_slot", None)
    if slot is None:
        return [data.action.fcurves]
    strips = [strip for layer in data.action.layers for strip in layer.strips]
    return [bag.fcurves for strip in strips for bag in strip.channelbags if bag.slot_handle == slot.handle]
