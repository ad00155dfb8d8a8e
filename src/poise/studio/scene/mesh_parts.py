"""A body's own meshes as parts that viser can draw: one colour each, rigid on a frame or skinned to four bones.

A texture is reduced to a few main colours, and its triangles are grouped by them, so that a face remains recognisable.
viser's bones are rigid: a vertex moves to ``sum_k w_k T_k C_k^-1 u``, C_k being the bind transform of bone k. If bind
matrices ``B_k = s R_k`` have one scale s for all bones, ``u = s v`` and ``C_k = s B_k^-1`` give the same result as
``sum_k w_k T_k B_k v`` in every pose. If the scales of bones differ, it is exact in the rest pose only.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from poise.arrays import Floats
from poise.formats.meshes.checks import join_corners
from poise.formats.meshes.decimation import split_triangles, thin_all
from poise.model import Model
from poise.model.geometry.looks import Piece, deform
from poise.model.memo import keep_with_model
from poise.pictures.body.flesh import Color
from poise.pictures.body.pieces import find_pieces
from poise.pictures.textures import PLAIN, color_vertices, find_opacity
from poise.spatial import Rotation
from poise.studio.scene.rigid_skins import split_stiff

__all__ = ["Dress", "RigidPart", "SkinPart", "make_dress"]


MAX_TEXTURE_COLORS = 5  # colours of one texture at most
MAX_COLORS = 10  # colours of all skins of a body at most: each is a mesh with its own bones
MAX_SKIN_TRIANGLES = 80_000  # triangles at most: viser needs a dense table of vertices by bones
EQUAL_SCALE = 1e-3  # relative difference of scales that count as equal


@dataclass(frozen=True, slots=True, eq=False)
class RigidPart:
    """Triangles of one colour on a frame, in the frame's axes."""

    frame: str
    vertices: NDArray[np.float32]
    faces: NDArray[np.uint32]
    color: Color
    opacity: float | None = None  # of a transparent part; None if opaque


@dataclass(frozen=True, slots=True, eq=False)
class SkinPart:
    """Triangles of one colour, skinned to several bones.

    Attributes:
        frames: The frame of each bone; a frame may have several bones.
        wxyz: The bind rotations of the bones, (bones, 4).
        positions: The bind positions of the bones, (bones, 3) [m].
        vertices: The vertices in the bind pose, (n, 3) [m].
        faces: The triangles, (m, 3).
        joints: The indices of bones, (n, 4).
        weights: The skinning weights, (n, 4); rows sum to one.
        color: Red, green, blue, 0 to 255.
        opacity: The opacity of a transparent part; None if opaque.
    """

    frames: tuple[str, ...]
    wxyz: Floats
    positions: Floats
    vertices: NDArray[np.float32]
    faces: NDArray[np.uint32]
    joints: NDArray[np.int64]
    weights: NDArray[np.float32]
    color: Color
    opacity: float | None = None

    def table(self) -> NDArray[np.float32]:
        """Return the dense weights of all bones, (n, bones), as viser expects them."""
        out = np.zeros((len(self.vertices), len(self.frames)), np.float32)
        for k in range(self.joints.shape[1]):
            np.add.at(out, (np.arange(len(out)), self.joints[:, k]), self.weights[:, k])
        return out


@dataclass(frozen=True, slots=True, eq=False)
class Dress:
    """All mesh parts of a body."""

    rigid: tuple[RigidPart, ...]
    skins: tuple[SkinPart, ...]


@keep_with_model
def make_dress(model: Model) -> Dress | None:
    """Return the mesh parts of a body, or None if its file has no readable meshes."""
    pieces = [piece for piece in find_pieces(model) if find_opacity(piece.patch.material) > 0.0]
    if not pieces:
        return None
    pieces = [part for piece in pieces for part in split_stiff(piece)]
    skins = refine_all(
        thin_all([piece for piece in pieces if piece.skin is not None], MAX_SKIN_TRIANGLES), MAX_SKIN_TRIANGLES
    )
    rigid = refine_all([piece for piece in pieces if piece.skin is None], MAX_SKIN_TRIANGLES)
    found = {name_opacity(piece): [p for p in skins if name_opacity(p) == name_opacity(piece)] for piece in skins}
    parts = [replace(part, opacity=opacity) for opacity, some in found.items() for part in gather_skins(model, some)]
    return Dress(tuple(gather_rigid(rigid)), tuple(parts))


