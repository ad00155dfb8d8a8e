"""Limbs of a rig: poles that do not flip, blends without a pop, straight limbs that bend again."""

import numpy as np
import pytest

import poise
from pinned_rigs import make_pinned_rig
from poise.arrays import Floats
from poise.errors import InvalidValue
from poise.model import Model
from poise.rig.limbs.poles import find_bend_direction, find_next_normal
from poise.rig.limbs.straight_limbs import find_bend, find_hinge
from poise.rig.snapshot import Pole


def arm(middle: str) -> Model:
    """A ball shoulder at the origin, an elbow that is a hinge or a ball, and a hand before them, a little bent."""
    builder = poise.ModelBuilder(f"arm_{middle}")
    builder.add_joint("shoulder", None, "ball")
    if middle == "revolute":
        elbow = {"axis": (1, 0, 0), "lower": -2.6, "upper": 0.0, "rest": (-0.8,)}
    else:
        elbow = {"rest": tuple(poise.Rotation.from_vector((-0.8, 0, 0)).wxyz)}
    builder.add_joint("elbow", "shoulder", middle, offset=(0, 0, 0.3), **elbow)  # type: ignore[arg-type]
    builder.add_frame("hand", "elbow", (0, 0, 0.3))
    return builder.build()


def across(start: Floats, end: Floats, frames: int) -> Floats:
    """A path from one place to another and back."""
    share = 0.5 * (1 - np.cos(np.linspace(0, 2 * np.pi, frames)))[:, None]
    out: Floats = start + share * (end - start)
    return out


# ------------------------------------------------------------------------------------------ poles


@pytest.mark.parametrize("middle", ["revolute", "ball"])
@pytest.mark.parametrize("aside", [0.0, 1e-9, 1e-3, 0.03])
def test_an_elbow_does_not_flip_when_the_hand_crosses_the_line_of_its_pole(middle: str, aside: float) -> None:
    model = arm(middle)
    rig = poise.Rig(model)
    rig.pole("hand", "z")  # the hand's path crosses the z axis, along which the limb's plane is undefined
    path = across(np.array([aside, -0.3, 0.3]), np.array([aside, 0.3, 0.3]), 160)
    for _ in range(20):
        rig.drag("hand", path[0])
    before, limb = find_bend_direction(model, rig.q, rig.handles.limbs["hand"]), rig.handles.limbs["hand"]
    for point in path:
        rig.drag("hand", point)
        now = find_bend_direction(model, rig.q, limb)
        assert now @ before > 0.9, "the elbow turned by more than 25 degrees in one frame"
        assert np.linalg.norm(rig.state.transform("hand").translation - point) < 1e-4
        before = now


def test_the_elbow_that_crossed_is_on_the_same_side_of_the_body() -> None:
    """Straight through the line, the plane stays what it was: the bend goes on turning with the limb."""
    model = arm("revolute")
    rig = poise.Rig(model)
    rig.pole("hand", "z")
    for _ in range(20):
        rig.drag("hand", (0.0, -0.3, 0.3))
    first = find_bend_direction(model, rig.q, rig.handles.limbs["hand"])
    for height in np.linspace(-0.3, 0.3, 60):
        rig.drag("hand", (0.0, height, 0.3))
    last = find_bend_direction(model, rig.q, rig.handles.limbs["hand"])
    # both are a quarter turn from their limb in the plane x = 0, on the same side of it
    assert np.cross((0.0, -1.0, 1.0), first)[0] * np.cross((0.0, 1.0, 1.0), last)[0] > 0


@pytest.mark.parametrize("middle", ["revolute", "ball"])
def test_a_pole_turns_the_elbow_to_its_direction(middle: str) -> None:
    model = arm(middle)
    rig = poise.Rig(model)
    for direction in ((0.0, 1.0, 0.0), (1.0, 0.0, 0.0), (-1.0, -1.0, 0.0)):
        rig.reach("hand", (0.0, 0.0, 0.45))
        rig.pole("hand", direction)
        rig.settle()
        assert find_bend_direction(model, rig.q, rig.handles.limbs["hand"]) @ direction > (1 - 1e-5) * np.linalg.norm(
            direction
        )
        assert np.linalg.norm(rig.state.transform("hand").translation - (0.0, 0.0, 0.45)) < 1e-4


