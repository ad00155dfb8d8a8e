"""Vertices of the meshes on a body's frames, used to find contact points such as soles."""

from __future__ import annotations

from collections.abc import Collection

import numpy as np

from poise.arrays import Floats
from poise.formats.meshes.cache import MeshCache, place_mesh
from poise.formats.urdf.packages import PackageFinder
from poise.formats.urdf.up_axes import find_turn
from poise.model import Mesh, Model

__all__ = ["read_points"]


def read_points(model: Model, frames: Collection[str]) -> dict[str, Floats]:
    """Return the vertices of the meshes on some frames, each in its frame [m]; unreadable meshes are skipped.

    Collision meshes are preferred, because they are the shapes that touch the ground.
    """
    about = model.attachments.look
    if about is None:
        return {}
    shelf = MeshCache(PackageFinder(about))
    found: dict[str, dict[bool, list[Floats]]] = {}
    for shape in model.shapes:
        file = shelf.open(shape) if shape.frame in frames and isinstance(shape.shape, Mesh) else None
        if file is not None:
            points = np.concatenate([np.asarray(patch.vertices, np.float64) for patch in file.patches])
            matrix = place_mesh(shape) @ find_turn(model, shelf, file)
            moved = points @ matrix[:3, :3].T + matrix[:3, 3]
            found.setdefault(shape.frame, {}).setdefault(shape.use == "visual", []).append(moved)
    return {frame: np.concatenate(by_use[min(by_use)]) for frame, by_use in found.items()}
