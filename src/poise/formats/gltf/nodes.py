"""Nodes: the checked tree, and each node's translation, rotation and scale.

A node's matrix is ``[[R P, t], [0, 1]]``: R is a rotation and P = diag(scale). For nodes given by a matrix, P is the
symmetric factor of its polar decomposition (diagonal if the matrix conforms to the specification).
"""

from collections import Counter
from dataclasses import dataclass
from typing import Any

import numpy as np

from poise.arrays import Floats
from poise.files.source import MAX_NAME_LENGTH
from poise.formats.gltf.document import Document, Object, name_kind, shorten
from poise.model.layout import sort_depth_first
from poise.spatial import Rotation

__all__ = ["GltfNode", "find_nearest_turn", "find_world_matrices", "read_nodes"]


MAX_NODES = 20_000
"""Nodes above which a file is rejected: building a body of that many takes seconds."""
LARGEST = 1e15
"""Numbers of a node above this are rejected: their products leave the range of doubles."""
UNIT = 1e-3  # quaternions whose length differs more from 1 are reported


@dataclass(frozen=True, slots=True)
class GltfNode:
    """A node of the tree.

    Attributes:
        index: The index in the file.
        name: The name, unique in the model.
        parent: The index of the parent node, or -1.
        translation: t, (3,).
        turn: R, (3, 3).
        stretch: P, (3, 3).
        matrix: Whether the file gives a matrix rather than translation, rotation and scale.
    """

    index: int
    name: str
    parent: int
    translation: Floats
    turn: Floats
    stretch: Floats
    matrix: bool

    @property
    def local(self) -> Floats:
        """The node's matrix, (4, 4)."""
        out = np.eye(4)
        out[:3, :3] = self.turn @ self.stretch
        out[:3, 3] = self.translation
        return out


def read_nodes(document: Document) -> tuple[list[GltfNode], list[int]]:
    """Read all nodes; return them and their indices, parents first.

    Raises:
        FormatError: A child is missing, has two parents, or is its own ancestor; or a number is invalid.
    """
    items = document.read_items("nodes")
    if not items:
        raise document.fail("nodes", "are missing; a body is read from a tree of nodes.")
    if len(items) > MAX_NODES:
        raise document.fail("nodes", f"are {len(items)}; at most {MAX_NODES} are read.")
    parents = read_parents(document, items)
    order = sort_depth_first(parents)
    if len(order) < len(parents):
        lost = min(set(range(len(parents))) - set(order))
        raise document.fail(f"nodes[{lost}]", "is its own descendant; the nodes must form a tree.")
    names = name_nodes(document, items)
    nodes = [read_node(document, item, i, names[i], parents[i]) for i, item in enumerate(items)]
    check_scenes(document, parents)
    return nodes, list(order)


def read_parents(document: Document, items: list[Object]) -> list[int]:
    """Return the parent of each node, or -1."""
    parents = [-1] * len(items)
    for i, item in enumerate(items):
        where = f"nodes[{i}].children"
        for k, child in enumerate(document.read_list(item.get("children", []), where)):
            j = document.read_index(child, "nodes", f"{where}[{k}]")
            if j == i:
                raise document.fail(f"{where}[{k}]", "is the node itself; take it out of its own children.")
            if parents[j] >= 0:
                raise document.fail(
                    f"{where}[{k}]", f"is {j}, which already has the parent nodes[{parents[j]}]; a node has one parent."
                )
            parents[j] = i
    return parents


def name_nodes(document: Document, items: list[Object]) -> list[str]:
    """Return a name for each node: its own, ``node_3`` if it has none, or ``name#3`` if the name is not unique."""
    given: list[str] = []
    for i, item in enumerate(items):
        name = item.get("name", "")
        if not isinstance(name, str):
            raise document.fail(f"nodes[{i}].name", f"is {name_kind(name)}; it must be text.")
        if len(name) > MAX_NAME_LENGTH:
            raise document.fail(f"nodes[{i}].name", f"has {len(name)} letters; give it a shorter one.")
        given.append(name if name.strip() else f"node_{i}")
    counts = Counter(given)
    names = [name if counts[name] == 1 else f"{name}#{i}" for i, name in enumerate(given)]
    while len(set(names)) < len(names):
        counts = Counter(names)
        names = [name if counts[name] == 1 else f"{name}#{i}" for i, name in enumerate(names)]
    for i, name in enumerate(names):
        if name != given[i]:
            document.note_oddity(
                "several nodes have the same name; each got its number as a suffix, as in 'name#3'", f"nodes[{i}]"
            )
    return names


def check_scenes(document: Document, parents: list[int]) -> None:
    """Check that scenes list existing nodes; note those that are not roots."""
    for i, scene in enumerate(document.read_items("scenes")):
        for k, node in enumerate(document.read_list(scene.get("nodes", []), f"scenes[{i}].nodes")):
            where = f"scenes[{i}].nodes[{k}]"
            if parents[document.read_index(node, "nodes", where)] >= 0:
                document.note_oddity("a scene lists a node that has a parent; the parent was kept", where)
    if "scene" in document.json:
        document.read_index(document.json["scene"], "scenes", "scene")


