"""Preparation of meshes for drawing: decimation, and vertex splits at sharp edges.

`thin` merges the vertices in each cell of a grid into the vertex nearest to their mean, so that texture coordinates
and weights stay valid; the cell size is chosen to meet the triangle limit. Source: J. Rossignac and P. Borrel,
Multi-resolution 3D approximations for rendering complex scenes, 1993.

`split_creases` splits vertices at edges that are sharper than an angle: normals that are then averaged per vertex
shade round parts smoothly and keep edges sharp.
"""

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from poise.arrays import Ints
from poise.model.geometry.looks import Patch, Piece, Skin
from poise.model.geometry.triangles import join_corners

__all__ = ["MAX_TRIANGLES", "choose_vertices", "split_creases", "thin", "thin_all"]

MAX_TRIANGLES = 200_000
"""Triangles of a body that are drawn."""

SHARP = 0.72  # an edge is smooth if the cosine of the angle between its triangles' normals exceeds this
TRIES = 8


def thin_all(pieces: list[Piece], most: int = MAX_TRIANGLES) -> list[Piece]:
    """Return the pieces with about `most` triangles in total, each decimated by the same ratio."""
    total = sum(len(piece.patch.triangles) for piece in pieces)
    if total <= most:
        return pieces
    small = [piece for piece in pieces if len(piece.patch.triangles) <= 60]
    kept = sum(len(piece.patch.triangles) for piece in small)
    if kept > most // 2:
        small, kept = [], 0
    share = max(most - kept, 1) / max(total - kept, 1)
    out = [piece if piece in small else thin(piece, share * len(piece.patch.triangles)) for piece in pieces]
    return [piece for piece in out if len(piece.patch.triangles)]


def thin(piece: Piece, most: float) -> Piece:
    """Return the piece with at most `most` triangles, clustered on the finest suitable grid."""
    patch = piece.patch
    points = np.asarray(patch.vertices, np.float64)
    low, high = points.min(axis=0), points.max(axis=0)
    extent = max(float((high - low).max()), 1e-12)
    triangles = patch.triangles.astype(np.int64)
    cells = 1.1 * float(np.sqrt(max(most, 4.0)))  # initial guess for the longest side; a surface has cells^2 cells
    few, many = (1.0, 1.0), (np.inf, np.inf)  # (cells, triangles) of too coarse and too fine grids
    best: tuple[Ints, Ints] = (np.zeros(0, np.int64), np.zeros((0, 3), np.int64))
    for _ in range(TRIES):
        keep, left = cluster(points - low, triangles, extent / cells)
        if len(left) > most:
            many = cells, float(len(left))
        else:
            few, best = (cells, float(max(len(left), 1))), (keep, left)
            if len(left) >= 0.85 * most:
                break
        cells = guess_cells(few, many, 0.93 * most)
    return choose_vertices(piece, *best)


def guess_cells(few: tuple[float, float], many: tuple[float, float], wanted: float) -> float:
    """Return a number of cells between too few and too many, by log-log interpolation."""
    if not np.isfinite(many[0]):
        return 1.6 * few[0]
    if wanted <= few[1]:
        return float(np.sqrt(few[0] * many[0]))
    part = np.log(wanted / few[1]) / max(np.log(many[1] / few[1]), 1e-9)
    return float(np.exp(np.log(few[0]) + np.clip(part, 0.1, 0.9) * np.log(many[0] / few[0])))


def cluster(points: NDArray[np.float64], triangles: Ints, size: float) -> tuple[Ints, Ints]:
    """Return the representative vertex of each cell, and the remaining distinct triangles between cells."""
    cell = np.minimum(points / size, 2**20).astype(np.int64)
    key = (cell[:, 0] << 42) | (cell[:, 1] << 21) | cell[:, 2]
    _, group = np.unique(key, return_inverse=True)
    count = int(group.max()) + 1
    size_of = np.bincount(group, minlength=count)
    mean = np.stack([np.bincount(group, points[:, k], count) / size_of for k in range(3)], axis=1)
    far = ((points - mean[group]) ** 2).sum(axis=1)
    order = np.lexsort((far, group))
    keep = order[np.concatenate([[True], group[order][1:] != group[order][:-1]])]
    left = group[triangles]
    a, b, c = left.T
    left = left[(a != b) & (b != c) & (c != a)]
    first = np.argmin(left, axis=1)[:, None]
    turned = np.take_along_axis(left, (first + np.arange(3)) % 3, axis=1)
    code = (turned[:, 0] * count + turned[:, 1]) * count + turned[:, 2] if count < 2_000_000 else np.arange(len(left))
    _, once = np.unique(code, return_index=True)
    return keep, left[np.sort(once)]


