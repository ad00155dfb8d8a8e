"""Whole actions: bake, lock feet, retarget."""

from typing import Any

import bpy
import numpy as np

import poise

from .body import Body, read_body
from .drag_session import DragSession, list_empties
from .pose_writer import write_clip
from .progress import show_progress
from .refusal import Refusal
from .samples import Samples, read_frame, read_matrices, sample_frames, sample_now

__all__ = ["bake", "lock_feet", "retarget"]

MOST_BYTES = 63  # of a name in Blender


def read_clip(armature: Any, frames: range, fps: float) -> tuple[Body, Samples, poise.Motion]:
    """Return an armature as a body, its sampled frames, and these as a clip."""
    samples = sample_frames(armature, frames)
    body = read_body(armature, samples)
    return body, samples, poise.Motion(body.model, body.read(samples), fps)


def lock_feet(armature: Any, frames: range, fps: float) -> tuple[Body, Any, Any]:
    """Hold the foot contacts of the present action; return the body, the locked track and the new action."""
    body, samples, clip = read_clip(armature, frames, fps)
    if not any(role.startswith(("foot", "ankle")) for role in body.model.roles):
        raise Refusal(
            f"{armature.name!r} has no feet that Poise knows. Name the bones of its legs: thigh.L, shin.L, foot.L, ..."
        )
    with show_progress() as progress:
        track = poise.motion.lock(clip, poise.motion.contacts(clip), progress=progress)
    name = name_action(armature.animation_data.action.name, "locked")
    return body, track, write_clip(body, track.motion, samples, frames.start, name)


def retarget(source: Any, target: Any, frames: range, fps: float) -> tuple[tuple[Body, Body], Any, Any]:
    """Retarget the action of an armature onto another; return both bodies, the result and the new action."""
    giver, _, clip = read_clip(source, frames, fps)
    rest = sample_now(target)
    taker = read_body(target, rest)
    with show_progress() as progress:
        moved = poise.retarget(clip, taker.model, progress=progress, keep_rest=True)
    name = name_action(source.animation_data.action.name, f"on {target.name}")
    action = write_clip(taker, moved.motion, rest, frames.start, name, keep=False)
    return (giver, taker), moved, action


def bake(session: DragSession, frames: range, fps: float) -> tuple[Any, dict[int, str]]:
    """Solve every frame for the empties, write the clip as a new action, and release the empties.

    Returns:
        The action, and the reasons of frames in which a part is not at its empty.
    """
    scene, armature = bpy.context.scene, session.body.armature
    shown, rows, places, missed = scene.frame_current, [], [], {}
    for frame in frames:
        scene.frame_set(frame)
        session.follow()
        rows.append(session.rig.q)
        if reason := session.why():
            missed[frame] = reason
        places.append(read_frame(armature))
    scene.frame_set(shown)
    samples = Samples(tuple(bone.name for bone in armature.pose.bones), *read_matrices(places, armature.name))
    old = armature.animation_data and armature.animation_data.action
    name = name_action(old.name if old else armature.name, "baked")
    action = write_clip(
        session.body, poise.Motion(session.body.model, np.array(rows), fps), samples, frames.start, name
    )
    for item in list_empties(armature):
        item.poise_ik.mode = "FREE"
    session.follow([])
    return action, missed


def name_action(name: str, suffix: str) -> str:
    """Return a name for an action, within Blender's 63 bytes."""
    room = MOST_BYTES - len(suffix.encode()) - 1
    return f"{name.encode()[:room].decode(errors='ignore')} {suffix}"
