"""The surfaces of a body's meshes and its appearance, read when they are first needed.

A model names its mesh files; `poise.formats.meshes` reads them, linked by a hook.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from poise.arrays import Floats
from poise.hooks import Hook
from poise.model.geometry.looks import Look
from poise.model.geometry.shapes import Mesh, Shape
from poise.model.model import Model

__all__ = ["LOOK_READER", "SURFACE_READER", "MakeReader", "SurfaceReader", "open_surfaces", "read_points"]


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
"""Reads the appearance of a body from its files."""


def open_surfaces(model: Model) -> SurfaceReader:
    """Return a reader of the meshes of a body."""
    return SURFACE_READER.get()(model)


def read_points(model: Model, frames: Collection[str]) -> dict[str, Floats]:
    """Return the vertices of the meshes on some frames, each in its frame [m]; unreadable meshes are skipped.

    Collision meshes are preferred, because they are the shapes that touch the ground.
    """
    reader = open_surfaces(model)
    found: dict[str, dict[bool, list[Floats]]] = {}
    for shape in model.shapes:
        surface = reader.read(shape) if shape.frame in frames and isinstance(shape.shape, Mesh) else None
        if surface is not None:
            found.setdefault(shape.frame, {}).setdefault(shape.use == "visual", []).append(surface[0])
    return {frame: np.concatenate(by_use[min(by_use)]) for frame, by_use in found.items()}
