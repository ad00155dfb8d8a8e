"""Limbs by shape: the middle joint, the foot and the hand, twist joints, wheels and forks."""

import numpy as np
import pytest

import poise
from figures import UP, Figure, Proportions
from poise.anatomy.limbs import (
    find_center,
    find_tip,
    is_light,
    is_straight,
    is_twist_hinge,
    is_twist_joint,
    measure_distance,
    measure_lever,
    measure_reach,
    read_limb,
)
from poise.anatomy.parts import Body, list_parts

ACROSS = np.array([0.0, 1.0, 0.0])


def build(*joints: tuple[str, float, str], mass: float = 1.0) -> Body:
    """Return a limb of joints (kind, length above it, axis) that hangs down from a root, with a frame at its end."""
    builder = poise.ModelBuilder("limb")
    builder.add_joint("root", None, "free", mass=mass)
    parent = "root"
    for k, (kind, length, axis) in enumerate(joints):
        hinge = {"axis": np.eye(3)["xyz".index(axis)]} if kind in ("revolute", "continuous") else {}
        builder.add_joint(f"j{k}", parent, kind, offset=(0.0, 0.0, -length), mass=mass, **hinge)
        parent = f"j{k}"
    builder.add_frame("end", parent, offset=(0.0, 0.0, -0.1))
    model = builder.build()
    return list_parts(model, model.rest, UP)


def read_roles(body: Body) -> dict[str, str | None]:
    """Return the frames of the parts of the limb below the root, by their place in it."""
    limb = read_limb(body, 1, ACROSS)
    parts = {name: getattr(limb, name) for name in ("girdle", "upper", "middle", "last", "beyond")}
    return {name: None if k is None else body.parts[k].frame for name, k in parts.items()}


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("scale", [0.01, 1.0, 100.0])
def test_knees_and_elbows_bend_limbs_of_any_proportions(seed: int, scale: float) -> None:
    model, roles = Figure(Proportions.draw(seed), scale=scale).make()
    body = list_parts(model, model.rest, UP)
    at = {part.frame: part.index for part in body.parts}
    for first, middle, last in (("hip", "knee", "foot"), ("shoulder", "elbow", "hand")):
        for side in "lr":
            limb = read_limb(body, at[roles[f"{first}_{side}"]], ACROSS)
            assert limb.upper == at[roles[f"{first}_{side}"]]
            assert limb.middle == at[roles[f"{middle}_{side}"]]
            assert limb.last == at[roles[f"{last}_{side}"]]
            assert limb.girdle is None
            assert not limb.wheel


def test_a_plain_limb() -> None:
    body = build(("ball", 0.1, ""), ("revolute", 0.4, "y"), ("ball", 0.4, ""))
    assert read_roles(body) == {"girdle": None, "upper": "j0", "middle": "j1", "last": "j2", "beyond": None}


def test_a_collar_bone_is_a_girdle() -> None:
    body = build(("ball", 0.1, ""), ("ball", 0.15, ""), ("revolute", 0.3, "y"), ("ball", 0.28, ""))
    assert read_roles(body) == {"girdle": "j0", "upper": "j1", "middle": "j2", "last": "j3", "beyond": None}


def test_three_hinges_of_a_hip_are_one_place() -> None:
    hips = [("revolute", 0.1, "x"), ("revolute", 0.0, "y"), ("revolute", 0.0, "z")]
    body = build(*hips, ("revolute", 0.4, "y"), ("revolute", 0.4, "y"), ("revolute", 0.0, "x"))
    assert read_roles(body) == {"girdle": None, "upper": "j2", "middle": "j3", "last": "j5", "beyond": None}


def test_toes_are_beyond_the_foot() -> None:
    body = build(("ball", 0.1, ""), ("ball", 0.4, ""), ("ball", 0.4, ""), ("ball", 0.12, ""))
    assert read_roles(body) == {"girdle": None, "upper": "j0", "middle": "j1", "last": "j2", "beyond": "j3"}


def test_a_twist_joint_of_the_forearm_is_not_the_hand() -> None:
    body = build(("ball", 0.1, ""), ("ball", 0.3, ""), ("ball", 0.14, ""), ("ball", 0.14, ""))
    assert read_roles(body)["last"] == "j3"
    parts = list(body.parts[1:])
    assert is_twist_joint(parts, 1, 2, 0)
    assert not is_twist_joint(parts, 1, 3, 0)


def test_a_limb_that_does_not_bend_has_no_middle() -> None:
    assert read_roles(build(("revolute", 0.1, "z"), ("revolute", 0.4, "z")))["middle"] is None
    assert read_roles(build(("ball", 0.1, "")))["middle"] is None


