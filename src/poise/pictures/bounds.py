"""Bounds of a body over a pose or a clip: the box a camera frames, and the height of the floor."""

import numpy as np
from numpy.typing import NDArray

from poise.arrays import Floats
from poise.model import Model
from poise.model.geometry.looks import Piece, deform
from poise.model.memo import MemoSlot
from poise.pictures.body.pieces import find_pieces, sample_extremes
from poise.pictures.body.solids import find_solids
from poise.pictures.body.surface import Solid

__all__ = ["find_floor", "outline_core", "outline_pieces", "sample_outline"]


OUTLINE = MemoSlot[list[Piece]]("outermost points of the pieces")
MOST_FRAMES = 240  # frames of a clip at most to find its lowest point
ROUND = np.concatenate([np.eye(3), -np.eye(3)])
CIRCLE = np.stack([np.cos(t := np.linspace(0, 2 * np.pi, 13)[:-1]), np.sin(t), 0 * t], axis=1)


def sample_outline(model: Model, q: NDArray[np.floating]) -> Floats:
    """Return the outermost points of a body over time, (frames, n, 3): of its meshes, else of its solids."""
    places = np.array(model.fk(np.atleast_2d(q)), np.float64)
    if find_pieces(model):
        return outline_pieces(model, places)
    solids = find_solids(model)
    if not solids:
        return places[:, :, :3, 3]
    return np.concatenate([outline_solid(model, solid, places) for solid in solids], axis=1)


def outline_pieces(model: Model, places: Floats) -> Floats:
    """Return the outermost points of a body's meshes, (..., n, 3), with its frames at `places`, (..., frames, 4, 4)."""
    few = model.memo.get(OUTLINE, lambda: [sample_extremes(piece) for piece in find_pieces(model)])
    return np.concatenate([deform(piece, model.frames, places) for piece in few], axis=-2)


def outline_solid(model: Model, solid: Solid, places: Floats) -> Floats:
    """Return points around a solid over time, (frames, n, 3)."""
    if solid.frame is None:
        still = outline_core(solid, np.eye(4)[None])
        return np.asarray(np.broadcast_to(still, (len(places), *still.shape[1:])))
    return outline_core(solid, places[:, model.frames.index(model.frame(solid.frame).name)])


def outline_core(solid: Solid, ways: Floats) -> Floats:
    """Return points around a solid on a moving frame, (frames, 4, 4), over time, (frames, n, 3)."""
    half = np.array(solid.half)
    if solid.kind == "box":
        core = np.array([[x, y, z] for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)]) * half
    elif solid.kind == "cylinder":
        core = np.concatenate([(CIRCLE + np.array([0.0, 0.0, z])) * half for z in (-1.0, 1.0)])
    else:
        core = np.array([[0, 0, -1.0], [0, 0, 1.0]]) * half
    T = ways @ solid.T_frame_solid
    world = np.einsum("fij,nj->fni", T[:, :3, :3], core) + T[:, None, :3, 3]
    around = np.repeat(np.asarray(solid.round), len(core) // 2)
    if not around.any():
        return np.asarray(world)
    return np.asarray((world[:, :, None] + around[:, None, None] * ROUND).reshape(len(ways), -1, 3))


def find_floor(model: Model, q: NDArray[np.floating]) -> float:
    """Return the height of the lowest point of a pose (nq,) or a clip (frames, nq) [m]; long clips are decimated."""
    rows = np.atleast_2d(q)
    rows = rows[:: -(-len(rows) // MOST_FRAMES)]
    return float(sample_outline(model, rows)[..., model.up_axis].min())
