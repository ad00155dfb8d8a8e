"""The OBJ reader: vertices, polygons, and the colours and images of the MTL file; other statements are ignored.

Format: Wavefront Technologies, Object Files (.obj), 1995.
"""

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from poise.arrays import Floats
from poise.errors import FormatError
from poise.files.source import Source
from poise.formats.meshes.checks import MAX_TRIANGLES, check_triangles, check_vertices, make_fans, parse_words
from poise.formats.meshes.images import ImageCache, clean_uv
from poise.model.geometry.looks import Material, Patch

__all__ = ["read_obj"]


MAX_MTL_BYTES = 1 << 22  # limit for an MTL file


def read_obj(source: Source, album: ImageCache | None = None) -> list[Patch]:
    """Read the patches of an OBJ file, one per material, with the images from `album`."""
    lines = source.data.replace(b"\\\r\n", b" ").replace(b"\\\n", b" ").splitlines()
    rows = [line.split() for line in lines if line[:2] in (b"v ", b"v\t")]
    if not rows or any(len(row) < 4 for row in rows):
        raise source.make_error("has no vertices, or one of less than three numbers.")
    vertices = check_vertices(source, parse_words(source, [w for row in rows for w in row[1:4]]).reshape(-1, 3))
    uv = read_places(source, lines)
    materials: dict[str, Material] = {}
    groups: dict[str, list[bytes]] = {}
    seen: dict[str, list[tuple[int, int]]] = {}  # counts of vertices and texture coordinates before each face
    now, count, places = "", 0, 0
    for line in lines:
        if line[:1] == b"f" and line[1:2].isspace():
            groups.setdefault(now, []).append(line)
            seen.setdefault(now, []).append((count, places))
        elif line[:2] in (b"v ", b"v\t"):
            count += 1
        elif line[:2] == b"vt":
            places += 1
        elif line.startswith(b"usemtl"):
            now = line[6:].strip().decode("utf-8", "replace")
        elif line.startswith(b"mtllib"):
            materials |= read_colors(source, line[6:].strip().decode("utf-8", "replace"), album)
    return [
        make_patch(source, vertices, uv, faces, np.array(seen[name]), materials.get(name))
        for name, faces in groups.items()
    ]


def read_places(source: Source, lines: list[bytes]) -> Floats | None:
    """Return the texture coordinates (n, 2), with v downwards; None if they are missing or malformed."""
    rows = [line.split()[1:3] for line in lines if line[:3] in (b"vt ", b"vt\t")]
    if not rows or any(len(row) < 2 for row in rows):
        return None
    found = parse_words(source, [word for row in rows for word in row]).reshape(-1, 2)
    return np.asarray(found * (1.0, -1.0) + (0.0, 1.0))


def make_patch(
    source: Source,
    vertices: NDArray[np.float32],
    uv: Floats | None,
    faces: list[bytes],
    seen: NDArray[np.int64],
    material: Material | None,
) -> Patch:
    """Return the faces of one material as a patch; a vertex with several texture coordinates is duplicated."""
    corners = read_corners(source, faces, seen)
    triangles = check_triangles(source, corners[:, :, 0], len(vertices))
    places = corners[:, :, 1]
    if uv is None or not (places.min(initial=0) >= 0 and places.max(initial=-1) < len(uv)):
        used, order = np.unique(triangles, return_inverse=True)
        return Patch(vertices[used], order.reshape(-1, 3).astype(np.uint32), material)
    a, b, c = corners[:, :, 0].T
    pairs = corners[(a != b) & (b != c) & (c != a)].reshape(-1, 2)  # as in `check_triangles`
    _, first, order = np.unique(pairs[:, 0] * len(uv) + pairs[:, 1], return_index=True, return_inverse=True)
    chosen, own = pairs[first], order.reshape(-1, 3).astype(np.uint32)
    return Patch(vertices[chosen[:, 0]], own, material, clean_uv(uv[chosen[:, 1]]))


def read_corners(source: Source, faces: list[bytes], seen: NDArray[np.int64]) -> NDArray[np.int64]:
    """Split faces into triangles (m, 3, 2): the indices of vertex and texture coordinate, -1 if missing.

    In the file, indices count from 1; negative ones count back from the last one written before the face.
    """
    if len(faces) > MAX_TRIANGLES:
        raise source.make_error(f"has {len(faces)} faces; at most {MAX_TRIANGLES} are read.")
    words = [face.split() for face in faces]
    sizes = np.array([len(row) - 1 for row in words])
    if sizes.min() < 3 or int((sizes - 2).sum()) > MAX_TRIANGLES:
        raise source.make_error("has a face of less than three corners, or too many faces.")
    flat = [corner.split(b"/") for row in words for corner in row[1:]]
    try:
        index = np.array([corner[0] for corner in flat], "S20").astype(np.int64)
        place = np.array([corner[1] or b"0" if len(corner) > 1 else b"0" for corner in flat], "S20").astype(np.int64)
    except ValueError as error:
        raise source.make_error(f"a face names a vertex by something that is not a number: {error}.") from None
    before = np.repeat(seen, sizes, axis=0)
    index = np.where(index < 0, index + before[:, 0], index - 1)
    place = np.where(place < 0, place + before[:, 1], place - 1)
    order = make_fans(np.arange(len(index)), sizes)
    return np.stack([index[order], place[order]], axis=2)


def read_colors(source: Source, name: str, album: ImageCache | None) -> dict[str, Material]:
    """Read the colours and images of an MTL file next to the OBJ; an empty dict if it is missing.

    The colour of a material with an image is ignored: it is often black or grey, and other programs ignore it too.
    """
    try:
        text = Source.open(source.find_sibling(name), limit=MAX_MTL_BYTES).data
    except FormatError:
        return {}
    out: dict[str, Material] = {}
    now = ""
    for line in text.splitlines():
        words = line.split()
        if words[:1] == [b"newmtl"] and len(words) > 1:
            now = line.strip()[6:].strip().decode("utf-8", "replace")
        elif words[:1] == [b"Kd"] and len(words) == 4 and now:
            r, g, b = (float(x) for x in np.clip(np.nan_to_num(parse_words(source, words[1:])), 0.0, 1.0))
            out[now] = replace(out.get(now, Material()), color=(r, g, b, 1.0))
        elif words[:1] == [b"map_Kd"] and len(words) > 1 and now and album is not None:
            whole = line.strip()[6:].strip() if words[1][:1] != b"-" else words[-1]  # options precede the name
            texture = album.find(whole.decode("utf-8", "replace"))
            if texture is not None:
                out[now] = replace(out.get(now, Material()), texture=texture)
    white = (1.0, 1.0, 1.0, 1.0)
    return {key: replace(made, color=white) if made.texture else made for key, made in out.items()}
