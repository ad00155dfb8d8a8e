"""Simple solids as surfaces."""

from __future__ import annotations

from poise.model.geometry.shapes import Geometry
from poise.model.geometry.triangles import triangulate
from poise.pictures.body.surface import Surface

__all__ = ["mesh_solid"]


def mesh_solid(solid: Geometry) -> Surface | None:
    """Return the surface of a solid, seen from outside counter-clockwise; None for a mesh, which is a file."""
    found = triangulate(solid)
    return None if found is None else Surface(*found)
