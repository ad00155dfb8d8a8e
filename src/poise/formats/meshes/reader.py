"""Reader of mesh files: STL, OBJ, DAE, GLB and MuJoCo's MSH, as triangles.

The readers need no package. They check every count before allocating memory, every number and every index, and open
only the file itself, its images, and the MTL file of an OBJ. Vertices keep the file's units (except that DAE is
converted to metres, as all robotics programs do) and its axes.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from poise.errors import FormatError, PoiseError
from poise.files.source import Source
from poise.formats.meshes.checks import (
    MAX_TRIANGLES,
    check_triangles,
    check_vertices,
    parse_words,
)
from poise.formats.meshes.dae import read_dae
from poise.formats.meshes.images import ImageCache, clean_uv
from poise.formats.meshes.obj import read_obj
from poise.model.geometry.looks import Patch
from poise.model.geometry.triangles import join_corners

__all__ = ["MESHES", "MeshFile", "read_file"]

MESHES = (".stl", ".obj", ".dae", ".glb", ".gltf", ".msh")
"""Suffixes of files that are read as meshes; no other file is ever opened for its looks."""

MAX_BYTES = 1 << 27


@dataclass(frozen=True, slots=True, eq=False)
class MeshFile:
    """The content of a mesh file.

    Attributes:
        patches: The triangles, one patch per material.
        up: The up axis that the file states: "x", "y" or "z"; "z", as in link frames, if it states none.
    """

    patches: tuple[Patch, ...]
    up: str = "z"


def read_file(path: str | Path, within: str = "") -> MeshFile:
    """Read a mesh in the axes of its file.

    Args:
        path: The file.
        within: The folder outside of which no image is opened; "" for no restriction.

    Raises:
        FormatError: The file is missing, of an unknown kind, too large, or not a valid mesh.
    """
    source = Source.open(path, limit=MAX_BYTES)
    readers = list_readers(ImageCache(source, within))
    suffix = Path(path).suffix.lower()
    if suffix not in readers:
        raise source.make_error(f"is not a mesh that Poise reads; it reads: {' '.join(MESHES)}.")
    try:
        patches, up = readers[suffix](source)
    except FormatError:
        raise
    except PoiseError as error:
        raise source.make_error(str(error)) from error
    except (ValueError, IndexError, OverflowError, MemoryError, RecursionError, UnicodeError) as error:
        raise source.make_error(f"could not be read as a mesh ({type(error).__name__}: {error}).") from error
    found = tuple(patch for patch in patches if len(patch.triangles))
    if not found:
        raise source.make_error("has no triangles.")
    return MeshFile(found, up)


def list_readers(album: ImageCache) -> dict[str, Callable[[Source], tuple[list[Patch], str]]]:
    """Return the reader of each suffix; a reader returns patches and the up axis."""
    from poise.formats.gltf.looks import read_still

    silent: dict[str, Callable[[Source], list[Patch]]] = {".glb": read_still, ".gltf": read_still}
    silent |= {".stl": read_stl, ".msh": read_msh, ".obj": partial(read_obj, album=album)}
    with_up = {suffix: partial(read_silent, read=read) for suffix, read in silent.items()}
    return {**with_up, ".dae": partial(read_dae, album=album)}


def read_silent(source: Source, read: Callable[[Source], list[Patch]]) -> tuple[list[Patch], str]:
    """Read a file that does not state its up axis, or whose reader has already applied it."""
    return read(source), "z"


# ------------------------------------------------------------------------------------------------ STL and MSH


def read_stl(source: Source) -> list[Patch]:
    """Read an STL file, binary or text."""
    data = source.data
    count = int.from_bytes(data[80:84], "little") if len(data) >= 84 else 0
    whole = len(data) >= 84 and 84 + 50 * count == len(data)
    if data[:5].lower() == b"solid" and not whole and b"facet" in data[:4096]:
        corners = read_text_corners(source)
    else:
        if len(data) < 84:
            raise source.make_error(f"has {len(data)} bytes; an STL has at least 84. It is cut short.")
        if 84 + 50 * count > len(data):
            raise source.make_error(
                f"declares {count} triangles and has bytes for {(len(data) - 84) // 50}; it is cut short."
            )
        if count > MAX_TRIANGLES:
            raise source.make_error(f"has {count} triangles; at most {MAX_TRIANGLES} are read.")
        rows = np.frombuffer(data, np.dtype([("n", "<f4", 3), ("v", "<f4", 9), ("a", "<u2")]), count, 84)
        corners = rows["v"].reshape(-1, 3)
    vertices, triangles = join_corners(check_vertices(source, corners))
    return [Patch(vertices, check_triangles(source, triangles, len(vertices)))]


def read_text_corners(source: Source) -> NDArray[np.float64]:
    """Return the corners of a text STL, three per triangle."""
    words = source.data.split()
    if words.count(b"vertex") > 3 * MAX_TRIANGLES:
        raise source.make_error(f"has more than {MAX_TRIANGLES} triangles.")
    found = [words[k + 1 : k + 4] for k, word in enumerate(words) if word == b"vertex"]
    if not found or len(found) % 3 or len(found[-1]) < 3:
        raise source.make_error("its facets do not have three vertices each; it is cut short.")
    return parse_words(source, [word for row in found for word in row]).reshape(-1, 3)


def read_msh(source: Source) -> list[Patch]:
    """Read MuJoCo's binary mesh: four counts (vertices, normals, texture coordinates, faces), then the arrays."""
    data = source.data
    head = np.frombuffer(data, "<i4", 4) if len(data) >= 16 else np.zeros(4, np.int32)
    vertices, normals, places, faces = (int(n) for n in head)
    if min(vertices, normals, places, faces) < 0 or vertices < 1 or faces > MAX_TRIANGLES:
        raise source.make_error(f"its counts are {[vertices, normals, places, faces]}, as no mesh has.")
    if 16 + 4 * (3 * vertices + 3 * normals + 2 * places + 3 * faces) != len(data):
        raise source.make_error("its counts do not fit its length; it is cut short, or not a mesh.")
    corners = np.frombuffer(data, "<f4", 3 * vertices, 16).reshape(-1, 3)
    order = np.frombuffer(data, "<i4", 3 * faces, len(data) - 12 * faces).reshape(-1, 3)
    uv = np.frombuffer(data, "<f4", 2 * places, 16 + 12 * (vertices + normals)).reshape(-1, 2)
    painted = clean_uv(uv) if places == vertices else None
    return [Patch(check_vertices(source, corners), check_triangles(source, order, vertices), None, painted)]
