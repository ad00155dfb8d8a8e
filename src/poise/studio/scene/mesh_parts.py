"""A body's own meshes as parts that viser can draw: one material each, rigid on a frame or skinned to four bones.

viser's bones are rigid: a vertex moves to ``sum_k w_k T_k C_k^-1 u``, C_k being the bind transform of bone k. If bind
matrices ``B_k = s R_k`` have one scale s for all bones, ``u = s v`` and ``C_k = s B_k^-1`` give the same result as
``sum_k w_k T_k B_k v`` in every pose. If the scales of bones differ, it is exact in the rest pose only. All skins of a
body have the same bones.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from poise.arrays import Bytes, Floats
from poise.model import Model
from poise.model.geometry.decimation import thin_all
from poise.model.geometry.looks import Material, Piece, Texture, deform, deform_normals, find_normals
from poise.model.geometry.triangles import join_corners
from poise.model.memo import keep_with_model
from poise.pictures.body.flesh import Color
from poise.pictures.body.pieces import find_pieces
from poise.pictures.textures import PLAIN, decode_texture, find_opacity, shrink_pixels
from poise.spatial import Rotation
from poise.studio.scene.rigid_skins import split_stiff

__all__ = ["Dress", "Paint", "RigidPart", "SkinPart", "make_dress"]


MAX_SKIN_TRIANGLES = 80_000  # triangles at most: viser needs a dense table of vertices by bones
EQUAL_SCALE = 1e-3  # relative difference of scales that count as equal
CUTOUT = 0.5  # opacity of a blended texture below which nothing is drawn


@dataclass(frozen=True, slots=True, eq=False)
class Paint:
    """A texture on the vertices of a part.

    Attributes:
        image: The index of the texture in `Dress.images`.
        uv: The texture coordinates, (n, 2), v downwards.
        normals: The normals, (n, 3): vertices are split at seams of the texture, where shading is smooth.
    """

    image: int
    uv: NDArray[np.float32]
    normals: NDArray[np.float32]


@dataclass(frozen=True, slots=True, eq=False)
class RigidPart:
    """Triangles of one material on a frame, in the frame's axes."""

    frame: str
    vertices: NDArray[np.float32]
    faces: NDArray[np.uint32]
    color: Color
    opacity: float | None = None  # of a transparent part; None if opaque
    paint: Paint | None = None


@dataclass(frozen=True, slots=True, eq=False)
class SkinPart:
    """Triangles of one material, skinned to several bones.

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
        paint: The texture, or None.
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
    paint: Paint | None = None

    def table(self) -> NDArray[np.float32]:
        """Return the dense weights of all bones, (n, bones), as viser expects them."""
        out = np.zeros((len(self.vertices), len(self.frames)), np.float32)
        for k in range(self.joints.shape[1]):
            np.add.at(out, (np.arange(len(out)), self.joints[:, k]), self.weights[:, k])
        return out


@dataclass(frozen=True, slots=True, eq=False)
class Dress:
    """All mesh parts of a body, and the textures they share, each (rows, columns, 3 or 4)."""

    rigid: tuple[RigidPart, ...]
    skins: tuple[SkinPart, ...]
    images: tuple[Bytes, ...] = ()


@keep_with_model
def make_dress(model: Model) -> Dress | None:
    """Return the mesh parts of a body, or None if its file has no readable meshes."""
    pieces = [piece for piece in find_pieces(model) if find_opacity(piece.patch.material) > 0.0]
    if not pieces:
        return None
    pieces = [part for piece in pieces for part in split_stiff(piece)]
    skins = thin_all([piece for piece in pieces if piece.skin is not None], MAX_SKIN_TRIANGLES)
    images = ImageShelf()
    rigid = gather_rigid([piece for piece in pieces if piece.skin is None], images)
    return Dress(tuple(rigid), tuple(gather_skins(model, skins, images)), tuple(images.images))


# ------------------------------------------------------------------------------------------------ materials


Finish = tuple[int, Color, float | None]  # the index of the texture or -1, the colour, the opacity


class ImageShelf:
    """The textures of a body, each decoded once."""

    def __init__(self) -> None:
        self.images: list[Bytes] = []
        self.known: dict[tuple[Texture, float | None], int] = {}

    def name_finish(self, piece: Piece) -> Finish:
        """Return the finish of a piece, by which pieces are merged."""
        material, opacity = piece.patch.material or Material(PLAIN), name_opacity(piece)
        image = -1 if material.texture is None or piece.patch.uv is None else self.find_image(material)
        r, g, b = (round(255 * float(np.clip(c, 0.0, 1.0))) for c in material.color[:3])
        return image, (r, g, b), opacity

    def find_image(self, material: Material) -> int:
        """Return the index of a material's texture; -1 if it cannot be decoded."""
        assert material.texture is not None
        cutout = material.cutout if material.cutout is not None else CUTOUT if material.clear else None
        key = material.texture, cutout
        if key not in self.known:
            pixels = decode_texture(material.texture)
            self.known[key] = -1 if pixels is None else len(self.images)
            if pixels is not None:
                small = shrink_pixels(pixels)
                opaque = cutout is None or bool((small[:, :, 3] >= 255 * cutout).all())
                small[:, :, 3] = 255 * (small[:, :, 3] >= 255 * (cutout or 0.0))
                self.images.append(np.ascontiguousarray(small[:, :, :3]) if opaque else small)
        return self.known[key]


