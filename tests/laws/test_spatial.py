"""Laws of rotations and rigid motions: stated once, for both groups, every angle and every batch shape."""

import itertools
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from poise.errors import InvalidValue
from poise.spatial import Rotation, Transform, as_rotation, as_transform
from spatial_groups import TRANSFORM, Group, assert_same, groups, shapes

PI = np.pi
NEAR_PI = [PI - 10.0**-k for k in (3, 5, 7, 9, 11, 12)]
SMALL = [0.0, 1e-300, 1e-150, 1e-12, 1e-9, 1e-7, 1e-6, 1e-5, 1e-4, 1e-3]
ANGLES = [*SMALL, 0.00999, 0.01001, 0.1, 0.4999, 0.5001, 1.0, 3.0, *NEAR_PI, PI]  # both sides of branches
REACHES = [1.0, 1e3]  # translations are never small compared with a small angle
AXES = [*np.eye(3), *-np.eye(3), np.ones(3) / np.sqrt(3), np.array([1.0, -1.0, 0.0]) / np.sqrt(2)]
ORDERS = ["".join(o) for o in itertools.product("XYZ", repeat=3) if o[0] != o[1] and o[1] != o[2]]


reaches = pytest.mark.parametrize("reach", REACHES)
angles = pytest.mark.parametrize("angle", ANGLES)
orders = pytest.mark.parametrize("order", ORDERS)


@groups
@shapes
@reaches
def test_group_axioms(group: Group, shape: tuple[int, ...], reach: float) -> None:
    a, b, c = (group.random(shape, seed, reach) for seed in (1, 2, 3))
    one = group.kind.identity()
    assert_same((a @ b) @ c, a @ (b @ c), 4 * reach)
    assert_same(a @ one, a)
    assert_same(one @ a, a)
    assert_same(a @ a.inverse(), group.kind.identity(shape), 4 * reach)
    assert_same((a @ b).inverse(), b.inverse() @ a.inverse(), 4 * reach)


@groups
@shapes
def test_the_operator_is_the_matrix_product_and_acts_on_points(group: Group, shape: tuple[int, ...]) -> None:
    a, b = group.random(shape, 1), group.random(shape, 2)
    points = np.random.default_rng(3).standard_normal((*shape, 3))
    assert_allclose((a @ b).matrix, a.matrix @ b.matrix, atol=1e-14)
    assert_allclose(a @ (b @ points), (a @ b) @ points, atol=1e-14)
    assert_allclose(a.inverse() @ (a @ points), points, atol=1e-14)
    assert_array_equal(a.apply(points), a @ points)
    assert_same(group.kind.from_matrix(a.matrix), a)
    assert_allclose(np.asarray(a), a.matrix)


@groups
@angles
@reaches
def test_exp_and_log_are_inverse(group: Group, angle: float, reach: float) -> None:
    tangents = group.tangents((50,), angle, reach)
    there = group.exp(tangents)
    back = there.log()
    assert np.all(np.linalg.norm(back[..., -3:], axis=-1) <= PI * (1 + 1e-15))
    if angle < PI - 1e-10:
        assert_allclose(back[..., -3:], tangents[..., -3:], rtol=0, atol=4e-15 * angle)
        assert_allclose(back[..., :-3], tangents[..., :-3], rtol=0, atol=1e-14 * reach)
    assert_same(group.exp(back), there, reach)
    assert_same(group.exp(-back), there.inverse(), reach)
    assert_same(group.exp(group.kind.from_matrix(there.matrix).log()), there, reach)


@pytest.mark.slow
@angles
@reaches
def test_exp_and_log_against_many_digits(angle: float, reach: float) -> None:
    mp = pytest.importorskip("mpmath").mp
    mp.dps = 50
    for twist in TRANSFORM.tangents((3,), angle, reach):
        for made, vector in ((t := Transform.exp(twist), twist), (t, t.log())):
            v, w = vector[:3], vector[3:]
            wedge = [[0, -w[2], w[1], v[0]], [w[2], 0, -w[0], v[1]], [-w[1], w[0], 0, v[2]], [0] * 4]
            exact = np.array(mp.expm(mp.matrix(wedge)).tolist(), dtype=float)
            assert_allclose(made.matrix[:3, :3], exact[:3, :3], rtol=0, atol=2e-15)
            assert_allclose(made.translation, exact[:3, 3], rtol=0, atol=3e-15 * float(np.linalg.norm(v)))


