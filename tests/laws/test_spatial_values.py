"""Rotations and rigid motions as values: arrays of them, copies, errors, and the reading of a 4x4."""

import copy
import pickle
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose

from poise.errors import InvalidValue, ShapeMismatch
from poise.spatial import Rotation, Transform, as_rotation, as_transform
from spatial_groups import TRANSFORM, Group, assert_same, groups


@groups
def test_leading_axes_broadcast_and_index_like_numpy(group: Group) -> None:
    a, b = group.random((4, 1), 1), group.random((3,), 2)
    product = a @ b
    assert product.shape == (4, 3)
    assert_same(product[2, 1], a[2, 0] @ b[1])
    assert product[..., 1].shape == (4,)
    assert product[:, None, 1:].shape == (4, 1, 2)
    assert product[np.arange(4) > 1].shape == (2, 3)
    assert product[[0, 2], [1, 1]].shape == (2,)
    assert [row.shape for row in product] == [(3,)] * 4
    assert (product[..., None] @ np.zeros((5, 3))).shape == (4, 3, 5, 3)
    with pytest.raises(IndexError):
        b[1, 0]
    with pytest.raises(TypeError, match="no length"):
        list(b[1])
    with pytest.raises(ShapeMismatch, match=r"\(3,\) and \(4,\)"):
        b @ group.random((4,), 1)
    with pytest.raises(ShapeMismatch, match="points"):
        b @ np.zeros((4, 3))


def test_a_transform_gets_on_with_its_parts_and_its_neighbours() -> None:
    assert Transform(Rotation.identity(), np.zeros((5, 3))).rotation.shape == (5,)
    assert Transform(Rotation.identity((2, 1)), np.zeros((5, 3))).matrix.shape == (2, 5, 4, 4)
    with pytest.raises(ShapeMismatch, match="rotation and translation"):
        Transform(Rotation.identity((2,)), np.zeros((5, 3)))
    moved, turn = TRANSFORM.random((), 1), Rotation.random(np.random.default_rng(2))
    assert_same(moved @ turn, moved @ Transform(turn))
    assert_same(turn @ moved, Transform(turn) @ moved)
    assert_same(moved @ moved.matrix, moved @ moved)
    assert_same(moved.matrix @ moved, moved @ moved)
    assert_allclose(np.linalg.inv(moved), moved.inverse().matrix, atol=1e-15)
    assert np.array(moved, dtype=np.float32).dtype == np.float32


@groups
@pytest.mark.parametrize("shape", [(), (3,)])
def test_values_compare_hash_copy_and_pickle(group: Group, shape: tuple[int, ...]) -> None:
    a, b = group.random(shape, 1), group.random(shape, 2)
    for twin in (pickle.loads(pickle.dumps(a)), copy.copy(a), copy.deepcopy(a)):
        assert (twin == a) is True
    assert (a == b) is False
    assert (a == a.matrix) is False
    assert a != a[None]
    assert bool(a)
    assert len({a, b, copy.copy(a)}) == 2
    assert len({Rotation([[-0.0, 1, 0, 0]]), Rotation([[0.0, -1, 0, -0.0]])}) == 1
    assert group.kind.__name__ in repr(a)
    assert "\n" not in repr(group.random((), 1))
    if shape == ():
        assert eval(repr(a)).almost_equal(a, 1e-5)


@groups
def test_nothing_changes_after_it_is_made(group: Group) -> None:
    source = np.array([1.0, 0.0, 0.0, 0.0])
    rotation = Rotation(source)
    source[0] = 5.0
    assert rotation == Rotation.identity()
    a, zero = group.random((2,), 1), group.exp(np.zeros(group.size))
    for thing in (a, a[0], a.inverse(), a @ a, pickle.loads(pickle.dumps(a)), zero, group.kind.identity()):
        parts = [thing.wxyz] if group.kind is Rotation else [thing.rotation.wxyz, thing.translation]
        for part in parts:
            with pytest.raises(ValueError, match="read-only"):
                part[...] = 0.0
        for name in ("wxyz", "translation", "rotation", "anything"):
            with pytest.raises(AttributeError):
                setattr(thing, name, 1)