def name_opacity(piece: Piece) -> float | None:
    """Return the opacity of a piece in steps of 0.05; None if it is opaque."""
    opacity = find_opacity(piece.patch.material)
    return None if opacity == 1.0 else max(round(20.0 * opacity), 1) / 20.0


# ------------------------------------------------------------------------------------------------ rigid parts


def gather_rigid(pieces: list[Piece], images: ImageShelf) -> list[RigidPart]:
    """Merge the rigid pieces by frame and finish."""
    found: dict[tuple[str, Finish], list[Piece]] = {}
    for piece in pieces:
        found.setdefault((piece.frame, images.name_finish(piece)), []).append(piece)
    out = []
    for (frame, (image, color, opacity)), some in found.items():
        meshes = [place_piece(piece) for piece in some]
        vertices, faces = join_meshes([(points, corners) for points, corners, _ in meshes])
        paint = None if image < 0 else make_paint(image, some, [normals for *_, normals in meshes])
        out.append(RigidPart(frame, vertices, faces, color, opacity, paint))
    return out


def place_piece(piece: Piece) -> tuple[Floats, NDArray[np.int64], Floats]:
    """Return the vertices, triangles and normals of a rigid piece in its frame."""
    linear, patch = piece.matrix[:3, :3], piece.patch
    points = np.asarray(patch.vertices, np.float64) @ linear.T + piece.matrix[:3, 3]
    flip = np.linalg.det(linear) < 0.0
    corners = patch.triangles.astype(np.int64)[:, :: -1 if flip else 1]
    if patch.normals is None:
        return points, corners, find_normals(points, corners)
    normals = np.asarray(patch.normals, np.float64) @ np.linalg.pinv(linear)
    return points, corners, normals / np.maximum(np.linalg.norm(normals, axis=1, keepdims=True), 1e-30)


def make_paint(image: int, pieces: list[Piece], normals: list[Floats]) -> Paint:
    """Return the texture of merged pieces."""
    uv = [piece.patch.uv for piece in pieces if piece.patch.uv is not None]
    return Paint(image, np.concatenate(uv).astype(np.float32), np.concatenate(normals).astype(np.float32))


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


@dataclass(frozen=True, slots=True, eq=False)
class BoundPiece:
    """A piece in the bind pose: vertices and normals (n, 3), indices and weights of four bones (n, 4)."""

    piece: Piece
    points: Floats
    normals: Floats
    joints: NDArray[np.int64]
    weights: Floats


def gather_skins(model: Model, pieces: list[Piece], images: ImageShelf) -> list[SkinPart]:
    """Merge the skinned pieces by finish."""
    bones = Bones([], [], {})
    found: dict[Finish, list[BoundPiece]] = {}
    for piece in pieces:
        found.setdefault(images.name_finish(piece), []).append(bind_piece(model, piece, bones))
    return [join_skin(bones, some, finish) for finish, some in found.items()]


def bind_piece(model: Model, piece: Piece, bones: Bones) -> BoundPiece:
    """Return a piece in the bind pose, with the four heaviest bones of each vertex."""
    skin, patch = piece.skin, piece.patch
    assert skin is not None
    points = np.asarray(patch.vertices, np.float64)
    normals = find_normals(points, patch.triangles) if patch.normals is None else np.asarray(patch.normals, np.float64)
    places = find_binding(skin.binds)
    if places is None:  # bones of different scales: bound in the rest pose
        T = model.fk(np.array(model.rest))
        at = {name: k for k, name in enumerate(model.frames)}
        points, C = deform(piece, model.frames, T), np.array([T[at[name]] for name in skin.frames])
        normals = deform_normals(piece, model.frames, T, points)
    else:
        scale, C = places
        points, normals = points * scale, normals * np.sign(scale) * np.sign(scale[0])  # as the triangles are wound
    numbers = np.array([bones.add(frame, matrix) for frame, matrix in zip(skin.frames, C, strict=True)])
    best = np.argsort(-skin.weights, axis=1, kind="stable")[:, :4]
    weights = np.take_along_axis(skin.weights, best, 1).astype(np.float64)
    weights = weights / weights.sum(axis=1, keepdims=True)
    return BoundPiece(piece, points, normals, numbers[np.take_along_axis(skin.joints, best, 1)], weights)


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


def join_skin(bones: Bones, some: list[BoundPiece], finish: Finish) -> SkinPart:
    """Merge pieces of one finish into one part; equal vertices are merged, unless they have a texture."""
    image, color, opacity = finish
    vertices, faces = join_meshes([(part.points, part.piece.patch.triangles.astype(np.int64)) for part in some])
    wide = max(part.joints.shape[1] for part in some)
    joints, weights = (
        np.concatenate([np.pad(values, ((0, 0), (0, wide - values.shape[1]))) for values in rows])
        for rows in ([part.joints for part in some], [part.weights for part in some])
    )
    paint = None
    if image < 0:
        corners = faces.ravel()
        vertices, order = join_corners(vertices[corners])
        first = np.zeros(len(vertices), np.int64)
        first[order.ravel()[::-1]] = corners[::-1]
        faces, joints, weights = order.astype(np.uint32), joints[first], weights[first]
    else:
        paint = make_paint(image, [part.piece for part in some], [part.normals for part in some])
    C = np.array(bones.matrices)
    wxyz = np.array(Rotation.from_matrix(C[:, :3, :3]).wxyz)
    weights = weights.astype(np.float32)
    return SkinPart(tuple(bones.frames), wxyz, C[:, :3, 3], vertices, faces, joints, weights, color, opacity, paint)
