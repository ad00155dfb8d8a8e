"""Surfaces of simple solids."""

from __future__ import annotations

from poise.model.geometry.shapes import Geometry
from poise.model.geometry.triangles import triangulate
from poise.pictures.body.surface import Surface

__all__ = ["mesh_solid"]


def mesh_solid(solid: Geometry) -> Surface | None:
    """Return the surface of a solid, counter-clockwise from outside; None for a mesh."""
    found = triangulate(solid)
    return None if found is None else Surface(*found)
