"""Joints along a curve and bones that lengthen."""

import pickle
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import cumulative_trapezoid
from scipy.interpolate import CubicSpline

import poise
from bodies import random_path
from poise import ModelBuilder
from poise.arrays import Floats
from poise.errors import InvalidValue, ShapeMismatch
from poise.goals import Reach, Rest
from poise.model import Path
from poise.model.curves.path import EXACT

BEND = np.array([[0.0, 0, 0], [1, 0.4, 0], [2, -0.3, 0.5], [3, 0.2, 0.1]])
RING = np.array([[1.0, 0, 0], [0, 1, 0.2], [-1, 0, 0], [0, -1, 0.2]])


def build_wire(path: Any, **options: Any) -> poise.Model:
    builder = ModelBuilder("wire").add_joint("bead", None, "path", path=path, **options)
    return builder.add_frame("tip", "bead", (0.0, 0.1, 0.2)).build()


def draw_spline_by_scipy(points: Floats, closed: bool) -> tuple[CubicSpline, Floats, Floats]:
    """The spline over chords, and its arc length at many parameters, by brute force."""
    knots = np.vstack([points, points[:1]]) if closed else points
    u = np.concatenate([[0.0], np.cumsum(np.linalg.norm(np.diff(knots, axis=0), axis=1))])
    curve = CubicSpline(u, knots, bc_type="periodic" if closed else "natural")
    fine = np.linspace(0.0, u[-1], 200_001)
    length = cumulative_trapezoid(np.linalg.norm(curve(fine, 1), axis=1), fine, initial=0.0)
    return curve, fine, length


# ------------------------------------------------------------------------------------------------ the curve


@pytest.mark.parametrize("closed", [False, True])
@pytest.mark.parametrize("seed", range(4))
def test_a_spline_is_scipys_by_arc_length(seed: int, closed: bool) -> None:
    points = RING + np.random.default_rng(seed).normal(scale=0.15, size=(4, 3))
    path = Path(points, closed=closed, follow=False)
    curve, fine, length = draw_spline_by_scipy(points, closed)
    assert path.length == pytest.approx(length[-1], rel=1e-8)
    x = np.linspace(0.0, path.length, 400)
    there = curve(np.interp(x, length, fine))
    np.testing.assert_allclose(build_wire(path).fk(x[:, None], "bead")[:, :3, 3], there, atol=2e-6)
    tangent = curve(np.interp(x, length, fine), 1)
    tangent /= np.linalg.norm(tangent, axis=1, keepdims=True)
    np.testing.assert_allclose(build_wire(path).jacobian(x[:, None], "bead")[:, :3, 0], tangent, atol=2e-5)


@pytest.mark.slow
@settings(max_examples=40)
@given(seed=st.integers(0, 2**32 - 1))
def test_the_coordinate_is_the_arc_length(seed: int) -> None:
    """The speed is one metre per metre within the stated bound, also between the places where it was looked at."""
    path = random_path(np.random.default_rng(seed))
    x = np.random.default_rng(seed).uniform(0.0, path.length, (500, 1))
    J = build_wire(path).jacobian(x, "bead")
    assert np.abs(np.linalg.norm(J[:, :3, 0], axis=1) - 1.0).max() < 2 * EXACT
    assert path.speed_error <= EXACT
    if path.follow:
        ahead = build_wire(path).fk(x, "bead")[:, :3, :3] @ np.array(path.forward)
        assert np.abs(ahead - J[:, :3, 0]).max() < 3 * EXACT