NAN, INF, ZERO, STRETCHED = float("nan"), float("inf"), [0, 0, 0, 0], np.diag([1.0, 1.0, 1.0 + 1e-5])
REFUSED: dict[str, tuple[Callable[[Any], Any], list[Any]]] = {
    "wxyz": (Rotation, [[1, 2, 3], ZERO, [1, NAN, 0, 0], [[1, 0, 0, 0], ZERO], "abcd"]),
    "xyzw": (Rotation.from_xyzw, [[1, 2, 3], ZERO, [INF, 0, 0, 0], None]),
    "matrix": (Rotation.from_matrix, [np.eye(2), 2 * np.eye(3), -np.eye(3), np.full((3, 3), 1e308)]),
    "vector": (Rotation.from_vector, [[1, 2], [0, 0, NAN], [1e200, 0, 0], [[1], [2, 3]]]),
    "axis": (lambda x: Rotation.from_axis_angle(x, 1.0), [[0, 0, 0], [1, 0], np.array([1j, 0, 0])]),
    "angle": (lambda x: Rotation.from_axis_angle([1, 0, 0], x), [NAN, 1e200, "x"]),
    "angles": (lambda x: Rotation.from_euler("XYZ", x), [[1, 2], [0, 0, INF]]),
    "order": (lambda x: Rotation.identity().to_euler(x), ["XXY", "XY", "ABC", "XYZX", "", None, 3]),
    "b": (lambda x: Rotation.between([1, 0, 0], x), [[0, 0, 0], [0, NAN, 0]]),
    "points": (lambda x: Transform() @ x, [[1, 2], [0, 0, NAN], 3]),
    "t": (lambda x: Transform().interpolate(Transform(), x), [NAN, "x", None]),
    "other": (lambda x: Transform().interpolate(x, 0.5), [[1, 2], None]),
    "rotation": (Transform, [np.eye(4), [1, 2, 3], np.diag([1, 1, -1]), [NAN] * 4]),
    "translation": (lambda x: Transform(None, x), [[1, 2], [0, 0, NAN], {"x": 1}]),
    "twist": (Transform.exp, [[1, 2, 3], [0, 0, 0, 0, 0, NAN], [0, 0, 0, 1e200, 0, 0]]),
    "pelvis": (lambda x: as_transform(x, "pelvis"), [np.eye(2), None, "hand", Rotation.identity(), object()]),
    "wrist": (lambda x: as_rotation(x, "wrist"), [np.eye(4), None, 1.0, ZERO, Transform()]),
}


@pytest.mark.parametrize("name", REFUSED)
def test_an_error_names_the_argument(name: str) -> None:
    make, values = REFUSED[name]
    for value in values:
        with pytest.raises((ShapeMismatch, InvalidValue), match=rf"\b{name}\b"):
            make(value)


def test_what_counts_as_a_transform() -> None:
    moved = TRANSFORM.random((), 3)
    parts = {"rotation": moved.rotation.matrix, "translation": moved.translation}
    for given_form in (moved, moved.matrix, moved.matrix.tolist(), SimpleNamespace(**parts)):
        assert_same(as_transform(given_form), moved)
    assert_same(as_transform(SimpleNamespace(homogeneous=moved.matrix)), moved)
    assert_same(as_transform(SimpleNamespace(as_matrix=lambda: moved.matrix)), moved)
    assert as_transform(moved) is moved
    assert as_transform([1, 2, 3]) == Transform.from_translation([1, 2, 3]) == Transform(None, (1, 2, 3))
    assert as_transform(np.zeros((4, 3))).shape == as_transform([moved] * 4).shape == (4,)
    assert Transform.from_rotation(np.eye(3)) == Transform() == Transform.identity()
    assert_same(as_rotation(moved.rotation.matrix), moved.rotation)
    assert_same(as_rotation(SimpleNamespace(as_matrix=lambda: moved.rotation.matrix)), moved.rotation)
    assert as_rotation(np.array([0, 0, 0, 2.0])) == Rotation([0, 0, 0, 1])


# ------------------- A 4x4 is read in one native call, and is the Transform, or the refusal, that the general way gives


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
