"""A 4x4 is read in one native call, and is the Transform, or the refusal, that the general way gives."""

from __future__ import annotations

import numpy as np
import pytest

from poise.errors import InvalidValue
from poise.spatial import Rotation, Transform, as_transform

WILD = (np.nan, np.inf, 1e300)


def draw_matrix(rng: np.random.Generator) -> np.ndarray:
    return Transform(Rotation(rng.normal(size=4)), rng.normal(size=3)).matrix


def spoil(matrix: np.ndarray, row: int, column: int, value: float) -> np.ndarray:
    matrix[row, column] = value
    return matrix


@pytest.mark.parametrize(
    "change",
    [
        lambda T: T,
        lambda T: np.round(T, 6),
        lambda T: T.astype(np.float32),
        np.asfortranarray,
        lambda T: np.repeat(np.repeat(T, 2, axis=0), 2, axis=1)[::2, ::2],
        lambda T: spoil(T, 3, 3, 1.0 + 9e-10),
        lambda T: spoil(T, 3, 0, -0.0),
    ],
)
def test_a_matrix_is_read_alike_both_ways(change):
    rng = np.random.default_rng(5)
    for _ in range(50):
        T = change(draw_matrix(rng))
        read, general = as_transform(T, "matrix"), Transform.from_matrix(T)
        assert read.rotation.wxyz.tobytes() == general.rotation.wxyz.tobytes()
        assert read.translation.tobytes() == general.translation.tobytes()
        assert not read.rotation.wxyz.flags.writeable
        assert not read.translation.flags.writeable
        before = read.matrix
        T[:] = 0.0
        assert (read.matrix == before).all()


@pytest.mark.parametrize(
    "change",
    [
        lambda T: np.round(T, 2),
        lambda T: T * [1.0, 1.0, -1.0, 1.0],
        lambda T: spoil(T, 3, 3, 1.0 + 2e-9),
        lambda T: spoil(T, 3, 1, 0.1),
        *(
            lambda T, k=k, x=x: spoil(T, k[0], k[1], x)
            for k in ((0, 0), (1, 3), (3, 2))
            for x in (np.nan, np.inf, 1e300)
        ),
    ],
)
def test_invalid_transforms_have_the_same_error_message(change):
    T = change(draw_matrix(np.random.default_rng(6)))
    if T[1, 3] == 1e300:
        assert as_transform(T).translation[1] == 1e300  # far away, and a place all the same
        return
    with pytest.raises(InvalidValue) as quick:
        as_transform(T, "matrix")
    with pytest.raises(InvalidValue) as general:
        Transform.from_matrix(T)
    assert str(quick.value) == str(general.value)
