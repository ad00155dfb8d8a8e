"""Directions spread evenly over a sphere."""

from math import pi, sqrt

import numpy as np

from poise.arrays import Floats

__all__ = ["place_on_spiral", "spread_directions"]


def spread_directions(count: int, start: float = 0.0) -> Floats:
    """Return unit vectors spread evenly over the sphere, (count, 3): a spherical Fibonacci lattice."""
    return place_on_spiral(1.0 - (2.0 * np.arange(count) + 1.0) / max(count, 1), start)


def place_on_spiral(heights: Floats, start: float = 0.0) -> Floats:
    """Return unit vectors with heights (n,), (n, 3); vector i has the azimuth (i + start) pi (3 - sqrt 5)."""
    around = (np.arange(len(heights)) + start) * pi * (3.0 - sqrt(5.0))
    across = np.sqrt(np.maximum(1.0 - heights * heights, 0.0))
    return np.stack([across * np.cos(around), across * np.sin(around), heights], axis=1)
