"""Images that a mesh names: found next to it and kept as bytes; only what draws decodes them.

PNG, JPEG and WebP are taken, as every browser does. A mesh often names an image by the path that it had on its maker's
machine: where that leads nowhere, the name alone is looked for next to the mesh.
"""

from __future__ import annotations

from pathlib import PurePosixPath
from urllib.parse import unquote

import numpy as np
from numpy.typing import NDArray

from poise.errors import FormatError
from poise.formats.source import Source
from poise.model.geometry.looks import Texture

__all__ = ["IMAGES", "KINDS", "MOST_IMAGE", "MOST_IMAGES", "Album", "find_kind", "make_texture", "settle_places"]

IMAGES = (".png", ".jpg", ".jpeg", ".webp")
"""Suffixes of files that are opened as images; no other file ever is."""

MOST_IMAGE = 1 << 26  # bytes of one image
MOST_IMAGES = 1 << 28  # and of all
KINDS = {b"\x89PNG": "image/png", b"\xff\xd8\xff": "image/jpeg", b"RIFF": "image/webp", b"\xabKTX": "image/ktx2"}


def find_kind(data: bytes) -> str:
    """Return what an image is by its first bytes; "" for none that is known."""
    return next((kind for head, kind in KINDS.items() if data.startswith(head)), "")


def make_texture(data: bytes) -> Texture | None:
    """Return an image that can be drawn; None for one that cannot."""
    kind = find_kind(data)
    return None if kind in ("", "image/ktx2") or len(data) > MOST_IMAGE else Texture(data, kind)


def settle_places(uv: NDArray[np.floating]) -> NDArray[np.float32]:
    """Return texture coordinates with zero for what is no finite number."""
    with np.errstate(over="ignore"):
        return np.nan_to_num(np.asarray(uv).astype(np.float32), nan=0.0, posinf=0.0, neginf=0.0)


class Album:
    """The images of one mesh file, each read once.

    Attributes:
        source: The file that names them.
        within: Nothing outside this folder is opened; "" for no such bound.
    """

    def __init__(self, source: Source, within: str = "") -> None:
        self.source = source
        self.within = within
        self._read: dict[str, Texture | None] = {}
        self._bytes = 0

    def find(self, reference: str) -> Texture | None:
        """Return the image that a reference means; None if it is not there, is no image, or may not be opened."""
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
                data = Source.open(path, limit=min(MOST_IMAGE, MOST_IMAGES - self._bytes)).data
            except (
                FormatError,
                OSError,
                ValueError,
                RuntimeError,
            ):  # not there, too large, not a name, a loop of links
                continue
            self._bytes += len(data)
            return make_texture(data)
        return None
