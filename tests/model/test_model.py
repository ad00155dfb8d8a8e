"""Model and builder: guarantees about identity, names, order, size and derived bodies."""

import copy
import pickle
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings

import poise
from bodies import ALL_KINDS, build_elbow_arm, models, random_model
from operations import OPERATIONS, Case, close
from poise import ModelBuilder, Transform


def build_chain(count: int) -> ModelBuilder:
    builder = ModelBuilder("chain")
    for i in range(count):
        builder.add_joint(f"j{i}", f"j{i - 1}" if i else None, "revolute", offset=(0.01, 0, 0), mass=1.0)
    return builder


# ------------------------------------------------------------------------------------------------ frozen


def test_a_model_cannot_be_changed() -> None:
    model = build_elbow_arm().build()
    for name in ("nq", "rest", "name", "new"):
        with pytest.raises(AttributeError, match="frozen"):
            setattr(model, name, 1)
    with pytest.raises(AttributeError, match="frozen"):
        del model.name
    for thing in (model.joint("elbow"), model.frame("tip")):
        with pytest.raises(AttributeError):
            thing.name = "other"  # type: ignore[misc]


def test_python_looks_up_attributes_without_code_of_the_model() -> None:
    """A `__getattr__` would make Python's part of `fk` as slow as its kernel; an unknown name is still an error."""
    assert not hasattr(poise.Model, "__getattr__")
    assert poise.Model.__getattribute__ is object.__getattribute__
    with pytest.raises(AttributeError, match="jont"):
        build_elbow_arm().build().jont  # type: ignore[attr-defined]  # noqa: B018


def test_arrays_are_read_only() -> None:
    model = random_model(1, joints=22)
    arrays = [model.rest, model.lower, model.upper, model.stiffness]
    for joint in model.joints:
        arrays += [
            joint.axis,
            joint.axis2,
            joint.center,
            joint.rest,
            joint.offset.translation,
            joint.offset.rotation.wxyz,
        ]
        arrays += [bound for bound in (joint.lower, joint.upper) if isinstance(bound, np.ndarray)]
    for array in arrays:
        with pytest.raises(ValueError, match="read-only"):
            array[...] = 0


def test_numbers_given_to_the_builder_are_copied() -> None:
    axis, offset, lower = np.array([0.0, 1, 0]), np.eye(4), np.array([-1.0])
    builder = ModelBuilder().add_joint("j", None, "revolute", axis=axis, offset=offset, lower=lower)
    model = builder.build()
    axis[:], offset[:3, 3], lower[:] = 1, 9, 0
    np.testing.assert_array_equal(model.joint("j").axis, [0, 1, 0])
    np.testing.assert_array_equal(model.fk([0.0], "j"), np.eye(4))
    assert model.joint("j").lower == -1.0


def test_a_builder_goes_on_after_build() -> None:
    builder = build_elbow_arm()
    model = builder.build()
    longer = builder.add_frame("ring", "tip").build()
    assert "ring" not in model.frames
    assert longer.frames == (*model.frames, "ring")


# ------------------------------------------------------------------------------------------------ identity


@pytest.mark.slow
@settings(max_examples=25)
@given(model=models())
def test_pickle_and_copy_give_an_equal_model(model: poise.Model) -> None:
    case = Case.of(model, 0)
    for twin in (pickle.loads(pickle.dumps(model)), copy.copy(model), copy.deepcopy(model)):
        assert twin == model
        assert hash(twin) == hash(model)
        assert (twin.frames, twin.joints, twin.source, twin.notes) == (
            model.frames,
            model.joints,
            model.source,
            model.notes,
        )
        np.testing.assert_array_equal(twin.fk(case.q), model.fk(case.q))


@pytest.mark.parametrize(
    "change",
    [
        {"axis": (0, 1, 0)},
        {"axis": (0, 1e-12, 1)},
        {"offset": (0.4, 0, 1e-15)},
        {"lower": -1},
        {"upper": 1},
        {"rest": 0.5},
        {"mass": 1.5},
        {"center": (0, 0, 0.1)},
        {"stiffness": 1.0},
        {"mimic": ("shoulder", 1, 0)},
        {"frame": "forearm"},
    ],
    ids=str,
)
def test_any_difference_makes_models_differ(change: dict[str, Any]) -> None:
    other = build_elbow_arm(**change).build()
    assert other != build_elbow_arm().build()
    assert other == build_elbow_arm(**change).build()


def test_joints_and_frames_differ_where_they_differ() -> None:
    model, other = build_elbow_arm().build(), build_elbow_arm(axis=(0, 1e-12, 1), offset=(0.4, 0, 1e-15)).build()
    assert model.joint("shoulder") == other.joint("shoulder")
    assert model.joint("elbow") != other.joint("elbow")
    assert model.frame("tip") == other.frame("tip")
    assert model.frame("elbow") != other.frame("elbow")
    assert build_elbow_arm(rest=0.1).build().joint("elbow") != model.joint("elbow")
    assert model.joint("elbow") != 3


