"""Meshes of a page: each patch packed once, instances of them on tracks, images as data URIs.

Positions are 16-bit integers within the patch's box, normals and weights are 8-bit (the shader normalises the weights),
so a character of 20,000 triangles takes about a megabyte.
"""

import base64
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from poise.model import Model
from poise.model.geometry.decimation import split_creases, thin_all
from poise.model.geometry.looks import Material, Patch, Piece, Texture, find_normals
from poise.model.memo import keep_with_model
from poise.pictures.body.pieces import find_pieces
from poise.pictures.textures import PLAIN, shrink_texture

__all__ = ["MeshShelf", "fit_pieces"]

MOST_TRIANGLES = 100_000
"""Largest number of triangles of a body on a page, which people send by mail."""


@dataclass
class MeshShelf:
    """The meshes collected for a page.

    Attributes:
        patches: The packed patches; equal ones, as of several copies of a body, are stored once.
        instances: The patch, tracks and look of each drawn mesh.
        images: Data URIs, one of each.
    """

    patches: list[dict[str, Any]] = field(default_factory=list)
    instances: list[dict[str, Any]] = field(default_factory=list)
    images: list[str] = field(default_factory=list)
    _known: dict[int, tuple[Any, int]] = field(default_factory=dict)

    def add(
        self,
        piece: Piece,
        tracks: list[int],
        *,
        color: tuple[float, float, float] | None = None,
        opacity: float = 1.0,
    ) -> None:
        """Add a piece on the tracks of its frames; `color` overrides that of its material."""
        material = piece.patch.material or Material(PLAIN)
        rgba = [
            *(material.color[:3] if color is None else color),
            opacity * (material.color[3] if color is None else 1),
        ]
        textured = color is None and material.texture is not None and piece.patch.uv is not None
        binds = piece.matrix[None] if piece.skin is None else piece.skin.binds
        self.instances.append(
            {
                "patch": self._number(piece),
                "tracks": tracks,
                "binds": encode(binds.swapaxes(-1, -2).astype("<f4")),
                "skinned": piece.skin is not None,
                "color": [round(float(x), 3) for x in rgba],
                "image": self._image(material.texture) if textured and material.texture is not None else -1,
                "cutout": round(material.cutout, 3) if textured and material.cutout is not None else 0,
                "clear": bool(rgba[3] < 0.99 or (textured and material.clear)),
            }
        )

    def _number(self, piece: Piece) -> int:
        if id(piece.patch) not in self._known:
            self._known[id(piece.patch)] = piece.patch, keep_once(self.patches, pack_patch(piece))
        return self._known[id(piece.patch)][1]

    def _image(self, texture: Texture) -> int:
        if id(texture) not in self._known:
            small = shrink_texture(texture)
            uri = f"data:{small.kind};base64,{base64.b64encode(small.data).decode('ascii')}"
            self._known[id(texture)] = texture, keep_once(self.images, uri)
        return self._known[id(texture)][1]

    def to_data(self) -> dict[str, Any]:
        """Return the meshes as JSON-compatible values."""
        return {"patches": self.patches, "meshes": self.instances, "images": self.images}


def keep_once(shelf: list[Any], item: Any) -> int:
    """Return the index of an item on a shelf, where it is added unless an equal one is there."""
    if item not in shelf:
        shelf.append(item)
    return shelf.index(item)


@keep_with_model
def fit_pieces(model: Model) -> list[Piece]:
    """Return the pieces of a body, reduced to the triangle limit of a page."""
    return thin_pieces(find_pieces(model))


def thin_pieces(pieces: tuple[Piece, ...]) -> list[Piece]:
    """Reduce the pieces to the triangle limit of a page."""
    few = thin_all(list(pieces), MOST_TRIANGLES)
    return [p if p in pieces else replace(p, patch=split_creases(p.patch)) for p in few]


def encode(values: NDArray[Any]) -> str:
    """Return the bytes of an array as base64."""
    return base64.b64encode(np.ascontiguousarray(values).tobytes()).decode("ascii")


def pack_patch(piece: Piece) -> dict[str, Any]:
    """Return a patch as packed arrays, with joints and weights in groups of four."""
    patch = piece.patch
    points = np.asarray(patch.vertices, np.float64)
    low, high = points.min(axis=0), points.max(axis=0)
    middle, half = (low + high) / 2, np.maximum((high - low) / 2, 1e-12)
    normals = patch.normals if patch.normals is not None else find_normals(points, patch.triangles)
    out = {
        "count": len(points),
        "middle": [float(f"{x:.7g}") for x in middle],
        "half": [float(f"{x:.7g}") for x in half],
        "points": encode(widen(np.round((points - middle) / half * 32767)).astype("<i2")),
        "normals": encode(widen(np.round(unit(normals) * 127)).astype("i1")),
        "index": encode(patch.triangles.astype("<u4")),
        "uv": "" if patch.uv is None else encode(np.nan_to_num(patch.uv).astype("<f4")),
    }
    return out | pack_skin(piece, patch)


def pack_skin(piece: Piece, patch: Patch) -> dict[str, Any]:
    """Return the influences of a skinned piece."""
    if piece.skin is None:
        return {"influences": 0, "joints": "", "weights": ""}
    rows = -(-piece.skin.joints.shape[1] // 4)
    joints, weights = np.zeros((2, len(patch.vertices), 4 * rows))
    joints[:, : piece.skin.joints.shape[1]] = piece.skin.joints
    weights[:, : piece.skin.weights.shape[1]] = np.round(piece.skin.weights * 255)
    return {"influences": rows, "joints": encode(joints.astype("<u2")), "weights": encode(weights.astype("u1"))}


def widen(values: NDArray[Any]) -> NDArray[Any]:
    """Pad rows of three values to four, for word alignment."""
    return np.concatenate([values, np.zeros((len(values), 1))], axis=1)


def unit(vectors: NDArray[Any]) -> NDArray[Any]:
    """Normalise vectors to length one."""
    return np.asarray(vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-12))
