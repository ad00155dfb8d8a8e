"""Checks shared by all mesh readers: finite vertices, triangles with valid vertex indices."""

import numpy as np
from numpy.typing import NDArray

from poise.arrays import Floats
from poise.files.source import Source

__all__ = ["MAX_TRIANGLES", "check_triangles", "check_vertices", "make_fans", "parse_words"]


MAX_TRIANGLES = 4_000_000
"""Files with more triangles are rejected."""

LARGEST = 1e9  # limit for a vertex coordinate


def check_vertices(source: Source, values: NDArray[np.floating]) -> NDArray[np.float32]:
    """Return vertices (n, 3) as float32; raise `FormatError` if a number is not finite or is too large."""
    with np.errstate(invalid="ignore"):
        good = (np.abs(values) <= LARGEST).all(axis=1)
    if not good.all():
        row = int(np.argmin(good))
        raise source.make_error(
            f"vertex {row} is {values[row].tolist()}; every number must be finite, at most {LARGEST:g}."
        )
    return np.ascontiguousarray(values, np.float32)


def check_triangles(source: Source, values: NDArray[np.integer], count: int) -> NDArray[np.uint32]:
    """Return triangles (m, 3) without degenerate ones; raise `FormatError` for an invalid vertex index."""
    if len(values) > MAX_TRIANGLES:
        raise source.make_error(f"has {len(values)} triangles; at most {MAX_TRIANGLES} are read.")
    if len(values) and not 0 <= int(values.min()) <= int(values.max()) < count:
        wrong = values.max() if values.max() >= count else values.min()
        raise source.make_error(f"a triangle names vertex {int(wrong)}; there are {count}.")
    a, b, c = values.T if len(values) else np.zeros((3, 0), np.int64)
    return np.ascontiguousarray(values[(a != b) & (b != c) & (c != a)], np.uint32)


def make_fans(index: NDArray[np.int64], sizes: NDArray[np.int64]) -> NDArray[np.int64]:
    """Split polygons, given by consecutive corners, into triangles (m, 3): a fan from each first corner."""
    index, sizes = index[np.repeat(sizes >= 3, sizes)], sizes[sizes >= 3]
    inner = sizes - 2
    first = np.repeat(np.cumsum(sizes) - sizes, inner)
    step = np.arange(len(first)) - np.repeat(np.cumsum(inner) - inner, inner)
    return np.stack([index[first], index[first + step + 1], index[first + step + 2]], axis=1)


def parse_words(source: Source, words: list[bytes]) -> Floats:
    """Parse words as numbers."""
    try:
        return np.array(words, "S32").astype(np.float64)
    except ValueError as error:
        raise source.make_error(f"holds something that is not a number: {error}.") from None