def refine_all(pieces: list[Piece], most: int) -> list[Piece]:
    """Subdivide textured pieces so that their triangles show the texture, with at most `most` triangles in all."""
    for _ in range(3):
        painted = [len(p.patch.triangles) for p in pieces if p.patch.uv is not None]
        if not painted or 3 * sum(painted) + sum(len(p.patch.triangles) for p in pieces) > most:
            break
        pieces = [piece if piece.patch.uv is None else split_triangles(piece) for piece in pieces]
    return pieces


def name_opacity(piece: Piece) -> float | None:
    """Return the opacity of a piece in steps of 0.05; None if it is opaque."""
    opacity = find_opacity(piece.patch.material)
    return None if opacity == 1.0 else max(round(20.0 * opacity), 1) / 20.0


def to_color(rgb: Floats) -> Color:
    """Convert a colour from 0 to 1 to integers up to 255."""
    r, g, b = (round(255 * float(np.clip(c, 0.0, 1.0))) for c in rgb)
    return r, g, b


# ------------------------------------------------------------------------------------------------ rigid parts


def gather_rigid(pieces: list[Piece]) -> list[RigidPart]:
    """Merge the rigid pieces by frame, colour and opacity."""
    found: dict[tuple[str, Color, float | None], list[tuple[Floats, NDArray[np.int64]]]] = {}
    for piece in pieces:
        points = np.asarray(piece.patch.vertices, np.float64) @ piece.matrix[:3, :3].T + piece.matrix[:3, 3]
        flip = np.linalg.det(piece.matrix[:3, :3]) < 0.0
        number, colors = color_vertices(piece.patch, MAX_TEXTURE_COLORS)
        for k, rgb in enumerate(colors):
            faces = piece.patch.triangles[number == k].astype(np.int64)
            used, order = np.unique(faces, return_inverse=True)
            corners = order.reshape(-1, 3)
            found.setdefault((piece.frame, to_color(rgb), name_opacity(piece)), []).append(
                (points[used], corners[:, ::-1] if flip else corners)
            )
    return [RigidPart(frame, *join_meshes(some), color, opacity) for (frame, color, opacity), some in found.items()]


def join_meshes(
    meshes: list[tuple[Floats, NDArray[np.int64]]],
) -> tuple[NDArray[np.float32], NDArray[np.uint32]]:
    """Merge several meshes into one."""
    starts = np.cumsum([0, *(len(points) for points, _ in meshes)])
    faces = np.concatenate([corners + start for (_, corners), start in zip(meshes, starts, strict=False)])
    return np.concatenate([points for points, _ in meshes]).astype(np.float32), faces.astype(np.uint32)


# ------------------------------------------------------------------------------------------------ skins


@dataclass
class Bones:
    """The bones of a body's skins: their frames and bind transforms."""

    frames: list[str]
    matrices: list[Floats]
    known: dict[tuple[str, bytes], int]

    def add(self, frame: str, C: Floats) -> int:
        """Return the index of a bone, adding it if it is new."""
        key = frame, np.round(C / (1e-5 * max(1.0, float(np.abs(C[:3, 3]).max())))).tobytes()
        if key not in self.known:
            self.known[key] = len(self.frames)
            self.frames.append(frame)
            self.matrices.append(C)
        return self.known[key]


def gather_skins(model: Model, pieces: list[Piece]) -> list[SkinPart]:
    """Merge the skinned pieces by colour."""
    bones = Bones([], [], {})
    parts = [bind_piece(model, piece, bones) for piece in pieces]
    sorted_by_color = [color_vertices(piece.patch, MAX_TEXTURE_COLORS) for piece in pieces]
    palette, choice = join_colors([colors for _, colors in sorted_by_color], pieces)
    out = []
    for k, rgb in enumerate(palette):
        chosen = [
            (
                points,
                piece.patch.triangles[np.isin(number, np.flatnonzero(which == k))].astype(np.int64),
                joints,
                weights,
            )
            for piece, (points, joints, weights), (number, _), which in zip(
                pieces, parts, sorted_by_color, choice, strict=True
            )
        ]
        chosen = [some for some in chosen if len(some[1])]
        if chosen:
            out.append(join_skin(bones, chosen, to_color(rgb)))
    return out


