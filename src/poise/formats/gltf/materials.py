"""Materials: the base colour and its image. Images are kept as encoded bytes."""

from typing import Any

import numpy as np

from poise.errors import FormatError
from poise.formats.gltf.accessors import find_packing, find_span, unpack_view
from poise.formats.gltf.document import Document, Object
from poise.formats.gltf.meshes import find_base_texture
from poise.formats.meshes.images import MAX_ALL_IMAGES_BYTES, MAX_IMAGE_BYTES, find_kind
from poise.model.geometry.looks import Material, Texture

__all__ = ["Palette"]

BASIS = "KHR_texture_basisu"


class Palette:
    """The materials of a file, each made on first use.

    Attributes:
        missing: A message for each texture that could not be read.
    """

    def __init__(self, document: Document) -> None:
        self.document = document
        self.missing: set[str] = set()
        self._made: dict[tuple[int, tuple[float, ...]], Material] = {}
        self._images: dict[int, Texture | None] = {}
        self._bytes = 0

    def make_material(self, i: int, tint: Any) -> Material:
        """Return a material by its index (-1: the default), with its colour multiplied by the tint (4,)."""
        key = i, tuple(np.round(tint, 6).tolist())
        if key not in self._made:
            self._made[key] = self._make(i, np.asarray(tint, np.float64))
        return self._made[key]

    def _make(self, i: int, tint: Any) -> Material:
        if i < 0:
            return Material(convert_to_srgb(0.8 * tint * (1, 1, 1, 1.25)))
        document, where = self.document, f"materials[{i}]"
        item = document.read_items("materials")[i]
        mode = item.get("alphaMode", "OPAQUE")
        cutoff = item.get("alphaCutoff", 0.5)
        cut = float(np.clip(cutoff, 0.0, 1.0)) if type(cutoff) in (int, float) else 0.5
        color = self._read_factor(item, where) * tint
        if mode not in ("MASK", "BLEND"):
            color[3] = 1.0
        texture = self._read_texture(i)
        cutout = cut if mode == "MASK" else 0.02 if mode == "BLEND" else None
        return Material(convert_to_srgb(color), texture, cutout, mode == "BLEND")

    def _read_factor(self, item: Object, where: str) -> Any:
        """Return the base colour factor, linear, (4,)."""
        old = self.document.read_object(item, "extensions", where).get("KHR_materials_pbrSpecularGlossiness")
        basic = self.document.read_object(item, "pbrMetallicRoughness", where)
        given = basic.get("baseColorFactor", old.get("diffuseFactor") if isinstance(old, dict) else None)
        if given is None:
            return np.ones(4)
        if not isinstance(given, list) or len(given) != 4 or any(type(x) not in (int, float) for x in given):
            raise self.document.fail(f"{where}: the factor of its colour", "must be a list of 4 numbers.")
        return np.clip(np.nan_to_num(np.array([min(max(x, 0), 1) for x in given], np.float64)), 0.0, 1.0)

    def _read_texture(self, i: int) -> Texture | None:
        """Return the base colour image of a material, or None if it is missing or unreadable."""
        info = find_base_texture(self.document, i)
        if not info:
            return None
        where = f"materials[{i}]: the texture of its colour"
        item = self.document.read_items("textures")[self.document.read_index(info.get("index"), "textures", where)]
        source = item.get("source")
        for name, about in self.document.read_object(item, "extensions", where).items():
            if source is None and isinstance(about, dict) and "source" in about and name != BASIS:
                source = about["source"]
            elif source is None and name == BASIS:
                self.missing.add(f"a texture is packed by {name} (KTX2), which is not read here; its colour is plain")
        if source is None:
            return None
        number = self.document.read_index(source, "images", where)
        if number not in self._images:
            self._images[number] = self._read_image(number)
        return self._images[number]

    def _read_image(self, i: int) -> Texture | None:
        document, where = self.document, f"images[{i}]"
        item = document.read_items("images")[i]
        try:
            data = self._read_bytes(item, where)
        except FormatError as error:
            self.missing.add(f"a texture was left out: {error.message}")
            return None
        kind = find_kind(data)
        self._bytes += len(data)
        if not kind or kind == "image/ktx2" or len(data) > MAX_IMAGE_BYTES or self._bytes > MAX_ALL_IMAGES_BYTES:
            why = "is a KTX2 image" if kind == "image/ktx2" else "is not a PNG, JPEG or WebP, or is too large"
            self.missing.add(f"a texture {why}, which is not read here; its colour is plain")
            return None
        return Texture(data, kind)

    def _read_bytes(self, item: Object, where: str) -> bytes:
        document = self.document
        if "bufferView" not in item:
            return document.read_resource(item.get("uri"), f"{where}.uri")
        view = document.read_index(item["bufferView"], "bufferViews", f"{where}.bufferView")
        name, about = find_packing(document, view)
        if name:
            return unpack_view(document, view, name, about)
        buffer, start, length, _ = find_span(document, view)
        return bytes(document.read_buffer(buffer)[start : start + length])


def convert_to_srgb(linear: Any) -> tuple[float, float, float, float]:
    """Convert a linear colour to sRGB; opacity is unchanged."""
    rgb = np.clip(np.asarray(linear[:3], np.float64), 0.0, 1.0)
    r, g, b = np.where(rgb <= 0.0031308, 12.92 * rgb, 1.055 * rgb ** (1 / 2.4) - 0.055).tolist()
    return r, g, b, float(linear[3])
