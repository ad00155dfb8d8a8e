"""The corners of the boxes around a body's solids, in world coordinates."""

from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from poise.arrays import Floats
from poise.model import Mesh, Model
from poise.model.geometry.objects import measure_half
from poise.model.geometry.shapes import Geometry

__all__ = ["CORNERS", "find_half_extent", "list_corners"]

CORNERS = np.array(list(product((-1.0, 1.0), repeat=3)))


def find_half_extent(solid: Geometry) -> Floats | None:
    """Return the half extents of a solid's box in its own axes, or None for a mesh."""
    return None if isinstance(solid, Mesh) else measure_half(solid)


def list_corners(model: Model, world: NDArray[Any]) -> dict[str, Floats]:
    """List the box corners of all solids by frame, in world coordinates."""
    found: dict[str, list[Floats]] = {}
    index = {name: i for i, name in enumerate(model.frames)}
    for shape in model.shapes:
        half = find_half_extent(shape.shape)
        if half is not None:
            T = world[index[shape.frame]] @ shape.offset.matrix
            found.setdefault(shape.frame, []).append(CORNERS * half @ T[:3, :3].T + T[:3, 3])
    return {name: np.concatenate(corners) for name, corners in found.items()}