@pytest.mark.parametrize("axis", AXES, ids=str)
def test_log_at_exactly_pi(axis: np.ndarray[Any, Any]) -> None:
    half_turn = 2.0 * np.outer(axis, axis) - np.eye(3)
    ways = Rotation.from_matrix(half_turn), Rotation([0.0, *axis]), Rotation.from_vector(PI * axis)
    for rotation in ways:
        vector = rotation.log()
        assert_allclose(vector * np.sign(vector @ axis), PI * axis, rtol=0, atol=2e-15)
        assert rotation.angle <= PI
        assert_allclose(rotation.angle, PI, rtol=1e-15)
        moved = Transform(rotation, [1e3, -2e3, 3e3])
        assert_same(Transform.exp(moved.log()), moved, 1e4)


@groups
@shapes
@reaches
def test_adjoint_laws(group: Group, shape: tuple[int, ...], reach: float) -> None:
    a, b = group.random(shape, 1, reach), group.random(shape, 2, reach)
    assert a.adjoint().shape == (*shape, group.size, group.size)
    assert_allclose((a @ b).adjoint(), a.adjoint() @ b.adjoint(), atol=1e-14 * reach)
    x = group.tangents(shape, 0.7)
    carried = (a.adjoint() @ x[..., None])[..., 0]
    assert_same(a @ group.exp(x) @ a.inverse(), group.exp(carried), 10 * reach)


@groups
@given(st.integers(0, 2**32 - 1), st.floats(0, 1))
def test_interpolation_runs_from_one_to_the_other(group: Group, seed: int, t: float) -> None:
    a, b = group.random((), seed), group.random((), seed + 1)
    between = group.kind.slerp if group.kind is Rotation else group.kind.interpolate
    assert_same(between(a, b, 0.0), a)
    assert_same(between(a, b, 1.0), b, 10)
    assert between(a, b, np.linspace(0, 1, 5)).shape == (5,)
    total, part = (a.inverse() @ b).log(), (a.inverse() @ between(a, b, t)).log()
    assert_allclose(part, t * total, atol=1e-12)


@given(st.lists(st.floats(-1e6, 1e6), min_size=4, max_size=4).filter(any))
def test_quaternions_are_made_unit_once(q: list[float]) -> None:
    rotation, largest = Rotation(q), np.max(np.abs(q))
    assert_allclose(np.linalg.norm(rotation.wxyz), 1.0, rtol=1e-15)
    assert_allclose(rotation.wxyz * np.linalg.norm(q / largest), q / largest, atol=1e-15)
    assert_array_equal(Rotation(rotation.wxyz).wxyz, rotation.wxyz)
    assert_array_equal(Rotation(np.array([q, [1, 2, 3, 4]])).wxyz[0], rotation.wxyz)  # alone or not
    assert Rotation.from_xyzw([*q[1:], q[0]]) == rotation == Rotation(-rotation.wxyz)


@pytest.mark.parametrize("length", [5e-324, 1e-200, 1e-100, 1e100, 1e200, 1.7e308])
def test_lengths_do_not_matter(length: float) -> None:
    assert_allclose(Rotation([0, length, 0, 0]).wxyz, [0, 1, 0, 0])
    assert_allclose(Rotation.from_axis_angle([0, 0, length], 1.0).log(), [0, 0, 1], rtol=1e-15)
    assert_allclose(Rotation.between([0, 0, length], [0, length, 0]) @ [0, 0, 1], [0, 1, 0], atol=1e-15)


def test_matrices_rounded_in_files_are_fine() -> None:
    rotation = Rotation.random(np.random.default_rng(0), 20_000)
    for digits in (6, 9, 12):
        rounded = Rotation.from_matrix(np.round(rotation.matrix, digits))
        assert rounded.almost_equal(rotation, 2 * 10.0**-digits)
    assert Rotation.from_matrix(rotation.matrix.astype(np.float32)).almost_equal(rotation, 3e-7)


@given(st.integers(0, 2**32 - 1), st.sampled_from([0.0, *10.0 ** -np.arange(18)]), st.booleans())
def test_between_is_the_shortest_turn(seed: int, apart: float, opposite: bool) -> None:
    rng = np.random.default_rng(seed)
    a = rng.standard_normal(3)
    b = a + apart * rng.standard_normal(3)
    b = -3.0 * b if opposite else b
    unit_a, unit_b = a / np.linalg.norm(a), b / np.linalg.norm(b)
    turn = Rotation.between(a, b)
    assert_allclose(turn @ unit_a, unit_b, rtol=0, atol=5e-15)
    shortest = 2 * np.arctan2(np.linalg.norm(unit_a - unit_b), np.linalg.norm(unit_a + unit_b))
    assert_allclose(turn.angle, shortest, rtol=0, atol=5e-15)


def test_between_opposite_axes_and_batches() -> None:
    a = np.array(AXES)
    assert_allclose(Rotation.between(a, -a) @ a, -a, atol=1e-15)
    assert Rotation.between(a[:, None], a).shape == (8, 8)


