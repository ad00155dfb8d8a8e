"""glTF files for tests, written by hand, and the positions of their nodes, by plain matrix products.

Nothing here uses the reader: a file is a dictionary and some bytes, its reference is the specification's own recipe.
"""

import base64
import json
import struct
from pathlib import Path
from typing import Any

import numpy as np

import poise

CODES = {"i1": 5120, "u1": 5121, "i2": 5122, "u2": 5123, "u4": 5125, "f4": 5126}
TYPES = {1: "SCALAR", 2: "VEC2", 3: "VEC3", 4: "VEC4", 16: "MAT4"}


class File:
    """A glTF under construction: `json`, and the bytes of its only buffer."""

    def __init__(self, nodes: list[dict[str, Any]]) -> None:
        children = {child for node in nodes for child in node.get("children", [])}
        self.data = b""
        self.json: dict[str, Any] = {
            "asset": {"version": "2.0", "generator": "by hand"},
            "scene": 0,
            "scenes": [{"nodes": [i for i in range(len(nodes)) if i not in children]}],
            "nodes": nodes,
        }

    def view(self, data: bytes, **more: Any) -> int:
        self.data += b"\0" * (-len(self.data) % 4)
        views = self.json.setdefault("bufferViews", [])
        views.append({"buffer": 0, "byteOffset": len(self.data), "byteLength": len(data), **more})
        self.data += data
        return len(views) - 1

    def accessor(self, values: Any, dtype: str = "f4", **more: Any) -> int:
        array = np.asarray(values)
        array = array.reshape(len(array), -1)
        about = {
            "bufferView": self.view(array.astype("<" + dtype).tobytes()),
            "componentType": CODES[dtype],
            "type": TYPES[array.shape[1]],
            "count": len(array),
            **more,
        }
        if array.shape[1] == 1:
            about |= {"min": [float(np.float32(array.min()))], "max": [float(np.float32(array.max()))]}
        return self.add("accessors", about)

    def add(self, key: str, item: dict[str, Any]) -> int:
        items = self.json.setdefault(key, [])
        items.append(item)
        return len(items) - 1

    def skin(self, joints: list[int], *, bind: bool = True) -> int:
        about: dict[str, Any] = {"joints": joints}
        if bind:
            world = worlds(self.json)
            inverse = np.stack([np.linalg.inv(world[j]).T for j in joints])
            inverse[:, :, 3] = (0, 0, 0, 1)
            about["inverseBindMatrices"] = self.accessor(inverse.reshape(-1, 16))
        return self.add("skins", about)

    def mesh(self, skin: int, joints: int) -> int:
        """Add a triangle at each joint, so that a skin moves something; return the node of the mesh."""
        rng = np.random.default_rng(3)
        points = rng.normal(size=(3 * joints, 3)) * 0.1
        weights, bones = np.zeros((3 * joints, 4)), np.zeros((3 * joints, 4))
        weights[:, 0], bones[:, 0] = 1, np.repeat(np.arange(joints), 3)
        attributes = {
            "POSITION": self.accessor(points),
            "JOINTS_0": self.accessor(bones, "u2"),
            "WEIGHTS_0": self.accessor(weights),
        }
        accessor = self.json["accessors"][attributes["POSITION"]]
        single = points.astype("f4")
        accessor |= {"min": single.min(axis=0).tolist(), "max": single.max(axis=0).tolist()}
        for i in attributes.values():
            self.json["bufferViews"][self.json["accessors"][i]["bufferView"]]["target"] = 34962
        mesh = self.add("meshes", {"primitives": [{"attributes": attributes, "material": 0}]})
        self.add("materials", {"name": "red", "pbrMetallicRoughness": {"baseColorFactor": [1, 0, 0, 1]}})
        node = self.add("nodes", {"name": "body", "mesh": mesh, "skin": skin})
        self.json["scenes"][0]["nodes"].append(node)
        return node

    def clip(self, name: str, channels: list[tuple[int, str, Any, Any, str]], dtype: str = "f4") -> int:
        """Add an animation of (node, path, times, values, interpolation)."""
        animation: dict[str, Any] = {"name": name, "channels": [], "samplers": []}
        for node, path, times, values, mode in channels:
            more = {} if dtype == "f4" or path != "rotation" else {"normalized": True}
            output = self.accessor(values, dtype if path == "rotation" else "f4", **more)
            sampler = {"input": self.accessor(times), "output": output, "interpolation": mode}
            animation["samplers"].append(sampler)
            target = {"node": node, "path": path}
            animation["channels"].append({"sampler": len(animation["samplers"]) - 1, "target": target})
        return self.add("animations", animation)

    def with_buffer(self, uri: str | None) -> dict[str, Any]:
        about: dict[str, Any] = {"byteLength": len(self.data)}
        return {**self.json, "buffers": [about if uri is None else {**about, "uri": uri}]} if self.data else self.json

    def glb(self, path: Path) -> Path:
        path.write_bytes(glb(self.with_buffer(None), self.data))
        return path

    def gltf(self, path: Path) -> Path:
        """Write a .gltf with its buffer in a file next to it."""
        path.with_suffix(".bin").write_bytes(self.data)
        path.write_text(json.dumps(self.with_buffer(path.with_suffix(".bin").name)))
        return path

    def data_uri(self, path: Path) -> Path:
        code = base64.b64encode(self.data).decode()
        path.write_text(json.dumps(self.with_buffer(f"data:application/octet-stream;base64,{code}")))
        return path


