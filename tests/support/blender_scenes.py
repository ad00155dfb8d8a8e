"""Scenes for the Blender extension, run inside Blender: `blender -b --python blender_scenes.py -- folder`.

Each scene is built, worked on by the operators, and measured with Blender's own matrices. What it returns is written to
``<scene>.npz``; the tests read it. The folder has the files walk.glb and walk.bvh.
"""

import importlib.util
import os
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import bpy
import numpy as np
from mathutils import Vector

ROOT = Path(__file__).resolve().parents[2]
sys.path += [str(ROOT / folder) for folder in ("blender", "tools")]

import poise_ik  # noqa: E402
from blender_check import patch_blender  # noqa: E402

FRAMES = 30
NO_POISE = 77  # exit status: Blender cannot import Poise
BENT = 2.6  # rad, the range of the knees
"""Head and tail [cm], parent, roll, rotation mode of each bone of the left side and the middle."""
BONES: dict[str, tuple[tuple[float, ...], tuple[float, ...], str, float, str]] = {
    "root": ((0, 0, 0), (0, 20, 0), "", 0.0, "QUATERNION"),
    "prop": ((50, 0, 0), (50, 0, 30), "root", 0.4, "XYZ"),
    "hips": ((0, 0, 95), (0, 0, 105), "root", 0.3, "QUATERNION"),
    "spine": ((0, 0, 105), (0, 1, 125), "hips", -0.8, "XYZ"),
    "chest": ((0, 1, 125), (0, 0, 145), "spine", 1.2, "QUATERNION"),
    "neck": ((0, 0, 145), (0, 0, 155), "chest", 0.0, "ZYX"),
    "head": ((0, 0, 155), (0, 0, 175), "neck", 2.0, "AXIS_ANGLE"),
    "shoulder.L": ((3, 0, 142), (15, 0, 142), "chest", 0.5, "QUATERNION"),
    "upper_arm.L": ((15, 0, 142), (40, 1, 142), "shoulder.L", 1.0, "YZX"),
    "forearm.L": ((40, 1, 142), (65, 0, 142), "upper_arm.L", -0.6, "ZXY"),
    "hand.L": ((65, 0, 142), (75, 0, 142), "forearm.L", 0.2, "QUATERNION"),
    "thigh.L": ((9, 0, 93), (9, -1, 50), "hips", 0.0, "AXIS_ANGLE"),
    "shin.L": ((9, -1, 50), (9, 0, 9), "thigh.L", 0.0, "XYZ"),
    "foot.L": ((9, 0, 9), (9, -12, 2), "shin.L", 0.9, "QUATERNION"),
    "toe.L": ((9, -12, 2), (9, -18, 2), "foot.L", 0.0, "XYZ"),
}


# ------------------------------------------------------------------------------------------------ scenes


def drag() -> dict[str, Any]:
    """Drag a hand and the hips of a hand-built armature whose feet are pinned, then pin a hand and drag the other."""
    arm = build_armature()
    untouched = np.array(arm.pose.bones["prop"].matrix)
    bpy.ops.poise.add_handles()
    empties = find_empties()
    gaps, moved = [], []
    for handle, step in (("hand_l", (-0.05, -0.1, 0.15)), ("pelvis", (0.0, 0.0, -0.2)), ("hand_r", (0.1, -0.3, -0.3))):
        for _ in range(3):
            empties[handle].location += Vector(step) / 3.0
            bpy.context.view_layer.update()
            gaps.append([measure_gap(arm, item) for item in empties.values()])
            moved.append(read_heads(arm))
    modes = [item.poise_ik.mode for item in empties.values()]
    empties["hand_l"].rotation_euler.x += 0.4
    bpy.context.view_layer.update()
    hand, empty = (item.matrix_world.to_3x3().normalized() for item in (arm, empties["hand_l"]))
    turned = (hand @ arm.pose.bones["hand.L"].matrix.to_3x3()).normalized()
    return {
        "handles": list(empties),
        "gaps": gaps,
        "modes": modes,
        "moved": moved,
        "bones": arm.pose.bones.keys(),
        "untouched": np.abs(untouched - np.array(arm.pose.bones["prop"].matrix)).max(),
        "elbow": list(arm.pose.bones["forearm.L"].rotation_euler),
        "knee": [find_knee_sign(arm) * arm.pose.bones["shin.L"].rotation_euler.x],
        "hinge": list(arm.pose.bones["shin.L"].rotation_euler)[1:],
        "turned": np.abs(np.array(turned) - np.array(empty)).max(),
        "evaluated": evaluated_gap(arm),
    }


