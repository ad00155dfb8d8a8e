"""Surfaces of the meshes on a body's frames, for collision bodies and for contact points such as soles."""

import numpy as np
from numpy.typing import NDArray

from poise.arrays import Floats
from poise.formats.meshes.cache import MeshCache, place_mesh
from poise.formats.urdf.packages import PackageFinder
from poise.formats.urdf.up_axes import find_turn
from poise.model import Model
from poise.model.geometry.shapes import Shape

__all__ = ["MeshSurfaces"]


class MeshSurfaces:
    """A reader of the meshes of one body, in the axes of its frames; each file is read once."""

    def __init__(self, model: Model) -> None:
        self._model = model
        about = model.attachments.look
        self._cache = None if about is None else MeshCache(PackageFinder(about))

    @property
    def notes(self) -> list[str]:
        """Messages about the files that are missing or unreadable."""
        if self._cache is None:
            return []
        finder = self._cache.finder
        return [*([finder.describe_missing()] if finder.missing else []), *self._cache.troubles]

    def read(self, shape: Shape) -> tuple[Floats, NDArray[np.int64]] | None:
        """Return the vertices (n, 3) [m] and triangles (m, 3) of a mesh, or None if it is missing or unreadable."""
        file = None if self._cache is None else self._cache.open(shape)
        if file is None or self._cache is None:
            return None
        points = np.concatenate([np.asarray(patch.vertices, np.float64) for patch in file.patches])
        first = np.cumsum([0, *(len(patch.vertices) for patch in file.patches)])
        triangles = [patch.triangles.astype(np.int64) + k for patch, k in zip(file.patches, first, strict=False)]
        matrix = place_mesh(shape) @ find_turn(self._model, self._cache, file)
        return points @ matrix[:3, :3].T + matrix[:3, 3], np.concatenate(triangles)
