"""The DAE reader (COLLADA 1.4 and 1.5): the meshes of a scene, placed by its nodes, with colours and images.

It uses our own XML parser, which opens no other files and limits all sizes. Lengths are converted to metres. The up
axis is returned but not applied: the whole robot shows whether it is right (`up_axes`). Morphs and skins are ignored
(a skinned mesh is in its bind pose). Format: Khronos, COLLADA Digital Asset Schema 1.4.1. Materials are read by
`dae_materials`.
"""

import math
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from poise.arrays import Floats
from poise.files.source import Source
from poise.formats.meshes.checks import MAX_TRIANGLES, check_triangles, check_vertices, make_fans
from poise.formats.meshes.dae_materials import list_all, list_children, read_material, read_numbers
from poise.formats.meshes.images import ImageCache, clean_uv
from poise.formats.xml import Element, parse_xml, strip_prefix
from poise.model.geometry.looks import Material, Patch

__all__ = ["read_dae"]


MAX_INSTANCES = 5_000
MAX_DEPTH = 60
FACES = ("triangles", "polylist", "polygons", "trifans", "tristrips")
NO_FACES: NDArray[np.int64] = np.zeros((0, 3), np.int64)


@dataclass
class DaeScene:
    """The state of a traversal of the nodes.

    Attributes:
        source: The file.
        known: The elements by id.
        patches: The patches found so far.
        triangles: The number of their triangles.
        instances: The number of meshes placed.
        album: The images of the file; None if images are not needed.
        materials: The materials made so far, by id.
    """

    source: Source
    known: dict[str, Element]
    album: ImageCache | None = None
    materials: dict[str, Material | None] = field(default_factory=dict)
    patches: list[Patch] = field(default_factory=list)
    triangles: int = 0
    instances: int = 0

    def find(self, reference: str) -> Element | None:
        """Return the element with the id ``#id``, or None."""
        return self.known.get(reference.removeprefix("#"))

    def find_material(self, reference: str) -> Material | None:
        """Return the material with the id ``#id``; each is made once."""
        if reference not in self.materials:
            self.materials[reference] = read_material(self.source, self.known, reference, self.album)
        return self.materials[reference]


def read_dae(source: Source, album: ImageCache | None = None) -> tuple[list[Patch], str]:
    """Read all meshes of the scene, in metres, and the up axis that the file states: "x", "y" or "z".

    Without a scene, all meshes of the library are read.
    """
    root = parse_xml(source)
    if strip_prefix(root.tag) != "COLLADA":
        raise source.make_error(f"its root is <{root.tag}>; a DAE begins with <COLLADA>.")
    scene = DaeScene(source, {e.get("id", ""): e for e in list_all(root) if e.get("id")}, album)
    T = np.diag([*(read_unit(source, root),) * 3, 1.0])
    shown = [e for e in list_all(root) if strip_prefix(e.tag) == "instance_visual_scene"]
    tops = [found for e in shown if (found := scene.find(e.get("url", ""))) is not None]
    for top in tops or [e for e in list_all(root) if strip_prefix(e.tag) == "visual_scene"]:
        for node in list_children(top, "node"):
            walk(scene, node, T, 0)
    if not scene.instances:
        for geometry in [e for e in list_all(root) if strip_prefix(e.tag) == "geometry"]:
            add_patches(scene, geometry, T, {})
    return scene.patches, read_up(root)


def read_up(root: Element) -> str:
    """Return the up axis that the file states; by default "z", which needs no rotation."""
    axes = [up.text or "" for asset in list_children(root, "asset") for up in list_children(asset, "up_axis")]
    return next((word[0].lower() for word in map(str.strip, axes) if word in ("X_UP", "Y_UP", "Z_UP")), "z")


def read_unit(source: Source, root: Element) -> float:
    """Return the metres per unit of the file."""
    for element in (unit for asset in list_children(root, "asset") for unit in list_children(asset, "unit")):
        value = read_numbers(source, element.get("meter", "1"), "the unit")
        if value.shape == (1,) and 0.0 < value[0] < 1e6:
            return float(value[0])
    return 1.0


# ------------------------------------------------------------------------------------------------ nodes


def walk(scene: DaeScene, node: Element, T: Floats, depth: int) -> None:
    """Place the meshes of a node and of all its descendants."""
    if depth > MAX_DEPTH:
        raise scene.source.make_error(f"its nodes are nested more than {MAX_DEPTH} deep, or contain themselves.")
    for child in node:
        tag = strip_prefix(child.tag)
        if tag in ("matrix", "translate", "rotate", "scale"):
            T = T @ read_step(scene.source, tag, child)
        elif tag == "node":
            walk(scene, child, T, depth + 1)
        elif tag == "instance_node":
            other = scene.find(child.get("url", ""))
            if other is not None:
                scene.instances += 1
                check_instance_count(scene)
                walk(scene, other, T, depth + 1)
        elif tag in ("instance_geometry", "instance_controller"):
            geometry, bind = find_geometry(scene, child)
            if geometry is not None:
                add_patches(scene, geometry, T @ bind, read_materials(child))


