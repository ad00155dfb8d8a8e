"""The textbook's Jacobians: the procedures against each other, against differences, and against the Model."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import poise
from bodies import ALL_KINDS, EULER_ORDERS, EVERY_KIND, models, random_model
from poise import textbook

WITHOUT_ORDER = tuple(kind for kind in ALL_KINDS if kind not in ("euler", "universal"))
SEEDS = st.integers(0, 2**32 - 1)
BODIES = models() | models(kinds=EVERY_KIND, max_joints=10)


def draw_pose(model, seed=0):
    """A configuration, a velocity and a frame."""
    rng = np.random.default_rng(seed)
    return model.random(rng), rng.normal(size=model.nv), model.frames[-1 - seed % len(model.frames)]


def close(actual, expected, tolerance=1e-12):
    """Equal to `tolerance`, relative to the size of what is compared."""
    np.testing.assert_allclose(actual, expected, rtol=0, atol=tolerance * (1.0 + np.abs(expected).max(initial=0.0)))


def find_tolerance(model):
    """Return the rounding of a body's Jacobians, larger where it has curves."""
    return 1e-11 if any(joint.path is not None for joint in model.joints) else 1e-12


@pytest.mark.slow
@given(model=BODIES, seed=SEEDS)
def test_forward_kinematics_two_ways_and_the_model(model, seed):
    q, _, frame = draw_pose(model, seed)
    expected = model.fk(q, frame)
    close(textbook.forward_kinematics(model, q, frame), expected)
    close(textbook.product_of_exponentials(model, q, frame), expected)


@pytest.mark.slow
@given(model=BODIES, seed=SEEDS)
def test_procedures_agree_with_each_other_and_the_model(model, seed):
    q, _, frame = draw_pose(model, seed)
    tolerance = find_tolerance(model)
    body = textbook.adjusted_jacobian(model, q, frame)
    transform = textbook.forward_kinematics(model, q, frame)
    world, spatial = textbook.world_jacobian(body, transform), textbook.spatial_jacobian(body, transform)
    close(textbook.exponential_jacobian(model, q, frame), body, tolerance)
    close(textbook.simple_jacobian(model, q, frame), world[:3], tolerance)
    close(body, model.jacobian(q, frame, reference="body"), tolerance)
    close(world, model.jacobian(q, frame), tolerance)
    close(spatial, model.jacobian(q, frame, reference="spatial"), tolerance)


@pytest.mark.slow
@given(model=models(kinds=WITHOUT_ORDER), seed=SEEDS)
def test_generic_equals_adjusted_where_order_does_not_matter(model, seed):
    q, _, frame = draw_pose(model, seed)
    adjusted = textbook.adjusted_jacobian(model, q, frame)
    close(textbook.generic_jacobian(model, q, frame), adjusted)
    for control, rows in (("linear", slice(0, 3)), ("angular", slice(3, 6))):
        close(textbook.generic_jacobian(model, q, frame, control=control), adjusted[rows])
        trimmed = textbook.adjusted_jacobian(model, q, frame, control=control)
        np.testing.assert_array_equal(trimmed, adjusted[rows])


@pytest.mark.slow
@settings(max_examples=30)
@given(model=models(max_joints=8), seed=SEEDS)
def test_differences_confirm_every_reference(model, seed):
    q, _, frame = draw_pose(model, seed)
    for reference in ("world", "body", "spatial"):
        numeric = textbook.numeric_jacobian(model, q, frame, epsilon=1e-6, reference=reference)
        close(numeric, model.jacobian(q, frame, reference=reference), 1e-8)


@given(model=BODIES, seed=SEEDS)
def test_driving_one_joint_at_a_time_gives_the_columns(model, seed):
    q, v, frame = draw_pose(model, seed)
    close(textbook.unit_velocity_jacobian(model, q, frame), model.jacobian(q, frame), find_tolerance(model))
    close(textbook.frame_velocity(model, q, v, frame), model.jacobian(q, frame) @ v, find_tolerance(model))


@pytest.mark.slow
@settings(max_examples=30)
@given(model=models(max_joints=8), seed=SEEDS)
def test_derivative_against_differences_and_the_model(model, seed):
    q, v, frame = draw_pose(model, seed)
    eps = 1e-6
    for reference in ("body", "world", "spatial"):
        ahead, behind = (model.integrate(q, s * eps * v) for s in (1, -1))
        change = model.jacobian(ahead, frame, reference=reference) - model.jacobian(behind, frame, reference=reference)
        exact = textbook.jacobian_derivative(model, q, v, frame, reference=reference)
        close(change / (2 * eps), exact, 1e-7)
        close(model.jacobian_dot(q, v, frame, reference=reference), exact)


@given(model=models(), seed=SEEDS)
def test_integrate_is_the_models(model, seed):
    q, v, _ = draw_pose(model, seed)
    close(textbook.integrate(model, q, v), model.integrate(q, v))


@pytest.mark.slow
@given(model=models(), seed=SEEDS)
def test_point_jacobian_is_the_models(model, seed):
    q, _, frame = draw_pose(model, seed)
    point = np.random.default_rng(seed).normal(size=3)
    moved = textbook.point_jacobian(textbook.adjusted_jacobian(model, q, frame), point)
    close(moved, model.jacobian(q, frame, point=point, reference="body"))