def test_zeros_have_no_sign() -> None:
    assert (
        build_elbow_arm(axis=-np.array([0.0, 0, -1]), center=(-0.0, 0, 0)).build()
        == build_elbow_arm(axis=(0, 0, 1)).build()
    )


def test_models_are_values() -> None:
    assert len({build_elbow_arm().build(), build_elbow_arm().build()}) == 1
    assert build_elbow_arm().build() != "arm"
    assert build_elbow_arm().build().locked({}) == build_elbow_arm().build()


def test_naming_a_parent_by_its_joint_is_the_same_body() -> None:
    by_joint = ModelBuilder().add_joint("j", None, "revolute", frame="link").add_frame("tip", "j", (1, 0, 0)).build()
    by_frame = ModelBuilder().add_joint("j", None, "revolute", frame="link").add_frame("tip", "link", (1, 0, 0)).build()
    assert by_joint == by_frame
    # a frame that takes the joint's name later takes nothing else from it
    q = [0.3]
    np.testing.assert_array_equal(by_joint.with_frame("j", "tip", (5, 0, 0)).fk(q, "tip"), by_joint.fk(q, "tip"))
    assert by_joint.subtree("link").frames == ("link", "tip")


# ------------------------------------------------------------------------------------------------ order and numbers


def test_parents_may_come_later() -> None:
    forward, backward = ModelBuilder(), ModelBuilder()
    calls = [("a", None), ("b", "a"), ("c", "b"), ("d", "b")]
    for name, parent in calls:
        forward.add_joint(name, parent, "revolute", offset=(1, 0, 0), mimic=("c", 2, 0) if name == "d" else None)
    for name, parent in reversed(calls):
        backward.add_joint(name, parent, "revolute", offset=(1, 0, 0), mimic=("c", 2, 0) if name == "d" else None)
    here, there = forward.build(), backward.build()
    assert here.frames == ("a", "b", "c", "d")
    assert there.frames == ("d", "c", "b", "a")
    assert [joint.name for joint in there.joints] == ["d", "c", "b", "a"]
    assert there.joint("c").q == slice(0, 1)  # q is in the order of the calls
    q = np.array([0.1, 0.2, 0.3])
    for name, _ in calls:
        close(here.fk(q, name), there.fk(q[::-1], name), 1e-15)


@pytest.mark.slow
@given(model=models())
def test_slices_cover_q_and_v_in_order(model: poise.Model) -> None:
    own = [joint for joint in model.joints if not joint.mimic]
    assert [i for joint in own for i in range(joint.q.start, joint.q.stop)] == list(range(model.nq))
    assert [i for joint in own for i in range(joint.v.start, joint.v.stop)] == list(range(model.nv))
    for joint in model.joints:
        if joint.mimic:
            assert (joint.nq, joint.nv) == (0, 0)
            leader = model.joint(joint.mimic.joint)
            assert leader.mimic is None
            assert (joint.q, joint.v) == (leader.q, leader.v)
    assert len(model.rest) == model.nq
    assert len(model.lower) == len(model.upper) == len(model.stiffness) == model.nv
    assert (model.lower <= model.upper).all()


def test_followers_narrow_their_leader() -> None:
    builder = ModelBuilder().add_joint("a", None, "revolute", lower=-1, upper=1)
    builder.add_joint("b", "a", "revolute", mimic=("a", -2, 0.5), lower=-0.5, upper=1.5)
    model = builder.add_joint("c", "b", "prismatic", mimic=("b", 1, 0), upper=1).build()
    assert (model.nq, model.nv) == (1, 1)
    assert model.joint("c").mimic is not None
    assert tuple(model.joint("c").mimic) == ("a", -2.0, 0.5)
    np.testing.assert_allclose([model.lower[0], model.upper[0]], [-0.25, 0.5])
    assert (model.joint("a").lower, model.joint("a").upper) == (-0.25, 0.5)
    assert (model.joint("b").lower, model.joint("b").upper) == (-0.5, 1.5)


def test_rest_is_zero_brought_into_the_range_unless_given() -> None:
    builder = (
        ModelBuilder()
        .add_joint("a", None, "revolute", lower=0.5, upper=1)
        .add_joint("b", "a", "ball", rest=(0, 0, 0, 2))
    )
    builder.add_joint("c", "b", "planar", lower=(-1, -1, -3), upper=(1, -0.5, 3)).add_joint("d", "c", "free")
    model = builder.build()
    np.testing.assert_array_equal(model.rest, [0.5, 0, 0, 0, 1, 0, -0.5, 0, 0, 0, 0, 1, 0, 0, 0])


def test_numbers_of_a_body() -> None:
    builder = ModelBuilder("b").add_joint("a", None, "universal", offset=(0, 0, 2), stiffness=3, mass=1.5)
    builder.add_joint("s", "a", "prismatic", axis=(0, 3, 4), lower=-1, upper=5, offset=(0, 0, 1))
    model = builder.add_frame("weight", "s", mass=0.5, center=(1, 0, 0)).build()
    assert model.mass == 2.0
    assert model.length == 8.0  # two offsets and the longest slide
    np.testing.assert_array_equal(model.stiffness, [3, 3, 0])
    np.testing.assert_allclose(model.joint("s").axis, [0, 0.6, 0.8])
    assert ModelBuilder().add_joint("j", None, "ball").build().length == 1.0