def read_step(source: Source, tag: str, element: Element) -> Floats:
    """Return one transformation element of a node as a matrix (4, 4)."""
    values, out = read_numbers(source, element.text, f"a <{tag}>"), np.eye(4)
    wanted = {"matrix": 16, "translate": 3, "scale": 3, "rotate": 4}[tag]
    if values.shape != (wanted,) or not (np.abs(values) < 1e12).all():
        raise source.make_error(f"a <{tag}> must have {wanted} finite numbers.", element.sourceline)
    if tag == "matrix":
        return values.reshape(4, 4)
    if tag == "translate":
        out[:3, 3] = values
    elif tag == "scale":
        out[:3, :3] = np.diag(values)
    elif (long := float(np.linalg.norm(values[:3]))) > 0.0:
        x, y, z = values[:3] / long
        cross = np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
        angle = math.radians(float(values[3]))
        out[:3, :3] += math.sin(angle) * cross + (1.0 - math.cos(angle)) * cross @ cross
    return out


def find_geometry(scene: DaeScene, instance: Element) -> tuple[Element | None, Floats]:
    """Return the geometry of an instance, and the bind shape matrix of its skin."""
    found = scene.find(instance.get("url", ""))
    if found is None or strip_prefix(found.tag) != "controller":
        return found, np.eye(4)
    for skin in list_children(found, "skin"):
        bind = list_children(skin, "bind_shape_matrix")
        T = read_step(scene.source, "matrix", bind[0]) if bind else np.eye(4)
        return scene.find(skin.get("source", "")), T
    return None, np.eye(4)


def read_materials(instance: Element) -> dict[str, str]:
    """Return the material id of each material symbol of the geometry."""
    return {
        e.get("symbol", ""): e.get("target", "")
        for e in list_all(instance)
        if strip_prefix(e.tag) == "instance_material"
    }


def check_instance_count(scene: DaeScene) -> None:
    """Raise if the scene has too many instances or triangles."""
    if scene.instances > MAX_INSTANCES or scene.triangles > MAX_TRIANGLES:
        raise scene.source.make_error(f"places more than {MAX_INSTANCES} meshes or {MAX_TRIANGLES} triangles.")


# ------------------------------------------------------------------------------------------------ meshes


@dataclass(frozen=True, slots=True, eq=False)
class DaeFaces:
    """Polygons as triangles.

    Attributes:
        target: The id of the element with the vertices.
        rows: The indices of each corner, (corners, inputs).
        triangles: The corners of the triangles, (m, 3).
        at: The column of the vertex index in `rows`.
        places: The id of the texture coordinates, or "".
        place_at: The column of the texture coordinate index in `rows`.
    """

    target: str
    rows: NDArray[np.int64]
    triangles: NDArray[np.int64]
    at: int
    places: str
    place_at: int


def add_patches(scene: DaeScene, geometry: Element, T: Floats, bound: dict[str, str]) -> None:
    """Add the patches of a geometry."""
    scene.instances += 1
    for mesh in list_children(geometry, "mesh"):
        points: dict[str, Floats] = {}
        for element in list_children(mesh, *FACES):
            faces = read_faces(scene, element)
            scene.triangles += 0 if faces is None else len(faces.triangles)
            check_instance_count(scene)
            if faces is None or not len(faces.triangles) or faces.target not in scene.known:
                continue
            if faces.target not in points:
                points[faces.target] = read_positions(scene, scene.known[faces.target])
            symbol = element.get("material", "")
            material = scene.find_material(bound.get(symbol, symbol))
            scene.patches.append(make_patch(scene, faces, points[faces.target], T, material))


def make_patch(scene: DaeScene, faces: DaeFaces, points: Floats, T: Floats, material: Material | None) -> Patch:
    """Return triangles as a patch; a vertex with several texture coordinates is duplicated."""
    vertex = faces.rows[:, faces.at]
    check_triangles(scene.source, vertex[faces.triangles], len(points))
    uv = read_uv(scene, faces) if material is not None and material.texture is not None else None
    place = np.zeros(len(vertex), np.int64) if uv is None else faces.rows[:, faces.place_at]
    a, b, c = vertex[faces.triangles].T
    order = faces.triangles[(a != b) & (b != c) & (c != a)]  # as in `check_triangles`
    code = vertex * (int(place.max(initial=0)) + 1) + place
    _, first, own = np.unique(code[order.ravel()], return_index=True, return_inverse=True)
    used = order.ravel()[first]
    vertices = check_vertices(scene.source, points[vertex[used]] @ T[:3, :3].T + T[:3, 3])
    corners = own.reshape(-1, 3).astype(np.uint32)
    if np.linalg.det(T[:3, :3]) < 0.0:
        corners = corners[:, ::-1]
    painted = None if uv is None else clean_uv(uv[place[used]])
    return Patch(vertices, np.ascontiguousarray(corners), material, painted)


