"""Rotations, twists, subproblems and joints that deform, in the textbook: laws over the whole range of angles."""

import numpy as np
import pytest

import poise
from bodies import EULER_ORDERS, random_axis, random_transform
from poise import textbook
from poise.goals import Reach
from poise.textbook import (
    AffineJoint,
    affine_jacobian,
    affine_point,
    affine_transform,
    axis_rotation,
    find_parallel_turns,
    find_turn_onto,
    find_turns_to_distance,
    find_turns_to_height,
    find_two_turns,
    find_wrist,
)

ANGLES = (0.0, 1e-12, 1e-9, 1e-6, 9e-6, 2e-5, 1e-3, 0.0099, 0.0101, 0.5, 2.0, 3.0, np.pi - 1e-9, np.pi)
SERIES_TERMS = 60


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(7)


def sum_exponential(matrix):
    """exp of a matrix by its power series: slow, and right for the small norms of these tests."""
    term = total = np.eye(len(matrix))
    for k in range(1, SERIES_TERMS):
        term = term @ matrix / k
        total = total + term
    return total


def compare_up_to_sign(back, vector):
    """At pi both signs are the same rotation, and rounding picks one."""
    return -back if np.linalg.norm(vector) > 3.1415926535 and back @ vector < 0 else back


def test_skew_is_the_cross_product(rng):
    p, u = rng.normal(size=(2, 3))
    np.testing.assert_allclose(textbook.skew(p) @ u, np.cross(p, u), atol=1e-15)
    np.testing.assert_array_equal(textbook.unskew(textbook.skew(p)), p)


@pytest.mark.parametrize("angle", ANGLES)
def test_axis_rotation_is_the_exponential_of_the_wedge(rng, angle):
    axis = np.array(random_axis(rng))
    expected = sum_exponential(textbook.skew(axis) * angle)
    np.testing.assert_allclose(textbook.axis_rotation(axis, angle), expected, atol=1e-14)


@pytest.mark.parametrize("angle", ANGLES)
def test_rotation_vector_comes_back(rng, angle):
    for _ in range(20):
        vector = angle * np.array(random_axis(rng))
        back = textbook.rotation_vector(textbook.axis_rotation(vector / (angle or 1.0), angle))
        atol = 2e-15 if angle < 1e-3 else 1e-8
        np.testing.assert_allclose(compare_up_to_sign(back, vector), vector, rtol=0, atol=atol)


@pytest.mark.parametrize("angle", ANGLES)
def test_quaternion_routes_agree(rng, angle):
    vector = angle * np.array(random_axis(rng))
    wxyz = textbook.quaternion_exponential(vector)
    rotation = textbook.axis_rotation(vector / (angle or 1.0), angle)
    np.testing.assert_allclose(textbook.quaternion_rotation(wxyz), rotation, atol=1e-14)
    for same in (wxyz, -wxyz):
        np.testing.assert_allclose(compare_up_to_sign(textbook.quaternion_vector(same), vector), vector, atol=1e-14)


def test_quaternion_product_composes(rng):
    a, b = rng.normal(size=(2, 4))
    together = textbook.quaternion_rotation(textbook.quaternion_product(a, b))
    one_by_one = textbook.quaternion_rotation(a) @ textbook.quaternion_rotation(b)
    np.testing.assert_allclose(together, one_by_one, atol=1e-14)


@pytest.mark.parametrize("order", EULER_ORDERS)
def test_euler_axes_are_the_derivative_of_the_rotation(rng, order):
    angles, eps = rng.uniform(-3, 3, 3), 1e-6
    rotation, axes = textbook.euler_rotation(order, angles), textbook.euler_axes(order, angles)
    for i in range(3):
        ahead, behind = (textbook.euler_rotation(order, angles + s * eps * np.eye(3)[i]) for s in (1, -1))
        rate = textbook.unskew((ahead - behind) / (2 * eps) @ rotation.T)
        np.testing.assert_allclose(axes[:, i], rate, atol=1e-9)


def test_rotation_error_is_what_is_still_to_turn(rng):
    current, desired = (random_transform(rng)[:3, :3] for _ in range(2))
    error = textbook.rotation_error(desired, current)
    angle = np.linalg.norm(error)
    np.testing.assert_allclose(textbook.axis_rotation(error / angle, angle) @ current, desired, atol=1e-13)


@pytest.mark.parametrize("angle", ANGLES)
def test_twist_exponential_is_the_exponential_of_the_matrix(rng, angle):
    for _ in range(10):
        twist = np.concatenate([rng.normal(size=3), angle * np.array(random_axis(rng))])
        expected = sum_exponential(textbook.twist_matrix(twist))
        np.testing.assert_allclose(textbook.twist_exponential(twist), expected, atol=1e-14)


