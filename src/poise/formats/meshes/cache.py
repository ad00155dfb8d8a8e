"""The mesh cache of a body: each file is located and read once, up to a limit of triangles."""

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from poise.errors import FormatError
from poise.formats.meshes.reader import MeshFile, read_file
from poise.formats.urdf.packages import PackageFinder
from poise.model import Mesh
from poise.model.geometry.shapes import Shape

__all__ = ["MeshCache", "place_mesh"]

MAX_TRIANGLES_READ = 12_000_000  # limit per body, before decimation


class MeshCache:
    """The mesh files of one body, each read once.

    Attributes:
        finder: Locates the files, and records missing ones.
        troubles: A message for each file that could not be read.
    """

    def __init__(self, finder: PackageFinder) -> None:
        self.finder = finder
        self.troubles: list[str] = []
        self._files: dict[Path, MeshFile | None] = {}
        self._triangles = 0

    def open(self, shape: Shape) -> MeshFile | None:
        """Return the file of a mesh, or None if it is missing or unreadable."""
        assert isinstance(shape.shape, Mesh)
        path = self.finder.find(shape.shape.path)
        if path is None:
            return None
        if path not in self._files:
            self._files[path] = self._read(path)
        return self._files[path]

    @property
    def up_axes(self) -> set[str]:
        """The up axes stated by the opened files."""
        return {file.up for file in self._files.values() if file is not None}

    def _read(self, path: Path) -> MeshFile | None:
        if self._triangles > MAX_TRIANGLES_READ:
            self.troubles.append(
                f"{path.name} was left out: {MAX_TRIANGLES_READ} triangles of this body were read before it"
            )
            return None
        try:
            file = read_file(path, self.finder.about.within)
        except FormatError as error:
            self.troubles.append(f"{path.name} was left out: {error.message}")
            return None
        self._triangles += sum(len(patch.triangles) for patch in file.patches)
        return file


def place_mesh(shape: Shape) -> NDArray[np.float64]:
    """Return the transform (4, 4) from the vertices of a mesh to its frame, including its scale."""
    assert isinstance(shape.shape, Mesh)
    return np.array(shape.offset.matrix) @ np.diag([*shape.shape.scale, 1.0])