def read_uv(scene: DaeScene, faces: DaeFaces) -> Floats | None:
    """Return the texture coordinates (n, 2), with v downwards; None if a corner has none."""
    target = scene.known.get(faces.places)
    if target is None:
        return None
    found = read_array(scene, target, 2) * (1.0, -1.0) + (0.0, 1.0)
    place = faces.rows[:, faces.place_at]
    return found if place.min(initial=0) >= 0 and place.max(initial=0) < len(found) else None


def read_positions(scene: DaeScene, target: Element) -> Floats:
    """Return the vertex positions of an input, (n, 3)."""
    for _ in range(2):
        inputs = [e for e in list_children(target, "input") if e.get("semantic") == "POSITION"]
        if not inputs:
            break
        found = scene.find(inputs[0].get("source", ""))
        if found is None:
            raise scene.source.make_error("a mesh names positions that are not there.", inputs[0].sourceline)
        target = found
    return read_array(scene, target, 3)


def read_array(scene: DaeScene, target: Element, width: int) -> Floats:
    """Return the rows of a <source>, limited to the first `width` numbers of each."""
    arrays = list_children(target, "float_array")
    if not arrays:
        raise scene.source.make_error("a mesh has no positions.", target.sourceline)
    values = read_numbers(scene.source, arrays[0].text, "a <float_array>")
    stride, offset = width, 0
    for accessor in (a for t in list_children(target, "technique_common") for a in list_children(t, "accessor")):
        stride, offset = read_whole(scene, accessor, "stride", width), read_whole(scene, accessor, "offset", 0)
    if stride < width:
        raise scene.source.make_error(
            f"the numbers of a vertex come by {stride}; they must come by {width}.", target.sourceline
        )
    values = values[offset:]
    return values[: len(values) // stride * stride].reshape(-1, stride)[:, :width]


def read_whole(scene: DaeScene, element: Element, key: str, default: int) -> int:
    """Return the value of an integer attribute, 0 to 1,000,000."""
    word = element.get(key, str(default))
    if not word.isdecimal() or int(word[:8]) > 1_000_000:
        raise scene.source.make_error(f"{key} is {word[:20]!r}; it must be a whole number.", element.sourceline)
    return int(word)


def read_faces(scene: DaeScene, faces: Element) -> DaeFaces | None:
    """Read polygons as triangles of corners; None if they have no vertices."""
    inputs = list_children(faces, "input")
    width = 1 + max((read_whole(scene, e, "offset", 0) for e in inputs), default=0)
    vertex = next((e for e in inputs if e.get("semantic") in ("VERTEX", "POSITION")), None)
    rows = [read_corner_numbers(scene, p, width) for p in list_children(faces, "p")]
    if vertex is None or not rows:
        return None
    place = next((e for e in inputs if e.get("semantic") == "TEXCOORD"), None)
    sizes = np.array([len(row) for row in rows])
    return DaeFaces(
        vertex.get("source", "").removeprefix("#"),
        np.concatenate(rows),
        list_corners(scene, faces, sizes),
        read_whole(scene, vertex, "offset", 0),
        "" if place is None else place.get("source", "").removeprefix("#"),
        0 if place is None else read_whole(scene, place, "offset", 0),
    )


def list_corners(scene: DaeScene, faces: Element, sizes: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the triangles (m, 3) of consecutive corners; `sizes` has the number of corners in each <p>."""
    tag, count = strip_prefix(faces.tag), int(sizes.sum())
    flat = np.arange(count)
    if tag == "triangles":
        return flat[: count // 3 * 3].reshape(-1, 3)
    if tag == "tristrips":
        rows = np.split(flat, np.cumsum(sizes)[:-1])
        return np.concatenate([NO_FACES, *(split_strip(row) for row in rows if len(row) >= 3)])
    if tag == "polylist":
        counts = list_children(faces, "vcount")
        sizes = read_numbers(scene.source, counts[0].text if counts else "", "a <vcount>").astype(np.int64)
        if len(sizes) and (sizes.min() < 0 or int(sizes.sum()) > count):
            raise scene.source.make_error("a <vcount> has more corners than <p>.", faces.sourceline)
    return make_fans(flat[: int(sizes.sum())], sizes)


def read_corner_numbers(scene: DaeScene, p: Element, width: int) -> NDArray[np.int64]:
    """Return the indices of the corners in a <p>, (corners, width)."""
    values = read_numbers(scene.source, p.text, "a <p>")
    if len(values) and not (np.abs(values) < 2**31).all():
        raise scene.source.make_error("a <p> holds a number that is not an index.", p.sourceline)
    return values[: len(values) // width * width].astype(np.int64).reshape(-1, width)


def split_strip(row: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the triangles of a strip; every second one is reversed."""
    out = np.stack([row[:-2], row[1:-1], row[2:]], axis=1)
    out[1::2] = out[1::2, ::-1]
    return out