def test_random_is_uniform_and_repeatable() -> None:
    rotation = Rotation.random(np.random.default_rng(0), 40_000)
    assert rotation == Rotation.random(np.random.default_rng(0), (40_000,))
    assert_allclose(rotation.matrix.mean(axis=0), np.zeros((3, 3)), atol=0.02)
    assert_allclose(rotation.angle.mean(), PI / 2 + 2 / PI, rtol=0.01)  # of the density (1 - cos a) / pi


def test_axis_and_angle() -> None:
    axis = np.array([0.6, 0.0, 0.8])
    for angle in (1e-300, 1e-12, 1.0, PI):
        rotation = Rotation.from_axis_angle(5 * axis, angle)
        assert_allclose(rotation.axis, axis, rtol=2e-15)
        assert_allclose(rotation.angle, angle, rtol=2e-15)
    assert_allclose(Rotation.from_axis_angle(axis, 4.0).axis, -axis)
    assert_array_equal(Rotation.identity().axis, [0, 0, 1])
    assert Rotation.from_axis_angle(np.eye(3), [[1.0], [2.0]]).shape == (2, 3)


@orders
def test_a_transform_of_euler_angles_has_their_rotation(order: str) -> None:
    angles, places = np.random.default_rng(3).uniform(-PI, PI, (2, 20, 3))
    made = Transform.from_euler(order, angles, places)
    assert made == Transform(Rotation.from_euler(order, angles), places)
    assert Transform.from_euler(order, angles[0]) == Transform.from_rotation(Rotation.from_euler(order, angles[0]))
    with pytest.raises(InvalidValue, match="order is 'XX'"):
        Transform.from_euler("XX", angles)


@orders
@pytest.mark.parametrize("off", [0.0, 1e-16, 1e-15, 1e-13, 1e-10, 1e-7, 1e-3, 0.3])
def test_euler_angles_there_and_back_also_at_gimbal_lock(order: str, off: float) -> None:
    outer = np.random.default_rng(2).uniform(-PI, PI, (200, 2))
    outer[:9] = list(itertools.product([0.0, PI, -PI / 2], repeat=2))
    axes = np.eye(3)[["XYZ".index(letter) for letter in order]]
    first, last = (Rotation.from_axis_angle(axes[2 * i], outer[:, i]) for i in range(2))
    locks = [0.0, PI] if order[0] == order[2] else [-PI / 2, PI / 2]
    for middle in (locks[0] + off, locks[1] - off):
        turned = Rotation.from_euler(order.lower(), np.insert(outer, 1, middle, axis=1))
        assert_same(turned, first @ Rotation.from_axis_angle(axes[1], middle) @ last)
        found = turned.to_euler(order)
        assert Rotation.from_euler(order, found).almost_equal(turned, 5e-14)
        assert_allclose(found[:, 1], middle, rtol=0, atol=5e-15)
        assert np.all((found[:, [0, 2]] > -PI) & (found[:, [0, 2]] <= PI))
        assert np.all((found[:, 1] >= locks[0]) & (found[:, 1] <= locks[1]))
        if off == 0.0:
            assert_array_equal(found[:, 2], np.zeros(200))
        if off >= 1e-3:
            assert_allclose((found[:, [0, 2]] - outer + PI) % (2 * PI), PI, atol=1e-11)
        assert_allclose(turned[30].to_euler(order), found[30], rtol=0, atol=1e-14)


def test_as_scipy_does() -> None:
    scipy = pytest.importorskip("scipy.spatial.transform")
    ours = Rotation.random(np.random.default_rng(5), 100)
    theirs = scipy.Rotation.from_quat(np.roll(ours.wxyz, -1, axis=-1))
    assert_allclose(ours.matrix, theirs.as_matrix(), atol=1e-15)
    assert_allclose(ours.log(), theirs.as_rotvec(), atol=1e-14)
    assert_allclose((ours @ ours[::-1]).matrix, (theirs * theirs[::-1]).as_matrix(), atol=1e-15)
    for order in ORDERS:
        assert_allclose(ours.to_euler(order), theirs.as_euler(order), atol=1e-12)
    assert as_rotation(theirs).almost_equal(ours, 5e-15)


def test_as_pinocchio_does() -> None:
    pin = pytest.importorskip("pinocchio")
    for twist in TRANSFORM.tangents((20,), None, 10.0):
        theirs = pin.exp6(twist)
        ours = as_transform(theirs)
        assert_same(ours, Transform.exp(twist), 10)
        assert_allclose(ours.log(), pin.log6(theirs).vector, atol=1e-12)
        assert_allclose(ours.adjoint(), theirs.toActionMatrix(), atol=1e-13)
