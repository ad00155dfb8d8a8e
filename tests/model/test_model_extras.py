"""What files bring besides joints, names in Jacobians, the printed tree, and the memo of a model."""

import gc
import pickle
import weakref
from functools import partial
from math import sqrt

import numpy as np
import pytest
from hypothesis import given

import poise
from bodies import ALL_KINDS, build_elbow_arm, models, random_model
from poise.errors import InvalidModel, InvalidValue, NameNotFound, PoiseError, ShapeMismatch
from poise.limits.capsules import body_capsules
from poise.model import BallRange, Box, Capsule, Cylinder, Mesh, Model, ModelBuilder, Sphere
from poise.model.channels import name_channels
from poise.model.memo import MemoSlot, MemoTable, keep_with_model
from poise.pictures.body.flesh import find_flesh
from poise.pictures.body.solids import find_solids


def build_body() -> ModelBuilder:
    builder = ModelBuilder("body")
    builder.up = "y"
    builder.add_joint("root", None, "free")
    builder.add_joint("shoulder", "root", "ball", offset=(0, 1, 0), cone=BallRange(1.2, (-1, 1), (0, 2, 0), 2.0))
    builder.add_joint("elbow", "shoulder", "revolute", frame="forearm", offset=(1, 0, 0), lower=0, upper=2)
    builder.add_joint("wrist", "forearm", "revolute", offset=(1, 0, 0), mimic=("elbow", 0.5, 0.1))
    builder.add_frame("hand", "wrist", (0.1, 0, 0))
    builder.add_shape("forearm", Capsule(0.05, 0.8), offset=(0.5, 0, 0), use="collision", color=(1, 0, 0))
    builder.add_shape("hand", Box((0.1, 0.2, 0.3)))
    builder.add_shape("root", Mesh("meshes/torso.stl", (0.001, 0.001, 0.001)), use="visual")
    builder.add_pose("wave", [0, 0, 1, 1, 0, 0, 0, 0, 2, 0, 0, 0.7])
    return builder.add_role("hand_l", "hand").add_role("elbow_l", "elbow")


def test_it_is_all_there_and_read_only() -> None:
    model = build_body().build()
    assert [shape.frame for shape in model.shapes] == ["forearm", "hand", "root"]
    forearm = model.shapes[0]
    assert forearm.shape == Capsule(0.05, 0.8)
    assert (forearm.use, forearm.color) == ("collision", (1.0, 0.0, 0.0, 1.0))
    np.testing.assert_array_equal(forearm.offset.translation, (0.5, 0, 0))
    assert model.roles == {"hand_l": "hand", "elbow_l": "forearm"}  # a joint's name means its frame
    np.testing.assert_array_equal(model.poses["wave"], [0, 0, 1, 1, 0, 0, 0, 0, 1, 0, 0, 0.7])  # unit by now
    assert (model.up, model.units) == ("y", "m")
    assert model.joint("shoulder").cone == BallRange(1.2, (-1.0, 1.0), (0.0, 1.0, 0.0), 2.0)
    with pytest.raises(TypeError):
        model.roles["head"] = "hand"  # type: ignore[index]
    with pytest.raises(ValueError, match="read-only"):
        model.poses["wave"][0] = 1
    assert "3 shapes" in str(model)
    assert "1 named pose" in str(model)
    assert "swing 1.2, twist [-1, 1], at most 2" in str(model)


def test_pickle_and_equality() -> None:
    model = build_body().build()
    twin = pickle.loads(pickle.dumps(model))
    assert twin == model
    assert twin.shapes == model.shapes
    assert twin.roles == model.roles
    assert twin.joint("shoulder").cone == model.joint("shoulder").cone
    others = [build_body() for _ in range(5)]
    others[0].add_shape("hand", Sphere(0.1))
    others[1].add_pose("rest", np.r_[0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 0])
    others[2].add_role("head", "root")
    others[3].up = "z"
    others[4].units = "cm"
    assert all(other.build() != model for other in others)


