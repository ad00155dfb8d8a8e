"""Where the meshes of a body's frames are: bare vertices, for who wants to know how far a foot reaches."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from poise.errors import FormatError
from poise.formats.meshes import read_vertices
from poise.formats.packages import Finder
from poise.model import Mesh, Model

__all__ = ["read_points"]

Floats = NDArray[np.float64]


def read_points(model: Model, frames: Collection[str]) -> dict[str, Floats]:
    """Return the vertices of the meshes on some frames, each in its frame [m]; without those that cannot be had.

    Collision meshes are taken where a frame has any: they are what touches the ground.
    """
    about = model._attached.look
    if about is None:
        return {}
    finder, files = Finder(about), dict[Path, Floats | None]()
    found: dict[str, dict[bool, list[Floats]]] = {}
    for shape in model.shapes:
        if shape.frame in frames and isinstance(shape.shape, Mesh):
            path = finder.find(shape.shape.path)
            points = None if path is None else read_once(path, files)
            if points is not None:
                moved = np.asarray(shape.offset.apply(points * np.array(shape.shape.scale)))
                found.setdefault(shape.frame, {}).setdefault(shape.use == "visual", []).append(moved)
    return {frame: np.concatenate(by_use[min(by_use)]) for frame, by_use in found.items()}


def read_once(path: Path, files: dict[Path, Floats | None]) -> Floats | None:
    """Return the vertices of a file, read once; None where it cannot be read."""
    if path not in files:
        try:
            files[path] = read_vertices(path)
        except FormatError:
            files[path] = None
    return files[path]