@pytest.mark.slow
def test_knees_and_elbows_of_a_dragged_body_do_not_flip_with_or_without_poles() -> None:
    for pole in (None, "z", "-y"):
        rig = poise.Rig(poise.load("humanoid"))
        for pinned in ("foot_l", "pelvis"):
            rig.pin(pinned)
        if pole:
            rig.pole("leg_r", pole)
        limb, hip = rig.handles.limbs["leg_r"], rig.model.fk(rig.q, "hip_r")[:3, 3]
        before = find_bend_direction(rig.model, rig.q, limb)
        for turn in -1.3 + 1.3 * np.sin(np.linspace(0, np.pi, 150)):  # from below the hip up to its front, and back
            rig.drag("foot_r", hip + 0.7 * np.array([0.0, np.sin(turn), np.cos(turn)]))
            now = find_bend_direction(rig.model, rig.q, limb)
            assert not before.any() or not now.any() or now @ before > 0.7
            before = now


def test_an_elbow_is_dragged_and_the_hand_stays() -> None:
    rig = make_pinned_rig()
    hand = np.array([0.25, 1.2, 0.3])
    rig.reach("hand_l", hand)
    rig.settle()
    before = rig.state.transform("elbow_l").translation
    wanted = np.add(before, (0.15, 0.1, 0.0))
    for _ in range(15):
        rig.drag("elbow_l", wanted)
    assert np.linalg.norm(rig.state.transform("elbow_l").translation - wanted) < 0.5 * np.linalg.norm(wanted - before)
    assert np.linalg.norm(rig.state.transform("hand_l").translation - hand) < 1e-4
    rig.release("elbow_l")
    rig.settle()
    assert np.linalg.norm(rig.state.transform("elbow_l").translation - before) < 0.01


def test_the_normal_is_kept_where_it_is_undefined_and_never_jumps() -> None:
    pole = Pole(np.array([0.0, 0.0, 1.0]))
    pole = Pole(pole.direction, find_next_normal(pole, np.array([0.0, -0.6, 0.8])))
    first = pole.normal
    assert first is not None
    assert np.allclose(find_next_normal(pole, np.array([0.0, 0.0, 1.0])), first)
    for turn in np.linspace(-0.6, 0.6, 41):
        u = np.array([0.0, np.sin(turn), np.cos(turn)])
        normal = find_next_normal(pole, u)
        assert normal @ pole.normal > 0.99  # type: ignore[operator]
        assert abs(normal @ u) < 1e-9
        pole = Pole(pole.direction, normal)
    assert np.allclose(pole.normal, first)


# ------------------------------------------------------------------------------------------ blends


def reached_up() -> poise.Rig:
    rig = make_pinned_rig()
    rig.blend("arm_r", 0.0)  # the angles that it has now are its own
    rig.reach("hand_r", (-0.3, 1.4, 0.35))
    rig.settle()
    return rig


def limb_angles(rig: poise.Rig, limb: str) -> Floats:
    at = [np.arange(rig.model.nq)[rig.model.joint(name).q] for name in rig.handles.limbs[limb].joints]
    return rig.q[np.concatenate(at)]


def test_a_blend_of_0_keeps_the_angles_and_1_is_the_handle() -> None:
    rig = reached_up()
    assert (limb_angles(rig, "arm_r") == limb_angles(poise.Rig(rig.model), "arm_r")).all()
    rig.blend("arm_r", 1.0)
    rig.settle()
    assert np.linalg.norm(rig.state.transform("hand_r").translation - (-0.3, 1.4, 0.35)) < 1e-4
    rig.blend("hand_r", 0.0)  # a handle names its limb; the angles are now those of the reach
    raised = limb_angles(rig, "arm_r")
    rig.settle()
    assert (limb_angles(rig, "arm_r") == raised).all()


