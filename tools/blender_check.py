"""Compare our GLB and BVH files in Blender: import them headless and compare the joint positions.

    python tools/blender_check.py --out build/blender     # write files, run Blender, print a table; fails on errors
    blender -b --factory-startup --python tools/blender_check.py -- build/blender    # the second half alone

The first half runs with Poise: it writes a clip of several bodies and, next to each file, the position of every joint
in every frame. The second half runs inside Blender, imports the file and compares. Debian's Blender 3.4 on Python 3.11
needs two patches: its BVH importer opens files with mode "rU", its glTF importer uses `np.bool`. Blender is z-up.
"""

import argparse
import builtins
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests" / "support"))

TOLERANCE = 2e-5  # m; Blender works in single precision
FRAMES = 24
FPS = 30


# ------------------------------------------------------------------------------------------------ with Poise


def write_files(out: Path) -> None:
    """Write clips of bodies as GLB and, if possible, as BVH; each with a table of expected positions."""
    import poise
    from poise.formats import registry

    out.mkdir(parents=True, exist_ok=True)
    for old in out.glob("*"):
        if old.suffix in (".glb", ".bvh", ".json"):
            old.unlink()
    for name in ("humanoid", "tree30", "panda"):
        model = poise.load(name)
        motion = poise.Motion(model, make_motion(model), FPS)
        export(motion, out / f"{name}.glb")
        if name == "humanoid" and any(".bvh" in module.SUFFIXES for module in registry.list_formats()):
            export(motion, out / f"{name}.bvh")
    make_character(out / "character_source.gltf")
    body = poise.load(out / "character_source.gltf")
    export(poise.Motion(body, make_motion(body), FPS), out / "character.glb")


def make_motion(model: Any) -> np.ndarray:
    """Return a smooth motion within the ranges that moves every joint."""
    rng = np.random.default_rng(7)
    phase, size = rng.uniform(0, 2 * np.pi, model.nv), rng.uniform(0.1, 0.5, model.nv)
    steps = np.array([size * np.sin(phase + 2 * np.pi * k / FRAMES) for k in range(FRAMES)])
    return np.asarray(model.clamp(model.integrate(np.tile(model.rest, (FRAMES, 1)), steps)))


def export(motion: Any, path: Path) -> None:
    """Write the file, and a JSON with the z-up positions of its frames."""
    import poise

    poise.save(motion, path)
    places = motion.model.fk(motion.q)[..., :3, 3]
    if motion.model.up == "y":
        places = np.stack([places[..., 0], -places[..., 2], places[..., 1]], axis=-1)
    about = {"fps": motion.fps, "frames": list(motion.model.frames), "places": places.tolist()}
    path.with_suffix(path.suffix + ".json").write_text(json.dumps(about))


def make_character(path: Path) -> None:
    """Write a test character: a tube bound to three bones under a scaled armature, with a skin and a material."""
    from gltf_files import File

    rings, around = 13, 12
    heights = np.linspace(0, 1.5, rings)
    angles = np.linspace(0, 2 * np.pi, around, endpoint=False)
    circle = 0.12 * np.stack([np.cos(angles), 0 * angles, np.sin(angles)], axis=1)
    points = (circle[None] + np.stack([0 * heights, heights, 0 * heights], axis=1)[:, None]).reshape(-1, 3)
    weights = np.clip(1 - np.abs(np.minimum(heights, 1.0)[:, None] / 0.5 - np.arange(4)), 0, 1) * [1, 1, 1, 0]
    weights = np.repeat(weights / weights.sum(axis=1, keepdims=True), around, axis=0)
    quads = [(r * around + k, r * around + (k + 1) % around) for r in range(rings - 1) for k in range(around)]
    faces = np.array([(a, a + around, b + around, a, b + around, b) for a, b in quads]).reshape(-1)
    bones = [
        {"name": "armature", "scale": [0.01] * 3, "children": [1]},
        {"name": "low", "scale": [100.0] * 3, "children": [2]},
        {"name": "middle", "translation": [0, 0.5, 0], "children": [3]},
        {"name": "top", "translation": [0, 0.5, 0]},
    ]
    file, single = File(bones), points.astype("f4")
    ends = {"min": single.min(axis=0).tolist(), "max": single.max(axis=0).tolist()}
    attributes = {
        "POSITION": file.accessor(points, **ends),
        "WEIGHTS_0": file.accessor(weights),
        "JOINTS_0": file.accessor((weights > 0) * [0, 1, 2, 0], "u1"),
    }
    primitive = {"attributes": attributes, "indices": file.accessor(faces, "u2"), "material": 0}
    file.add("materials", {"name": "clay", "pbrMetallicRoughness": {"baseColorFactor": [0.8, 0.35, 0.2, 1.0]}})
    mesh, skin = file.add("meshes", {"primitives": [primitive]}), file.skin([1, 2, 3])
    file.json["scenes"][0]["nodes"].append(file.add("nodes", {"name": "tube", "mesh": mesh, "skin": skin}))
    file.gltf(path)


# ------------------------------------------------------------------------------------------------ inside Blender


def compare_files(out: Path) -> None:
    """Import and compare every file; exit with 1 if a joint is missing or misplaced."""
    patch_blender()
    bad = 0
    print(f"{'file':24} {'joints':>6} {'frames':>6} {'worst [m]':>10}")
    for table in sorted(out.glob("*.json")):
        path = table.with_suffix("")
        joints, frames, worst, missing = compare(path, json.loads(table.read_text()))
        wrong = worst > TOLERANCE or missing or not joints
        print(f"{path.name:24} {joints:6} {frames:6} {worst:10.2e} {'WRONG ' + ', '.join(missing) if wrong else 'ok'}")
        bad += bool(wrong)
        draw_picture(out / f"{path.name}.png")
    sys.stdout.flush()
    sys.exit(1 if bad else 0)


