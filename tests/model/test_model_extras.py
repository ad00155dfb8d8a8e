"""What files bring besides joints: shapes, named poses, roles, cones of ball joints, the up axis, units."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

import poise
from poise.errors import InvalidModel, InvalidValue, NameNotFound, PoiseError, ShapeMismatch
from poise.model import BallRange, Box, Capsule, Cylinder, Mesh, Model, ModelBuilder, Sphere


def body() -> ModelBuilder:
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
    model = body().build()
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
    model = body().build()
    twin = pickle.loads(pickle.dumps(model))
    assert twin == model
    assert twin.shapes == model.shapes
    assert twin.roles == model.roles
    assert twin.joint("shoulder").cone == model.joint("shoulder").cone
    others = [body() for _ in range(5)]
    others[0].add_shape("hand", Sphere(0.1))
    others[1].add_pose("rest", np.r_[0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 0])
    others[2].add_role("head", "root")
    others[3].up = "z"
    others[4].units = "cm"
    assert all(other.build() != model for other in others)


def test_part_of_a_body_keeps_its_part() -> None:
    model = body().build()
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
    model = body().build()
    other: Model = change(model)  # type: ignore[operator]
    assert other.shapes == model.shapes
    assert other.roles == model.roles
    assert other.up == "y"
    np.testing.assert_array_equal(other.poses["wave"], kept)


def test_a_locked_ball_has_no_cone() -> None:
    assert body().build().locked({"shoulder": (1, 0, 0, 0)}).joint("shoulder").cone is None


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
        call(body())  # type: ignore[operator]


@pytest.mark.parametrize(("slot", "value"), [("up", "w"), ("units", "parsec")])
def test_unknown_words_are_rejected(slot: str, value: str) -> None:
    builder = body()
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
