"""The parser of FBX files, in a process of its own; the answer is described in `poise.formats.node_scene`.

It imports nothing from Poise, because a bare interpreter runs its source (see `poise.formats.apart`).
"""

import ctypes
import json
import os
import sys
from typing import Any

MAX_KEYS = 20_000_000  # of all channels
MAX_DEPTH = 1000  # nodes below one another
MAX_RATE = 1000.0  # Hz
COUNT = ctypes.pythonapi.Py_IncRef
COUNT.argtypes = [ctypes.py_object]


def hold(thing: Any) -> Any:
    """Return an object of ufbx, with one more reference: 0.0.5 counts too few, and would free what is in use."""
    COUNT(thing)
    return thing


def load(data: bytes) -> Any:
    """Return the scene with y or z up, in right-handed axes."""
    import ufbx

    options: dict[str, Any] = {"ignore_geometry": True, "ignore_embedded": True, "node_depth_limit": MAX_DEPTH}
    options |= {"space_conversion": ufbx.SpaceConversion.ADJUST_TRANSFORMS, "file_format": ufbx.FileFormat.FBX}
    options |= {"inherit_mode_handling": ufbx.InheritModeHandling.COMPENSATE}
    scene = hold(ufbx.load_memory(data, **options))
    axes = tuple(hold(scene.settings).axes)
    upright = ufbx.axes_right_handed_z_up if "_Z" in axes[1].name else ufbx.axes_right_handed_y_up
    return scene if axes == tuple(upright) else hold(ufbx.load_memory(data, **options, target_axes=upright))


def read_nodes(scene: Any) -> tuple[list[Any], dict[int, int]]:
    """Return the nodes, parents first, without the file's own root; and their indices by ufbx's numbers."""
    nodes: list[Any] = []
    index: dict[int, int] = {}
    for node in sorted((hold(node) for node in hold(scene.nodes)), key=lambda node: node.node_depth):
        parent = hold(node.parent)
        if parent is None:
            index[node.typed_id] = -1
            continue
        index[node.typed_id] = len(nodes)
        local = node.local_transform
        nodes.append([node.name, index[parent.typed_id], local.translation, local.rotation, local.scale])
    return nodes, index


def read_skin(scene: Any, index: dict[int, int]) -> list[Any]:
    """Return the bones, and nodes that carry a mesh, with their bind matrices."""
    world = {}
    for node in hold(scene.nodes):
        if hold(hold(node).bone) is not None:
            world[index[node.typed_id]] = node.node_to_world
    for cluster in hold(scene.skin_clusters):
        bone = hold(hold(cluster).bone_node)
        if bone is not None:
            world[index[bone.typed_id]] = cluster.bind_to_world
    world.pop(-1, None)
    flat = [[*(x for row in zip(*matrix, strict=True) for x in row), 0.0, 0.0, 0.0, 1.0] for matrix in world.values()]
    return [[list(world), flat]] if world else []


def bake(scene: Any, index: dict[int, int], times: list[float], values: list[Any]) -> list[Any]:
    """Return the clips, and append their keys."""
    import ufbx

    rate = min(max(hold(scene.settings).frames_per_second or 30.0, 1.0), MAX_RATE)
    clips = []
    for stack in hold(scene.anim_stacks):
        seconds = max(hold(stack).time_end - stack.time_begin, 0.0)
        if not seconds * rate * 3 * len(index) <= MAX_KEYS - len(times):
            raise ValueError(f"its clip {stack.name!r} lasts {seconds:.3g} s, too long to read")
        baked = hold(ufbx.bake_anim(scene, hold(stack.anim), resample_rate=rate, maximum_sample_rate=rate))
        channels = []
        for node in hold(baked.nodes):
            for path in ("translation", "rotation", "scale"):
                first = len(times)
                for key in hold(getattr(hold(node), f"{path}_keys")):
                    times.append(hold(key).time)
                    values.append((*key.value, 0.0)[:4])
                if len(times) > first and index[node.typed_id] >= 0:
                    channels.append([index[node.typed_id], path, first, len(times) - first])
        if channels:
            clips.append([stack.name, channels])
    return clips


def serve() -> None:
    """Answer the request on stdin: the bytes of a file."""
    import numpy as np

    scene = load(sys.stdin.buffer.read())
    settings = hold(scene.settings)
    nodes, index = read_nodes(scene)
    times: list[float] = []
    values: list[Any] = []
    answer = {"up": "z" if "_Z" in settings.axes.up.name else "y", "metres": settings.unit_meters, "oddities": []}
    answer |= {"nodes": nodes, "skins": read_skin(scene, index), "clips": bake(scene, index, times, values)}
    text = np.frombuffer(json.dumps(answer).encode(), np.uint8)
    np.savez(sys.stdout.buffer, scene=text, times=np.array(times), values=np.reshape(values, (-1, 4)))
    sys.stdout.flush()
    os._exit(0)  # without freeing what ufbx counts wrongly


if __name__ == "__main__":
    serve()