# ------------------------------------------------------------------------------------------------ one node


def read_node(document: Document, item: Object, i: int, name: str, parent: int) -> GltfNode:
    """Read a node and check its numbers."""
    where = f"nodes[{i}]"
    for key, list_key in (("mesh", "meshes"), ("skin", "skins"), ("camera", "cameras")):
        if key in item:
            document.read_index(item[key], list_key, f"{where}.{key}")
    if "matrix" in item:
        if any(key in item for key in ("translation", "rotation", "scale")):
            raise document.fail(where, "has a matrix and also a translation, rotation or scale; keep one of the two.")
        return read_matrix(document, read_numbers(document, item, "matrix", 16, where, ()), i, name, parent)
    translation = read_numbers(document, item, "translation", 3, where, (0.0, 0.0, 0.0))
    xyzw = read_numbers(document, item, "rotation", 4, where, (0.0, 0.0, 0.0, 1.0))
    scale = read_numbers(document, item, "scale", 3, where, (1.0, 1.0, 1.0))
    length = float(np.linalg.norm(xyzw))
    if length < 1e-6:
        raise document.fail(f"{where}.rotation", "is a quaternion of length zero; write [0, 0, 0, 1] for no rotation.")
    if abs(length - 1.0) > UNIT:
        document.note_oddity("a quaternion is not of length 1; it was scaled to that", f"{where}.rotation")
    turn = Rotation.from_xyzw(xyzw / length).matrix
    return GltfNode(i, name, parent, translation, turn, np.diag(scale), False)


def read_numbers(document: Document, item: Object, key: str, count: int, where: str, default: Any) -> Floats:
    """Return a list of finite numbers from a node."""
    given = item.get(key, default)
    if not isinstance(given, (list, tuple)) or len(given) != count:
        has = f"{len(given)} numbers" if isinstance(given, list) else name_kind(given)
        raise document.fail(f"{where}.{key}", f"is {has}; it must be a list of {count} numbers.")
    for k, value in enumerate(given):
        if type(value) not in (int, float) or not abs(value) <= LARGEST:
            raise document.fail(
                f"{where}.{key}[{k}]", f"is {shorten(value)}; it must be a number, at most {LARGEST:g}."
            )
    return np.array(given, dtype=np.float64)


def read_matrix(document: Document, columns: Floats, i: int, name: str, parent: int) -> GltfNode:
    """Read a node given by a matrix, stored by columns."""
    matrix, where = columns.reshape(4, 4).T, f"nodes[{i}].matrix"
    if not np.allclose(matrix[3], (0, 0, 0, 1), rtol=0, atol=1e-6):
        raise document.fail(where, "has a last row other than 0 0 0 1 (numbers 3, 7, 11 and 15); it must be affine.")
    turn, stretch = factor_matrix(matrix[:3, :3])
    size = float(np.abs(stretch).max())
    if np.abs(stretch - np.diag(np.diag(stretch))).max() > 1e-4 * size:
        document.note_oddity("a matrix has shear, which no joint supports; the nearest rotation was used", where)
    return GltfNode(i, name, parent, matrix[:3, 3].copy(), turn, stretch, True)


def factor_matrix(linear: Floats) -> tuple[Floats, Floats]:
    """Factor ``linear = R P``: by its columns if they are orthogonal, otherwise by polar decomposition."""
    lengths = np.linalg.norm(linear, axis=0)
    gram = linear.T @ linear
    if lengths.min() > 1e-12 * max(lengths.max(), 1e-300):
        cosines = gram / np.outer(lengths, lengths) - np.eye(3)
        if np.abs(cosines).max() < 1e-5:
            turn = find_nearest_turn(linear / lengths)
            return turn, turn.T @ linear
    turn = find_nearest_turn(linear)
    return turn, turn.T @ linear


def find_nearest_turn(linear: Floats) -> Floats:
    """Return the rotation nearest to a matrix, or to its negative if the matrix mirrors."""
    size = float(np.abs(linear).max())
    if size == 0.0:
        return np.eye(3)
    sign = -1.0 if np.linalg.det(linear / size) < 0 else 1.0
    u, _, vt = np.linalg.svd(sign * linear / size)
    u[:, 2] *= np.sign(np.linalg.det(u @ vt)) or 1.0
    return np.asarray(u @ vt)


def find_world_matrices(nodes: list[GltfNode], order: list[int]) -> Floats:
    """Return the world matrix of every node in the file's pose, (nodes, 4, 4)."""
    out = np.empty((len(nodes), 4, 4))
    for i in order:
        local = nodes[i].local
        out[i] = local if nodes[i].parent < 0 else out[nodes[i].parent] @ local
    return out