def follow(folder: Path) -> dict[str, Any]:
    """Drag a hand and the hips of an imported BVH armature over its action, then change the frame."""
    bpy.ops.import_anim.bvh(filepath=str(folder / "walk.bvh"), use_fps_scale=False, rotate_mode="NATIVE")
    arm = bpy.context.object
    bpy.ops.poise.add_handles()
    empties = find_empties()
    frames = {name: find_handle_bone(name) for name in empties}
    gaps, seconds = [], []
    for k in range(20):
        empties["hand_l"].location += Vector((0.005, -0.01, 0.02))
        if k > 9:
            empties["pelvis"].location.z -= 0.01
        before = time.perf_counter()
        bpy.context.view_layer.update()
        seconds.append(time.perf_counter() - before)
        gaps.append([measure_gap(arm, item, frames[name]) for name, item in empties.items()])
    held = [name for name, item in empties.items() if item.poise_ik.mode != "FREE"]
    bpy.context.scene.frame_set(3)
    later = [measure_gap(arm, empties[name], frames[name]) for name in held]
    modes = {bone.rotation_mode for bone in arm.pose.bones}
    return {"gaps": gaps, "later": later, "held": held, "modes": sorted(modes), "seconds": seconds}


def bake() -> dict[str, Any]:
    """Bake a hand that follows a keyed empty, while the other hand is pinned; then remove the handles."""
    arm = build_armature()
    scene = bpy.context.scene
    scene.frame_start, scene.frame_end = 1, FRAMES
    bpy.ops.poise.add_handles()
    empties = find_empties()
    empties["hand_r"].poise_ik.mode, empties["hand_l"].poise_ik.mode = "PIN", "REACH"
    start = empties["hand_l"].location.copy()
    for frame, lift in ((1, 0.0), (FRAMES, 0.3)):
        empties["hand_l"].location = start + lift * Vector((-0.8, 0.2, 0.4))
        empties["hand_l"].keyframe_insert("location", frame=frame)
    scene.frame_set(1)
    bpy.context.view_layer.objects.active = arm
    wanted = sample(lambda: [np.array(empties[name].matrix_world)[:3, 3] for name in ("hand_l", "hand_r")])
    report = capture(bpy.ops.poise.bake)
    bpy.ops.poise.remove_handles()
    found = sample(lambda: [read_head(arm, name) for name in ("hand.L", "hand.R")])
    left = [item.name for item in bpy.data.objects if item.poise_ik.handle]
    return {"wanted": wanted, "found": found, "left": left, "report": report}


def overreach() -> dict[str, Any]:
    """Bake a hand that rises above the reach of a body with pinned feet."""
    arm = build_armature()
    scene = bpy.context.scene
    scene.frame_start, scene.frame_end = 1, FRAMES
    bpy.ops.poise.add_handles()
    empty = find_empties()["hand_l"]
    empty.poise_ik.mode = "REACH"
    for frame, lift in ((1, 0.0), (FRAMES, 3.0)):
        empty.location.z += lift
        empty.keyframe_insert("location", frame=frame)
    activate(arm)
    return {"report": capture(bpy.ops.poise.bake)}


def change(folder: Path) -> dict[str, Any]:
    """Undo and redo a drag, move the object, edit a bone, and open the saved file again; return the gaps after each."""
    build_armature()
    bpy.ops.poise.add_handles()
    bpy.ops.ed.undo_push(message="handles")
    start = read_person()
    gaps = {"dragged": raise_hand(-0.3)}
    bpy.ops.ed.undo_push(message="drag")
    moved = read_person()
    bpy.ops.ed.undo()
    bpy.context.view_layer.update()
    undone, mode = read_person() - start, find_empties()["hand_l"].poise_ik.mode
    bpy.ops.ed.redo()
    bpy.context.view_layer.update()
    redone = read_person() - moved
    gaps["redone"] = raise_hand(0.1)
    bpy.data.objects["person"].location.z -= 0.1
    bpy.context.view_layer.update()
    gaps["object"] = max(measure_gap(bpy.data.objects["person"], find_empties()[name]) for name in ("foot_l", "hand_l"))
    arm = activate(bpy.data.objects["person"])
    bpy.ops.object.mode_set(mode="EDIT")
    arm.data.edit_bones["forearm.L"].tail.x -= 5.0
    bpy.ops.object.mode_set(mode="OBJECT")
    gaps["edited"] = raise_hand(0.05)
    bpy.ops.wm.save_as_mainfile(filepath=str(folder / "person.blend"))
    bpy.ops.wm.open_mainfile(filepath=str(folder / "person.blend"))
    gaps["opened"] = raise_hand(0.05)
    bpy.data.objects["person"].scale.x *= 2.0
    bpy.context.view_layer.update()
    live = bpy.context.scene.poise_ik.live
    return {"undone": undone, "redone": redone, "mode": mode, "live": live, **gaps}


def read_person() -> Any:
    """Return the heads of the hand-built armature, which undo replaces."""
    return read_heads(bpy.data.objects["person"])