@pytest.mark.slow
@settings(max_examples=25)
@given(seed=st.integers(0, 2**32 - 1))
def test_it_starts_at_the_first_point_and_has_no_gap(seed: int) -> None:
    path = random_path(np.random.default_rng(seed))
    model = build_wire(path)
    first = model.fk(np.zeros(1), "bead")
    if not (path.closed and path.corner):  # there the first corner is rounded, and it starts where that ends
        np.testing.assert_allclose(first[:3, 3], path.points[0], atol=1e-12)
    end = model.fk(np.array([path.length]), "bead")
    if path.closed:
        np.testing.assert_allclose(end, first, atol=1e-6)
        around = model.fk(np.array([0.3 + 5 * path.length]), "bead")
        np.testing.assert_allclose(around, model.fk(np.array([0.3]), "bead"), atol=1e-9)
    else:
        np.testing.assert_allclose(end[:3, 3], path.points[-1], atol=1e-9)
    for x in path.pieces[1:, 0]:
        before, after = (model.fk(np.array([x + d]), "tip") for d in (-1e-9, 1e-9))
        np.testing.assert_allclose(before, after, atol=1e-7)
    low, high = path.box
    places = model.fk(np.linspace(0.0, path.length, 300)[:, None], "bead")[:, :3, 3]
    assert (places >= low - 1e-12).all()
    assert (places <= high + 1e-12).all()


def test_two_points_are_a_rail() -> None:
    rail = build_wire([[0.0, 0, 0], [0, 2, 0]])
    slide = ModelBuilder().add_joint("s", None, "prismatic", axis=(0, 1, 0)).build()
    for x in (0.0, 0.7, 2.0):
        np.testing.assert_allclose(rail.fk([x], "bead")[:3, 3], slide.fk([x], "s")[:3, 3], atol=1e-15)
    column = rail.jacobian([0.7], "tip")[:, 0]
    np.testing.assert_allclose(column, [0, 1, 0, 0, 0, 0], atol=1e-14)
    assert len(rail.joint("bead").path.pieces) <= 4
    assert (rail.lower[0], rail.upper[0]) == (0.0, 2.0)


def test_corners_of_a_polyline() -> None:
    """Sharp: the derivative is that of the line that begins there, at the end of the last. Rounded: an arc."""
    square = np.array([[0.0, 0, 0], [1, 0, 0], [1, 1, 0]])
    sharp = build_wire(Path(square, "polyline", follow=False))
    np.testing.assert_array_equal(sharp.fk([1.0], "bead")[:3, 3], [1, 0, 0])
    np.testing.assert_array_equal(sharp.jacobian([1.0], "bead")[:3, 0], [0, 1, 0])
    np.testing.assert_array_equal(sharp.jacobian([1.0 - 1e-9], "bead")[:3, 0], [1, 0, 0])
    np.testing.assert_array_equal(sharp.jacobian([2.0], "bead")[:3, 0], [0, 1, 0])
    with pytest.raises(InvalidValue, match=r"corner at point 1.*corner=.*follow=False"):
        Path(square, "polyline")
    rounded = Path(square, "polyline", corner=0.2)
    assert rounded.length == pytest.approx(2 - 0.4 + 0.2 * np.pi / 2, abs=1e-12)
    middle = build_wire(rounded).fk([0.8 + 0.1 * np.pi / 2], "bead")
    np.testing.assert_allclose(middle[:3, 3], [0.8 + 0.2 * np.sqrt(0.5), 0.2 - 0.2 * np.sqrt(0.5), 0], atol=1e-7)
    np.testing.assert_allclose(build_wire(rounded).jacobian([0.8 + 0.1 * np.pi / 2], "bead")[5, 0], 1 / 0.2, rtol=1e-5)
    with pytest.raises(InvalidValue, match=r"corner is 2, too large between points 0 and 1; give at most 1"):
        Path(square, "polyline", corner=2.0)
    with pytest.raises(InvalidValue, match="turns back"):
        Path([[0.0, 0, 0], [1, 0, 0], [0, 0, 0.0]], "polyline", corner=0.1)


# ------------------------------------------------------------------------------------------------ the frame


def test_a_frame_that_does_not_follow_keeps_its_axes() -> None:
    model = build_wire(Path(BEND, follow=False))
    x = np.linspace(0, model.upper[0], 20)[:, None]
    np.testing.assert_array_equal(model.fk(x, "bead")[:, :3, :3], np.broadcast_to(np.eye(3), (20, 3, 3)))
    np.testing.assert_array_equal(model.jacobian(x, "tip")[:, 3:], 0.0)


