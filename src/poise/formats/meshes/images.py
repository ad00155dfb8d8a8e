"""Images of a mesh file: located next to it and kept as bytes; only the drawing code decodes them.

PNG, JPEG and WebP are supported, as in every browser. Meshes often contain the path of an image on the author's
machine: if it does not exist, the file name is searched next to the mesh.
"""

from pathlib import PurePosixPath
from urllib.parse import unquote

import numpy as np
from numpy.typing import NDArray

from poise.errors import FormatError
from poise.files.source import Source
from poise.model.geometry.looks import Texture

__all__ = [
    "IMAGES",
    "KINDS",
    "MAX_ALL_IMAGES_BYTES",
    "MAX_IMAGE_BYTES",
    "ImageCache",
    "clean_uv",
    "find_kind",
    "make_texture",
]

IMAGES = (".png", ".jpg", ".jpeg", ".webp")
"""Suffixes of files that are opened as images; no other file ever is."""

MAX_IMAGE_BYTES = 1 << 26  # limit per image
MAX_ALL_IMAGES_BYTES = 1 << 28  # limit for all images of a file
KINDS = {b"\x89PNG": "image/png", b"\xff\xd8\xff": "image/jpeg", b"RIFF": "image/webp", b"\xabKTX": "image/ktx2"}


def find_kind(data: bytes) -> str:
    """Return the MIME type of an image from its first bytes, or "" if it is unknown."""
    return next((kind for head, kind in KINDS.items() if data.startswith(head)), "")


def make_texture(data: bytes) -> Texture | None:
    """Return the image as a texture, or None if it cannot be drawn."""
    kind = find_kind(data)
    return None if kind in ("", "image/ktx2") or len(data) > MAX_IMAGE_BYTES else Texture(data, kind)


def clean_uv(uv: NDArray[np.floating]) -> NDArray[np.float32]:
    """Return texture coordinates with numbers that are not finite replaced by zero."""
    with np.errstate(over="ignore"):
        return np.nan_to_num(np.asarray(uv).astype(np.float32), nan=0.0, posinf=0.0, neginf=0.0)


class ImageCache:
    """The images of one mesh file, each read once.

    Attributes:
        source: The file that refers to the images.
        within: The folder outside of which nothing is opened; "" for no restriction.
    """

    def __init__(self, source: Source, within: str = "") -> None:
        self.source = source
        self.within = within
        self._read: dict[str, Texture | None] = {}
        self._bytes = 0

    def find(self, reference: str) -> Texture | None:
        """Return the image of a reference, or None if it is missing, not an image, or must not be opened."""
        if reference not in self._read:
            self._read[reference] = self._open(reference)
        return self._read[reference]

    def _open(self, reference: str) -> Texture | None:
        plain = unquote(reference.strip()).replace("\\", "/").removeprefix("file://")
        for name in dict.fromkeys((plain, PurePosixPath(plain).name)):
            if PurePosixPath(name).suffix.lower() not in IMAGES:
                continue
            try:
                path = self.source.find_sibling(name, above=IMAGES, within=self.within)
                data = Source.open(path, limit=min(MAX_IMAGE_BYTES, MAX_ALL_IMAGES_BYTES - self._bytes)).data
            except (
                FormatError,
                OSError,
                ValueError,
                RuntimeError,
            ):  # missing, too large, not a valid name, or a loop of links
                continue
            self._bytes += len(data)
            return make_texture(data)
        return None
