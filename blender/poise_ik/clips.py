"""Whole actions: bake, lock feet, retarget."""

from typing import Any

import bpy
import numpy as np
import poise

from .body import Body, read_body
from .drag_session import DragSession, list_empties
from .pose_writer import write_clip
from .progress import show_progress
from .samples import Samples, read_frame, read_matrices, sample_frames, sample_now

__all__ = ["bake", "lock_feet", "retarget"]


def read_clip(armature: Any, frames: range, fps: float) -> tuple[Body, Samples, poise.Motion]:
    """Return an armature as a body, its sampled frames, and these as a clip."""
    samples = sample_frames(armature, frames)
    body = read_body(armature, samples)
    return body, samples, poise.Motion(body.model, body.read(samples), fps)


def lock_feet(armature: Any, frames: range, fps: float) -> tuple[Body, Any, Any]:
    """Hold the foot contacts of the present action; return the body, the locked track and the new action."""
    body, samples, clip = read_clip(armature, frames, fps)
    with show_progress() as progress:
        track = poise.motion.lock(clip, poise.motion.contacts(clip), progress=progress)
    name = f"{armature.animation_data.action.name} locked"
    return body, track, write_clip(body, track.motion, samples, frames.start, name)


def retarget(source: Any, target: Any, frames: range, fps: float) -> tuple[tuple[Body, Body], Any, Any]:
    """Retarget the action of an armature onto another; return both bodies, the result and the new action."""
    giver, _, clip = read_clip(source, frames, fps)
    rest = sample_now(target)
    taker = read_body(target, rest)
    with show_progress() as progress:
        moved = poise.retarget(clip, taker.model, progress=progress, keep_rest=True)
    name = f"{source.animation_data.action.name} on {target.name}"
    action = write_clip(taker, moved.motion, rest, frames.start, name, keep=False)
    return (giver, taker), moved, action


def bake(session: DragSession, frames: range, fps: float) -> Any:
    """Solve every frame for the empties, write the clip as a new action, and release the empties."""
    scene, armature = bpy.context.scene, session.body.armature
    shown, rows, places = scene.frame_current, [], []
    for frame in frames:
        scene.frame_set(frame)
        session.follow()
        rows.append(session.rig.q)
        places.append(read_frame(armature))
    scene.frame_set(shown)
    samples = Samples(tuple(bone.name for bone in armature.pose.bones), *read_matrices(places, armature.name))
    old = armature.animation_data and armature.animation_data.action
    name = f"{old.name} baked" if old else f"{armature.name} baked"
    action = write_clip(session.body, poise.Motion(session.body.model, np.array(rows), fps), samples, frames.start, name)
    for item in list_empties(armature):
        item.poise_ik.mode = "FREE"
    session.follow([])
    return action
