"""A triangle rasteriser in numpy, for pictures of meshes without a display or graphics card.

Every triangle is cut into rows of pixels; a pixel belongs to the nearest triangle whose barycentric coordinates are all
positive there. Colours are computed last, for visible pixels only. The work is bounded: if the bounding boxes of all
triangles have too many pixels, the picture gets coarser.
Source: J. Pineda, A parallel algorithm for polygon rasterization, 1988.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from poise.arrays import Bytes, Floats
from poise.model.geometry.looks import Material, Patch, Texture
from poise.pictures.textures import FAINT, PLAIN, decode_texture, find_opacity, sample_texture

__all__ = ["Canvas", "Sheet", "count_pixels", "paint_sheets"]


CHUNK = 1 << 20  # pixels per array operation
MOST_WORK = 24_000_000  # pixels per picture
LIGHT = np.array([-0.45, 0.62, 0.64])  # towards the light: right, up, towards the viewer
EDGE = 1e-9  # pixels: triangles that share an edge both contain the pixels on it, so no gap appears
FINE = 2  # supersampling: pixels along a side that are averaged to one


@dataclass(frozen=True, slots=True, eq=False)
class Sheet:
    """Projected triangles.

    Attributes:
        flat: The projected vertices, right and up, (n, 2).
        depth: The depth of the vertices, (n,).
        normals: The vertex normals: right, up, towards the viewer, (n, 3).
        patch: Triangles, material and texture coordinates.
        closed: Whether the mesh has no holes and counter-clockwise triangles, so that back faces are hidden.
    """

    flat: Floats
    depth: Floats
    normals: Floats
    patch: Patch
    closed: bool = False


class Canvas:
    """Pixels over a rectangle of the plane.

    Attributes:
        low: The lower left corner.
        size: Width and height, in the plane's units.
        step: The side of a pixel.
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
        self.decoded: dict[Texture, Bytes | None] = {}

    def extent(self) -> tuple[float, float, float, float]:
        """Return left, right, bottom and top, in matplotlib's order."""
        right, top = self.low + self.size
        return float(self.low[0]), float(right), float(self.low[1]), float(top)

    def draw(self, number: int, sheet: Sheet) -> None:
        """Draw the triangles of a sheet, keeping the nearest at each pixel."""
        rows = PixelRows.cut(self, sheet)
        ends = np.cumsum(rows.count)
        start = 0
        while start < len(ends):
            done = ends[start - 1] if start else 0
            stop = max(int(np.searchsorted(ends, done + CHUNK)), start + 1)
            self._draw_some(number, sheet, rows, np.arange(start, stop))
            start = stop

    def _draw_some(self, number: int, sheet: Sheet, rows: PixelRows, some: Any) -> None:
        """Draw some of the pixel rows."""
        count = rows.count[some]
        along = np.arange(int(count.sum())) - np.repeat(np.cumsum(count) - count, count)
        pixel = np.repeat(rows.y[some] * self.columns + rows.first[some], count) + along
        row = np.repeat(some, count)
        depth = np.repeat(rows.depth[some, 0], count) + np.repeat(rows.depth[some, 1], count) * along
        near = np.flatnonzero(depth < self.depth[pixel])
        row, along = row[near], along[near]
        t, a, b = rows.triangle[row], *(f[row, 0] + f[row, 1] * along for f in (rows.a, rows.b))
        pixel, depth = pixel[near], depth[near]
        keep = np.arange(len(near))
        material = sheet.patch.material
        if material is not None and material.cutout is not None and len(near):
            least = max(material.cutout, FAINT if material.clear else 0.0)
            keep = np.flatnonzero(self.color_points(sheet.patch, t, a, b)[:, 3] >= least)
        once = keep_nearest(pixel, depth, keep)
        seen = pixel[once]
        self.depth[seen], self.sheet[seen], self.triangle[seen] = depth[once], number, t[once]
        self.weights[seen, 0], self.weights[seen, 1] = a[once], b[once]

    def color_points(self, patch: Patch, t: Any, a: Any, b: Any) -> Floats:
        """Return colours (n, 4) at points of triangles given by barycentric coordinates."""
        material = patch.material or Material(PLAIN)
        color, texture = np.asarray(material.color), material.texture
        if texture is not None and texture not in self.decoded:
            self.decoded[texture] = decode_texture(texture)
        pixels = None if texture is None else self.decoded[texture]
        if pixels is None or patch.uv is None:
            return np.tile(color, (len(t), 1))
        corners = patch.uv[patch.triangles[t].astype(np.int64)].astype(np.float64)
        uv = corners[:, 0] + a[:, None] * (corners[:, 1] - corners[:, 0]) + b[:, None] * (corners[:, 2] - corners[:, 0])
        return np.asarray(sample_texture(pixels, uv) * color)


