"""Places: points of a body's frames."""

from __future__ import annotations

import numpy as np

from poise.arrays import Floats, Triple
from poise.model import Model

__all__ = ["ORIGIN", "Place", "Triple", "find_place", "make_triple"]

Place = tuple[str, Triple]

ORIGIN: Triple = (0.0, 0.0, 0.0)


def find_place(model: Model, point: Place, q: Floats | None = None) -> Floats:
    """Return the position of a point of a frame, in the rest pose unless q is given."""
    T = model.fk(model.rest if q is None else q, point[0])
    out: Floats = T[:3, :3] @ np.array(point[1]) + T[:3, 3]
    return out


def make_triple(x: Floats) -> Triple:
    """Return a vector as a tuple of floats."""
    return float(x[0]), float(x[1]), float(x[2])