def raise_hand(lift: float) -> float:
    """Move the empty of the left hand up, and return its gap."""
    empty = find_empties()["hand_l"]
    empty.location.z += lift
    bpy.context.view_layer.update()
    return measure_gap(bpy.data.objects["person"], empty)


def lock(folder: Path) -> dict[str, Any]:
    """Lock the feet of an imported walk that slips, on a turned and scaled object that travels."""
    arm = import_walk(folder)
    arm.animation_data.action.name = "walk"
    first, last = map(round, arm.animation_data.action.frame_range)
    before = sample(lambda: read_heads(arm), first, last)
    reports = capture(bpy.ops.poise.lock_feet)
    after = sample(lambda: read_heads(arm), first, last)
    names = {"action": arm.animation_data.action.name, "old": "walk" in bpy.data.actions}
    return {"before": before, "after": after, "bones": arm.pose.bones.keys(), "report": reports, **names}


def retarget(folder: Path) -> dict[str, Any]:
    """Retarget an imported walk onto the hand-built armature."""
    source = import_walk(folder)
    first, last = map(round, source.animation_data.action.frame_range)
    arm = build_armature()
    bpy.context.scene.poise_ik.source = source
    report = capture(bpy.ops.poise.retarget)
    both = sample(lambda: (read_heads(source), read_heads(arm)), first, last)
    bends = sample(lambda: [find_knee_sign(arm) * arm.pose.bones["shin.L"].rotation_euler.x], first, last)
    return {
        "source": [row[0] for row in both],
        "target": [row[1] for row in both],
        "source_bones": source.pose.bones.keys(),
        "target_bones": arm.pose.bones.keys(),
        "report": report,
        "bends": bends,
        "range": list(arm.animation_data.action.frame_range),
    }


def errors() -> dict[str, Any]:
    """Return the messages of operators that cannot run."""
    said = {"nothing": capture(bpy.ops.poise.lock_feet)}
    arm = build_armature()
    said["still"] = capture(bpy.ops.poise.lock_feet)
    said["source"] = capture(bpy.ops.poise.retarget)
    said["handles"] = capture(bpy.ops.poise.bake)
    said["selection"] = capture(bpy.ops.poise.set_handles)
    arm.scale = (1.0, 2.0, 1.0)
    bpy.context.view_layer.update()
    said["scale"] = capture(bpy.ops.poise.add_handles)
    stick = activate(make_armature("stick", {"a": BONES["root"], "b": ((0, 20, 0), (0, 40, 0), "a", 0.0, "XYZ")}))
    stick.pose.bones["b"].keyframe_insert("rotation_euler", frame=1)
    stick.pose.bones["b"].keyframe_insert("rotation_euler", frame=9)
    said["feet"] = capture(bpy.ops.poise.lock_feet)
    return said


# ------------------------------------------------------------------------------------------------ armatures


def import_walk(folder: Path) -> Any:
    """Return the armature of walk.glb, on a turned and scaled object."""
    bpy.ops.import_scene.gltf(filepath=str(folder / "walk.glb"))
    arm = activate(next(item for item in bpy.data.objects if item.type == "ARMATURE"))
    arm.rotation_mode, arm.rotation_euler = "XYZ", (0.0, 0.0, 0.7)
    arm.location, arm.scale = (1.0, 2.0, 0.3), (0.5, 0.5, 0.5)
    return arm


def build_armature() -> Any:
    """Return a person in a T-pose, in centimetres under a scaled and turned object, with ranges and odd rolls."""
    table = dict(BONES)
    for name, (head, tail, parent, roll, mode) in BONES.items():
        if name.endswith(".L"):
            mirrored = [(-x, y, z) for x, y, z in (head, tail)]
            above = parent.replace(".L", ".R")
            table[name.replace(".L", ".R")] = (mirrored[0], mirrored[1], above, 0.3 - roll if roll else 0.0, mode)
    arm = activate(make_armature("person", table))
    arm.scale, arm.rotation_euler, arm.location = (0.01,) * 3, (0.0, 0.0, -0.5), (0.5, -1.0, 0.2)
    arm.data.bones["head"].use_inherit_rotation = False
    arm.pose.bones["root"].rotation_quaternion = (0.98, 0.0, 0.0, 0.2)
    for side in "LR":
        limit = arm.pose.bones[f"forearm.{side}"].constraints.new("LIMIT_ROTATION")
        limit.owner_space, limit.use_limit_x, limit.use_limit_y = "LOCAL", True, True
        limit.min_x, limit.max_x, limit.min_y, limit.max_y = -BENT, BENT, -0.1, 0.1
        knee, sign = arm.pose.bones[f"shin.{side}"], find_knee_sign(arm)
        knee.use_ik_limit_x, knee.lock_ik_y, knee.lock_ik_z = True, True, True
        knee.ik_min_x, knee.ik_max_x = min(0.0, sign * BENT), max(0.0, sign * BENT)
    bpy.context.view_layer.update()
    return arm