@dataclass(frozen=True, slots=True, eq=False)
class PixelRows:
    """Rows of the pixels of triangles: those whose barycentric coordinates a, b, 1 - a - b are all positive.

    Attributes:
        triangle: The index of each row's triangle, (n,).
        y: The row of the canvas.
        first: The first pixel.
        count: The number of pixels.
        a: The first coordinate at the first pixel, and its increment per pixel, (n, 2).
        b: The second coordinate, likewise.
        depth: The depth, likewise.
    """

    triangle: NDArray[np.int64]
    y: NDArray[np.int64]
    first: NDArray[np.int64]
    count: NDArray[np.int64]
    a: Floats
    b: Floats
    depth: Floats

    @classmethod
    def cut(cls, canvas: Canvas, sheet: Sheet) -> PixelRows:
        """Cut the visible triangles of a sheet into pixel rows."""
        corners = sheet.patch.triangles.astype(np.int64)
        p = ((sheet.flat - canvas.low) / canvas.step - 0.5)[corners]  # pixel centres have integer coordinates
        u, v = p[:, 1] - p[:, 0], p[:, 2] - p[:, 0]
        twice = u[:, 0] * v[:, 1] - u[:, 1] * v[:, 0]
        low = np.clip(np.ceil(p[:, :, 1].min(axis=1)), 0, canvas.rows).astype(np.int64)
        high = np.clip(np.floor(p[:, :, 1].max(axis=1)), -1, canvas.rows - 1).astype(np.int64)
        tall = np.where((twice if sheet.closed else np.abs(twice)) > 1e-12, np.maximum(high - low + 1, 0), 0)
        t = np.repeat(np.arange(len(corners)), tall)
        y = np.repeat(low, tall) + np.arange(len(t)) - np.repeat(np.cumsum(tall) - tall, tall)
        one, x, dy = 1.0 / twice[t], p[t, 0, 0], y - p[t, 0, 1]
        grow_a, grow_b = v[t, 1] * one, -u[t, 1] * one
        a, b = -x * grow_a - dy * v[t, 0] * one, -x * grow_b + dy * u[t, 0] * one
        first, count = find_inside(((a, grow_a), (b, grow_b), (1.0 - a - b, -grow_a - grow_b)), canvas.columns)
        kept = np.flatnonzero(count)
        t, x, a, b = t[kept], first[kept], np.stack([a, grow_a], 1)[kept], np.stack([b, grow_b], 1)[kept]
        for f in (a, b):
            f[:, 0] += f[:, 1] * x
        z = sheet.depth[corners[t]]
        depth = a * (z[:, 1] - z[:, 0])[:, None] + b * (z[:, 2] - z[:, 0])[:, None]
        depth[:, 0] += z[:, 0]
        return cls(t, y[kept], x, count[kept], a, b, depth)


def find_inside(lines: Sequence[tuple[Floats, Floats]], columns: int) -> tuple[Any, Any]:
    """Return the first pixel of each row where every f + g x is at least 0, and the number of such pixels."""
    low, high = np.zeros(len(lines[0][0])), np.full(len(lines[0][0]), columns - 1.0)
    for f, g in lines:
        with np.errstate(divide="ignore", invalid="ignore"):
            at = -f / g
        low = np.where(g > 0, np.maximum(low, at - EDGE), low)
        high = np.where(g < 0, np.minimum(high, at + EDGE), high)
        high = np.where((g == 0) & (f < 0), -1.0, high)
    first = np.ceil(np.minimum(low, columns)).astype(np.int64)
    return first, np.maximum(np.floor(np.maximum(high, -1.0)).astype(np.int64) - first + 1, 0)


def keep_nearest(pixel: Any, depth: Any, some: Any) -> Any:
    """Return the indices of the points nearest to the viewer, one for each pixel."""
    order = some[np.argsort(pixel[some], kind="stable")]
    at = pixel[order]
    starts = np.flatnonzero(np.concatenate([[True], at[1:] != at[:-1]])) if len(at) else at
    if not len(starts):
        return order
    least = np.minimum.reduceat(depth[order], starts)
    own = np.repeat(least, np.diff(np.append(starts, len(at)))) == depth[order]
    first = np.flatnonzero(own)
    return order[first[np.concatenate([[True], at[first][1:] != at[first][:-1]])]]


# ------------------------------------------------------------------------------------------------ a picture


