"""Pose, Motion, and what a pose can do."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import poise
from bodies import models
from operations import close
from poise import Motion, Pose
from poise.errors import InvalidValue, ModelMismatch, NameNotFound, PoiseError, ShapeMismatch
from poise.kinematics import manipulability

SEEDS = st.integers(0, 2**32 - 1)
NAN = float("nan")


def follower() -> poise.Model:
    builder = (
        poise.ModelBuilder("pair").add_joint("a", None, "revolute").add_joint("b", "a", "revolute", mimic=("a", 2, 0))
    )
    return builder.add_joint("weld", "b", "fixed").add_joint("ball", "weld", "ball").build()


# ------------------------------------------------------------------------------------------------ pose


@pytest.mark.slow
@settings(max_examples=30)
@given(model=models(), seed=SEEDS)
def test_a_pose_is_its_model_s_kinematics(model: poise.Model, seed: int) -> None:
    q = model.random(np.random.default_rng(seed))
    pose = Pose(model, q)
    for frame in model.frames:
        close(pose.transform(frame).matrix, model.fk(q, frame), 1e-12)
        np.testing.assert_allclose(
            pose.position(frame), model.fk(q, frame)[:3, 3], rtol=0, atol=1e-12 * (1 + model.length)
        )
    assert pose == Pose(model, q)
    assert hash(pose) == hash(Pose(model, q))


def test_a_pose_is_frozen_and_its_own(humanoid: poise.Model) -> None:
    q = humanoid.rest.copy()
    pose = Pose(humanoid, q)
    q[:] = 0.5
    np.testing.assert_array_equal(pose.q, humanoid.rest)
    with pytest.raises(AttributeError, match=r"a Pose is frozen.*replace"):
        pose.q = q  # type: ignore[misc]
    with pytest.raises(ValueError, match="read-only"):
        pose.q[0] = 1.0
    assert Pose(humanoid) == pose
    assert pose != humanoid
    assert pose != Pose(humanoid, humanoid.random(np.random.default_rng(0)))


def test_quaternions_of_a_pose_are_unit(humanoid: poise.Model) -> None:
    q = humanoid.rest.copy()
    q[3:7] = [3, 0, 4, 0]
    np.testing.assert_allclose(Pose(humanoid, q).q[3:7], [0.6, 0, 0.8, 0])


def test_replace_moves_what_it_names(humanoid: poise.Model) -> None:
    pose = Pose(humanoid).replace({"elbow_l": -0.5, "pelvis": [1, 2, 3, 1, 0, 0, 0]})
    assert pose.q[humanoid.joint("elbow_l").q] == -0.5
    np.testing.assert_array_equal(pose.position("pelvis"), [1, 2, 3])
    others = np.ones(humanoid.nq, dtype=bool)
    for name in ("elbow_l", "pelvis"):
        others[humanoid.joint(name).q] = False
    np.testing.assert_array_equal(pose.q[others], humanoid.rest[others])
    assert Pose(humanoid).replace({}) == Pose(humanoid)


def test_a_pose_prints(humanoid: poise.Model) -> None:
    assert repr(Pose(humanoid)).startswith("<Pose of 'humanoid': q = [")
    assert "..." in repr(Pose(humanoid))


POSES: list[tuple[Callable[[poise.Model], Any], type[PoiseError], str]] = [
    (lambda m: Pose(m, np.zeros(4)), ShapeMismatch, "q has shape (4,)"),
    (lambda m: Pose(m, np.ones((2, 5))), ShapeMismatch, "q has shape (2, 5); it must be (5,)"),
    (lambda m: Pose(m, [NAN] * 5), InvalidValue, "q[0] is nan"),
    (lambda m: Pose(m, [0] * 5), InvalidValue, "q[1:5] is a quaternion of length 0"),
    (lambda _: Pose("pair", [0]), ModelMismatch, "model must be a poise.Model, not str"),  # type: ignore[arg-type]
    (lambda m: Pose(m).replace({"c": 1}), NameNotFound, "no joint is called 'c'"),
    (lambda m: Pose(m).replace({"b": 1}), InvalidValue, "joint 'b' follows 'a'; set that one instead"),
    (lambda m: Pose(m).replace({"weld": 1}), InvalidValue, "joint 'weld' is fixed; it has no value to set"),
    (lambda m: Pose(m).replace({"a": (1, 2)}), ShapeMismatch, "joint 'a' has 1 numbers in q, not 2"),
    (lambda m: Pose(m).replace({"a": NAN}), InvalidValue, "q[0] is nan"),
    (lambda m: Pose(m).transform("x"), NameNotFound, "no frame is called 'x'"),
    (lambda m: Motion(m, np.ones(5)), ShapeMismatch, "q has shape (5,); it must be (frames, 5)"),
    (lambda m: Motion(m, np.ones((2, 4))), ShapeMismatch, "q has shape (2, 4)"),
    (lambda m: Motion(m, np.ones((2, 5)), 0), InvalidValue, "fps is 0; it must be a positive number"),
    (lambda m: Motion(m, np.ones((2, 5)), NAN), InvalidValue, "fps is nan"),
    (
        lambda m: manipulability(m, np.ones(5), "b", rows="all"),
        InvalidValue,
        "rows must be 'linear', 'angular' or 'both'",
    ),
    (lambda m: manipulability(m, np.ones(5), "x"), NameNotFound, "no frame is called 'x'"),
]


@pytest.mark.parametrize(("call", "error", "fragment"), POSES, ids=[fragment for *_, fragment in POSES])
def test_misuse_is_rejected(call: Callable[[poise.Model], Any], error: type[PoiseError], fragment: str) -> None:
    with pytest.raises(error) as caught:
        call(follower())
    assert fragment in str(caught.value)


OPEN: dict[str, Callable[[poise.Model], Any]] = {
    "no model": lambda _: Pose(None),  # type: ignore[arg-type]
    "complex": lambda m: Pose(m, np.ones(5) + 1j),
    "ragged": lambda m: Pose(m, [[1], [1, 2]]),
    "ragged frames": lambda m: Motion(m, [[1], [1, 2]]),
    "fps of text": lambda m: Motion(m, np.ones((2, 5)), "24"),  # type: ignore[arg-type]
    "no fps": lambda m: Motion(m, np.ones((2, 5)), None),  # type: ignore[arg-type]
    "joint of text": lambda m: Pose(m).replace({"a": "up"}),
    "joint of complex": lambda m: Pose(m).replace({"a": 1j}),
    "a list of joints": lambda m: Pose(m).replace(["a"]),  # type: ignore[arg-type]
    "many at once": lambda m: manipulability(m, np.ones((2, 5)), "b"),
    "rows of a list": lambda m: manipulability(m, np.ones(5), "b", rows=[]),  # type: ignore[arg-type]
}


@pytest.mark.parametrize("call", OPEN.values(), ids=OPEN)
def test_misuse_is_rejected_in_poise_s_words(call: Callable[[poise.Model], Any]) -> None:
    with pytest.raises(PoiseError):
        call(follower())


@pytest.mark.parametrize("make", [Pose, lambda model: Motion(model, model.rest[None])], ids=["Pose", "Motion"])
def test_nothing_can_be_deleted(make: Callable[[poise.Model], Any]) -> None:
    with pytest.raises(AttributeError):
        del make(follower()).q


@pytest.mark.slow
def test_nothing_drifts_by_a_bit_on_its_way(humanoid: poise.Model) -> None:
    for q in humanoid.random(np.random.default_rng(0), 50):
        pose, motion = Pose(humanoid, q), Motion(humanoid, q[None])
        assert pickle.loads(pickle.dumps(pose)) == pose
        assert pose.replace({}) == pose
        assert pickle.loads(pickle.dumps(motion)) == motion
        assert motion[:] == motion
        np.testing.assert_array_equal(motion[0].q, motion.q[0])


# ------------------------------------------------------------------------------------------------ motion


def test_a_motion_is_poses_over_time(humanoid: poise.Model) -> None:
    q = humanoid.random(np.random.default_rng(0), 10)
    motion = Motion(humanoid, q, 25)
    assert len(motion) == 10
    assert motion.fps == 25.0
    np.testing.assert_allclose(motion.times, np.arange(10) / 25)
    assert motion[3] == Pose(humanoid, q[3])
    assert motion[-1] == Pose(humanoid, q[9])
    assert [pose.q[0] for pose in motion] == [pose.q[0] for pose in map(motion.__getitem__, range(10))]
    with pytest.raises(IndexError, match=r"10 is not a frame: give 0 to 9 or round\(t \* motion\.fps\)"):
        motion[10]
    assert repr(motion) == "<Motion of 'humanoid': 10 frames at 25 fps>"


def test_a_slice_of_a_motion_keeps_its_time(humanoid: poise.Model) -> None:
    motion = Motion(humanoid, humanoid.random(np.random.default_rng(0), 10), 30)
    assert motion[2:5] == Motion(humanoid, motion.q[2:5], 30)
    thin = motion[::3]
    assert (len(thin), thin.fps) == (4, 10.0)
    np.testing.assert_allclose(thin.times, motion.times[::3])
    assert len(motion[5:5]) == 0


def test_a_motion_is_a_frozen_value(humanoid: poise.Model) -> None:
    q = humanoid.random(np.random.default_rng(0), 3)
    motion = Motion(humanoid, q)
    assert hash(motion) == hash(Motion(humanoid, q))
    assert motion != Motion(humanoid, q, 60)
    assert motion != q.tolist()
    with pytest.raises(AttributeError, match="a Motion is frozen"):
        motion.fps = 60  # type: ignore[misc]
    with pytest.raises(ValueError, match="read-only"):
        motion.q[0] = 0


# ------------------------------------------------------------------------------------------------ manipulability


@pytest.mark.slow
@settings(max_examples=30)
@given(model=models(), seed=SEEDS)
def test_manipulability_is_the_size_of_the_velocity_ellipsoid(model: poise.Model, seed: int) -> None:
    q, frame = model.random(np.random.default_rng(seed)), model.frames[-1]
    for rows, part in (("linear", slice(0, 3)), ("angular", slice(3, 6)), ("both", slice(0, 6))):
        J = model.jacobian(q, frame)[part]
        found = manipulability(model, q, frame, rows=rows)
        assert abs(found.measure**2 - np.linalg.det(J @ J.T)) <= 1e-12 * np.linalg.norm(J) ** (2 * len(J))
        assert (np.diff(found.singular_values) <= 0).all()
        assert found.condition >= 1.0


def test_a_straight_arm_is_singular() -> None:
    model = poise.load("planar2")
    tip = model.frames[-1]
    bent, straight = (manipulability(model, [0.3, bend], tip) for bend in (1.2, 0.0))
    assert bent.measure == pytest.approx(0.0, abs=1e-15)  # in the plane only: nothing moves it upwards
    assert np.isinf(bent.condition)
    assert bent.singular_values[1] > 0.1
    assert straight.singular_values[1] < 1e-12
