"""The surfaces and the appearance of a body's meshes, read when they are first needed.

A model names its mesh files; `poise.formats.meshes` reads them, linked by hooks.
"""

from collections.abc import Callable, Collection
from typing import Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from poise.arrays import Floats
from poise.hooks import Hook
from poise.model.geometry.looks import Look
from poise.model.geometry.shapes import Mesh, Shape
from poise.model.geometry.triangles import triangulate
from poise.model.model import Model
from poise.spatial.directions import spread_directions

__all__ = ["LOOK_READER", "SURFACE_READER", "SurfaceReader", "find_protruding", "open_surfaces", "read_vertices"]

STANDS_OUT_M = 0.01  # of the collision shapes of a frame: a visual shape that is seen beyond them
AROUND = spread_directions(250, 0.5)  # to measure that: 13 degrees apart


class SurfaceReader(Protocol):
    """A reader of the meshes of one body, in the axes of its frames; each file is read once."""

    @property
    def notes(self) -> list[str]:
        """Messages about the files that are missing or unreadable."""

    def read(self, shape: Shape) -> tuple[Floats, NDArray[np.int64]] | None:
        """Return the vertices (n, 3) [m] and triangles (m, 3) of a mesh, or None if it is missing or unreadable."""


MakeReader: TypeAlias = Callable[[Model], SurfaceReader]
SURFACE_READER = Hook[MakeReader]()
LOOK_READER = Hook[Callable[[Model], Look]]()


def open_surfaces(model: Model) -> SurfaceReader:
    """Return a reader of the meshes of a body."""
    return SURFACE_READER.get()(model)


def read_vertices(shape: Shape, reader: SurfaceReader) -> Floats | None:
    """Return points of a shape whose convex hull it has, in its frame (n, 3) [m]; None for an unreadable mesh."""
    if isinstance(shape.shape, Mesh):
        surface = reader.read(shape)
        return None if surface is None or not len(surface[0]) else surface[0]
    triangles = triangulate(shape.shape)
    assert triangles is not None, "only meshes have no triangles"
    return np.asarray(shape.offset.apply(triangles[0]))


def find_protruding(model: Model, frames: Collection[str], reader: SurfaceReader) -> list[tuple[Shape, Floats]]:
    """Return the visual shapes on some frames that stand out of the collision shapes there, with points on their hulls.

    They are what one sees of a body: without collision shapes, all visual ones.
    """
    found = list[tuple[Shape, Floats]]()
    for shape in (shape for shape in model.shapes if shape.frame in frames and shape.use == "visual"):
        solid = [each for each in model.shapes if each.frame == shape.frame and each.use != "visual"]
        if any((shape.shape, shape.offset) == (each.shape, each.offset) for each in solid):
            continue  # a mesh that is drawn and collides
        vertices = read_vertices(shape, reader)
        if vertices is None:
            continue
        outer = vertices[np.unique(np.argmax(AROUND @ vertices.T, axis=1))]
        excess = np.full(len(outer), np.inf)
        for hull in (hull for each in solid if (hull := read_vertices(each, reader)) is not None):
            excess = np.minimum(excess, (outer @ AROUND.T - (AROUND @ hull.T).max(axis=1)).max(axis=1))
        if excess.max() > STANDS_OUT_M / model.metres_per_unit:
            found.append((shape, outer))
    return found