def bind_piece(model: Model, piece: Piece, bones: Bones) -> tuple[Floats, NDArray[np.int64], Floats]:
    """Return the vertices of a piece in the bind pose, with the indices and weights of their four heaviest bones."""
    skin = piece.skin
    assert skin is not None
    points = np.asarray(piece.patch.vertices, np.float64)
    places = find_binding(skin.binds)
    if places is None:  # bones of different scales: bound in the rest pose
        T = model.fk(np.array(model.rest))
        at = {name: k for k, name in enumerate(model.frames)}
        points, C = deform(piece, model.frames, T), np.array([T[at[name]] for name in skin.frames])
    else:
        scale, C = places
        points = points * scale
    numbers = np.array([bones.add(frame, matrix) for frame, matrix in zip(skin.frames, C, strict=True)])
    best = np.argsort(-skin.weights, axis=1, kind="stable")[:, :4]
    weights = np.take_along_axis(skin.weights, best, 1).astype(np.float64)
    return points, numbers[np.take_along_axis(skin.joints, best, 1)], weights / weights.sum(axis=1, keepdims=True)


def find_binding(binds: Floats) -> tuple[Floats, Floats] | None:
    """Return the scale of the vertices (3,) and the bind transforms (bones, 4, 4); None if scales differ."""
    linear = binds[:, :3, :3]
    sizes = np.cbrt(np.linalg.det(linear))
    size = float(np.median(sizes))
    if not np.abs(size) > 1e-12 or np.abs(sizes - size).max() > EQUAL_SCALE * abs(size):
        return None
    gram = np.einsum("kji,kjl->kil", linear, linear) / size**2
    if np.abs(gram - np.eye(3)).max() > 2 * EQUAL_SCALE:
        return None
    scale = np.array([size, abs(size), abs(size)])  # a mirrored skin is mirrored back in the bind pose
    C = np.diag([*scale, 1.0]) @ np.linalg.inv(binds)
    u, _, vt = np.linalg.svd(C[:, :3, :3])
    C[:, :3, :3] = u @ vt  # matrices in files have about six digits
    return scale, C


def join_colors(colors: list[Floats], pieces: list[Piece]) -> tuple[Floats, list[NDArray[np.int64]]]:
    """Return a palette for all pieces, and the palette index of each colour of each piece."""
    every = np.concatenate([np.zeros((0, 3)), *colors])
    first: list[int] = []
    far = np.full(len(every), np.inf)
    while len(first) < MAX_COLORS and len(every) and float(far.max()) > 0.004:
        first.append(int(np.argmax(far)))
        far = np.minimum(far, ((every - every[first[-1]]) ** 2).sum(axis=1))
    palette = every[first] if first else np.array([PLAIN[:3]])
    nearest = [np.argmin(((some[:, None] - palette[None]) ** 2).sum(axis=-1), axis=1) for some in colors]
    assert len(nearest) == len(pieces)
    return palette, nearest


def join_skin(
    bones: Bones, some: list[tuple[Floats, NDArray[np.int64], NDArray[np.int64], Floats]], color: Color
) -> SkinPart:
    """Merge the triangles of one colour into one part with the bones it needs; equal vertices are merged."""
    corners = np.concatenate([points[faces.ravel()] for points, faces, _, _ in some])
    joints = np.concatenate([joint[faces.ravel()] for _, faces, joint, _ in some])
    weights = np.concatenate([weight[faces.ravel()] for _, faces, _, weight in some])
    vertices, faces = join_corners(corners.astype(np.float32))
    first = np.zeros(len(vertices), np.int64)
    first[faces.ravel()[::-1]] = np.arange(len(corners))[::-1]
    used, places = np.unique(joints[first], return_inverse=True)
    C = np.array([bones.matrices[k] for k in used.tolist()])
    return SkinPart(
        tuple(bones.frames[k] for k in used.tolist()),
        np.array(Rotation.from_matrix(C[:, :3, :3]).wxyz),
        C[:, :3, 3],
        vertices,
        faces.astype(np.uint32),
        places.reshape(-1, joints.shape[1]),
        weights[first].astype(np.float32),
        color,
    )