def choose_vertices(piece: Piece, keep: Ints, triangles: Ints) -> Piece:
    """Return the piece with only these vertices, and the triangles between them."""
    used, order = np.unique(triangles, return_inverse=True) if len(triangles) else (np.arange(len(keep)), triangles)
    rows = keep[used]
    old, skin = piece.patch, piece.skin
    patch = Patch(
        old.vertices[rows],
        order.reshape(-1, 3).astype(np.uint32),
        old.material,
        None if old.uv is None else old.uv[rows],
        None if old.normals is None else old.normals[rows],
    )
    if skin is not None:
        skin = Skin(skin.frames, skin.binds, skin.joints[rows], skin.weights[rows])
    return replace(piece, patch=patch, skin=skin)


# ------------------------------------------------------------------------------------------------ edges


def split_creases(patch: Patch) -> Patch:
    """Return the patch with vertices merged, then split at sharp edges; unchanged if it has normals.

    A vertex with several texture coordinates stays split but gets one normal, so that shading shows no seam.
    """
    if patch.normals is not None or not len(patch.triangles):
        return patch
    vertices, triangles = join_corners(patch.vertices[patch.triangles.ravel()])
    points = np.asarray(vertices, np.float64)
    a, b, c = (points[triangles[:, k]] for k in range(3))
    area = np.cross(b - a, c - a)
    across = area / np.maximum(np.linalg.norm(area, axis=1, keepdims=True), 1e-30)
    label = group_corners(triangles, across, len(points))
    _, first, corner = np.unique(label, return_index=True, return_inverse=True)
    if patch.uv is None:
        vertices = vertices[triangles.ravel()[first]]
        return replace(patch, vertices=vertices, triangles=corner.reshape(-1, 3).astype(np.uint32))
    sums = np.stack([np.bincount(corner, np.repeat(area[:, k], 3), len(first)) for k in range(3)], axis=1)
    normals = sums / np.maximum(np.linalg.norm(sums, axis=1, keepdims=True), 1e-30)
    normals[~normals.any(axis=1)] = (0.0, 0.0, 1.0)
    old = patch.triangles.ravel().astype(np.int64)
    _, chosen, order = np.unique(corner * len(patch.vertices) + old, return_index=True, return_inverse=True)
    return replace(
        patch,
        vertices=patch.vertices[old[chosen]],
        triangles=order.reshape(-1, 3).astype(np.uint32),
        uv=patch.uv[old[chosen]],
        normals=normals[corner[chosen]].astype(np.float32),
    )


def group_corners(triangles: Ints, across: NDArray[np.float64], count: int) -> Ints:
    """Return a label for each corner (3 m,): equal for corners at one vertex that smooth edges connect."""
    m = len(triangles)
    corner = np.arange(3 * m).reshape(m, 3)
    ends = np.concatenate([triangles[:, [k, (k + 1) % 3]] for k in range(3)])
    mine = np.concatenate([corner[:, [k, (k + 1) % 3]] for k in range(3)])
    face = np.tile(np.arange(m), 3)
    flip = ends[:, 0] > ends[:, 1]
    ends[flip], mine[flip] = ends[flip, ::-1], mine[flip, ::-1]
    key = ends[:, 0] * count + ends[:, 1]
    order = np.argsort(key, kind="stable")
    one, two = order[:-1], order[1:]
    same = key[one] == key[two]
    one, two = one[same], two[same]
    here, there = across[face[one]], across[face[two]]
    round_edge = (here * there).sum(axis=1) > SHARP
    round_edge |= ~(here.any(axis=1) & there.any(axis=1))  # a triangle without area has no normal
    one, two = mine[one[round_edge]].ravel(), mine[two[round_edge]].ravel()
    label = np.arange(3 * m)
    for _ in range(24):  # usually converges early; a vertex with very many triangles may keep a few sharp edges
        least = np.minimum(label[one], label[two])
        new = label.copy()
        np.minimum.at(new, one, least)
        np.minimum.at(new, two, least)
        new = new[new]
        if (new == label).all():
            break
        label = new
    return label
