"""Rigid skins: skinned meshes in which every triangle moves with one bone, common for machines."""

from dataclasses import replace

import numpy as np

from poise.model.geometry.looks import Piece

__all__ = ["split_stiff"]

RIGID_WEIGHT = 1.0 - 1e-4  # least weight of a vertex on one bone to count as rigid


def split_stiff(piece: Piece) -> list[Piece]:
    """Split a rigidly skinned piece into rigid pieces on its bones; return it unchanged if it deforms."""
    skin, patch = piece.skin, piece.patch
    if skin is None:
        return [piece]
    heaviest = skin.weights.argmax(axis=1)
    bone = np.take_along_axis(skin.joints, heaviest[:, None], 1)[:, 0]
    corners = bone[patch.triangles]
    used = np.unique(patch.triangles)
    if (corners != corners[:, :1]).any() or (skin.weights[used].max(axis=1) < RIGID_WEIGHT).any():
        return [piece]
    out = []
    for k in np.unique(corners[:, 0]).tolist():
        part = replace(patch, triangles=patch.triangles[corners[:, 0] == k])
        out.append(Piece(part, skin.frames[k], np.array(skin.binds[k])))
    return out
