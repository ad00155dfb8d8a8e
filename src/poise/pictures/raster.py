"""Triangles to pixels, in numpy: what a picture shows of a body's meshes, without a display or a graphics card.

Every triangle is looked at in the box of pixels around it; a pixel belongs to the nearest triangle whose barycentric
coordinates are all positive there. Colours are found at the end, for the pixels that are seen. Work is bounded: where
the boxes together have too many pixels, the picture gets coarser.
Source: J. Pineda, A parallel algorithm for polygon rasterization, 1988.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from poise.model.looks import Material, Patch
from poise.pictures.textures import FAINT, PLAIN, decode_texture, find_opacity, sample_texture

__all__ = ["Canvas", "Sheet", "paint_sheets"]

Floats = NDArray[np.float64]

CHUNK = 1 << 20  # pixels that are looked at together
MOST_WORK = 24_000_000  # pixels that are looked at for one picture
LIGHT = np.array([-0.45, 0.62, 0.64])  # towards the light: right, up, towards the viewer
FINE = 2  # pixels along a side that are averaged to one


@dataclass(frozen=True, slots=True, eq=False)
class Sheet:
    """Triangles in the picture.

    Attributes:
        flat: Where the vertices are, right and up, (n, 2).
        depth: How far behind, (n,).
        normals: Right, up, towards the viewer, (n, 3).
        patch: Triangles, material and texture coordinates.
    """

    flat: Floats
    depth: Floats
    normals: Floats
    patch: Patch


class Canvas:
    """Pixels over a part of the plane.

    Attributes:
        low: The lower left corner.
        size: Width and height, in the plane's units.
        step: Length of a pixel's side.
    """

    def __init__(self, low: Floats, high: Floats, pixels: int, work: float = 0.0) -> None:
        self.low = np.asarray(low, np.float64)
        span = np.maximum(np.asarray(high, np.float64) - self.low, 1e-12)
        self.step = float(span.max()) / pixels
        if work > MOST_WORK * self.step**2:  # `work` is the area of all boxes in the plane's units
            self.step = float(np.sqrt(work / MOST_WORK))
        self.columns, self.rows = (FINE * (int(np.ceil(s / self.step / FINE)) + 1) for s in span)
        self.size = np.array([self.columns, self.rows]) * self.step
        self.depth = np.full(self.rows * self.columns, np.inf)
        self.sheet = np.full(self.rows * self.columns, -1, np.int32)
        self.triangle = np.zeros(self.rows * self.columns, np.int32)
        self.weights = np.zeros((self.rows * self.columns, 2), np.float32)

    def extent(self) -> tuple[float, float, float, float]:
        """Return left, right, bottom and top, as matplotlib wants them."""
        right, top = self.low + self.size
        return float(self.low[0]), float(right), float(self.low[1]), float(top)

    def draw(self, number: int, sheet: Sheet) -> None:
        """Draw the triangles of a sheet, each pixel taken by what is nearest."""
        corners = sheet.patch.triangles.astype(np.int64)
        flat = (sheet.flat - self.low) / self.step - 0.5  # the centre of a pixel has whole numbers
        p = flat[corners]
        first = np.clip(np.ceil(p.min(axis=1)), 0, (self.columns, self.rows)).astype(np.int64)
        last = np.clip(np.floor(p.max(axis=1)), -1, (self.columns - 1, self.rows - 1)).astype(np.int64)
        wide, tall = np.maximum(last - first + 1, 0).T
        u, v = p[:, 1] - p[:, 0], p[:, 2] - p[:, 0]
        twice = u[:, 0] * v[:, 1] - u[:, 1] * v[:, 0]
        count = np.where(np.abs(twice) > 1e-12, wide * tall, 0)
        z = sheet.depth[corners]
        order = np.flatnonzero(count)
        ends = np.cumsum(count[order])
        start = 0
        while start < len(order):
            done = ends[start - 1] if start else 0
            stop = max(int(np.searchsorted(ends, done + CHUNK)), start + 1)
            self._draw_some(number, sheet, order[start:stop], p, u, v, twice, first, wide, count, z)
            start = stop

    def _draw_some(
        self,
        number: int,
        sheet: Sheet,
        some: Any,
        p: Any,
        u: Any,
        v: Any,
        twice: Any,
        first: Any,
        wide: Any,
        count: Any,
        z: Any,
    ) -> None:
        """Draw a few triangles."""
        t = np.repeat(some, count[some])
        local = np.arange(len(t)) - np.repeat(np.cumsum(count[some]) - count[some], count[some])
        x, y = first[t, 0] + local % wide[t], first[t, 1] + local // wide[t]
        dx, dy = x - p[t, 0, 0], y - p[t, 0, 1]
        a = (dx * v[t, 1] - dy * v[t, 0]) / twice[t]
        b = (dy * u[t, 0] - dx * u[t, 1]) / twice[t]
        inside = (a >= 0) & (b >= 0) & (a + b <= 1)
        t, x, y, a, b = t[inside], x[inside], y[inside], a[inside], b[inside]
        depth = z[t, 0] + a * (z[t, 1] - z[t, 0]) + b * (z[t, 2] - z[t, 0])
        pixel = y * self.columns + x
        near = depth < self.depth[pixel]
        material = sheet.patch.material
        if material is not None and material.cutout is not None and near.any():
            near &= color_points(sheet.patch, t, a, b)[:, 3] >= max(material.cutout, FAINT if material.clear else 0.0)
        t, a, b, depth, pixel = t[near], a[near], b[near], depth[near], pixel[near]
        order = np.lexsort((depth, pixel))
        once = order[np.concatenate([[True], pixel[order][1:] != pixel[order][:-1]])] if len(order) else order
        seen = pixel[once]
        self.depth[seen], self.sheet[seen], self.triangle[seen] = depth[once], number, t[once]
        self.weights[seen, 0], self.weights[seen, 1] = a[once], b[once]


def color_points(patch: Patch, t: Any, a: Any, b: Any) -> Floats:
    """Return colours (n, 4) at points of triangles given by barycentric coordinates."""
    material = patch.material or Material(PLAIN)
    color = np.asarray(material.color)
    pixels = None if material.texture is None or patch.uv is None else decode_once(material)
    if pixels is None or patch.uv is None:
        return np.tile(color, (len(t), 1))
    corners = patch.uv[patch.triangles[t].astype(np.int64)].astype(np.float64)
    uv = corners[:, 0] + a[:, None] * (corners[:, 1] - corners[:, 0]) + b[:, None] * (corners[:, 2] - corners[:, 0])
    return np.asarray(sample_texture(pixels, uv) * color)


_DECODED: dict[int, tuple[Material, Any]] = {}


def decode_once(material: Material) -> Any:
    """Decode the texture of a material, and keep the last few."""
    if id(material) not in _DECODED:
        while len(_DECODED) > 32:
            _DECODED.pop(next(iter(_DECODED)))
        assert material.texture is not None
        _DECODED[id(material)] = material, decode_texture(material.texture)
    return _DECODED[id(material)][1]


# ------------------------------------------------------------------------------------------------ a picture


def paint_sheets(
    sheets: list[Sheet], pixels: int = 900
) -> tuple[NDArray[np.float64], tuple[float, float, float, float]]:
    """Paint triangles with light and shade; return the image (rows, columns, 4), its top row first, and its extent.

    The nearest of what is faint lies over the rest, as faintly as it is.
    """
    every = np.concatenate([sheet.flat for sheet in sheets])
    canvas = Canvas(every.min(axis=0), every.max(axis=0), FINE * pixels, sum(measure_boxes(sheet) for sheet in sheets))
    depth = np.concatenate([sheet.depth for sheet in sheets])
    air = float(depth.min()), max(float(np.ptp(depth)), 1e-9)
    out = np.zeros((canvas.rows * canvas.columns, 4))
    opacity = [find_opacity(sheet.patch.material) for sheet in sheets]
    for chosen in ([k for k, a in enumerate(opacity) if a == 1.0], [k for k, a in enumerate(opacity) if a < 1.0]):
        canvas.sheet[:] = -1  # what was painted before stays nearer or farther
        for k in chosen:
            canvas.draw(k, sheets[k])
        for k in chosen:
            at = np.flatnonzero(canvas.sheet == k)
            if len(at):
                lay_over(out, at, paint_pixels(sheets[k], canvas, at, air), opacity[k])
    return soften(out.reshape(canvas.rows, canvas.columns, 4))[::-1], canvas.extent()


def paint_pixels(sheet: Sheet, canvas: Canvas, at: NDArray[np.int64], air: tuple[float, float]) -> Floats:
    """Return the colours of the pixels in which a sheet is seen, paler with the air between; nearest, and how deep."""
    color = shade(sheet, canvas, at)[:, :3]
    pale = 0.16 * ((canvas.depth[at] - air[0]) / air[1])[:, None]
    return np.asarray((1 - pale) * color + pale)


def lay_over(image: Floats, at: NDArray[np.int64], color: Floats, opacity: float) -> None:
    """Lay colours over the pixels of an image, (n, 4)."""
    below = (1.0 - opacity) * image[at, 3:]
    cover = opacity + below
    image[at, :3] = (opacity * color + below * image[at, :3]) / np.maximum(cover, 1e-12)
    image[at, 3:] = cover


def measure_boxes(sheet: Sheet) -> float:
    """Return the area of the boxes around all triangles."""
    p = sheet.flat[sheet.patch.triangles.astype(np.int64)]
    return float(np.prod(p.max(axis=1) - p.min(axis=1), axis=1).sum())


def shade(sheet: Sheet, canvas: Canvas, at: NDArray[np.int64]) -> Floats:
    """Return the colours of the pixels that a sheet is seen in, (n, 4)."""
    t, a, b = canvas.triangle[at], canvas.weights[at, 0].astype(np.float64), canvas.weights[at, 1].astype(np.float64)
    corners = sheet.normals[sheet.patch.triangles[t].astype(np.int64)]
    normal = corners[:, 0] + a[:, None] * (corners[:, 1] - corners[:, 0]) + b[:, None] * (corners[:, 2] - corners[:, 0])
    normal /= np.maximum(np.linalg.norm(normal, axis=1, keepdims=True), 1e-12)
    normal *= np.where(normal[:, 2:] < 0, -1.0, 1.0)  # both sides are seen
    color = color_points(sheet.patch, t, a, b)
    light = LIGHT / np.linalg.norm(LIGHT)
    direct = np.maximum(normal @ light, 0.0)[:, None]
    sky = (0.5 + 0.5 * normal[:, 1])[:, None]
    half = light + np.array([0.0, 0.0, 1.0])
    shine = 0.16 * np.maximum(normal @ (half / np.linalg.norm(half)), 0.0)[:, None] ** 40
    lit = color[:, :3] ** 2 * (0.24 + 0.26 * sky + 0.72 * direct) + shine  # light adds up in squares, nearly
    return np.concatenate([np.sqrt(np.clip(lit, 0.0, 1.0)), np.ones((len(at), 1))], axis=1)


def soften(image: Floats) -> Floats:
    """Return the image with FINE x FINE pixels averaged to one, colours weighted by what they cover."""
    rows, columns = (n // FINE for n in image.shape[:2])
    block = image.reshape(rows, FINE, columns, FINE, 4)
    cover = block[..., 3].mean(axis=(1, 3))
    color = (block[..., :3] * block[..., 3:]).mean(axis=(1, 3)) / np.maximum(cover, 1e-12)[..., None]
    return np.concatenate([color, cover[..., None]], axis=-1)
