"""Bones that lengthen: their end is a factor of their length away, transforms stay rigid, and shear is rejected."""

from __future__ import annotations

import numpy as np
import pytest

import poise
from poise import ModelBuilder
from poise.errors import InvalidModel, InvalidValue, NameNotFound
from poise.goals import Reach, Rest


def stretchy_arm(unit: float = 1.0, **options: float) -> poise.Model:
    """Two bones of 0.3 m in a plane, each of which lengthens up to 1.5 times."""
    b = ModelBuilder("arm")
    ranges = {"lower": 0.7, "upper": 1.5} | options
    b.add_joint("shoulder", None, "revolute", axis=(0, 0, 1), lower=-3, upper=3)
    b.add_joint("upper_arm", "shoulder", "scale", axis=(1, 0, 0), length=0.3 * unit, **ranges)
    b.add_joint("elbow", "upper_arm", "revolute", axis=(0, 0, 1), lower=0, upper=2.6)
    b.add_joint("forearm", "elbow", "scale", axis=(1, 0, 0), length=0.3 * unit, **ranges)
    return b.add_frame("hand", "forearm").build()


def test_its_frame_is_the_end_of_the_bone() -> None:
    model = stretchy_arm()
    np.testing.assert_array_equal(model.rest, [0, 1, 0, 1])
    np.testing.assert_allclose(model.fk(model.rest, "hand")[:3, 3], [0.6, 0, 0], atol=1e-15)
    np.testing.assert_allclose(model.fk([0, 1.5, 0, 1], "hand")[:3, 3], [0.75, 0, 0], atol=1e-15)
    np.testing.assert_allclose(model.fk([0, 1, np.pi / 2, 0.7], "hand")[:3, 3], [0.3, 0.21, 0], atol=1e-15)
    np.testing.assert_allclose(
        model.jacobian([0.4, 1.2, 0, 1], "hand")[:, 1], [0.3 * np.cos(0.4), 0.3 * np.sin(0.4), 0, 0, 0, 0]
    )


def test_transforms_stay_rigid() -> None:
    model = stretchy_arm()
    R = model.fk(model.random(np.random.default_rng(0), 50))[..., :3, :3]
    np.testing.assert_allclose(R @ R.swapaxes(-1, -2), np.broadcast_to(np.eye(3), R.shape), atol=1e-14)


def test_it_reaches_farther_than_its_bones_and_keeps_its_range() -> None:
    model = stretchy_arm()
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
        model = stretchy_arm(unit)
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
    model = stretchy_arm()
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


def test_errors() -> None:
    with pytest.raises(InvalidModel, match=r"joint 's': shear joints are not supported.*rigid.*'scale'"):
        ModelBuilder().add_joint("s", None, "shear")
    with pytest.raises(NameNotFound, match="joint kind"):
        ModelBuilder().add_joint("s", None, "stretch")
    with pytest.raises(InvalidValue, match="needs length="):
        ModelBuilder().add_joint("s", None, "scale")
    for bad in (0.0, -1.0, np.nan, "long"):
        with pytest.raises(InvalidValue, match="length is"):
            ModelBuilder().add_joint("s", None, "scale", length=bad)  # type: ignore[arg-type]
    for low in (0.0, -0.5):
        with pytest.raises(InvalidValue, match="must be above zero"):
            ModelBuilder().add_joint("s", None, "scale", length=1.0, lower=low)
    with pytest.raises(InvalidValue, match="only a scale joint has a length"):
        ModelBuilder().add_joint("s", None, "prismatic", length=1.0)