def test_a_free_frame_does_not_roll() -> None:
    """Its rate of turn has nothing along the tangent: the smallest turn that follows the curve."""
    model = build_wire(Path(BEND))
    J = model.jacobian(np.linspace(0, model.upper[0], 300)[:, None], "bead")[..., 0]
    assert np.abs((J[:, :3] * J[:, 3:]).sum(axis=1)).max() < 1e-4 * np.abs(J[:, 3:]).max()


def test_what_a_closed_curve_leaves_over_is_spread_evenly() -> None:
    model = build_wire(Path(RING, closed=True))
    J = model.jacobian(np.linspace(0, model.joint("bead").path.length, 300)[:, None], "bead")[..., 0]
    roll = (J[:, :3] * J[:, 3:]).sum(axis=1)
    assert np.ptp(roll) < 1e-3 * np.abs(J[:, 3:]).max()


@pytest.mark.parametrize("far", [1e9, 1e15, 1e18, -1e18, 1e300])
def test_a_closed_curve_is_never_left(far: float) -> None:
    model = build_wire(Path(RING, closed=True))
    curve = model.fk(np.linspace(0, model.joint("bead").path.length, 2000)[:, None], "bead")[:, :3, 3]
    place = model.fk(np.array([far]), "bead")[:3, 3]
    assert np.linalg.norm(curve - place, axis=1).min() < 1e-2


def test_upright_as_a_train() -> None:
    path = Path(BEND, up=(0, 0, 1))
    T = build_wire(path).fk(np.linspace(0, path.length, 200)[:, None], "bead")
    np.testing.assert_allclose(T[:, 2, 1], 0.0, atol=1e-6)  # its y axis stays level
    assert (T[:, 2, 2] > 0.5).all()
    camera = build_wire(Path(BEND, forward=(0, 0, -1), up=(0, 0, 1))).fk(np.array([[0.5]]), "bead")
    assert camera[0, 2, 1] > 0.5  # a camera that looks along -z has y up
    with pytest.raises(InvalidValue, match="runs along up"):
        Path([[0.0, 0, 0], [0, 0, 1]], up=(0, 0, 1))


def test_the_column_is_the_tangent_and_the_curvature_about_the_binormal() -> None:
    """On a circle of radius r a frame that follows turns by 1 / r about the axis."""
    angles = np.linspace(0, 2 * np.pi, 40, endpoint=False)
    circle = 0.5 * np.stack([np.cos(angles), np.sin(angles), 0 * angles], axis=1)
    path = Path(circle, closed=True)
    assert path.length == pytest.approx(np.pi, rel=1e-5)
    J = build_wire(path).jacobian(np.linspace(0, path.length, 100)[:, None], "bead")[..., 0]
    np.testing.assert_allclose(J[:, 3:], np.broadcast_to([0, 0, 2.0], (100, 3)), atol=2e-2)


# ------------------------------------------------------------------------------------------------ ranges and words


@pytest.mark.slow
def test_the_range_is_the_curve() -> None:
    model = build_wire(BEND)
    assert model.lower[0] == 0.0
    assert model.upper[0] == model.joint("bead").path.length
    assert model.clamp([99.0])[0] == model.upper[0]
    part = build_wire(BEND, lower=0.5, upper=1.5, rest=1.0)
    assert (part.lower[0], part.upper[0], part.rest[0]) == (0.5, 1.5, 1.0)
    assert build_wire(BEND, lower=0.5).rest[0] == 0.5
    around = build_wire(Path(RING, closed=True))
    assert np.isinf([around.lower[0], around.upper[0]]).all()
    assert build_wire(Path(RING, closed=True), lower=-1, upper=9).upper[0] == 9.0
    with pytest.raises(InvalidValue, match=r"upper is 99; its curve goes from 0 to"):
        build_wire(BEND, upper=99)