def test_part_of_a_body_keeps_its_part() -> None:
    model = build_body().build()
    arm = model.subtree("shoulder")
    assert [shape.frame for shape in arm.shapes] == ["forearm", "hand"]
    assert arm.roles == model.roles
    np.testing.assert_array_equal(arm.poses["wave"], [0.7])
    hand = model.subtree("forearm")  # the wrist leads itself now, and stands where it stood
    np.testing.assert_allclose(hand.poses["wave"], [0.5 * 0.7 + 0.1])
    assert hand.up == "y"


@pytest.mark.parametrize(
    ("change", "kept"),
    [
        (lambda m: m.locked({"shoulder": (1, 0, 0, 0)}), [0, 0, 1, 1, 0, 0, 0, 0.7]),
        (lambda m: m.with_frame("tool", "hand", (0, 0, 1)), [0, 0, 1, 1, 0, 0, 0, 0, 1, 0, 0, 0.7]),
    ],
)
def test_changed_bodies_keep_them(change: object, kept: list[float]) -> None:
    model = build_body().build()
    other: Model = change(model)  # type: ignore[operator]
    assert other.shapes == model.shapes
    assert other.roles == model.roles
    assert other.up == "y"
    np.testing.assert_array_equal(other.poses["wave"], kept)


def test_a_locked_ball_has_no_cone() -> None:
    assert build_body().build().locked({"shoulder": (1, 0, 0, 0)}).joint("shoulder").cone is None


@pytest.mark.parametrize(
    ("error", "call"),
    [
        (InvalidValue, lambda b: b.add_shape("hand", "box")),
        (InvalidValue, lambda b: b.add_shape("hand", Sphere(-1))),
        (InvalidValue, lambda b: b.add_shape("hand", Sphere(np.nan))),
        (InvalidValue, lambda b: b.add_shape("hand", Cylinder(1, np.inf))),
        (InvalidValue, lambda b: b.add_shape("hand", Box((1, -1, 1)))),
        (ShapeMismatch, lambda b: b.add_shape("hand", Box((1, 1)))),
        (InvalidValue, lambda b: b.add_shape("hand", Mesh(""))),
        (InvalidValue, lambda b: b.add_shape("hand", Sphere(1), use="show")),
        (ShapeMismatch, lambda b: b.add_shape("hand", Sphere(1), color=(1, 0))),
        (NameNotFound, lambda b: b.add_shape("foot", Sphere(1)).build()),
        (InvalidModel, lambda b: b.add_pose("wave", np.zeros(12))),
        (ShapeMismatch, lambda b: b.add_pose("sit", np.zeros(11)).build()),
        (InvalidValue, lambda b: b.add_pose("sit", np.zeros(12)).build()),
        (InvalidValue, lambda b: b.add_pose("sit", np.full(12, np.nan)).build()),
        (InvalidModel, lambda b: b.add_role("hand_l", "root")),
        (NameNotFound, lambda b: b.add_role("hand_r", "other").build()),
        (InvalidValue, lambda b: b.add_joint("j", None, "revolute", cone=BallRange(1.0))),
        (InvalidValue, lambda b: b.add_joint("j", None, "ball", cone=1.0)),
        (InvalidValue, lambda b: b.add_joint("j", None, "ball", cone=BallRange(-1.0))),
        (InvalidValue, lambda b: b.add_joint("j", None, "ball", cone=BallRange(twist=(1.0, -1.0)))),
        (InvalidValue, lambda b: b.add_joint("j", None, "ball", cone=BallRange(axis=(0, 0, 0)))),
    ],
)
def test_invalid_values_are_rejected(error: type[PoiseError], call: object) -> None:
    with pytest.raises(error):
        call(build_body())  # type: ignore[operator]


@pytest.mark.parametrize(("slot", "value"), [("up", "w"), ("units", "parsec")])
def test_unknown_words_are_rejected(slot: str, value: str) -> None:
    builder = build_body()
    setattr(builder, slot, value)
    with pytest.raises(InvalidModel, match=value):
        builder.build()


def test_an_elliptic_cone_has_two_angles() -> None:
    model = ModelBuilder().add_joint("j", None, "ball", cone=BallRange((0.5, 4.0))).build()
    assert model.joint("j").cone == BallRange((0.5, np.pi))
    assert "swing 0.5 x 3.142" in str(model)