def paint_sheets(
    sheets: list[Sheet], pixels: int = 900, pixel: float = 0.0
) -> tuple[NDArray[np.float64], tuple[float, float, float, float]]:
    """Paint shaded triangles; return the image (rows, columns, 4), top row first, and its extent.

    The nearest transparent sheet is blended over the opaque ones. The longer side of the image has `pixels` pixels, or
    fewer if pixels of side `pixel` suffice.
    """
    every = np.concatenate([sheet.flat for sheet in sheets])
    pixels = count_pixels(every, pixels, pixel)
    canvas = Canvas(every.min(axis=0), every.max(axis=0), FINE * pixels, sum(measure_boxes(sheet) for sheet in sheets))
    depth = np.concatenate([sheet.depth for sheet in sheets])
    air = float(depth.min()), max(float(np.ptp(depth)), 1e-9)
    out = np.zeros((canvas.rows * canvas.columns, 4))
    opacity = [find_opacity(sheet.patch.material) for sheet in sheets]
    for chosen in ([k for k, a in enumerate(opacity) if a == 1.0], [k for k, a in enumerate(opacity) if a < 1.0]):
        canvas.sheet[:] = -1  # earlier sheets keep their depths
        for k in chosen:
            canvas.draw(k, sheets[k])
        for k in chosen:
            at = np.flatnonzero(canvas.sheet == k)
            if len(at):
                lay_over(out, at, paint_pixels(sheets[k], canvas, at, air), opacity[k])
    return soften(out.reshape(canvas.rows, canvas.columns, 4))[::-1], canvas.extent()


def count_pixels(points: Floats, most: int, pixel: float) -> int:
    """Return the number of pixels along the longer side of a picture of these points, at most `most`."""
    return max(1, min(most, int(np.ceil(float(np.ptp(points, axis=0).max()) / pixel)))) if pixel > 0.0 else most


def paint_pixels(sheet: Sheet, canvas: Canvas, at: NDArray[np.int64], air: tuple[float, float]) -> Floats:
    """Return the colours of a sheet's visible pixels, with distance fog; `air` is the nearest depth and the range."""
    color = shade(sheet, canvas, at)[:, :3]
    pale = 0.16 * ((canvas.depth[at] - air[0]) / air[1])[:, None]
    return np.asarray((1 - pale) * color + pale)


def lay_over(image: Floats, at: NDArray[np.int64], color: Floats, opacity: float) -> None:
    """Blend colours over the pixels of an image, (n, 4)."""
    below = (1.0 - opacity) * image[at, 3:]
    cover = opacity + below
    image[at, :3] = (opacity * color + below * image[at, :3]) / np.maximum(cover, 1e-12)
    image[at, 3:] = cover


def measure_boxes(sheet: Sheet) -> float:
    """Return the total area of the bounding boxes of all triangles."""
    p = sheet.flat[sheet.patch.triangles.astype(np.int64)]
    return float(np.prod(p.max(axis=1) - p.min(axis=1), axis=1).sum())


def shade(sheet: Sheet, canvas: Canvas, at: NDArray[np.int64]) -> Floats:
    """Return the shaded colours of a sheet's visible pixels, (n, 4)."""
    t, a, b = canvas.triangle[at], canvas.weights[at, 0].astype(np.float64), canvas.weights[at, 1].astype(np.float64)
    corners = sheet.normals[sheet.patch.triangles[t].astype(np.int64)]
    normal = corners[:, 0] + a[:, None] * (corners[:, 1] - corners[:, 0]) + b[:, None] * (corners[:, 2] - corners[:, 0])
    normal /= np.maximum(np.linalg.norm(normal, axis=1, keepdims=True), 1e-12)
    normal *= np.where(normal[:, 2:] < 0, -1.0, 1.0)  # back faces are lit like front faces
    color = canvas.color_points(sheet.patch, t, a, b)
    light = LIGHT / np.linalg.norm(LIGHT)
    direct = np.maximum(normal @ light, 0.0)[:, None]
    sky = (0.5 + 0.5 * normal[:, 1])[:, None]
    half = light + np.array([0.0, 0.0, 1.0])
    shine = 0.16 * np.maximum(normal @ (half / np.linalg.norm(half)), 0.0)[:, None] ** 40
    lit = color[:, :3] ** 2 * (0.24 + 0.26 * sky + 0.72 * direct) + shine  # light is about linear in squared colours
    return np.concatenate([np.sqrt(np.clip(lit, 0.0, 1.0)), np.ones((len(at), 1))], axis=1)


def soften(image: Floats) -> Floats:
    """Return the image with FINE x FINE pixels averaged to one, colours weighted by coverage."""
    rows, columns = (n // FINE for n in image.shape[:2])
    block = image.reshape(rows, FINE, columns, FINE, 4)
    out = np.zeros((rows, columns, 4))
    for part in (block[:, k, :, j] for k in range(FINE) for j in range(FINE)):
        out[..., :3] += part[..., :3] * part[..., 3:]
        out[..., 3] += part[..., 3]
    out[..., :3] /= np.maximum(out[..., 3:], 1e-12)
    out[..., 3] /= FINE * FINE
    return out