def make_armature(name: str, table: dict[str, Any]) -> Any:
    """Return an armature with the bones of a table; bones that begin at their parent's tail are connected."""
    arm = bpy.data.objects.new(name, bpy.data.armatures.new(name))
    bpy.context.scene.collection.objects.link(arm)
    activate(arm)
    bpy.ops.object.mode_set(mode="EDIT")
    for bone, (head, tail, parent, roll, _) in table.items():
        made = arm.data.edit_bones.new(bone)
        made.head, made.tail, made.roll = head, tail, roll
        if parent:
            made.parent = arm.data.edit_bones[parent]
            made.use_connect = table[parent][1] == head
    bpy.ops.object.mode_set(mode="OBJECT")
    for bone, (*_, mode) in table.items():
        arm.pose.bones[bone].rotation_mode = mode
    return arm


def activate(item: Any) -> Any:
    """Select an object alone, and return it."""
    for other in bpy.context.selected_objects:
        other.select_set(False)
    item.select_set(True)
    bpy.context.view_layer.objects.active = item
    return item


def find_knee_sign(arm: Any) -> float:
    """Return the sign of the rotation about x by which a lower leg bends back."""
    bone = arm.data.bones["shin.L"]
    return 1.0 if bone.x_axis.cross(bone.tail_local - bone.head_local).y > 0.0 else -1.0


# ------------------------------------------------------------------------------------------------ measures


def read_head(arm: Any, bone: str) -> Any:
    """Return the head of a posed bone in the world."""
    return np.array(arm.matrix_world @ arm.pose.bones[bone].head)


def read_heads(arm: Any) -> Any:
    """Return the heads of all posed bones in the world, (bones, 3)."""
    return np.array([read_head(arm, bone.name) for bone in arm.pose.bones])


def find_empties() -> dict[str, Any]:
    """Return the empties of the extension by their handles."""
    return {item.poise_ik.handle: item for item in bpy.data.objects if item.poise_ik.handle}


def find_handle_bone(handle: str) -> str:
    """Return the frame that the extension moves by a handle."""
    (session,) = poise_ik.handlers.sessions.by_name.values()
    return str(session.rig.handles[handle].frame)


def measure_gap(arm: Any, empty: Any, bone: str = "") -> float:
    """Return the distance of an empty from the head of its bone [m]; by default the bone of a hand-built armature."""
    named = empty.poise_ik.handle.replace("pelvis", "hips").replace("_l", ".L").replace("_r", ".R")
    return float(np.linalg.norm(read_head(arm, bone or named) - np.array(empty.matrix_world)[:3, 3]))


def evaluated_gap(arm: Any) -> float:
    """Return by how much the constraints of bones still change them: nothing, if poses keep their ranges."""
    free = [np.array(bone.matrix) for bone in arm.pose.bones]
    for bone in arm.pose.bones:
        for constraint in bone.constraints:
            constraint.mute = True
    bpy.context.view_layer.update()
    return float(max(np.abs(a - np.array(bone.matrix)).max() for a, bone in zip(free, arm.pose.bones, strict=True)))


def sample(read: Callable[[], Any], first: int = 1, last: int = FRAMES) -> list[Any]:
    """Return what a function reads in each frame."""
    rows = []
    for frame in range(first, last + 1):
        bpy.context.scene.frame_set(frame)
        rows.append(read())
    return rows


def capture(operator: Callable[[], Any]) -> str:
    """Run an operator, and return its report."""
    said: list[str] = []
    kind: Any = poise_ik.operators.PoiseOperator
    plain = kind.tell
    kind.tell = lambda _, level, text: said.append(f"{level} {text}")
    try:
        operator()
    finally:
        kind.tell = plain
    return "\n".join(said)


def main(folder: Path) -> None:
    """Run all scenes, each in an empty file."""
    if importlib.util.find_spec("poise") is None:
        sys.exit(NO_POISE)
    patch_blender()
    poise_ik.register()
    from_files = [partial(each, folder) for each in (follow, change, lock, retarget)]
    for scene in (partial(drag), partial(bake), partial(overreach), partial(errors), *from_files):
        bpy.ops.wm.read_homefile(use_empty=True, use_factory_startup=True)
        bpy.context.scene.render.fps = 30
        np.savez(folder / f"{scene.func.__name__}.npz", **scene())


if __name__ == "__main__":
    main(Path(sys.argv[sys.argv.index("--") + 1]))
    sys.stdout.flush()
    os._exit(0)  # the package bpy may hang while it is unloaded
