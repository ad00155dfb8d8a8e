"""Curves over the frames of a clip: eased, averaged, and spread around their peaks."""

from typing import TypeVar

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from poise.arrays import Floats

__all__ = ["average", "ease", "spread_peaks"]

X = TypeVar("X", float, Floats)


def ease(x: X) -> X:
    """Return the smooth step 3 x^2 - 2 x^3 from 0 to 1, for x between 0 and 1."""
    return x * x * (3.0 - 2.0 * x)


def average(wide: Floats, radius: int) -> Floats:
    """Return the weighted mean of the values within `radius` frames; the first and last `radius` have none."""
    weights = np.hanning(2 * radius + 3)[1:-1]
    out: Floats = np.convolve(wide, weights / weights.sum(), mode="valid")
    return out


def spread_peaks(heights: Floats, radius: int) -> Floats:
    """Return a smooth curve that is nowhere lower: the largest value within `radius` frames, averaged over as many."""
    radius = min(radius, len(heights))  # at very high frame rates
    wide = np.pad(heights, 2 * radius, mode="edge")
    return average(sliding_window_view(wide, 2 * radius + 1).max(axis=1), radius)
