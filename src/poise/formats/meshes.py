"""Meshes of other files: STL, OBJ, DAE, GLB and MuJoCo's own, as triangles or as bare vertices.

The readers are ours: they need no package, look at every count before they take memory for it, check every number and
every index, and open nothing but the file and, for an OBJ, the colours beside it. Vertices keep the file's units
(a DAE's are brought to metres, as every program for robots does).
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from poise.errors import FormatError, PoiseError
from poise.formats.source import Source
from poise.model.looks import Patch

__all__ = ["MESHES", "read_mesh", "read_vertices"]

MESHES = (".stl", ".obj", ".dae", ".glb", ".gltf", ".msh")
"""Suffixes of files that are read as meshes; no other file is ever opened for its looks."""

MOST_BYTES = 1 << 27
MOST_TRIANGLES = 4_000_000
LARGEST = 1e9  # a vertex farther away than this is none

Floats = NDArray[np.float64]


def read_mesh(path: str | Path) -> tuple[Patch, ...]:
    """The triangles of a file, a patch for each of its materials.

    Raises:
        FormatError: It is missing, of no kind that is read, too large, or holds what no mesh has.
    """
    source = Source.open(path, limit=MOST_BYTES)
    readers = mesh_readers()
    suffix = Path(path).suffix.lower()
    if suffix not in readers:
        raise source.error(f"is no mesh that is read here; these are: {' '.join(MESHES)}.")
    try:
        patches = readers[suffix](source)
    except FormatError:
        raise
    except PoiseError as error:
        raise source.error(str(error)) from error
    except (ValueError, IndexError, OverflowError, MemoryError, RecursionError, UnicodeError) as error:
        raise source.error(f"could not be read as a mesh ({type(error).__name__}: {error}).") from error
    found = tuple(patch for patch in patches if len(patch.triangles))
    if not found:
        raise source.error("has no triangles.")
    return found


def read_vertices(path: str | Path) -> Floats:
    """The vertices of a file, (n, 3), as `read_mesh` has them."""
    return np.concatenate([np.asarray(patch.vertices, np.float64) for patch in read_mesh(path)])


def mesh_readers() -> dict[str, Callable[[Source], list[Patch]]]:
    """Which function reads which suffix."""
    from poise.formats.gltf.looks import read_still
    from poise.formats.mesh_dae import read_dae
    from poise.formats.mesh_obj import read_obj

    still = {".glb": read_still, ".gltf": read_still}
    return {".stl": read_stl, ".obj": read_obj, ".dae": read_dae, ".msh": read_msh, **still}


# ------------------------------------------------------------------------------------------------ checks


def checked_vertices(source: Source, values: NDArray[np.floating], what: str = "vertex") -> NDArray[np.float32]:
    """Vertices (n, 3), every number finite and of a bearable size."""
    with np.errstate(invalid="ignore"):
        good = (np.abs(values) <= LARGEST).all(axis=1)
    if not good.all():
        row = int(np.argmin(good))
        raise source.error(f"{what} {row} is {values[row].tolist()}; every number must be finite, at most {LARGEST:g}.")
    return np.ascontiguousarray(values, np.float32)


def checked_triangles(source: Source, values: NDArray[np.integer], count: int) -> NDArray[np.uint32]:
    """Triangles (m, 3) of vertices that exist; those without area by their numbers are left out."""
    if len(values) > MOST_TRIANGLES:
        raise source.error(f"has {len(values)} triangles; at most {MOST_TRIANGLES} are read.")
    if len(values) and not 0 <= int(values.min()) <= int(values.max()) < count:
        wrong = values.max() if values.max() >= count else values.min()
        raise source.error(f"a triangle names vertex {int(wrong)}; there are {count}.")
    a, b, c = values.T if len(values) else np.zeros((3, 0), np.int64)
    return np.ascontiguousarray(values[(a != b) & (b != c) & (c != a)], np.uint32)


def fans(index: NDArray[np.int64], sizes: NDArray[np.int64]) -> NDArray[np.int64]:
    """The triangles (m, 3) of polygons whose corners stand one after another; each is a fan from its first."""
    index, sizes = index[np.repeat(sizes >= 3, sizes)], sizes[sizes >= 3]
    inner = sizes - 2
    first = np.repeat(np.cumsum(sizes) - sizes, inner)
    step = np.arange(len(first)) - np.repeat(np.cumsum(inner) - inner, inner)
    return np.stack([index[first], index[first + step + 1], index[first + step + 2]], axis=1)


# ------------------------------------------------------------------------------------------------ STL and MSH


def read_stl(source: Source) -> list[Patch]:
    """STL: triangles without an order, binary or as text."""
    data = source.data
    count = int.from_bytes(data[80:84], "little") if len(data) >= 84 else 0
    whole = len(data) >= 84 and 84 + 50 * count == len(data)
    if data[:5].lower() == b"solid" and not whole and b"facet" in data[:4096]:
        corners = text_corners(source)
    else:
        if len(data) < 84:
            raise source.error(f"has {len(data)} bytes; an STL has at least 84. It is cut short.")
        if 84 + 50 * count > len(data):
            raise source.error(f"says {count} triangles and has bytes for {(len(data) - 84) // 50}; it is cut short.")
        if count > MOST_TRIANGLES:
            raise source.error(f"has {count} triangles; at most {MOST_TRIANGLES} are read.")
        rows = np.frombuffer(data, np.dtype([("n", "<f4", 3), ("v", "<f4", 9), ("a", "<u2")]), count, 84)
        corners = rows["v"].reshape(-1, 3)
    vertices, triangles = joined(checked_vertices(source, corners))
    return [Patch(vertices, checked_triangles(source, triangles, len(vertices)))]


def text_corners(source: Source) -> NDArray[np.float64]:
    """The corners of a text STL, three a triangle."""
    words = source.data.split()
    if words.count(b"vertex") > 3 * MOST_TRIANGLES:
        raise source.error(f"has more than {MOST_TRIANGLES} triangles.")
    found = [words[k + 1 : k + 4] for k, word in enumerate(words) if word == b"vertex"]
    if not found or len(found) % 3 or len(found[-1]) < 3:
        raise source.error("its facets have not three vertices each; it is cut short.")
    return numbers(source, [word for row in found for word in row]).reshape(-1, 3)


def numbers(source: Source, words: list[bytes]) -> Floats:
    """Words as numbers."""
    try:
        return np.array(words, "S32").astype(np.float64)
    except ValueError as error:
        raise source.error(f"holds what is no number: {error}.") from None


def joined(corners: NDArray[np.float32]) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
    """Loose triangles, three corners each, as vertices and the triangles between them; equal corners are one."""
    bits = np.ascontiguousarray(corners + np.float32(0)).view(np.uint32).astype(np.uint64)  # no zero has a sign
    key = bits[:, 0] * np.uint64(0x9E3779B97F4A7C15)
    key ^= (bits[:, 1] + (key >> np.uint64(29))) * np.uint64(0xBF58476D1CE4E5B9)
    key ^= (bits[:, 2] + (key >> np.uint64(32))) * np.uint64(0x94D049BB133111EB)
    _, first, number = np.unique(key, return_index=True, return_inverse=True)
    return corners[first], number.reshape(-1, 3).astype(np.int64)


def read_msh(source: Source) -> list[Patch]:
    """MuJoCo's binary mesh: four counts (vertices, normals, texture coordinates, faces), then these."""
    data = source.data
    head = np.frombuffer(data, "<i4", 4) if len(data) >= 16 else np.zeros(4, np.int32)
    vertices, normals, places, faces = (int(n) for n in head)
    if min(vertices, normals, places, faces) < 0 or vertices < 1 or faces > MOST_TRIANGLES:
        raise source.error(f"its counts are {[vertices, normals, places, faces]}, as no mesh has.")
    if 16 + 4 * (3 * vertices + 3 * normals + 2 * places + 3 * faces) != len(data):
        raise source.error("its counts do not fit its length; it is cut short, or no mesh.")
    corners = np.frombuffer(data, "<f4", 3 * vertices, 16).reshape(-1, 3)
    order = np.frombuffer(data, "<i4", 3 * faces, len(data) - 12 * faces).reshape(-1, 3)
    return [Patch(checked_vertices(source, corners), checked_triangles(source, order, vertices))]