def test_twist_exponential_scales_by_amount(rng):
    twist = rng.normal(size=6)
    np.testing.assert_allclose(
        textbook.twist_exponential(twist, 0.3), textbook.twist_exponential(0.3 * twist), atol=1e-15
    )


def test_adjoint_is_a_homomorphism_and_moves_twists(rng):
    a, b = random_transform(rng), random_transform(rng)
    twist = rng.normal(size=6)
    np.testing.assert_allclose(textbook.adjoint(a @ b), textbook.adjoint(a) @ textbook.adjoint(b), atol=1e-14)
    np.testing.assert_allclose(textbook.adjoint(textbook.inverse(a)), np.linalg.inv(textbook.adjoint(a)), atol=1e-13)
    moved = textbook.twist_matrix(textbook.adjoint(a) @ twist)
    np.testing.assert_allclose(moved, a @ textbook.twist_matrix(twist) @ np.linalg.inv(a), atol=1e-13)


def test_adjoint_derivative_against_differences(rng):
    transform, twist, eps = random_transform(rng), rng.normal(size=6), 1e-6
    ahead, behind = (textbook.adjoint(textbook.twist_exponential(twist, s * eps) @ transform) for s in (1, -1))
    expected = (ahead - behind) / (2 * eps)
    np.testing.assert_allclose(textbook.adjoint_derivative(transform, twist), expected, atol=1e-9)


def test_inverse_undoes(rng):
    transform = random_transform(rng)
    np.testing.assert_allclose(textbook.inverse(transform) @ transform, np.eye(4), atol=1e-15)


# ----------- The subproblems as printed: every answer answers, and the turns that a question was made of are among them


TURN = 2.0 * np.pi


def draw(rng: np.random.Generator) -> np.ndarray:
    """A unit vector."""
    x = rng.normal(size=3)
    return x / np.linalg.norm(x)


def is_listed(answers, turns) -> bool:
    """Whether turns are among the answers, whole turns aside."""
    off = np.array(answers).reshape(len(answers), -1) - turns
    return bool((np.abs(off - TURN * np.round(off / TURN)).max(axis=1) < 1e-6).any())


@pytest.mark.parametrize("seed", range(40))
def test_one_turn(seed) -> None:
    rng = np.random.default_rng(seed)
    k, h, p, t = draw(rng), draw(rng), rng.normal(size=3), rng.uniform(-3, 3)
    there = axis_rotation(k, t) @ p
    assert abs(find_turn_onto(k, p, there) - t) < 1e-9
    heights = find_turns_to_height(h, k, p, float(h @ there))
    assert is_listed(heights, t)
    assert all(abs(h @ axis_rotation(k, x) @ p - h @ there) < 1e-9 for x in heights)
    q = rng.normal(size=3)
    far = float(np.linalg.norm(there - q))
    distances = find_turns_to_distance(k, p, q, far)
    assert is_listed(distances, t)
    assert all(abs(np.linalg.norm(axis_rotation(k, x) @ p - q) - far) < 1e-9 for x in distances)
    assert find_turns_to_height(h, k, p, 2.0 * float(np.linalg.norm(p))) == []
    assert find_turns_to_distance(k, p, q, far + 20.0) == []


@pytest.mark.parametrize("seed", range(40))
def test_several_turns(seed) -> None:
    rng = np.random.default_rng(100 + seed)
    a, b, c, p = draw(rng), draw(rng), draw(rng), rng.normal(size=3)
    t = rng.uniform(-3, 3, size=3)
    q = axis_rotation(a, t[0]) @ axis_rotation(b, t[1]) @ p
    pairs = find_two_turns(a, b, p, q)
    assert is_listed(pairs, t[:2])
    assert all(np.abs(axis_rotation(a, x) @ axis_rotation(b, y) @ p - q).max() < 1e-8 for x, y in pairs)
    R = axis_rotation(a, t[0]) @ axis_rotation(b, t[1]) @ axis_rotation(c, t[2])
    triples = find_wrist(a, b, c, R)
    assert is_listed(triples, t)
    for x, y, z in triples:
        assert np.abs(axis_rotation(a, x) @ axis_rotation(b, y) @ axis_rotation(c, z) - R).max() < 1e-8
    one, two = rng.normal(size=3), rng.normal(size=3)

    def move(x: float, y: float) -> np.ndarray:
        bent = two + axis_rotation(a, y) @ (p - two)
        return one + axis_rotation(a, x) @ (bent - one)

    bends = find_parallel_turns(a, one, two, p, move(*t[:2]))
    assert is_listed(bends, t[:2])
    assert all(np.abs(move(*pair) - move(*t[:2])).max() < 1e-8 for pair in bends)
    assert find_parallel_turns(a, one, two, p, move(*t[:2]) + a) == []


