"""Tools keep their rotation when they are dragged; misses have a reason."""

import numpy as np
import pytest

import poise
import walkers
from pinned_rigs import make_pinned_rig
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
    for rig in map(poise.Rig, (model, walkers.make_machine(scrambled=True))):
        kinds = [(h.kind, h.stands, h.tool) for h in rig.handles.values()]
        assert kinds.count(("end", True, False)) == 2
        assert kinds.count(("end", False, True)) == 2
        assert kinds.count(("body", False, False)) == 1
        assert len(rig.state.standing) == 2


@pytest.mark.parametrize("jaw", [False, True])
def test_sensors_and_wheels_and_jaws_and_the_world_are_not_handles(jaw: bool) -> None:
    builder = poise.ModelBuilder("rover")
    builder.add_frame("world", None)
    builder.add_joint("base", "world", "free")
    builder.add_frame("imu_link", "base", (0.0, 0.0, 0.1))
    for k, place in enumerate(((0.2, 0.1, 0.0), (0.2, -0.1, 0.0), (-0.2, 0.0, 0.0))):
        builder.add_joint(f"wheel_{k}", "base", "continuous", offset=place, axis=(0.0, 1.0, 0.0))
    above, offset = "base", (0.0, 0.0, 0.2)
    for k in range(6):
        axis = np.eye(3)["xyz".index("yzyxyz"[k])]
        builder.add_joint(f"arm_{k}", above, "revolute", offset=offset, axis=axis, lower=-2.0, upper=2.0)
        above, offset = f"arm_{k}", (0.2, 0.0, 0.0)
    builder.add_frame("tool0", above, (0.1, 0.0, 0.0))
    builder.add_frame("camera_link", above, (0.2, 0.0, 0.1))
    if jaw:
        builder.add_joint("jaw", above, "revolute", offset=(0.03, 0.0, 0.02), axis=(0, 1, 0), lower=-1.5, upper=0.0)
        builder.add_frame("jaw_end", "jaw", (0.07, 0.0, -0.02))
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


def pull(rig: poise.Rig, handle: str, way: tuple[float, float, float], frames: int = 60) -> None:
    """Drag a handle by a way, and wait until it stands still."""
    start = rig.state.transform(handle).translation
    for share in (*np.linspace(0.0, 1.0, frames), *np.ones(frames)):
        rig.drag(handle, start + share * np.array(way))


def test_a_pelvis_over_pinned_feet_names_the_ankles_and_what_would_help() -> None:
    rig = poise.Rig(poise.load("humanoid"))
    assert rig.why() == "All targets are reached."
    rig.pin("foot_l")
    rig.pin("foot_r")
    pull(rig, "pelvis", (0.0, -0.3, 0.0))
    (miss,) = rig.misses
    assert miss.handle == "pelvis"
    assert {(stop.part, stop.side, stop.kind) for stop in miss.stops} == {
        ("ankle", s, "range") for s in ("left", "right")
    }
    assert all(stop.degrees is not None and abs(stop.degrees + 25.0) < 1e-9 for stop in miss.stops)
    assert miss.pinned == ("foot_l", "foot_r")
    assert "the left and the right ankle are bent to their limits (25 degrees)" in rig.why()
    assert "planted instead of pinned" in rig.why()


@pytest.mark.slow
def test_planted_feet_go_on_to_where_the_knees_end() -> None:
    rig = poise.Rig(poise.load("humanoid"))
    rig.plant()
    pull(rig, "pelvis", (0.0, -0.3, 0.0))
    assert not rig.misses
    pull(rig, "pelvis", (0.0, -0.5, 0.0))
    (miss,) = rig.misses
    assert ("knee", "left") in {(stop.part, stop.side) for stop in miss.stops}
    assert not miss.pinned


@pytest.mark.slow
def test_parts_without_a_role_are_named_and_distant_targets_are_reported() -> None:
    rig = poise.Rig(walkers.make_machine(scrambled=True, bend=0.2))
    rig.plant()
    hand = next(handle.name for handle in rig.handles.values() if handle.tool)
    pull(rig, hand, (0.0, 0.0, 3.0))
    (miss,) = rig.misses
    assert miss.metres > 0.5
    assert rig.why().startswith(f"{hand} is ")
    assert miss.text == rig.why().splitlines()[0]


@pytest.mark.slow
def test_a_foot_that_is_pulled_into_the_floor_reports_it() -> None:
    rig = poise.Rig(poise.load("humanoid"))
    rig.plant("foot_r")
    pull(rig, "foot_l", (0.0, -0.2, 0.0))
    (miss,) = rig.misses
    assert {stop.kind for stop in miss.stops} >= {"floor"}
    assert "on the floor" in rig.why()
    assert rig.solution is not None
    assert "stands on the floor" in rig.solution.why()


@pytest.mark.parametrize("name", ["humanoid", "machine", "scrambled"])
@pytest.mark.parametrize("depth", [0.1, 0.25, 0.4])
def test_a_squat_balances_or_says_that_it_does_not(name: str, depth: float) -> None:
    """A machine whose pelvis goes straight down by 40 cm cannot: its heels have to rise, and its hips end."""
    model = poise.load("humanoid") if name == "humanoid" else walkers.make_machine(scrambled=name == "scrambled")
    rig = poise.Rig(model)
    rig.plant()
    body = next(handle.name for handle in rig.handles.values() if handle.kind == "body")
    pull(rig, body, tuple(-depth * model.up_direction))
    solution = rig.solution
    assert solution is not None
    off = solution.errors["balance"][0]
    falls = off > 1e-4
    assert falls == (name != "humanoid" and depth == 0.4)
    assert ("is not balanced" in rig.why()) == falls
    if falls:
        assert rig.why().startswith("All targets are reached, but the body is not balanced")
        assert f"its centre of mass is {1000 * off:.3g} mm behind its feet" in rig.why()
        assert f"drag {body} elsewhere, or less far" in rig.why()
        assert "the left and the right ankle are bent to their limits" in rig.why()


def test_a_body_that_leans_says_to_which_side_it_falls() -> None:
    for way, word in (((0.5, 0.0, 0.0), "left of"), ((-0.5, 0.0, 0.0), "right of"), ((0.0, 0.0, 0.6), "ahead of")):
        rig = make_pinned_rig()
        pull(rig, "hand_l" if way[0] > 0 else "hand_r", tuple(4.0 * np.array(way)))
        pull(rig, "pelvis", way)
        assert f"{word} its feet" in rig.why(), way
