"""Textures of a body: decoding, sampling and shrinking."""

import io
from typing import Any

import numpy as np
from numpy.typing import NDArray

from poise.arrays import Bytes, Floats
from poise.model.geometry.looks import Material, Texture

__all__ = ["decode_texture", "find_opacity", "sample_texture", "shrink_pixels", "shrink_texture"]


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


def shrink_texture(texture: Texture) -> Texture:
    """Shrink an image to at most `LARGEST` pixels per side; leave small images, and those that cannot be decoded."""
    pixels = decode_texture(texture)
    if pixels is None or (max(pixels.shape[:2]) <= LARGEST and len(texture.data) < 1 << 20):
        return texture
    import imageio.v3 as imageio

    small = shrink_pixels(pixels)
    if (small[:, :, 3] > 250).all():
        data = imageio.imwrite("<bytes>", small[:, :, :3], extension=".jpg", quality=88)
        return Texture(bytes(data), "image/jpeg")
    return Texture(bytes(imageio.imwrite("<bytes>", small, extension=".png")), "image/png")


def shrink_pixels(pixels: Bytes) -> Bytes:
    """Return an image, (rows, columns, 4), with at most `LARGEST` pixels per side: means of blocks of pixels."""
    step = -(-max(pixels.shape[:2]) // LARGEST)
    rows, columns = (max(size // step, 1) for size in pixels.shape[:2])
    step_rows, step_columns = min(step, pixels.shape[0]), min(step, pixels.shape[1])
    block = pixels[: rows * step_rows, : columns * step_columns].reshape(rows, step_rows, columns, step_columns, 4)
    return np.asarray(block.mean(axis=(1, 3)).round(), np.uint8)