def test_the_wrist_of_an_arm_is_the_one_that_the_kernels_list() -> None:
    builder = poise.ModelBuilder("arm")
    places, parent = ((0, 0, 0.3), (0, 0.1, 0), (0, 0, 0.4), (0, 0, 0.4), (0, 0, 0), (0, 0, 0)), None
    axes = [np.eye(3)["xyz".index(letter)] for letter in "zyyzyz"]
    for k, (axis, place) in enumerate(zip(axes, places, strict=True)):
        offset = poise.Transform(translation=place)
        builder.add_joint(f"j{k}", parent, "revolute", offset=offset, axis=axis, lower=-3.1, upper=3.1)
        parent = f"j{k}"
    model = builder.add_frame("tool", parent, poise.Transform()).build()
    rng = np.random.default_rng(3)
    for q in model.random(rng, 10):
        R = model.fk(q, "tool")[:3, :3]
        for answer in poise.solve_all(model, Reach("tool", model.fk(q, "tool")), q):
            first = np.linalg.multi_dot([axis_rotation(axes[k], answer.q[k]) for k in range(3)])
            assert is_listed(find_wrist(axes[3], axes[4], axes[5], first.T @ R), answer.q[3:])


# -------- Joints that deform, in the textbook: their derivatives against differences, and their meaning in simple cases


KINDS = ("turn", "slide", "uniform_scale", "axis_scale", "shear")
H = 1e-6


def draw_joint(rng: np.random.Generator, kind: str) -> AffineJoint:
    """A joint with random axes; those of a shear are perpendicular."""
    axes = np.linalg.qr(rng.normal(size=(3, 3)))[0]
    return AffineJoint(kind, tuple(axes[0]), tuple(axes[1]), tuple(rng.normal(size=3)))


@pytest.mark.parametrize("kind", KINDS)
def test_the_derivative_of_a_local_transform_is_its_difference(kind) -> None:
    rng = np.random.default_rng(1)
    for _ in range(20):
        joint, x = draw_joint(rng, kind), rng.uniform(0.3, 2.0)
        difference = (joint.transform(x + H) - joint.transform(x - H)) / (2 * H)
        assert np.abs(joint.derivative(x) - difference).max() < 1e-8


def test_the_jacobian_of_a_point_is_its_difference() -> None:
    rng = np.random.default_rng(2)
    for _ in range(20):
        joints = [draw_joint(rng, str(kind)) for kind in rng.permutation(KINDS * 2)]
        q, point = rng.uniform(0.5, 1.5, len(joints)), rng.normal(size=3)
        jacobian = affine_jacobian(joints, q, point)
        for i, step in enumerate(H * np.eye(len(q))):
            difference = (affine_point(joints, q + step, point) - affine_point(joints, q - step, point)) / (2 * H)
            assert np.abs(jacobian[:, i] - difference).max() < 1e-6 * (1 + np.abs(jacobian).max())


def test_kinds_do_what_they_say() -> None:
    point = (1.0, 2.0, 3.0)
    for joint, x, wanted in (
        (AffineJoint("uniform_scale"), 2.0, (2, 4, 6)),
        (AffineJoint("axis_scale", axis=(0, 1, 0)), 2.0, (1, 4, 3)),
        (AffineJoint("shear", axis=(1, 0, 0), across=(0, 0, 1)), 0.5, (2.5, 2, 3)),
        (AffineJoint("slide", axis=(0, 0, 1), offset=(1, 0, 0)), 0.5, (2, 2, 3.5)),
        (AffineJoint("turn"), np.pi / 2, (-2, 1, 3)),
    ):
        assert np.allclose(affine_point([joint], [x], point), wanted)
    squash = [AffineJoint("axis_scale", axis=(0, 1, 0)), AffineJoint("turn", offset=(1, 0, 0))]
    T = affine_transform(squash, [0.5, 0.7])
    assert not np.allclose(T[:3, :3] @ T[:3, :3].T, np.eye(3))  # below it, a rotation is no longer a rotation


def test_volume_is_kept_by_a_shear_alone() -> None:
    for kind, x, volume in (("shear", 0.7, 1.0), ("axis_scale", 0.7, 0.7), ("uniform_scale", 0.7, 0.343)):
        assert np.isclose(np.linalg.det(AffineJoint(kind).transform(x)), volume)
