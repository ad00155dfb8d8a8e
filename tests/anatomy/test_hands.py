"""Hands and grippers by shape and by names: palm, fingers in order, tips, axes, and the side."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import poise
from hand_poses import bend_hand
from known_bodies import scramble
from poise.anatomy.hands import Hand, order_digits
from poise.anatomy.parts import list_parts
from poise.goals import Reach
from poise.model import Box, Cylinder, Model, ModelBuilder
from poise.spatial import Rotation, Transform

FINGERS = ("thumb", "index", "middle", "ring", "little")
Turn = tuple[float, ...] | None
BENDS: dict[str, Any] = {"lower": -0.2, "upper": 1.6}


def make_hand(side: str, count: int, size: float = 1.0, turn: Turn = None, prefix: str = "") -> Model:
    """Return a hand whose fingers point along z, bend to x, and have the thumb at y if it is a right one."""
    y = 1.0 if side == "r" else -1.0
    builder = ModelBuilder("hand")
    builder.units = "m" if size == 1.0 else "mm"
    mount = Transform(Rotation.from_vector(np.zeros(3) if turn is None else np.array(turn)))
    builder.add_joint(f"{prefix}palm", None, "free").add_frame("mount", f"{prefix}palm", mount)
    for k, name in enumerate(FINGERS[:count]):
        thumb = name == "thumb"
        first = (0.02, 0.05 * y, 0.0) if thumb else (0.0, (0.06 - 0.02 * k) * y, 0.09)
        way = np.array((0.0, 0.7 * y, 0.7)) if thumb else np.array((0.0, 0.0, 1.0))
        axis = (0.0, 0.7, -0.7 * y) if thumb else (0.0, 1.0, 0.0)
        above, at = "mount", np.array(first)
        for bone, length in enumerate((0.0, 0.04, 0.03, 0.02)):
            joint = f"{prefix}{name}_{bone}"
            spread: dict[str, Any] = (
                {"axis": (1, 0, 0), "lower": -0.3, "upper": 0.3} if bone == 0 else {"axis": axis, **BENDS}
            )
            builder.add_joint(joint, above, "revolute", offset=size * at, **spread)
            above, at = joint, length * way
        builder.add_frame(f"{prefix}{name}_end", above, size * at)
    return builder.build()


def read_only_hand(model: Model) -> Hand:
    """Return the only hand of a body."""
    (hand,) = poise.roles(model).hands
    return hand


@pytest.mark.parametrize("turn", [None, (1.0, -2.0, 0.5)])
@pytest.mark.parametrize("size", [1.0, 1e3])
@pytest.mark.parametrize("count", [3, 4, 5])
@pytest.mark.parametrize("side", ["l", "r"])
def test_fingers_and_side_are_found_without_names(side: str, count: int, size: float, turn: Turn) -> None:
    model, old = scramble(make_hand(side, count, size, turn), 3)
    found = poise.roles(model)
    assert found.kind == "hand"
    named = {f"{name}_{bone}_{side}": f"{name}_{bone}" for name in FINGERS[:count] for bone in (1, 2, 3)}
    tips = {f"{name}_tip_{side}": f"{name}_end" for name in FINGERS[:count]}
    ends = {f"hand_{side}": "mount", f"palm_{side}": "mount"}
    assert {role: old[frame] for role, frame in found.items()} == named | tips | ends


@pytest.mark.parametrize("side", ["l", "r"])
def test_axes_of_a_palm(side: str) -> None:
    hand = read_only_hand(make_hand(side, 5))
    y = 1.0 if side == "r" else -1.0
    assert hand.axes == pytest.approx(np.array([[0, 0, 1], [0, y, 0], [1, 0, 0]]), abs=1e-9)
    turned = read_only_hand(make_hand(side, 5, turn=(0.3, 1.0, -2.0)))
    assert turned.axes == pytest.approx(hand.axes, abs=1e-9)


def test_the_side_in_the_names_of_a_hand_is_followed() -> None:
    assert read_only_hand(make_hand("r", 5, prefix="left_")).side == "l"
    assert read_only_hand(make_hand("r", 5, prefix="x")).side == "r"


def test_the_hand_that_comes_with_poise() -> None:
    model = poise.load("hand")
    assert poise.roles(model)["thumb_tip_r"] == "thumb_tip"
    assert poise.roles(model)["little_1_r"] == "pinky_mcp"
    found, old = scramble(model, 0)
    assert {role: old[frame] for role, frame in poise.roles(found).items()} == dict(poise.roles(model))


def test_load_marks_the_tips_of_fingers_without_a_frame(tmp_path: Path) -> None:
    builder = ModelBuilder("claw").add_joint("base", None, "fixed")
    for k, y in enumerate((-0.02, 0.0, 0.02)):
        builder.add_joint(f"a{k}", "base", "revolute", offset=(0.0, y, 0.08), axis=(0, 1, 0), **BENDS)
        builder.add_joint(f"b{k}", f"a{k}", "revolute", offset=(0.0, 0.0, 0.04), axis=(0, 1, 0), **BENDS)
        builder.add_shape(f"b{k}", Box((0.01, 0.01, 0.04)), offset=(0.0, 0.0, 0.02))
    builder.add_joint("t", "base", "revolute", offset=(0.02, 0.04, 0.03), axis=(0, 0.7, -0.7), **BENDS)
    builder.add_joint("u", "t", "revolute", offset=(0.0, 0.02, 0.02), axis=(0, 0.7, -0.7), **BENDS)
    builder.add_shape("u", Box((0.01, 0.04, 0.01)), offset=(0.0, 0.02, 0.0))
    poise.save(builder.build(), tmp_path / "claw.urdf")
    model = poise.load(tmp_path / "claw.urdf")
    assert model.fk(model.rest, "index_tip_r")[:3, 3] == pytest.approx([0.0, 0.02, 0.16], abs=6e-3)
    place = model.fk(0.3 * np.ones(model.nq), "index_tip_r")[:3, 3]
    assert poise.solve(model, [Reach("index_tip_r", place)]).reached


def test_a_bone_of_the_palm_may_carry_two_fingers() -> None:
    builder = ModelBuilder("hand").add_joint("palm", None, "free")
    builder.add_joint("arch", "palm", "revolute", offset=(0.0, -0.02, 0.03), lower=0.0, upper=0.3)
    for k, (above, at) in enumerate(
        [("palm", (0, 0.03, 0.09)), ("palm", (0, 0.01, 0.09)), ("arch", (0, 0.01, 0.06)), ("arch", (0, -0.01, 0.06))]
    ):
        builder.add_joint(f"a{k}", above, "revolute", offset=at, axis=(0, 1, 0), **BENDS)
        builder.add_joint(f"b{k}", f"a{k}", "revolute", offset=(0.0, 0.0, 0.04), axis=(0, 1, 0), **BENDS)
        builder.add_frame(f"c{k}", f"b{k}", (0.0, 0.0, 0.03))
    builder.add_joint("t", "palm", "revolute", offset=(0.02, 0.05, 0.0), axis=(0, 0.7, -0.7), **BENDS)
    builder.add_frame("u", "t", (0.0, 0.03, 0.03))
    found = poise.roles(builder.build())
    assert [found[f"{name}_1_r"] for name in FINGERS] == ["t", "a0", "a1", "a2", "a3"]


def make_gripper(builder: ModelBuilder, above: str | None, count: int) -> ModelBuilder:
    """Add a gripper with sliding jaws around z."""
    builder.add_joint("body", above, "fixed", offset=(0.0, 0.0, 0.1))
    for k in range(count):
        x, y = np.cos(2.0 * np.pi * k / count), np.sin(2.0 * np.pi * k / count)
        builder.add_joint(
            f"jaw{k}", "body", "prismatic", offset=(0.03 * x, 0.03 * y, 0.05), axis=(x, y, 0), lower=0.0, upper=0.04
        )
        builder.add_shape(f"jaw{k}", Box((0.01, 0.01, 0.05)), offset=(0.0, 0.0, 0.025))
    return builder


@pytest.mark.parametrize("count", [2, 3])
def test_jaws_are_a_gripper(count: int) -> None:
    found = poise.roles(make_gripper(ModelBuilder("g"), None, count).build())
    assert (found.kind, len(found)) == ("gripper", 0)
    (hand,) = found.hands
    assert (hand.kind, hand.side, hand.palm, len(hand.digits)) == ("gripper", "", "body", count)
    assert "gripper at 'body': jaw" in str(found)


def test_a_gripper_on_an_arm_leaves_it_an_arm() -> None:
    builder = ModelBuilder("arm")
    for k in range(6):
        above = f"a{k - 1}" if k else None
        builder.add_joint(f"a{k}", above, "revolute", axis=(0, 1, 0), offset=(0, 0, 0.2), lower=-2.0, upper=2.0)
    found = poise.roles(make_gripper(builder, "a5", 2).build())
    assert not found.kind
    assert [hand.palm for hand in found.hands] == ["body"]


def test_wheels_are_no_jaws() -> None:
    builder = ModelBuilder("cart").add_joint("base", None, "free")
    for k, y in enumerate((-0.1, 0.1)):
        builder.add_joint(f"wheel{k}", "base", "continuous", offset=(0.0, y, 0.0), axis=(0, 1, 0))
        builder.add_shape(f"wheel{k}", Cylinder(0.05, 0.02))
    assert not poise.roles(builder.build()).hands


def test_rotors_with_a_range_of_many_turns_are_no_fingers() -> None:
    builder = ModelBuilder("drone").add_joint("base", None, "free")
    for k, (x, y) in enumerate(((0.2, 0.2), (-0.2, 0.2), (-0.2, -0.2), (0.2, -0.2))):
        builder.add_joint(f"rotor{k}", "base", "revolute", offset=(x, y, 0.02), axis=(0, 0, 1), lower=-1e16, upper=1e16)
        builder.add_shape(f"rotor{k}", Cylinder(0.05, 0.01))
    assert not poise.roles(builder.build()).hands


@pytest.mark.parametrize(("kind", "limits"), [("prismatic", (0.0, 0.04)), ("revolute", (-0.5, 0.5))])
def test_axes_of_jaws_that_begin_in_one_place(kind: Any, limits: tuple[float, float]) -> None:
    builder = ModelBuilder("franka").add_joint("base", None, "fixed")
    for k, y in enumerate((1.0, -1.0)):
        lower, upper = limits
        axis = (0, y, 0) if kind == "prismatic" else (y, 0, 0)
        builder.add_joint(f"jaw{k}", "base", kind, offset=(0.0, 0.0, 0.06), axis=axis, lower=lower, upper=upper)
        builder.add_shape(f"jaw{k}", Box((0.02, 0.02, 0.04)), offset=(0.0, 0.01 * y, 0.02))
    axes = read_only_hand(builder.build()).axes
    assert axes[:, :2] == pytest.approx(np.array([[0, 0], [0, 1], [1, 0]]), abs=1e-9)
    assert axes.T @ axes == pytest.approx(np.eye(3), abs=1e-9)


def test_digits_without_a_length_are_no_hand() -> None:
    builder = ModelBuilder("knot").add_joint("base", None, "free")
    for k in range(4):
        builder.add_joint(f"a{k}", "base", "revolute", **BENDS).add_joint(f"b{k}", f"a{k}", "revolute", **BENDS)
    assert not poise.roles(builder.build()).hands


def test_a_chain_of_a_thousand_joints_carries_a_hand() -> None:
    builder = ModelBuilder("snake")
    for k in range(1000):
        axis = (k % 2, 1 - k % 2, 0)
        builder.add_joint(f"s{k}", f"s{k - 1}" if k else None, "revolute", axis=axis, offset=(0, 0, 0.1), **BENDS)
    assert read_only_hand(make_gripper(builder, "s999", 2).build()).palm == "body"


@pytest.mark.parametrize("size", [1e-3, 1.0])
def test_a_thumb_at_the_end_of_the_row_points_to_the_side(size: float) -> None:
    builder = ModelBuilder("hand").add_joint("palm", None, "free")
    for k, end in enumerate([(0.0, 0.03, 0.0)] * 4 + [(0.03, 0.0, 0.0)]):
        builder.add_joint(f"digit_{k}", "palm", "revolute", offset=size * np.array([0.02 * k - 0.03, 0.1, 0.0]))
        builder.add_frame(f"tip_{k}", f"digit_{k}", size * np.array(end))
    body = list_parts(model := builder.build(), model.rest, model.up_direction)
    order, _ = order_digits(body, body.parts[0].place, [[k] for k in body.children[0]], [None] * 5)
    assert order == [4, 3, 2, 1, 0]


@pytest.mark.parametrize("angle", [0.0, 60.0])
@pytest.mark.parametrize("name", ["hand", "hand_l"])
def test_the_side_of_a_skeleton_is_seen_from_its_clip_or_its_thumb(name: str, angle: float, tmp_path: Path) -> None:
    """Its joints have no ranges, and it rests flat."""
    model = poise.load(name)
    poise.save(
        poise.Motion(model, np.stack([bend_hand(model, 0.0), bend_hand(model, angle)]), 30.0), tmp_path / "a.bvh"
    )
    hand = read_only_hand(poise.load_motion(tmp_path / "a.bvh").model)
    assert hand.side == ("l" if name == "hand_l" else "r")
    np.testing.assert_allclose(hand.axes[:, 2], (0.0, 0.0, 1.0), atol=0.1)