@pytest.mark.parametrize("order", EULER_ORDERS)
def test_every_euler_order(order):
    builder = poise.ModelBuilder(name="one")
    builder.add_joint("shoulder", None, "euler", order=order, offset=(0.1, 0.2, 0.3))
    builder.add_frame("hand", "shoulder", (0.4, -0.3, 0.2))
    model, q = builder.build(), np.array([0.3, -0.8, 1.9])
    numeric = textbook.numeric_jacobian(model, q, "hand")
    np.testing.assert_allclose(textbook.simple_jacobian(model, q, "hand"), numeric[:3], atol=1e-9)
    np.testing.assert_allclose(model.jacobian(q, "hand"), numeric, atol=1e-9)


@pytest.mark.parametrize("kind", ALL_KINDS)
def test_every_kind_by_its_three_descriptions(kind):
    for seed in range(5):
        model = random_model(seed, joints=1, kinds=(kind,))
        joint = model.joint("j0")
        q, _, _ = draw_pose(model, seed)
        value, _ = textbook.joint_value(model, joint, q)
        chained = np.eye(4)
        for motion in textbook.joint_motions(joint, value):
            chained = chained @ motion.transform
        np.testing.assert_allclose(textbook.joint_transform(joint, value), chained, atol=1e-14)
        linear, angular = textbook.joint_axes(joint, value)
        assert linear.shape == angular.shape == (3, model.nv)


def test_random_bodies_are_what_they_say():
    model = random_model(3, joints=60)
    assert {joint.kind for joint in model.joints} == set(ALL_KINDS)
    assert {joint.order for joint in model.joints if joint.kind == "euler"} <= set(EULER_ORDERS)
    assert any(joint.mimic is not None for joint in model.joints)
    assert any(frame.startswith("site_") for frame in model.frames)
    again = random_model(3, joints=60)
    np.testing.assert_array_equal(model.fk(model.rest), again.fk(again.rest))


def test_long_bodies_keep_their_digits():
    model = random_model(11, joints=80)
    q, _, frame = draw_pose(model, 5)
    close(textbook.adjusted_jacobian(model, q, frame), model.jacobian(q, frame, reference="body"))


def test_planar_arm_has_the_printed_columns():
    """Parent eq. 10: (0, 0, 1) x E, (0, 0, 1) x (E - P1), (0, 0, 1) x (E - P2)."""
    lengths = (0.5, 0.4, 0.3)
    model = build_planar_arm(lengths)
    q = np.array([0.4, -0.9, 0.7])
    bends = np.cumsum(q)
    points = np.cumsum([[n * np.cos(b), n * np.sin(b), 0] for n, b in zip(lengths, bends, strict=True)], axis=0)
    arms = points[-1] - np.vstack([np.zeros(3), points[:2]])
    np.testing.assert_allclose(textbook.simple_jacobian(model, q, "tip"), np.cross([0, 0, 1], arms).T, atol=1e-15)


def build_planar_arm(lengths):
    builder = poise.ModelBuilder(name="arm")
    parent, reach = None, 0.0
    for i, length in enumerate(lengths):
        builder.add_joint(f"hinge{i}", parent, "revolute", axis=(0, 0, 1), offset=(reach, 0, 0))
        parent, reach = f"hinge{i}", length
    builder.add_frame("tip", parent, (reach, 0, 0))
    return builder.build()


def test_off_path_columns_are_zero():
    builder = poise.ModelBuilder(name="fork")
    builder.add_joint("trunk", None, "revolute")
    builder.add_joint("left", "trunk", "ball", offset=(1, 0, 0))
    builder.add_joint("right", "trunk", "ball", offset=(-1, 0, 0))
    builder.add_frame("tip", "left", (1, 1, 0))
    model = builder.build()
    jacobian = textbook.adjusted_jacobian(model, model.rest, "tip")
    assert not jacobian[:, model.joint("right").v].any()
    assert jacobian[:, model.joint("left").v].any()


def test_free_root_has_an_identity_block():
    """Rabbani procedure 1, lines 16 to 18."""
    model = random_model(1, joints=1, kinds=("free",))
    q, _, _ = draw_pose(model, 1)
    block = textbook.simple_jacobian(model, q, "j0")[:, :3]
    offset = model.fk(model.rest, "j0")[:3, :3]
    np.testing.assert_allclose(block, offset, atol=1e-14)


def test_textbook_does_not_touch_the_kernels(monkeypatch):
    """The oracle stays an oracle: with the Model's own arithmetic taken away, the textbook still answers."""
    model = random_model(4)
    q, v, frame = draw_pose(model, 2)

    def broken(*_args, **_kwargs):
        raise AssertionError("the textbook called the model's own kinematics")

    for name in ("fk", "jacobian", "jacobian_dot", "integrate", "difference"):
        monkeypatch.setattr(type(model), name, broken)
    textbook.numeric_jacobian(model, q, frame)
    textbook.simple_jacobian(model, q, frame)
    textbook.jacobian_derivative(model, q, v, frame)
    textbook.product_of_exponentials(model, q, frame)