@pytest.mark.slow
def test_a_blend_has_no_pop() -> None:
    rig = reached_up()
    for way in (np.linspace(0.0, 0.99, 100), np.linspace(0.99, 0.0, 100)):
        largest, start = 0.0, rig.q
        for share in way:
            before = rig.q
            rig.blend("arm_r", share)
            rig.update()
            largest = max(largest, float(np.abs(rig.model.difference(before, rig.q)).max()))
        whole = float(np.abs(rig.model.difference(start, rig.q)).max())
        assert whole > 0.5
        assert largest < 0.06 * max(1.0, whole), "more than 6 % of the way in 1 % of the blend"


def test_a_blended_limb_moves_with_the_body_and_does_not_pull_it() -> None:
    rig = reached_up()
    plain = poise.Rig(rig.model)
    plain.pin("foot_l")
    plain.pin("foot_r")
    plain.settle()
    assert np.abs(rig.model.difference(rig.q, plain.q)).max() < 1e-3, "at 0 the handle must not pull the body"


def test_frozen_joints_of_a_blended_limb_stay() -> None:
    rig = reached_up()
    rig.freeze("elbow_r")
    elbow = rig.model.joint("elbow_r").q
    before = rig.q[elbow]
    for share in (0.3, 0.8, 1.0, 0.5):
        rig.blend("arm_r", share)
        rig.update()
        assert (rig.q[elbow] == before).all()


# ------------------------------------------------------------------------------------------ straight limbs


def test_a_straight_leg_bends_again() -> None:
    rig = make_pinned_rig("pelvis")
    hip = rig.model.fk(rig.q, "hip_r")[:3, 3]
    for _ in range(15):
        rig.drag("foot_r", np.add(hip, (0.0, -1.2, 0.3)))  # beyond its length
    assert rig.q[rig.model.joint("knee_r").q][0] < 0.15
    target = np.add(hip, (0.0, -0.47, 0.37))
    for _ in range(25):
        rig.drag("foot_r", target)
    assert np.linalg.norm(rig.state.transform("foot_r").translation - target) < 1e-4


def test_the_hinge_turns_by_what_the_two_bones_say() -> None:
    model = poise.load("humanoid")
    limb = poise.Rig(model).handles.limbs["leg_l"]
    joint = find_hinge(model, limb)
    assert joint is not None
    straight = poise.Pose(model).replace({"knee_l": 0.0}).q
    for wanted in (0.4, 0.9, 1.5):
        bent = poise.Pose(model, straight).replace({"knee_l": wanted}).q
        target = model.fk(bent, "foot_l")[:3, 3]
        turn = find_bend(model, np.array(straight), limb, joint, "foot_l", target)
        assert abs(turn - wanted) < 1e-9
    far = model.fk(straight, "foot_l")[:3, 3] * 1.1 - model.fk(straight, "hip_l")[:3, 3] * 0.1
    assert find_bend(model, np.array(straight), limb, joint, "foot_l", far) == 0.0


def test_limbs_are_found_with_and_without_roles() -> None:
    humanoid = poise.Rig(poise.load("humanoid"))
    assert set(humanoid.handles.limbs) == {"arm_l", "arm_r", "leg_l", "leg_r"}
    assert humanoid.handles.limbs["leg_l"].joints == ("hip_l", "knee_l", "ankle_l", "ball_l")
    assert humanoid.handles["knee_l"].limb == "leg_l"
    dog = poise.Rig(poise.load("quadruped"))
    assert set(dog.handles.limbs) == {"leg_fl", "leg_fr", "leg_hl", "leg_hr"}
    assert dog.handles.limbs["leg_fl"].middle == "elbow_fl"
    tree = poise.Rig(poise.load("tree30"))
    with pytest.raises(InvalidValue, match="no pole"):
        tree.pole("end_1", "x")
