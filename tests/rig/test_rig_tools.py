"""Tools keep their rotation when they are dragged, and where a machine is taken hold of."""

from __future__ import annotations

import numpy as np
import pytest

import poise
import walkers
from poise.rig.ends import find_machine_ends, is_machine
from poise.spatial import Rotation

ARMS = {"panda": "panda_hand_tcp", "ur5e": "tool0", "iiwa14": "iiwa_link_ee"}


def measure_turn(rig: poise.Rig, handle: str, before: np.ndarray) -> float:
    """How far a handle has turned [rad]."""
    turned = rig.state.transform(handle).rotation.matrix @ before.T
    return float(np.linalg.norm(Rotation.from_matrix(turned).log()))


@pytest.mark.parametrize("name", ARMS)
@pytest.mark.parametrize("far", [0.15, 1.5])
def test_a_tool_keeps_its_rotation_wherever_it_is_dragged(name: str, far: float) -> None:
    """Also where it does not get to: it then comes as near as it can without being turned."""
    rng = np.random.default_rng(7)
    for _ in range(4):
        rig = poise.Rig(poise.load(name))
        handle = ARMS[name]
        assert rig.handles[handle].tool
        before, start = rig.state.transform(handle).rotation.matrix, rig.state.transform(handle).translation
        way = rng.normal(size=3)
        for share in np.linspace(0.0, 1.0, 60):
            rig.drag(handle, start + share * far * way / np.linalg.norm(way))
            assert measure_turn(rig, handle, before) < 1e-6


def test_the_hand_of_a_standing_machine_keeps_its_rotation_over_planted_feet() -> None:
    rig = poise.Rig(walkers.make_machine(bend=0.2))
    rig.plant()
    hand = "left_wrist_roll"
    before, start = rig.state.transform(hand).rotation.matrix, rig.state.transform(hand).translation
    for share in np.linspace(0.0, 1.0, 60):
        rig.drag(hand, start + share * np.array([0.3, 0.1, 0.2]))
        assert measure_turn(rig, hand, before) < 1e-6
    assert np.linalg.norm(rig.state.transform(hand).translation - start - [0.3, 0.1, 0.2]) < 1e-3
    rig.history.commit()
    rig.drag("right_wrist_roll", rig.state.transform("right_wrist_roll").translation)
    rig.drag(hand, start)  # taken again: the rotation that it was left with
    assert measure_turn(rig, hand, before) < 1e-6


def test_a_tool_that_is_dragged_by_a_transform_turns_and_that_is_kept() -> None:
    rig = poise.Rig(poise.load("panda"))
    hand = ARMS["panda"]
    target = rig.state.transform(hand).matrix.copy()
    target[:3, :3] = Rotation.from_vector((0.0, 0.0, 0.4)).matrix @ target[:3, :3]
    for _ in range(10):
        rig.drag(hand, target)
    assert measure_turn(rig, hand, target[:3, :3]) < 1e-3
    held = rig.state.transform(hand).rotation.matrix
    for depth in np.linspace(0.0, 0.1, 20):
        rig.drag(hand, target[:3, 3] - [0.0, 0.0, depth])
    assert measure_turn(rig, hand, held) < 2e-3
    rig.pin(hand)
    rig.drag(hand, rig.state.transform(hand).translation + np.array([0.02, 0.0, 0.0]))
    assert rig.state.pinned == (hand,)
    assert measure_turn(rig, hand, held) < 2e-3


def test_hands_of_figures_and_arms_of_few_joints_turn_as_they_are_dragged() -> None:
    figure, arm = poise.Rig(poise.load("humanoid")), poise.Rig(poise.load("planar3"))
    assert not any(handle.tool for handle in (*figure.handles.values(), *arm.handles.values()))
    assert not any(handle.tool for handle in poise.Rig(walkers.make_character()).handles.values())


def test_a_machine_is_taken_by_its_hands_and_feet_and_not_by_fingers_and_sensors() -> None:
    model = walkers.make_machine()
    assert is_machine(model)
    assert set(find_machine_ends(model)) == {"left_foot", "right_foot", "left_wrist_roll", "right_wrist_roll"}
    plain, scrambled = poise.Rig(model), poise.Rig(walkers.make_machine(scrambled=True))
    for rig in (plain, scrambled):
        kinds = [(h.kind, h.stands, h.tool) for h in rig.handles.values()]
        assert kinds.count(("end", True, False)) == 2
        assert kinds.count(("end", False, True)) == 2
        assert kinds.count(("body", False, False)) == 1
        assert len(rig.state.standing) == 2


def test_sensors_and_wheels_and_the_world_are_not_handles() -> None:
    builder = poise.ModelBuilder("rover")
    builder.add_frame("world", None)
    builder.add_joint("base", "world", "free")
    builder.add_frame("imu_link", "base", (0.0, 0.0, 0.1))
    for k, place in enumerate(((0.2, 0.1, 0.0), (0.2, -0.1, 0.0), (-0.2, 0.0, 0.0))):
        builder.add_joint(f"wheel_{k}", "base", "continuous", offset=place, axis=(0.0, 1.0, 0.0))
    above, offset = "base", (0.0, 0.0, 0.2)
    for k in range(6):
        builder.add_joint(
            f"arm_{k}",
            above,
            "revolute",
            offset=offset,
            axis=np.eye(3)["xyz".index("yzyxyz"[k])],
            lower=-2.0,
            upper=2.0,
        )
        above, offset = f"arm_{k}", (0.2, 0.0, 0.0)
    builder.add_frame("tool0", above, (0.1, 0.0, 0.0))
    builder.add_frame("camera_link", above, (0.2, 0.0, 0.1))
    model = builder.build()
    assert find_machine_ends(model) == ["tool0"]
    assert list(poise.Rig(model).handles) == ["tool0", "base"]


def test_an_arm_of_few_joints_moves_before_the_trunk() -> None:
    """Its hand cannot keep its rotation; to do so, the trunk would sink as far as the hand is pulled."""
    model = walkers.make_machine(wrists=False, bend=0.2)
    q = np.array(model.rest)
    q[model.joint("left_shoulder_roll").q] = 1.5  # the upper arm is level
    rig = poise.Rig(model, q)
    rig.plant()
    assert not rig.handles["left_elbow"].tool
    start, trunk = rig.state.transform("left_elbow").translation, rig.pose.position("torso")
    for share in np.linspace(0.0, 1.0, 40):
        rig.drag("left_elbow", start + share * np.array([0.0, 0.0, -0.15]))
    np.testing.assert_allclose(rig.state.transform("left_elbow").translation - start, (0.0, 0.0, -0.15), atol=1e-4)
    assert abs(rig.pose.position("torso")[2] - trunk[2]) < 0.03
