"""OBJ: vertices, faces of any number of corners, and the colours of its MTL file; the rest is passed over.

Format: Wavefront Technologies, Object Files (.obj), 1995.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from poise.errors import FormatError
from poise.formats.mesh_checks import MOST_TRIANGLES, check_triangles, check_vertices, make_fans, parse_words
from poise.formats.source import Source
from poise.model.looks import Material, Patch

__all__ = ["read_obj"]

MOST_COLORS = 1 << 22  # bytes of an MTL file


def read_obj(source: Source) -> list[Patch]:
    """Read the patches of an OBJ file, one for each material."""
    lines = source.data.replace(b"\\\r\n", b" ").replace(b"\\\n", b" ").splitlines()
    rows = [line.split() for line in lines if line[:2] in (b"v ", b"v\t")]
    if not rows or any(len(row) < 4 for row in rows):
        raise source.make_error("has no vertices, or one of less than three numbers.")
    vertices = check_vertices(source, parse_words(source, [w for row in rows for w in row[1:4]]).reshape(-1, 3))
    materials: dict[str, Material] = {}
    groups: dict[str, list[bytes]] = {}
    seen: dict[str, list[int]] = {}  # how many vertices there were when each face was written
    now, count = "", 0
    for line in lines:
        if line[:1] == b"f" and line[1:2].isspace():
            groups.setdefault(now, []).append(line)
            seen.setdefault(now, []).append(count)
        elif line[:2] in (b"v ", b"v\t"):
            count += 1
        elif line.startswith(b"usemtl"):
            now = line[6:].strip().decode("utf-8", "replace")
        elif line.startswith(b"mtllib"):
            materials |= read_colors(source, line[6:].strip().decode("utf-8", "replace"))
    made = []
    for name, faces in groups.items():
        triangles = check_triangles(source, read_corners(source, faces, seen[name]), len(vertices))
        used, order = np.unique(triangles, return_inverse=True)
        own = order.reshape(-1, 3).astype(np.uint32)
        made.append(Patch(vertices[used], own, materials.get(name)))
    return made


def read_corners(source: Source, faces: list[bytes], seen: list[int]) -> NDArray[np.int64]:
    """Return the triangles of faces, a fan each; numbers count from 1, negative ones from the last vertex so far."""
    if len(faces) > MOST_TRIANGLES:
        raise source.make_error(f"has {len(faces)} faces; at most {MOST_TRIANGLES} are read.")
    words = [face.split() for face in faces]
    sizes = np.array([len(row) - 1 for row in words])
    if sizes.min() < 3 or int((sizes - 2).sum()) > MOST_TRIANGLES:
        raise source.make_error("has a face of less than three corners, or too many faces.")
    flat = [corner.partition(b"/")[0] for row in words for corner in row[1:]]
    try:
        index = np.array(flat, "S20").astype(np.int64)
    except ValueError as error:
        raise source.make_error(f"a face names a vertex by something that is not a number: {error}.") from None
    index = np.where(index < 0, index + np.repeat(seen, sizes), index - 1)
    return make_fans(index, sizes)


def read_colors(source: Source, name: str) -> dict[str, Material]:
    """Read the colours of an MTL file next to the OBJ; none if it is missing."""
    try:
        text = Source.open(source.find_sibling(name), limit=MOST_COLORS).data
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
            out[now] = Material((r, g, b, 1.0))
    return out
