"""Joints that deform, in the textbook: their derivatives against differences, and their meaning in simple cases."""

import numpy as np
import pytest

from poise.textbook import AffineJoint, affine_jacobian, affine_point, affine_transform

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
