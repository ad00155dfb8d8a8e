"""A skinned rig that Blender animates and writes as FBX: `blender -b --python blender_fbx.py -- folder`.

The folder gets y.fbx and z.fbx, with y and z up, and bones.json with Blender's own bone matrices [m, z up].
"""

import json
import random
import sys
from pathlib import Path
from typing import Any

import bpy

FRAMES = range(1, 26)
KEYS = (1, 7, 16, 25)
BONES: dict[str, tuple[str, tuple[float, ...], tuple[float, ...]]] = {
    "hips": ("", (0, 0, 0), (0, 0, 0.3)),
    "spine": ("hips", (0, 0, 0.3), (0, 0.1, 0.8)),
    "head": ("spine", (0, 0.1, 0.8), (0, 0.1, 1.0)),
    "arm.L": ("spine", (0.1, 0, 0.7), (0.6, 0, 0.7)),
    "leg.L": ("hips", (0.1, 0, 0), (0.15, 0, -0.8)),
}


def build_rig() -> Any:
    """Return an armature, moved, turned and scaled, with a mesh on its bones."""
    bpy.ops.wm.read_factory_settings(use_empty=True)
    rig = bpy.data.objects.new("Rig", bpy.data.armatures.new("Rig"))
    bpy.context.scene.collection.objects.link(rig)
    bpy.context.view_layer.objects.active = rig
    rig.location, rig.rotation_euler, rig.scale = (0.3, -0.2, 1.0), (0.1, 0.2, 0.4), (1.5, 1.5, 1.5)
    bpy.ops.object.mode_set(mode="EDIT")
    for name, (parent, head, tail) in BONES.items():
        bone = rig.data.edit_bones.new(name)
        bone.head, bone.tail, bone.roll = head, tail, 0.3
        bone.parent = rig.data.edit_bones[parent] if parent else None
    bpy.ops.object.mode_set(mode="OBJECT")
    bpy.ops.mesh.primitive_cube_add(size=1)
    body = bpy.context.object
    body.parent = rig
    body.modifiers.new("Armature", "ARMATURE").object = rig
    for name in BONES:
        body.vertex_groups.new(name=name).add([0, 1, 2], 0.3, "ADD")
    return rig


def animate(rig: Any) -> None:
    """Key the rotations of all bones, and the places of the hips and of the rig."""
    rng, scene = random.Random(1), bpy.context.scene
    scene.render.fps, scene.frame_start, scene.frame_end = 30, FRAMES[0], FRAMES[-1]
    for frame in KEYS:
        for bone in rig.pose.bones:
            bone.rotation_mode = "QUATERNION"
            bone.rotation_quaternion = [1.0, *(rng.uniform(-0.5, 0.5) for _ in range(3))]
            bone.keyframe_insert("rotation_quaternion", frame=frame)
        rig.pose.bones["hips"].location = [rng.uniform(-0.2, 0.2) for _ in range(3)]
        rig.pose.bones["hips"].keyframe_insert("location", frame=frame)
        rig.location[0] = 0.3 + 0.01 * frame
        rig.keyframe_insert("location", frame=frame)


def write(folder: Path) -> None:
    """Write the files."""
    rig, scene = build_rig(), bpy.context.scene
    animate(rig)
    frames = []
    for frame in FRAMES:
        scene.frame_set(frame)
        frames.append([[list(row) for row in rig.matrix_world @ rig.pose.bones[name].matrix] for name in BONES])
    scene.frame_set(FRAMES[0])
    rest = [[list(row) for row in rig.matrix_world @ rig.data.bones[name].matrix_local] for name in BONES]
    (folder / "bones.json").write_text(json.dumps({"names": list(BONES), "frames": frames, "rest": rest}))
    options = {"bake_anim_simplify_factor": 0.0, "bake_anim_use_all_actions": False, "add_leaf_bones": False}
    options["bake_anim_use_nla_strips"] = False
    bpy.ops.export_scene.fbx(filepath=str(folder / "y.fbx"), **options)
    bpy.ops.export_scene.fbx(filepath=str(folder / "z.fbx"), axis_forward="Y", axis_up="Z", **options)


if __name__ == "__main__":
    write(Path(sys.argv[-1]))
