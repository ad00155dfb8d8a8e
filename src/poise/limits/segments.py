"""Distances between segments, many pairs at once.

Source: Ericson, Real-Time Collision Detection, 2005, section 5.1.9 (closest points of two segments).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["segment_distance"]

Floats = NDArray[np.float64]


def segment_distance(a1: Floats, b1: Floats, a2: Floats, b2: Floats) -> Floats:
    """Least distances between segments a1 b1 and a2 b2, (..., 3) each, points included, (...) [m]."""
    d1, d2, r = b1 - a1, b2 - a2, a1 - a2
    A, B, E = dot(d1, d1), dot(d1, d2), dot(d2, d2)
    C, F = dot(d1, r), dot(d2, r)
    # the nearest point on the first line, then on the second segment, then on the first segment again
    s = np.clip(ratio(B * F - C * E, A * E - B * B), 0.0, 1.0)
    t = np.clip(ratio(B * s + F, E), 0.0, 1.0)
    s = np.clip(ratio(B * t - C, A), 0.0, 1.0)
    gap = r + s[..., None] * d1 - t[..., None] * d2
    return np.sqrt(dot(gap, gap))


def dot(a: Floats, b: Floats) -> Floats:
    """Inner products over the last axis."""
    out: Floats = np.einsum("...i,...i->...", a, b)
    return out


def ratio(a: Floats, b: Floats) -> Any:
    """a / b; 0 where b is not above rounding."""
    return np.divide(a, b, out=np.zeros(np.broadcast(a, b).shape), where=b > 1e-300)