def test_offsets_in_three_forms_and_default_axes() -> None:
    offset = Transform.from_translation((1, 2, 3))
    bodies = [
        ModelBuilder().add_joint("j", None, "revolute", offset=o).build() for o in (offset, offset.matrix, (1, 2, 3))
    ]
    assert bodies[0] == bodies[1] == bodies[2]
    np.testing.assert_array_equal(bodies[0].joint("j").axis, [0, 0, 1])
    universal = ModelBuilder().add_joint("j", None, "universal").build().joint("j")
    np.testing.assert_array_equal([universal.axis, universal.axis2], [[1, 0, 0], [0, 1, 0]])
    assert ModelBuilder().add_joint("j", None, "euler", order="zxy").build().joint("j").order == "ZXY"


# ------------------------------------------------------------------------------------------------ derived bodies


def test_a_tool_moves_with_its_frame() -> None:
    model = build_elbow_arm().build()
    tool = model.with_frame("tool", "tip", (0, 0, 0.1))
    q = [0.3, -0.2]
    close(tool.fk(q, "tool"), model.fk(q, "tip") @ Transform.from_translation((0, 0, 0.1)).matrix, 1e-15)
    assert "tool" not in model.frames
    assert tool.name == model.name


def test_locking_a_leader_stops_its_followers() -> None:
    model = build_elbow_arm(mimic=("shoulder", 2, 0.1)).build()
    stopped = model.locked({"shoulder": 0.4})
    assert (stopped.nq, [joint.kind for joint in stopped.joints]) == (0, ["fixed", "fixed"])
    close(stopped.fk([], "tip"), model.fk([0.4], "tip"), 1e-15)


def test_a_follower_cut_from_its_leader_moves_by_itself() -> None:
    builder = ModelBuilder().add_joint("a", None, "revolute").add_joint("b", "a", "revolute", mimic=("a", 2, 0))
    part = builder.add_joint("c", "b", "revolute", mimic=("b", 3, 0.5)).build().subtree("a")
    assert part.nv == 1
    assert part.joint("b").mimic is None
    assert part.joint("c").mimic is not None
    assert tuple(part.joint("c").mimic) == ("b", 3.0, 0.5)  # its own leader came along
    assert part.notes == ("joint 'b' no longer mimics 'a', which is not in this part.",)


# ------------------------------------------------------------------------------------------------ size and threads


@pytest.mark.slow
def test_five_thousand_joints_in_one_chain() -> None:
    count = 5000
    model = build_chain(count).build()
    q = np.full(count, 1e-3)
    headings = 1e-3 * np.arange(count)
    tip = 0.01 * np.array([np.cos(headings).sum(), np.sin(headings).sum(), 0])
    close(model.fk(q, f"j{count - 1}")[:3, 3], tip, 1e-10)
    joints = np.cumsum(0.01 * np.stack([np.cos(headings), np.sin(headings)]), axis=1)
    arms = tip[:2, None] - joints
    J = model.jacobian(q, f"j{count - 1}")
    close(J[:2], np.stack([-arms[1], arms[0]]), 1e-9)
    close(model.fk(q)[:, :2, 3], joints.T, 1e-9)
    close(model.center_of_mass(q)[:2], joints.mean(axis=1), 1e-9)
    close(model.jacobian_dot(q, np.ones(count), "j10")[:, 11:], np.zeros((6, count - 11)), 0.0)
    assert len(str(model).splitlines()) < 200
    assert len(model._repr_html_()) < 50_000
    assert model.subtree("j4000").nv == 999
    assert pickle.loads(pickle.dumps(model)) == model


@pytest.mark.timing
def test_building_is_linear_in_the_number_of_joints() -> None:
    def seconds(count: int) -> float:
        start = time.process_time()
        build_chain(count).build()
        return time.process_time() - start

    seconds(100)
    short, long = min(seconds(1000) for _ in range(3)), min(seconds(4000) for _ in range(2))
    assert long < 4 * 2 * short
    assert long < 4.0


@pytest.mark.parametrize("kind", ALL_KINDS)
def test_one_joint_alone_is_a_body(kind: str) -> None:
    options: dict[str, Any] = {"euler": {"order": "ZXY"}, "screw": {"pitch": 0.1}}.get(kind, {})
    model = ModelBuilder().add_joint("j", None, kind, **options).build()
    np.testing.assert_array_equal(model.fk(model.rest, "j"), np.eye(4))
    assert model.jacobian(model.rest, "j").shape == (6, model.nv)


@pytest.mark.slow
def test_threads_share_a_model() -> None:
    case = Case.of(random_model(2, joints=22), 2, (300,))
    expected = {name: run(case) for name, run in OPERATIONS.items()}
    with ThreadPoolExecutor(4) as pool:
        jobs = [(name, pool.submit(run, case)) for name, run in OPERATIONS.items() for _ in range(6)]
        for name, job in jobs:
            np.testing.assert_array_equal(job.result(), expected[name])
