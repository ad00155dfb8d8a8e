"""Mesh primitives: positions, triangles, texture coordinates, normals, and up to eight skin influences.

Chapter 3.7 of glTF 2.0; KHR_mesh_quantization and KHR_texture_transform. Draco meshes are skipped and reported.
"""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from poise.arrays import Floats
from poise.formats.gltf.accessors import UNPACK, find_unknown_packing, read_indices, read_quantized
from poise.formats.gltf.document import Document, Object, shorten
from poise.model.geometry.looks import INFLUENCES

__all__ = ["Primitive", "read_primitives"]


TRIANGLES, STRIP, FAN = 4, 5, 6
LARGEST = 1e12


@dataclass(frozen=True, slots=True, eq=False)
class Primitive:
    """The triangles of a mesh primitive.

    Attributes:
        points: The vertices, (n, 3).
        triangles: The vertex indices, (m, 3).
        material: The index of the material, or -1.
        normals: The normals, (n, 3), or None.
        uv: The texture coordinates of the base colour, (n, 2), or None.
        joints: Indices into the skin's list of joints, (n, k), or None.
        weights: The skin weights, (n, k), or None.
        tint: The mean of the vertex colours, (4,).
    """

    points: Floats
    triangles: NDArray[np.int64]
    material: int
    normals: Floats | None
    uv: Floats | None
    joints: NDArray[np.int64] | None
    weights: Floats | None
    tint: Floats


def read_primitives(document: Document, mesh: int, missing: set[str]) -> list[Primitive]:
    """Read the triangles of a mesh; unsupported compressions are reported in `missing`."""
    where, out = f"meshes[{mesh}]", []
    for k, item in enumerate(document.read_objects(document.read_items("meshes")[mesh], "primitives", where)):
        made = read_primitive(document, item, f"{where}.primitives[{k}]", missing)
        if made is not None and len(made.triangles):
            out.append(made)
    return out


def read_primitive(document: Document, item: Object, where: str, missing: set[str]) -> Primitive | None:
    """Read one primitive; None if it has no readable triangles."""
    extensions = document.read_object(item, "extensions", where)
    packed = next((name for name in extensions if "compression" in name), "")
    attributes = {
        name: document.read_index(value, "accessors", f"{where}.attributes.{name[:40]}")
        for name, value in document.read_object(item, "attributes", where).items()
    }
    mode = item.get("mode", TRIANGLES)
    if mode not in (TRIANGLES, STRIP, FAN) or "POSITION" not in attributes:
        return None
    index = document.read_index(item["indices"], "accessors", f"{where}.indices") if "indices" in item else None
    packed = packed or find_unknown_packing(document, *attributes.values(), *([] if index is None else [index]))
    if packed:
        missing.add(f"a mesh is packed by {packed}, which is not read here; {UNPACK}")
        return None
    points = read_quantized(document, attributes["POSITION"], ("VEC3",), f"{where}.attributes.POSITION")
    if np.abs(points).max() > LARGEST:
        raise document.fail(f"{where}.attributes.POSITION", f"holds a number above {LARGEST:g}.")
    material = document.read_index(item["material"], "materials", f"{where}.material") if "material" in item else -1
    joints, weights = read_influences(document, attributes, len(points), where)
    return Primitive(
        points,
        read_triangles(document, index, mode, len(points), where),
        material,
        read_attribute(document, attributes, "NORMAL", ("VEC3",), len(points), where),
        read_uv(document, attributes, material, len(points), where),
        joints,
        weights,
        find_mean_color(document, attributes, len(points), where),
    )


