"""Skins that do not bend: every triangle hangs on one bone, as on machines whose file skins them nevertheless."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from poise.model.geometry.looks import Piece

__all__ = ["split_stiff"]

RIGID_WEIGHT = 1.0 - 1e-4  # of a vertex's weight on one bone: the others do not show


def split_stiff(piece: Piece) -> list[Piece]:
    """Return a skinned piece as rigid ones on their bones, the same in every pose; as it is where it bends."""
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
