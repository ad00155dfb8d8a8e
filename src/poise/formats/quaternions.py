"""Sequences of quaternions."""

import numpy as np

from poise.arrays import Floats

__all__ = ["steady_signs"]


def steady_signs(wxyz: Floats) -> Floats:
    """Return the same rotations (frames, 4) with signs chosen so that consecutive quaternions are close."""
    along = np.einsum("ij,ij->i", wxyz[1:], wxyz[:-1])
    flips = np.concatenate([[1.0], np.cumprod(np.where(along < 0.0, -1.0, 1.0))])
    return np.asarray(wxyz * flips[:, None])