@pytest.mark.parametrize(
    ("path", "error", "words"),
    [
        (None, InvalidValue, "needs path="),
        ([[0, 0, 0]], InvalidValue, "2 to 2000 points, not 1"),
        ([[0, 0, 0], [0, 0, 0]], InvalidValue, "points 0 and 1 are the same"),
        ([[0, 0], [1, 1]], ShapeMismatch, r"\(n, 3\)"),
        ([[0, 0, 0], [np.nan, 0, 0]], InvalidValue, "finite"),
        ("curve", InvalidValue, "points must be"),
    ],
)
def test_invalid_paths_are_rejected_with_the_joints_name(path: Any, error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=rf"joint 'bead'.*{words}"):
        build_wire(path)


@pytest.mark.slow
def test_a_path_is_a_value() -> None:
    path = Path(BEND, up=(0, 0, 2))
    assert path == Path(BEND.tolist(), up=(0, 0, 1))
    assert hash(path) == hash(Path(BEND, up=(0, 0, 1)))
    assert path != Path(BEND)
    assert pickle.loads(pickle.dumps(path)) == path
    model = build_wire(path)
    assert pickle.loads(pickle.dumps(model)) == model
    assert path.resize(2.0).length == pytest.approx(2 * path.length, rel=1e-9)
    np.testing.assert_array_equal(path.transform(0.5), model.fk([0.5], "bead"))
    assert "a spline through 4 points" in str(model.joint("bead"))
    assert "m" in str(model.joint("bead"))


def test_derived_models() -> None:
    model = build_wire(BEND)
    still = model.locked({"bead": 1.2})
    np.testing.assert_allclose(still.fk(still.rest, "tip"), model.fk([1.2], "tip"), atol=1e-12)
    assert still.nv == 0
    tool = model.with_frame("tool", "tip", (0, 0, 1))
    np.testing.assert_allclose(tool.fk([1.2], "tip"), model.fk([1.2], "tip"))
    follower = ModelBuilder().add_joint("wheel", None, "revolute", lower=0, upper=4)
    follower.add_joint("rack", None, "path", path=[[0.0, 0, 0], [1, 0.2, 0], [2, 0, 0]], mimic=("wheel", 0.3, 0.1))
    led = follower.build()
    alone = build_wire([[0.0, 0, 0], [1, 0.2, 0], [2, 0, 0]])
    np.testing.assert_allclose(led.fk([2.0], "rack"), alone.fk([0.7], "bead"), atol=1e-12)
    np.testing.assert_allclose(led.jacobian([2.0], "rack")[:, 0], 0.3 * alone.jacobian([0.7], "bead")[:, 0], atol=1e-12)


@pytest.mark.slow
def test_many_points_take_little_time_and_memory() -> None:
    angles = np.linspace(0, 8 * np.pi, 400)
    path = Path(np.stack([np.cos(angles), np.sin(angles), 0.05 * angles], axis=1))
    assert len(path.pieces) < 4000
    assert path.speed_error <= EXACT


# -------- Bones that lengthen: their end is a factor of their length away, transforms stay rigid, and shear is rejected


def build_stretchy_arm(unit: float = 1.0, **options: float) -> poise.Model:
    """Two bones of 0.3 m in a plane, each of which lengthens up to 1.5 times."""
    b = ModelBuilder("arm")
    ranges = {"lower": 0.7, "upper": 1.5} | options
    b.add_joint("shoulder", None, "revolute", axis=(0, 0, 1), lower=-3, upper=3)
    b.add_joint("upper_arm", "shoulder", "scale", axis=(1, 0, 0), length=0.3 * unit, **ranges)
    b.add_joint("elbow", "upper_arm", "revolute", axis=(0, 0, 1), lower=0, upper=2.6)
    b.add_joint("forearm", "elbow", "scale", axis=(1, 0, 0), length=0.3 * unit, **ranges)
    return b.add_frame("hand", "forearm").build()


