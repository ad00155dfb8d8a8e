"""The appearance of a glTF character: its meshes, skinned to the frames of its model.

A node is at ``T_world_frame [A', 0]``, with A' the remaining scale of its joint (see `body`). A vertex bound to a joint
is transformed by ``B = [A', 0] M``, with M the joint's inverse bind matrix; a vertex of a mesh without a skin by
``[A', 0]`` alone.
"""

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from poise.arrays import Floats
from poise.files.source import Source
from poise.formats.gltf.accessors import find_unknown_packing, read_accessor
from poise.formats.gltf.body import NodeJoint
from poise.formats.gltf.document import Document, read_document
from poise.formats.gltf.materials import Palette
from poise.formats.gltf.meshes import Primitive, read_primitives
from poise.formats.gltf.nodes import find_world_matrices, read_nodes
from poise.formats.gltf.reader import read_body
from poise.formats.options import ReadOptions
from poise.model.geometry.looks import Look, LookSource, Patch, Piece, Skin

__all__ = ["read_look", "read_still"]


MAX_TRIANGLES = 4_000_000


def read_look(about: LookSource) -> Look:
    """Read the appearance of the body in a file.

    Raises:
        FormatError: The file is malformed or missing.
    """
    source = Source.open(about.path)
    body = read_body(source, ReadOptions(scale=about.scale, up=about.up))
    document, palette = body.document, Palette(body.document)
    pieces: list[Piece] = []
    for i, primitive, patch in list_patches(document, palette, body.order):
        skin = document.read_items("nodes")[i].get("skin")
        if skin is None or primitive.joints is None:
            matrix = make_affine(about.size * body.limbs[i].stretch)
            pieces.append(Piece(patch, body.limbs[i].name, matrix))
        else:
            number = document.read_index(skin, "skins", f"nodes[{i}].skin")
            pieces.append(make_skinned(document, primitive, patch, number, body.limbs, about.size))
    return Look(tuple(pieces), notes=tuple(sorted(palette.missing)))


def list_patches(document: Document, palette: Palette, order: Iterable[int]) -> Iterator[tuple[int, Primitive, Patch]]:
    """Yield the primitives of the shown nodes, each with the index of its node, and as a patch."""
    shown, count = list_shown_nodes(document), 0
    for i in order:
        item = document.read_items("nodes")[i]
        if "mesh" not in item or i not in shown:
            continue
        mesh = document.read_index(item["mesh"], "meshes", f"nodes[{i}].mesh")
        for primitive in read_primitives(document, mesh, palette.missing):
            count += len(primitive.triangles)
            if count > MAX_TRIANGLES:
                raise document.fail(f"meshes[{mesh}]", f"one triangle too many; at most {MAX_TRIANGLES} are read.")
            yield i, primitive, make_patch(primitive, palette)


def list_shown_nodes(document: Document) -> set[int]:
    """Return the nodes of the default scene; all nodes if the file has no scene."""
    scenes = document.read_items("scenes")
    if not scenes:
        return set(range(len(document.read_items("nodes"))))
    first = document.read_index(document.json.get("scene", 0), "scenes", "scene")
    stack = list(scenes[first].get("nodes", []))
    seen: set[int] = set()
    while stack:
        i = stack.pop()
        if i not in seen:
            seen.add(i)
            stack += document.read_items("nodes")[i].get("children", [])
    return seen


def make_patch(primitive: Primitive, palette: Palette) -> Patch:
    """Return a primitive as a patch."""
    material = palette.make_material(primitive.material, primitive.tint)
    return Patch(
        primitive.points.astype(np.float32),
        primitive.triangles.astype(np.uint32),
        material,
        None if primitive.uv is None or material.texture is None else primitive.uv.astype(np.float32),
        None if primitive.normals is None else primitive.normals.astype(np.float32),
    )


def make_affine(linear: Any) -> Floats:
    """Extend a matrix (3, 3) to an affine one (4, 4)."""
    out = np.eye(4)
    out[:3, :3] = linear
    return out


def make_skinned(
    document: Document, primitive: Primitive, patch: Patch, number: int, limbs: list[NodeJoint], size: float
) -> Piece:
    """Return a primitive bound to the joints of a skin; unused joints are omitted."""
    where, item = f"skins[{number}]", document.read_items("skins")[number]
    nodes = [document.read_index(j, "nodes", f"{where}.joints") for j in document.read_list(item.get("joints"), where)]
    assert primitive.joints is not None
    assert primitive.weights is not None
    if primitive.joints.max(initial=0) >= len(nodes):
        raise document.fail(where, f"has {len(nodes)} joints; a mesh names joint {primitive.joints.max()}.")
    inverse = read_inverse_binds(document, item, len(nodes), where)
    used, places = np.unique(primitive.joints, return_inverse=True)
    binds = np.stack([make_affine(size * limbs[nodes[k]].stretch) @ inverse[k] for k in used.tolist()])
    frames = tuple(limbs[nodes[k]].name for k in used.tolist())
    joints = places.reshape(primitive.joints.shape).astype(np.uint16)
    skin = Skin(frames, binds, joints, primitive.weights.astype(np.float32))
    return Piece(patch, frames[0], binds[0], skin)


def read_inverse_binds(document: Document, item: dict[str, Any], count: int, where: str) -> Floats:
    """Return the inverse bind matrices, (joints, 4, 4); identities if the file has none."""
    at = f"{where}.inverseBindMatrices"
    if "inverseBindMatrices" not in item:
        return np.repeat(np.eye(4)[None], count, axis=0)
    accessor = document.read_index(item["inverseBindMatrices"], "accessors", at)
    if packed := find_unknown_packing(document, accessor):
        raise document.fail(at, f"are packed by {packed}, which is not read here.")
    values = read_accessor(document, accessor, "MAT4", at)
    if len(values) < count:
        raise document.fail(at, f"are {len(values)}; the skin has {count} joints.")
    out = values[:count].reshape(-1, 4, 4).swapaxes(1, 2).copy()
    out[:, 3] = (0.0, 0.0, 0.0, 1.0)
    return out


def read_still(source: Source) -> list[Patch]:
    """Read all meshes of a file in its own axes, without joints: for a glTF that is a link of a robot."""
    document = read_document(source)
    nodes, order = read_nodes(document)
    palette, worlds = Palette(document), find_world_matrices(nodes, order)
    out: list[Patch] = []
    for i, primitive, patch in list_patches(document, palette, order):
        T = worlds[i]
        vertices = (primitive.points @ T[:3, :3].T + T[:3, 3]).astype(np.float32)
        flip = np.linalg.det(T[:3, :3]) < 0.0
        triangles = np.ascontiguousarray(patch.triangles[:, ::-1]) if flip else patch.triangles
        out.append(Patch(vertices, triangles, patch.material, patch.uv))
    if not out and palette.missing:
        raise source.make_error("; ".join(sorted(palette.missing)))
    return out