@pytest.mark.parametrize(("kind", "axis", "wheel"), [("continuous", "y", True), ("continuous", "x", False)])
def test_a_wheel_turns_across_the_body(kind: str, axis: str, wheel: bool) -> None:
    builder = poise.ModelBuilder("cart")
    builder.add_joint("root", None, "free", mass=1.0)
    builder.add_joint("leg", "root", "revolute", axis=(0, 1, 0), offset=(0.0, 0.0, -0.3), mass=1.0)
    builder.add_joint("wheel", "leg", kind, axis=np.eye(3)["xyz".index(axis)], offset=(0.0, 0.0, -0.3), mass=1.0)
    model = builder.build()
    assert read_limb(list_parts(model, model.rest, UP), 1, ACROSS).wheel is wheel


def test_fingers_do_not_lengthen_an_arm() -> None:
    plain, fingered = (Figure(digits=digits).make() for digits in (0, 4))
    for model, roles in (plain, fingered):
        body = list_parts(model, model.rest, UP)
        at = {part.frame: part.index for part in body.parts}
        limb = read_limb(body, at[roles["shoulder_l"]], ACROSS)
        assert (limb.middle, limb.last) == (at[roles["elbow_l"]], at[roles["hand_l"]])


def test_levers_are_distances_from_an_axis() -> None:
    body = build(("revolute", 0.1, "z"), ("ball", 0.2, ""))
    hinge, ball = body.parts[1:3]
    assert measure_lever(hinge, hinge.place + np.array([0.3, 0.4, 7.0])) == pytest.approx(0.5)
    assert measure_lever(ball, ball.place + np.array([0.0, 0.3, 0.4])) == pytest.approx(0.5)
    assert is_twist_hinge(hinge, np.array([0.0, 0.1, 1.0]))
    assert not is_twist_hinge(hinge, np.array([1.0, 0.0, 0.5]))
    assert not is_twist_hinge(ball, UP)


def test_reach_and_tip_are_the_far_end() -> None:
    body = build(("ball", 0.1, ""), ("ball", 0.4, ""))
    assert measure_reach(body, 1) == pytest.approx(0.5)
    assert measure_distance(find_tip(body, body.parts[2]), body.parts[2].place) == pytest.approx(0.1)


def test_a_tip_without_frames_is_beyond_the_centre_of_mass() -> None:
    builder = poise.ModelBuilder("bar")
    builder.add_joint("root", None, "free", mass=1.0, center=(0.0, 0.0, -0.2))
    model = builder.build()
    body = list_parts(model, model.rest, UP)
    assert find_center(body, body.parts[0]) == pytest.approx((0.0, 0.0, -0.2))
    assert find_tip(body, body.parts[0]) == pytest.approx((0.0, 0.0, -0.4))


def test_light_children_are_gears_and_sensors() -> None:
    builder = poise.ModelBuilder("shin")
    builder.add_joint("shin", None, "free", mass=2.0)
    builder.add_joint("gear", "shin", "revolute", axis=(0, 1, 0), mass=0.1)
    model = builder.build()
    body = list_parts(model, model.rest, UP)
    assert is_light(body, 0)
    assert not is_light(build(("ball", 0.1, "")), 0)


def test_joints_in_a_line_are_straight() -> None:
    body = build(("ball", 0.1, ""), ("ball", 0.2, ""))
    pair = list(body.parts[1:3])
    below = pair[1].place - (0.0, 0.0, 0.3)
    assert is_straight(pair, below)
    assert not is_straight(pair, pair[1].place + np.array([0.3, 0.0, 0.0]))
    assert not is_straight(pair[::-1], below)
    assert not is_straight(pair, pair[1].place)


def test_an_ankle_at_its_knee_is_a_leg_too() -> None:
    builder = poise.ModelBuilder("walker").add_joint("base", None, "free", offset=(0.0, 0.0, 1.0))
    for side, y in (("l", 0.2), ("r", -0.2)):
        for k, (below, axis) in enumerate((((0, y, 0), (0, 1, 0)), ((0, 0, -0.4), (0, 1, 0)), ((0, 0, 0), (1, 0, 0)))):
            above = f"{side}{k - 1}" if k else "base"
            builder.add_joint(f"{side}{k}", above, "revolute", offset=below, axis=axis, lower=0.0, upper=2.0)
        builder.add_frame(f"{side}_end", f"{side}2", (0.0, 0.0, -0.4))
    assert poise.roles(builder.build())["knee_l"] == "l1"