def test_its_frame_is_the_end_of_the_bone() -> None:
    model = build_stretchy_arm()
    np.testing.assert_array_equal(model.rest, [0, 1, 0, 1])
    np.testing.assert_allclose(model.fk(model.rest, "hand")[:3, 3], [0.6, 0, 0], atol=1e-15)
    np.testing.assert_allclose(model.fk([0, 1.5, 0, 1], "hand")[:3, 3], [0.75, 0, 0], atol=1e-15)
    np.testing.assert_allclose(model.fk([0, 1, np.pi / 2, 0.7], "hand")[:3, 3], [0.3, 0.21, 0], atol=1e-15)
    np.testing.assert_allclose(
        model.jacobian([0.4, 1.2, 0, 1], "hand")[:, 1], [0.3 * np.cos(0.4), 0.3 * np.sin(0.4), 0, 0, 0, 0]
    )


def test_transforms_stay_rigid() -> None:
    model = build_stretchy_arm()
    R = model.fk(model.random(np.random.default_rng(0), 50))[..., :3, :3]
    np.testing.assert_allclose(R @ R.swapaxes(-1, -2), np.broadcast_to(np.eye(3), R.shape), atol=1e-14)


def test_it_reaches_farther_than_its_bones_and_keeps_its_range() -> None:
    model = build_stretchy_arm()
    stiff = model.locked({"upper_arm": 1.0, "forearm": 1.0})
    target = (0.75, 0.2, 0)
    assert not poise.solve(stiff, Reach("hand", target)).reached
    solution = poise.solve(model, [Reach("hand", target), Rest(weight=0.01)])
    assert solution.reached
    assert (solution.q >= model.lower).all()
    assert (solution.q <= model.upper).all()
    far = poise.solve(model, Reach("hand", (2.0, 0, 0)))
    assert not far.reached
    assert far.status is poise.Status.UNREACHABLE
    np.testing.assert_allclose(far.q[[1, 3]], 1.5)
    assert "times its length" in far.why()
    assert "deg" not in far.why()


def test_bodies_of_any_size_stretch_alike() -> None:
    """A factor has no unit: a body of micrometres takes the steps that one of metres takes."""
    answers = []
    for unit in (1e-6, 1e-2, 1.0):
        model = build_stretchy_arm(unit)
        answers.append(poise.solve(model, Reach("hand", (0.5 * unit, 0.5 * unit, 0))))
        assert answers[-1].reached
    np.testing.assert_allclose(answers[0].q, answers[1].q, atol=1e-6)
    np.testing.assert_allclose(answers[2].q, answers[1].q, atol=1e-6)
    assert len({answer.steps for answer in answers}) == 1


def test_one_number_for_a_whole_limb() -> None:
    """Followers stretch with their leader, each by its own length."""
    b = ModelBuilder("limb").add_joint("upper", None, "scale", axis=(1, 0, 0), length=0.3)
    b.add_joint("lower", "upper", "scale", axis=(1, 0, 0), length=0.2, mimic="upper")
    model = b.build()
    assert model.nv == 1
    np.testing.assert_allclose(model.fk([1.4], "lower")[0, 3], 1.4 * 0.5)
    np.testing.assert_allclose(model.jacobian([1.4], "lower")[0, 0], 0.5)


def test_a_scale_joint_has_its_length_range_and_text() -> None:
    model = build_stretchy_arm()
    joint = model.joint("upper_arm")
    assert (joint.lower, joint.upper, joint.length) == (0.7, 1.5, 0.3)
    assert "length 0.3 m at 1" in str(joint)
    assert "degrees" not in str(joint)
    assert not model.turns[1]
    assert not model.slides[1]
    default = ModelBuilder().add_joint("b", None, "scale", length=1.0).build()
    assert (default.lower[0], default.upper[0], default.rest[0]) == (0.5, 2.0, 1.0)
    assert ModelBuilder().add_joint("b", None, "scale", length=1.0, lower=1.2).build().rest[0] == 1.2
    assert model.length == pytest.approx(0.9)
