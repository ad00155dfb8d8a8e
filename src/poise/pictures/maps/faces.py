"""Faces of a reach map: the outer faces of its voxels, cut open towards the viewer, coloured by their share."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from poise.arrays import Floats
from poise.batch import ReachMap

__all__ = ["VoxelFaces", "choose_colors", "find_faces", "group_faces"]

TONES = 12  # number of colours of a map in a page
STOPS = np.array(  # viridis (Smith, van der Walt, Firing 2015), at every eighth
    [
        (68, 1, 84), (71, 45, 123), (59, 82, 139), (44, 114, 142), (33, 145, 140), (40, 174, 128), (94, 201, 98),
        (173, 220, 48), (253, 231, 37),
    ]
) / 255.0  # fmt: skip
CORNERS = {  # of a face across an axis, counter-clockwise from its positive side
    0: ((0, -1, -1), (0, 1, -1), (0, 1, 1), (0, -1, 1)),
    1: ((-1, 0, -1), (-1, 0, 1), (1, 0, 1), (1, 0, -1)),
    2: ((-1, -1, 0), (1, -1, 0), (1, 1, 0), (-1, 1, 0)),
}


@dataclass(frozen=True, slots=True, eq=False)
class VoxelFaces:
    """Faces between a shown voxel and a hidden one.

    Attributes:
        corners: The corners, (n, 4, 3) [m], counter-clockwise from outside.
        normals: The normals, (n, 3).
        shares: The share of orientations that the voxel reaches, (n,).
    """

    corners: Floats
    normals: Floats
    shares: Floats


def find_faces(found: ReachMap, *, least: float = 0.0, cut: tuple[int, int] | None = None) -> VoxelFaces:
    """Return the outer faces of all voxels that reach more than a share of the orientations.

    Args:
        found: The map.
        least: The share; voxels that reach no more than this are left out.
        cut: An axis, and the side of the map's middle (-1 or 1) to cut away; None keeps the whole map.
    """
    shown = np.pad(found.reached > least, 1)
    if cut is not None:
        axis, side = cut
        along = [1, 1, 1]
        along[axis] = -1
        number = np.arange(shown.shape[axis]) - (shown.shape[axis] - 1) / 2
        shown = shown & ~(side * number > 0.25).reshape(along)
    half = 0.5 * found.spacing
    corners, normals, shares = [], [], []
    for axis in range(3):
        for side in (-1, 1):
            index = np.argwhere(shown & ~np.roll(shown, -side, axis)) - 1
            normal = side * np.eye(3)[axis]
            square = np.array(CORNERS[axis], dtype=np.float64)[::side] + normal
            corners.append((found.origin + found.spacing * index)[:, None] + half * square)
            normals.append(np.broadcast_to(normal, (len(index), 3)))
            shares.append(found.reached[tuple(index.T)])
    return VoxelFaces(np.concatenate(corners), np.concatenate(normals), np.concatenate(shares).astype(np.float64))


def choose_colors(shares: Floats) -> Floats:
    """Return red, green, blue (n, 3), 0 to 1: dark for a small share, bright for a large one."""
    at = np.linspace(0.0, 1.0, len(STOPS))
    return np.stack([np.interp(shares, at, STOPS[:, k]) for k in range(3)], axis=-1)


def group_faces(faces: VoxelFaces) -> Iterator[tuple[tuple[float, float, float], Floats, NDArray[np.uint32], Floats]]:
    """Yield the faces of each tone as triangles: colour, vertices (n, 3), triangles (m, 3), normals (n, 3)."""
    tone = np.minimum((faces.shares * TONES).astype(int), TONES - 1)
    for k in np.unique(tone):
        own = tone == k
        first = 4 * np.arange(int(own.sum()))[:, None]
        triangles = (first + np.array([0, 1, 2, 0, 2, 3])).reshape(-1, 3).astype(np.uint32)
        red, green, blue = choose_colors(np.array([(k + 0.5) / TONES]))[0].tolist()
        yield (red, green, blue), faces.corners[own].reshape(-1, 3), triangles, np.repeat(faces.normals[own], 4, axis=0)