def patch_blender() -> None:
    """Patch Debian's Blender 3.4 for Python 3.11 with a recent NumPy."""
    plain = builtins.open

    def tolerant(file: Any, mode: str = "r", *args: Any, **more: Any) -> Any:
        return plain(file, mode.replace("U", ""), *args, **more)

    vars(builtins)["open"] = tolerant
    if "bool" not in vars(np):
        vars(np)["bool"] = bool


def compare(path: Path, expected: dict[str, Any]) -> tuple[int, int, float, list[str]]:
    """Return the number of compared joints and frames, the largest distance [m], and the missing names."""
    import bpy

    bpy.ops.wm.read_factory_settings(use_empty=True)
    scene = bpy.context.scene
    scene.render.fps = round(expected["fps"])
    if path.suffix == ".bvh":
        bpy.ops.import_anim.bvh(filepath=str(path), update_scene_fps=True, update_scene_duration=True)
        first, names = 1, set(find_bones()) & set(expected["frames"])
    else:
        bpy.ops.import_scene.gltf(filepath=str(path))
        first, names = 0, set(expected["frames"])
    places, worst, seen = np.array(expected["places"]), 0.0, set[str]()
    missing = sorted(names - set(find_bones()) - set(bpy.data.objects.keys()))
    for k in range(len(places)):
        scene.frame_set(first + k)
        found = find_bones() | {
            item.name: item.matrix_world.translation for item in bpy.data.objects if item.type == "EMPTY"
        }
        seen = names & set(found)
        for name in seen:
            worst = max(worst, float(np.abs(np.array(found[name]) - places[k][expected["frames"].index(name)]).max()))
    return len(seen), len(places), worst, missing


def find_bones() -> dict[str, Any]:
    """Return the world position of the head of each bone."""
    import bpy

    arms = [item for item in bpy.data.objects if item.type == "ARMATURE"]
    return {bone.name: arm.matrix_world @ bone.head for arm in arms for bone in arm.pose.bones}


def draw_picture(path: Path) -> None:
    """Render the last frame of the imported scene with Cycles on the CPU, with bones as cylinders."""
    import bpy
    from mathutils import Vector

    corners = [Vector(place) for place in find_bones().values()] or [Vector((0, 0, 0))]
    for item in [item for item in bpy.data.objects if item.type == "MESH"]:
        corners += [item.matrix_world @ Vector(corner) for corner in item.bound_box]
    for arm in [item for item in bpy.data.objects if item.type == "ARMATURE"]:
        for bone in arm.pose.bones:
            for end in [child.head for child in bone.children] or [bone.tail]:
                add_cylinder(arm.matrix_world @ bone.head, arm.matrix_world @ end)
    middle = sum(corners, Vector((0, 0, 0))) / len(corners)
    size = max([0.3, *((corner - middle).length for corner in corners)])
    camera = bpy.data.objects.new("camera", bpy.data.cameras.new("camera"))
    camera.location = middle + Vector((1.2, -3.2, 0.8)) * size
    camera.rotation_euler = (middle - camera.location).to_track_quat("-Z", "Y").to_euler()
    sun = bpy.data.objects.new("sun", bpy.data.lights.new("sun", "SUN"))
    sun.data.energy, sun.rotation_euler = 3.0, (0.6, 0.3, 0.2)
    scene = bpy.context.scene
    for item in (camera, sun):
        scene.collection.objects.link(item)
    scene.world = bpy.data.worlds.new("world")
    scene.world.color = (0.7, 0.7, 0.7)
    scene.camera, scene.render.engine = camera, "CYCLES"
    scene.cycles.device, scene.cycles.samples, scene.cycles.use_denoising = "CPU", 8, False
    scene.render.resolution_x = scene.render.resolution_y = 320
    scene.render.filepath = str(path)
    bpy.ops.render.render(write_still=True)


def add_cylinder(start: Any, end: Any) -> None:
    """Add a thin cylinder between two points."""
    import bpy

    along = end - start
    if along.length > 1e-6:
        bpy.ops.mesh.primitive_cylinder_add(radius=0.012, depth=along.length, location=(start + end) / 2, vertices=8)
        bpy.context.object.rotation_euler = along.to_track_quat("Z", "Y").to_euler()


def main() -> None:
    """Write the files here, then compare them in Blender."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=Path("build/blender"))
    parser.add_argument("--blender", default="blender")
    asked = parser.parse_args()
    write_files(asked.out)
    command = [
        asked.blender,
        "-b",
        "--factory-startup",
        "--python-exit-code",
        "1",
        "--python",
        __file__,
        "--",
        str(asked.out),
    ]
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    lines = done.stdout.splitlines()
    start = next((i for i, line in enumerate(lines) if line.startswith("file ")), 0)
    print(
        "\n".join(line for line in lines[start:] if not line.startswith(("Fra:", "Saved", " Time", "Data are", "INFO")))
    )
    if done.returncode:
        print(done.stderr[-3000:], file=sys.stderr)
    sys.exit(done.returncode)


if __name__ == "__main__":
    if "bpy" in sys.modules or "--" in sys.argv:
        compare_files(Path(sys.argv[sys.argv.index("--") + 1]))
    else:
        main()
