"""The appearance of a body as plain values: triangles of one material, fixed to a frame or skinned to several.

A skinned piece moves by linear blend skinning,

    p = sum_k w_k T_world_frame_k B_k v,

with v a vertex, w_k up to eight weights that sum to one, and B_k the constant matrix that takes the mesh to frame k
(glTF's inverse bind matrix, with the scale of the node). A rigid piece has one frame and no weights.
Source: N. Magnenat-Thalmann et al., Joint-dependent local deformations, 1988; glTF 2.0, chapter 3.7.3.3.

Nothing here opens a file: `LookSource` has the paths, and `poise.formats.meshes.looks` reads them on demand.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from poise.arrays import Floats

__all__ = [
    "INFLUENCES",
    "Look",
    "LookSource",
    "Material",
    "Patch",
    "Piece",
    "Skin",
    "Texture",
    "deform",
    "deform_normals",
    "find_normals",
]

Color = tuple[float, float, float, float]

INFLUENCES = 8
"""Frames that may move one vertex."""


@dataclass(frozen=True, slots=True)
class LookSource:
    """The files with the appearance of a body.

    Attributes:
        path: The body's own file, absolute.
        given: The path as the user wrote it.
        scale: Metres per unit of the file.
        up: The requested up axis.
        size: Factor by which the body was scaled after reading.
        packages: Folders that are searched first for packages.
        within: Only files inside this folder are opened; "" for no restriction.
    """

    path: str
    given: str = ""
    scale: float = 1.0
    up: str | None = None
    size: float = 1.0
    packages: tuple[str, ...] = ()
    within: str = ""


@dataclass(frozen=True, slots=True, eq=False)
class Texture:
    """An encoded image, as stored in its file.

    Attributes:
        data: The bytes of a PNG or JPEG file.
        kind: "image/png" or "image/jpeg".
    """

    data: bytes
    kind: str


@dataclass(frozen=True, slots=True, eq=False)
class Material:
    """The material of a surface.

    Attributes:
        color: Red, green, blue, opacity, 0 to 1, in sRGB.
        texture: The image that `color` is multiplied with, or None.
        cutout: Opacity below which nothing is drawn; None to ignore opacity.
        clear: Whether the material is blended by its opacity.
    """

    color: Color = (1.0, 1.0, 1.0, 1.0)
    texture: Texture | None = None
    cutout: float | None = None
    clear: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class Patch:
    """Triangles of one material.

    Attributes:
        vertices: (n, 3).
        triangles: Vertex indices, (m, 3), counter-clockwise from outside.
        material: None if the mesh has no material.
        uv: Texture coordinates of the vertices, (n, 2), v downwards, or None.
        normals: (n, 3); None to compute them from the adjacent triangles.
    """

    vertices: NDArray[np.float32]
    triangles: NDArray[np.uint32]
    material: Material | None = None
    uv: NDArray[np.float32] | None = None
    normals: NDArray[np.float32] | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Skin:
    """The skinning weights of a mesh.

    Attributes:
        frames: Names of frames.
        binds: B of each frame, (frames, 4, 4).
        joints: Indices into `frames` for each vertex, (n, k), k up to eight.
        weights: Weights of these frames, (n, k); rows sum to one.
    """

    frames: tuple[str, ...]
    binds: Floats
    joints: NDArray[np.uint16]
    weights: NDArray[np.float32]


@dataclass(frozen=True, slots=True, eq=False)
class Piece:
    """A patch on a body.

    Attributes:
        patch: Its triangles.
        frame: The frame that carries it; for a skinned piece, the first of its frames.
        matrix: From the patch to that frame, (4, 4), with the mesh's scale.
        skin: None for a rigid piece.
    """

    patch: Patch
    frame: str
    matrix: Floats
    skin: Skin | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Look:
    """The appearance of a body.

    Attributes:
        pieces: Empty if the file has no visual geometry, or none of it was found.
        bare: Frames whose mesh could not be loaded.
        notes: The missing files, and the folders that were searched.
        whole: Number of triangles in the files if they were simplified; otherwise 0.
        assumed: The choices made for ambiguous files.
    """

    pieces: tuple[Piece, ...] = ()
    bare: frozenset[str] = frozenset()
    notes: tuple[str, ...] = ()
    whole: int = 0
    assumed: tuple[str, ...] = ()

    @property
    def triangles(self) -> int:
        """The number of triangles."""
        return sum(len(piece.patch.triangles) for piece in self.pieces)


# ------------------------------------------------------------------------------------------------ moving


def deform(piece: Piece, frames: Sequence[str], T: Any) -> Floats:
    """Return the vertices of a piece, (..., n, 3), given T_world_frame of all frames, (..., frames, 4, 4)."""
    points, places = np.asarray(piece.patch.vertices, np.float64), np.asarray(T, np.float64)
    place = {name: k for k, name in enumerate(frames)}
    if piece.skin is None:
        whole = places[..., place[piece.frame], :, :] @ piece.matrix
        return np.asarray(points @ whole[..., :3, :3].swapaxes(-1, -2) + whole[..., None, :3, 3])
    skin = piece.skin
    moves = places[..., [place[name] for name in skin.frames], :, :] @ skin.binds
    out = np.zeros((*places.shape[:-3], *points.shape))
    for k in range(skin.joints.shape[1]):
        own = moves[..., skin.joints[:, k], :, :]
        moved = np.einsum("...nij,nj->...ni", own[..., :3, :3], points) + own[..., :3, 3]
        out += skin.weights[:, k, None] * moved
    return out


def deform_normals(piece: Piece, frames: Sequence[str], T: Any, points: Any) -> Floats:
    """Return unit normals of a piece with vertices at `points`: the file's own, rotated, otherwise weighted by area."""
    if piece.patch.normals is None:
        return find_normals(points, piece.patch.triangles)
    normals, out = np.asarray(piece.patch.normals, np.float64), np.zeros((len(piece.patch.normals), 3))
    place = {name: k for k, name in enumerate(frames)}
    if piece.skin is None:
        whole = (np.asarray(T[place[piece.frame]]) @ piece.matrix)[:3, :3]
        out = normals @ np.linalg.pinv(whole) * np.sign(np.linalg.det(whole) or 1.0)
    else:
        moves = (np.asarray(T)[[place[name] for name in piece.skin.frames]] @ piece.skin.binds)[:, :3, :3]
        for k in range(piece.skin.joints.shape[1]):
            out += piece.skin.weights[:, k, None] * np.einsum("nij,nj->ni", moves[piece.skin.joints[:, k]], normals)
    long = np.linalg.norm(out, axis=1, keepdims=True)
    return np.where(long > 1e-30, out / np.maximum(long, 1e-30), (0.0, 0.0, 1.0))


def find_normals(vertices: Any, triangles: Any) -> Floats:
    """Return unit vertex normals, (n, 3): the area-weighted mean of adjacent faces, or z for a vertex without faces."""
    points, corners = np.asarray(vertices, np.float64), np.asarray(triangles, np.int64)
    a, b, c = (points[corners[:, k]] for k in range(3))
    across = np.cross(b - a, c - a)
    out = np.zeros_like(points)
    for axis in range(3):
        for k in range(3):
            out[:, axis] += np.bincount(corners[:, k], across[:, axis], len(points))
    long = np.linalg.norm(out, axis=1, keepdims=True)
    return np.where(long > 1e-30, out / np.maximum(long, 1e-30), (0.0, 0.0, 1.0))
