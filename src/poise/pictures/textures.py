"""Textures of a body: decoding, sampling, and reduction to a few colours for viewers without images."""

from __future__ import annotations

import io
from typing import Any

import numpy as np
from numpy.typing import NDArray

from poise.arrays import Bytes, Floats
from poise.model.geometry.looks import Material, Patch, Texture

__all__ = ["color_vertices", "decode_texture", "find_opacity", "sample_texture", "shrink_texture"]


MOST_PIXELS = 1 << 26
LARGEST = 1024  # pixels at most along a side of an image on a page
PLAIN: tuple[float, float, float, float] = (0.77, 0.80, 0.82, 1.0)
FAINT = 0.35  # opacity below which a material is drawn as transparent
UNSEEN = 0.01  # opacity below which a material is not drawn


def find_opacity(material: Material | None) -> float:
    """Return the opacity of a material, 0 if it is not drawn."""
    if material is None or not material.clear or material.color[3] >= FAINT:
        return 1.0
    return float(material.color[3]) if material.color[3] > UNSEEN else 0.0


def decode_texture(texture: Texture) -> Bytes | None:
    """Return the pixels of an image, (rows, columns, 4), or None if it cannot be decoded."""
    try:
        import imageio.v3 as imageio
    except ImportError:
        return None
    try:
        with io.BytesIO(texture.data) as stream:
            shape = imageio.improps(stream).shape
        if np.prod(np.asarray(shape[:2], dtype=np.float64)) > MOST_PIXELS:
            return None
        with io.BytesIO(texture.data) as stream:
            pixels = np.asarray(imageio.imread(stream))
    except Exception:  # unreadable image: the colour of the material is drawn instead
        return None
    return fill_channels(pixels)


def fill_channels(pixels: NDArray[Any]) -> Bytes | None:
    """Return an image as RGBA bytes, or None if its layout is unknown."""
    if pixels.ndim == 2:
        pixels = np.repeat(pixels[:, :, None], 3, axis=2)
    if pixels.ndim != 3 or not pixels.size:
        return None
    if pixels.dtype == np.uint16:
        pixels = (pixels.astype(np.uint16) // 256).astype(np.uint8)
    if pixels.dtype != np.uint8:
        return None
    if pixels.shape[2] == 2:
        pixels = pixels[:, :, [0, 0, 0, 1]]
    if pixels.shape[2] == 3:
        pixels = np.concatenate([pixels, np.full((*pixels.shape[:2], 1), 255, np.uint8)], axis=2)
    return np.ascontiguousarray(pixels[:, :, :4])


def sample_texture(pixels: Bytes, uv: NDArray[np.floating]) -> Floats:
    """Return the colours (n, 4), 0 to 1, at texture coordinates (n, 2), which wrap around."""
    rows, columns = pixels.shape[:2]
    with np.errstate(invalid="ignore", over="ignore"):
        at = np.nan_to_num(np.asarray(uv, np.float64) % 1.0)
    x = np.minimum((at[:, 0] * columns).astype(np.int64), columns - 1)
    y = np.minimum((at[:, 1] * rows).astype(np.int64), rows - 1)
    return np.asarray(pixels[y, x] / 255.0)


def shrink_texture(texture: Texture, most: int = LARGEST) -> Texture:
    """Shrink an image to at most `most` pixels per side; leave small images, and those that cannot be decoded."""
    pixels = decode_texture(texture)
    if pixels is None or (max(pixels.shape[:2]) <= most and len(texture.data) < 1 << 20):
        return texture
    import imageio.v3 as imageio

    step = -(-max(pixels.shape[:2]) // most)
    rows, columns = (max(size // step, 1) for size in pixels.shape[:2])
    step_rows, step_columns = min(step, pixels.shape[0]), min(step, pixels.shape[1])
    block = pixels[: rows * step_rows, : columns * step_columns].reshape(rows, step_rows, columns, step_columns, 4)
    small = block.mean(axis=(1, 3)).round().astype(np.uint8)
    if (small[:, :, 3] > 250).all():
        data = imageio.imwrite("<bytes>", small[:, :, :3], extension=".jpg", quality=88)
        return Texture(bytes(data), "image/jpeg")
    return Texture(bytes(imageio.imwrite("<bytes>", small, extension=".png")), "image/png")


# ------------------------------------------------------------------------------------------------ plain colours


def color_triangles(patch: Patch) -> Floats:
    """Return the mean colour of each triangle, (m, 4), 0 to 1: texture times material."""
    material = patch.material or Material(PLAIN)
    out = np.tile(np.asarray(material.color), (len(patch.triangles), 1))
    pixels = None if material.texture is None or patch.uv is None else decode_texture(material.texture)
    if pixels is None or patch.uv is None:
        return out
    corners = patch.uv[patch.triangles.astype(np.int64)]
    inner = ((1, 1, 1), (4, 1, 1), (1, 4, 1), (1, 1, 4))
    found = [sample_texture(pixels, np.einsum("k,mkj->mj", np.array(w) / sum(w), corners)) for w in inner]
    return np.asarray(out * np.mean(found, axis=0))


def color_vertices(patch: Patch, most: int) -> tuple[NDArray[np.int64], Floats]:
    """Return the colour index of each triangle, and the colours (k, 3), at most `most`.

    Runs k-means on the triangles' colours, weighted by the square root of their areas, so that small eyes count next to
    a large coat. Starts from distant colours, and is deterministic.
    """
    colors = color_triangles(patch)[:, :3]
    if patch.material is None or patch.material.texture is None or most < 2:
        return np.zeros(len(colors), np.int64), colors[:1] if len(colors) else np.zeros((0, 3))
    points = np.asarray(patch.vertices, np.float64)[patch.triangles.astype(np.int64)]
    area = np.linalg.norm(np.cross(points[:, 1] - points[:, 0], points[:, 2] - points[:, 0]), axis=1)
    weight = np.sqrt(area / max(float(area.max(initial=0.0)), 1e-300)) + 1e-6
    means = choose_first(colors, weight, most)
    nearest = np.zeros(len(colors), np.int64)
    for _ in range(12):
        far = ((colors[:, None] - means[None]) ** 2).sum(axis=-1)
        nearest = np.argmin(far, axis=1)
        total = np.bincount(nearest, weight, len(means))
        sums = np.stack([np.bincount(nearest, weight * colors[:, k], len(means)) for k in range(3)], axis=1)
        means = np.where(total[:, None] > 0, sums / np.maximum(total, 1e-12)[:, None], means)
    used, number = np.unique(nearest, return_inverse=True)
    return number.astype(np.int64), means[used]


def choose_first(colors: Floats, weight: Floats, most: int) -> Floats:
    """Return the initial colours: the mean, then repeatedly the colour with the largest weighted distance from all."""
    means = [np.average(colors, axis=0, weights=weight)]
    far = ((colors - means[0]) ** 2).sum(axis=1)
    while len(means) < most and float(far.max(initial=0.0)) > 0.003:
        means.append(colors[int(np.argmax(far * weight))])
        far = np.minimum(far, ((colors - means[-1]) ** 2).sum(axis=1))
    return np.array(means)
