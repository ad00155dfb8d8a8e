"""Objects of a motion as glTF nodes: a mesh, a material, and a transform for every frame."""

from collections.abc import Iterable

import numpy as np

from poise.arrays import Floats
from poise.formats.gltf.body import TURN_UP
from poise.formats.gltf.draft import GltfDraft
from poise.model import Model
from poise.model import Object as Thing
from poise.model.geometry.triangles import triangulate
from poise.spatial import Rotation

__all__ = ["Moved", "add_things"]

Moved = tuple[int, Floats | None, Floats | None]
"""A node's number, its rotations (frames, 3, 3) and translations (frames, 3), None where they are the file's."""

UNSIGNED = 5125


def add_things(parts: GltfDraft, model: Model, things: Iterable[Thing], size: float = 1.0) -> list[Moved]:
    """Add objects to a file, and return the motions of their nodes; `size` is the unit of the file [m]."""
    out: list[Moved] = []
    turn_up = TURN_UP["z" if model.up == "z" else "y"].T
    for thing in things:
        turns = turn_up @ thing.transforms[:, :3, :3]
        shifts = thing.transforms[:, :3, 3] @ turn_up.T / size
        xyzw = Rotation.from_matrix(turns[0]).wxyz[[1, 2, 3, 0]]
        node = parts.append(
            "nodes",
            {
                "name": thing.name,
                "mesh": add_mesh(parts, thing, size),
                "translation": shifts[0].tolist(),
                "rotation": xyzw.tolist(),
            },
        )
        add_to_scene(parts, node)
        out.append((node, turns, shifts))
    return out


def add_to_scene(parts: GltfDraft, node: int) -> None:
    """Add a node to the default scene."""
    scenes = [dict(scene) for scene in parts.json.get("scenes", [])] or [{"nodes": []}]
    shown = scenes[int(parts.json.get("scene", 0))]
    shown["nodes"] = [*shown.get("nodes", []), node]
    parts.json["scenes"] = scenes


def add_mesh(parts: GltfDraft, thing: Thing, size: float) -> int:
    """Add the surface of an object, in its own axes, and its material; return the index of the mesh."""
    found = triangulate(type(thing.shape)(**thing.shape.sizes))
    assert found is not None
    T = thing.offset
    points = found[0] @ T[:3, :3].T + T[:3, 3]
    places = parts.add_accessor(points / size, "VEC3", bounds=True)
    rows = np.ascontiguousarray(found[1].reshape(-1), dtype="<u4")
    about = {"bufferView": parts.add_view(rows.tobytes()), "componentType": UNSIGNED, "count": len(rows)}
    corners = parts.append("accessors", {**about, "type": "SCALAR"})
    red, green, blue, opacity = thing.color
    linear = [((x + 0.055) / 1.055) ** 2.4 if x > 0.04045 else x / 12.92 for x in (red, green, blue)]
    paint = {"baseColorFactor": [*linear, opacity], "metallicFactor": 0.0, "roughnessFactor": 0.8}
    clear = {"alphaMode": "BLEND"} if opacity < 1.0 else {}
    material = parts.append("materials", {"name": thing.name, "pbrMetallicRoughness": paint, **clear})
    surface = {"attributes": {"POSITION": places}, "indices": corners, "material": material}
    return parts.append("meshes", {"name": thing.name, "primitives": [surface]})