def read_triangles(document: Document, index: int | None, mode: int, count: int, where: str) -> NDArray[np.int64]:
    """Read the triangles (m, 3), without degenerate ones; raise `FormatError` for an invalid vertex index."""
    if index is None:
        order = np.arange(count)
    else:
        order = read_indices(document, index, "SCALAR", f"{where}.indices")[:, 0]
        if order.max() >= count:
            raise document.fail(f"{where}.indices", f"names vertex {order.max()}; there are {count}.")
    if mode == TRIANGLES:
        out = order[: len(order) // 3 * 3].reshape(-1, 3)
    elif len(order) < 3:
        return np.zeros((0, 3), np.int64)
    elif mode == STRIP:
        out = np.stack([order[:-2], order[1:-1], order[2:]], axis=1)
        out[1::2] = out[1::2, ::-1]
    else:
        out = np.stack([np.full(len(order) - 2, order[0]), order[1:-1], order[2:]], axis=1)
    a, b, c = out.T
    return np.asarray(out[(a != b) & (b != c) & (c != a)])


def read_attribute(
    document: Document, attributes: dict[str, int], name: str, kinds: tuple[str, ...], count: int, where: str
) -> Floats | None:
    """Read an attribute of all vertices; None if the primitive lacks it."""
    if name not in attributes:
        return None
    at = f"{where}.attributes.{name}"
    values = read_quantized(document, attributes[name], kinds, at)
    if len(values) != count:
        raise document.fail(at, f"has {len(values)} elements; POSITION has {count}.")
    return values


def read_influences(
    document: Document, attributes: dict[str, int], count: int, where: str
) -> tuple[NDArray[np.int64] | None, Floats | None]:
    """Return the joints and normalised weights of all vertices, at most eight each; None if there is no skin."""
    joints, weights = [], []
    for k in range(len(attributes)):
        if f"JOINTS_{k}" not in attributes or f"WEIGHTS_{k}" not in attributes:
            break
        at = f"{where}.attributes.JOINTS_{k}"
        numbers = read_indices(document, attributes[f"JOINTS_{k}"], "VEC4", at)
        if len(numbers) != count:
            raise document.fail(at, f"has {len(numbers)} elements; POSITION has {count}.")
        joints.append(numbers)
        found = read_attribute(document, attributes, f"WEIGHTS_{k}", ("VEC4",), count, where)
        assert found is not None
        weights.append(found)
    if not joints:
        return None, None
    every, heavy = np.concatenate(joints, axis=1), np.maximum(np.concatenate(weights, axis=1), 0.0)
    if every.shape[1] > INFLUENCES:
        best = np.argsort(-heavy, axis=1, kind="stable")[:, :INFLUENCES]
        every, heavy = np.take_along_axis(every, best, 1), np.take_along_axis(heavy, best, 1)
    heavy = np.minimum(heavy, 1e6)
    total = heavy.sum(axis=1, keepdims=True)
    heavy[:, :1] = np.where(total > 0.0, heavy[:, :1], 1.0)  # a vertex without weights is bound to its first joint
    heavy /= heavy.sum(axis=1, keepdims=True)
    return np.where(heavy > 0.0, every, 0), heavy


def find_mean_color(document: Document, attributes: dict[str, int], count: int, where: str) -> Floats:
    """Return the mean of the vertex colours, or white."""
    values = read_attribute(document, attributes, "COLOR_0", ("VEC3", "VEC4"), count, where)
    if values is None or not len(values):
        return np.ones(4)
    mean = np.clip(values.mean(axis=0), 0.0, 1.0)
    return np.append(mean, 1.0) if len(mean) == 3 else mean


def read_uv(document: Document, attributes: dict[str, int], material: int, count: int, where: str) -> Floats | None:
    """Return texture coordinates of the base colour, with KHR_texture_transform applied."""
    info = find_base_texture(document, material)
    if not info:
        return None
    at = f"materials[{material}]"
    transform = document.read_object(document.read_object(info, "extensions", at), "KHR_texture_transform", at)
    which = transform.get("texCoord", info.get("texCoord", 0))
    if type(which) is not int:
        raise document.fail(f"{at}: texCoord", f"is {shorten(which)}; it must be a whole number.")
    uv = read_attribute(document, attributes, f"TEXCOORD_{which}", ("VEC2",), count, where)
    return uv if uv is None or not transform else transform_uv(document, uv, transform, at)


def transform_uv(document: Document, uv: Floats, transform: Object, where: str) -> Floats:
    """Return texture coordinates that are scaled, rotated and translated."""

    def pair(key: str, default: float) -> Floats:
        given = transform.get(key, [default, default])
        fine = isinstance(given, list) and len(given) == 2 and all(type(x) in (int, float) for x in given)
        if not fine or not all(abs(x) < LARGEST for x in given):
            raise document.fail(f"{where}: {key}", f"is {shorten(given)}; it must be two numbers.")
        return np.array(given, np.float64)

    turn = transform.get("rotation", 0.0)
    angle = float(turn) if type(turn) in (int, float) and abs(turn) < LARGEST else 0.0
    c, s = math.cos(angle), math.sin(angle)
    return np.asarray((uv * pair("scale", 1.0)) @ np.array([[c, -s], [s, c]]) + pair("offset", 0.0))


def find_base_texture(document: Document, material: int) -> Object:
    """Return the JSON of a material's base colour texture; empty if it has none."""
    if material < 0:
        return {}
    where, item = f"materials[{material}]", document.read_items("materials")[material]
    basic = document.read_object(document.read_object(item, "pbrMetallicRoughness", where), "baseColorTexture", where)
    old = document.read_object(
        document.read_object(item, "extensions", where), "KHR_materials_pbrSpecularGlossiness", f"{where}.extensions"
    )
    return basic or document.read_object(old, "diffuseTexture", where)