def glb(root: dict[str, Any] | bytes, data: bytes) -> bytes:
    text = root if isinstance(root, bytes) else json.dumps(root).encode()
    text += b" " * (-len(text) % 4)
    data += b"\0" * (-len(data) % 4)
    chunks = struct.pack("<I4s", len(text), b"JSON") + text
    if data:
        chunks += struct.pack("<I4s", len(data), b"BIN\0") + data
    return struct.pack("<4sII", b"glTF", 2, 12 + len(chunks)) + chunks


# ------------------------------------------------------------------------------------------------ positions of nodes


def turn_matrix(xyzw: Any) -> np.ndarray:
    x, y, z, w = np.asarray(xyzw, float) / np.linalg.norm(xyzw)
    return np.array(
        [
            [1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w)],
            [2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w)],
            [2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)],
        ]
    )


def local(node: dict[str, Any]) -> np.ndarray:
    if "matrix" in node:
        return np.array(node["matrix"], float).reshape(4, 4).T
    out = np.eye(4)
    out[:3, :3] = turn_matrix(node.get("rotation", [0, 0, 0, 1])) @ np.diag(node.get("scale", [1, 1, 1]))
    out[:3, 3] = node.get("translation", [0, 0, 0])
    return out


def worlds(root: dict[str, Any]) -> np.ndarray:
    """Return T R S multiplied down the tree, (nodes, 4, 4)."""
    nodes = root["nodes"]
    parents = {child: i for i, node in enumerate(nodes) for child in node.get("children", [])}
    out = np.empty((len(nodes), 4, 4))
    for i in range(len(nodes)):
        chain = [i]
        while chain[-1] in parents:
            chain.append(parents[chain[-1]])
        product = np.eye(4)
        for k in reversed(chain):
            product = product @ local(nodes[k])
        out[i] = product
    return out


def posed(root: dict[str, Any], values: dict[tuple[int, str], Any]) -> dict[str, Any]:
    """Return the file with some properties of nodes replaced."""
    nodes = [dict(node) for node in root["nodes"]]
    for (node, path), value in values.items():
        nodes[node][path] = list(map(float, value))
    return {**root, "nodes": nodes}


def arm(**root: Any) -> File:
    """Return three bones in a row under an armature, and a fourth one next to them."""
    nodes = [
        {"name": "armature", "translation": [0.5, 0, 0], "children": [1], **root},
        {"name": "hips", "translation": [0, 1, 0], "rotation": quaternion([0, 0, 1], 0.3), "children": [2, 4]},
        {"name": "upper", "translation": [0.2, 0.5, 0], "rotation": quaternion([1, 0, 0], -0.4), "children": [3]},
        {"name": "lower", "translation": [0, 0.4, 0.1], "rotation": quaternion([1, 2, 0], 0.7)},
        {"name": "leg", "translation": [0, -0.6, 0], "rotation": quaternion([0, 1, 1], 0.2)},
    ]
    return File(nodes)


def make_character(**root: Any) -> File:
    """Return the bones of `arm` with a skinned mesh, a material and a clip."""
    file = arm(**root)
    file.mesh(file.skin([1, 2, 3, 4]), 4)
    quats = [quaternion([1, 0, 0], angle) for angle in (0.1, 0.4)]
    file.clip("walk", [(2, "rotation", [0, 1], quats, "LINEAR"), (1, "translation", [0, 1], np.eye(3)[:2], "STEP")])
    return file


def quaternion(axis: Any, angle: float) -> list[float]:
    axis = np.asarray(axis, float) / np.linalg.norm(axis)
    return [*(np.sin(angle / 2) * axis), float(np.cos(angle / 2))]


def off(model: poise.Model, q: np.ndarray, root: dict[str, Any], *, turns: bool = True) -> float:
    """How far the model's frames are from the products of the nodes' matrices."""
    world = worlds(root)
    worst = 0.0
    for i, node in enumerate(root["nodes"]):
        here = model.fk(q, node["name"])
        worst = max(worst, float(np.abs(here[:3, 3] - world[i][:3, 3]).max()))
        if turns:
            linear = world[i][:3, :3]
            worst = max(worst, float(np.abs(here[:3, :3] - linear / np.cbrt(np.linalg.det(linear))).max()))
    return worst