def test_the_humanoid_has_its_roles() -> None:
    model = poise.load("humanoid")
    assert model.up == "y"
    assert all(role == frame for role, frame in model.roles.items())
    assert {"pelvis", "head", "hand_l", "hand_r", "foot_l", "knee_r", "chest"} <= set(model.roles)


# --------------------------------------------------------------------- Names of joints and frames, and the printed tree


def test_a_joint_equals_its_name() -> None:
    model = build_elbow_arm().build()
    assert "elbow" in model.joints
    assert model.joint("elbow") == "elbow"
    assert model.joint("elbow") != model.joint("shoulder")
    assert {model.joint("elbow"): 1}["elbow"] == 1  # type: ignore[index]
    assert f"{model.joint('elbow')}" == "elbow"
    assert model.frame("tip") == "tip"
    assert model.joint(model.joint("elbow")) is model.joint("elbow")
    assert model.frame(model.frame("tip")) is model.frame("tip")


def test_a_joint_s_name_means_its_frame() -> None:
    model = build_elbow_arm().build()
    assert model.frame("shoulder").name == "upper_arm"
    q = [0.1, 0.2]
    np.testing.assert_array_equal(model.fk(q, "shoulder"), model.fk(q, "upper_arm"))
    np.testing.assert_array_equal(model.jacobian(q, model.joint("shoulder").name), model.jacobian(q, "upper_arm"))
    np.testing.assert_array_equal(model.fk(q, model.frame("tip")), model.fk(q, "tip"))


@pytest.mark.parametrize(("asked", "meant"), [("elbw", "elbow"), ("Elbow", "elbow"), ("sholder", "shoulder")])
def test_wrong_joint_names_bring_the_closest(asked: str, meant: str) -> None:
    with pytest.raises(NameNotFound, match=f"no joint is called '{asked}'. Did you mean '{meant}'") as caught:
        build_elbow_arm().build().joint(asked)
    assert caught.value.name == asked
    assert meant in caught.value.choices
    assert isinstance(caught.value, KeyError)
    assert str(pickle.loads(pickle.dumps(caught.value))) == str(caught.value)


@pytest.mark.parametrize("call", ["fk", "jacobian", "hessian", "frame", "subtree"])
def test_wrong_frame_names_bring_the_closest(call: str) -> None:
    model = build_elbow_arm().build()
    arguments = ("uper_arm",) if call in ("frame", "subtree") else ([0, 0], "uper_arm")
    with pytest.raises(NameNotFound, match=r"no frame is called 'uper_arm'\. Did you mean 'upper_arm'"):
        getattr(model, call)(*arguments)


def test_names_are_any_text() -> None:
    names = ["a b", "hüfte", "膝", "x/y:z", "😀", "'", "<b>", "\n", "a\0b"]
    builder = ModelBuilder()
    for name in names:
        builder.add_joint(name, None, "revolute")
    model = builder.build()
    for name in names:
        assert model.fk(model.rest, name).shape == (4, 4)
        assert model.joint(name).name == name
    assert "&lt;b&gt;" in model._repr_html_()
    assert "<td><b>" not in model._repr_html_()


@pytest.mark.slow
@given(model=models())
def test_the_tree_shows_every_joint_once(model: poise.Model) -> None:
    lines = str(model).splitlines()
    assert len(lines) == 1 + len(model.frames)
    assert f"{model.nv} degree{'s' * (model.nv != 1)} of freedom" in lines[0]
    for joint in model.joints:
        shown = joint.name if joint.frame == joint.name else f"{joint.name} -> {joint.frame}"
        (line,) = [line for line in lines if f" {shown}  " in line]
        assert joint.kind in line
        assert f"<td>{joint.name}</td>" in model._repr_html_()
    assert (
        repr(model) == f"<Model {model.name!r}: {len(model.joints)} joints, {model.nv} DOF, {len(model.frames)} frames>"
    )


# -------------------------------------------------------------------------- Columns of a Jacobian by name, in any order


