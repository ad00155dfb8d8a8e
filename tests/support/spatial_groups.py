"""The two groups of `poise.spatial`, for their laws."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pytest

from poise.spatial import Rotation, Transform

SHAPES = [(), (1,), (7,), (2, 3), (0,)]


class Group(NamedTuple):
    """The operations of a group that the laws use."""

    kind: type[Any]
    size: int
    exp: Callable[[Any], Any]

    def tangents(self, shape: tuple[int, ...], angle: float | None = None, reach: float = 1.0) -> Any:
        """Return random tangent vectors, angular part last, with a given angle if any."""
        rng = np.random.default_rng(7)
        vectors = rng.standard_normal((*shape, self.size))
        vectors[..., :-3] *= reach
        if angle is not None:
            vectors[..., -3:] *= angle / np.linalg.norm(vectors[..., -3:], axis=-1, keepdims=True)
        return vectors

    def random(self, shape: tuple[int, ...], seed: int, reach: float = 1.0) -> Any:
        rng = np.random.default_rng(seed)
        rotation = Rotation.random(rng, shape)
        if self.kind is Rotation:
            return rotation
        return Transform(rotation, reach * rng.standard_normal((*shape, 3)))


ROTATION = Group(Rotation, 3, Rotation.from_vector)
TRANSFORM = Group(Transform, 6, Transform.exp)
groups = pytest.mark.parametrize("group", [ROTATION, TRANSFORM], ids=lambda g: g.kind.__name__)
shapes = pytest.mark.parametrize("shape", SHAPES, ids=str)


def assert_same(a: Any, b: Any, reach: float = 1.0) -> None:
    assert (type(a), a.shape) == (type(b), b.shape)
    assert a.almost_equal(b, (1e-14 * reach, 1e-14) if isinstance(a, Transform) else 1e-14), (a, b)