@pytest.mark.parametrize("seed", range(4))
def test_every_channel_is_one_column_in_the_given_order(seed):
    model = random_model(seed, joints=len(ALL_KINDS), kinds=ALL_KINDS)
    channels = [channel for joint in model.joints if joint.nv for channel in name_channels(joint)]
    assert len(channels) == len(set(channels)) == model.nv
    rng = np.random.default_rng(seed)
    q, frame, order = model.random(rng, 3), model.frames[-1], rng.permutation(model.nv)
    chosen = model.jacobian(q, frame, columns=[channels[i] for i in order])
    np.testing.assert_array_equal(chosen, model.jacobian(q, frame)[..., order])
    names, v = [channels[i] for i in order], rng.normal(size=(3, model.nv))
    for reference in ("world", "body"):
        rate = model.jacobian_dot(q, v, frame, point=(0.1, 0.0, 0.2), reference=reference)
        own = model.jacobian_dot(q, v, frame, point=(0.1, 0.0, 0.2), reference=reference, columns=names)
        np.testing.assert_array_equal(own, rate[..., order])
    some = order[: model.nv // 2]
    bend = model.hessian(q, frame, columns=[channels[i] for i in some])
    np.testing.assert_array_equal(bend, model.hessian(q, frame)[..., some, :][..., some])


def test_a_joint_means_all_its_columns_whatever_its_euler_order():
    builder = poise.ModelBuilder(name="arm")
    builder.add_joint("hip", None, "euler", order="ZXY")
    builder.add_joint("knee", "hip", "revolute", offset=(0.3, 0.1, 0.0))
    builder.add_frame("foot", "knee", (0.2, 0.0, 0.1))
    model = builder.build()
    q = np.array([0.3, -0.4, 0.5, 0.6])
    J = model.jacobian(q, "foot")
    np.testing.assert_array_equal(model.jacobian(q, "foot", columns=["knee", "hip"]), J[:, [3, 0, 1, 2]])
    by_letter = model.jacobian(q, "foot", columns=["hip.rx", "hip.ry", "hip.rz"])
    np.testing.assert_array_equal(by_letter, J[:, [1, 2, 0]])


# -------------------------------------------- The memo of a model: values by slot, computed once, and dropped by copies


SQUARE = MemoSlot[int]("square")
NOTHING = MemoSlot[None]("nothing")
ROOTS = MemoTable[int, float]("roots", 2)


def test_a_value_is_made_once_also_if_it_is_none() -> None:
    memo, made = poise.load("planar2").memo, list[str]()
    assert [memo.get(SQUARE, lambda: made.append("square") or 4) for _ in range(2)] == [4, 4]
    assert [memo.get(NOTHING, lambda: made.append("nothing")) for _ in range(2)] == [None, None]
    assert made == ["square", "nothing"]


def test_two_slots_of_one_name_are_two_slots() -> None:
    memo = poise.load("planar2").memo
    assert memo.get(SQUARE, lambda: 4) != memo.get(MemoSlot[int]("square"), lambda: 9)


def test_a_full_table_is_emptied() -> None:
    memo = poise.load("planar2").memo
    for number in (1, 4, 9):
        assert memo.look_up(ROOTS, number, partial(sqrt, number)) == number**0.5
    assert memo.entries(ROOTS) == {9: 3.0}


def test_a_copy_starts_with_an_empty_memo() -> None:
    model = poise.load("planar2")
    assert model.memo.get(SQUARE, lambda: 4) == 4
    assert pickle.loads(pickle.dumps(model)).memo.get(SQUARE, lambda: 16) == 16


def test_a_function_of_a_model_is_computed_once_for_each_set_of_arguments() -> None:
    made = list[tuple[int, int]]()

    @keep_with_model
    def count_coordinates(model: poise.Model, more: int, times: int = 1) -> int:
        made.append((more, times))
        return times * (model.nq + more)

    model, other = poise.load("planar2"), pickle.loads(pickle.dumps(poise.load("planar2")))
    assert [count_coordinates(model, 1), count_coordinates(model, 1), count_coordinates(model, 1, times=2)] == [3, 3, 6]
    assert made == [(1, 1), (1, 2)]
    assert count_coordinates(other, 1) == 3
    assert made == [(1, 1), (1, 2), (1, 1)]


def test_a_drawn_model_is_released() -> None:
    model = pickle.loads(pickle.dumps(poise.load("planar2")))
    assert find_solids(model) is find_solids(model)
    assert find_flesh(model)
    assert body_capsules(model)
    gone = weakref.ref(model.lower)
    del model
    gc.collect()
    assert gone() is None
