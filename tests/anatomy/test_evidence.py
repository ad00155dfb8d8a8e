"""Names against shape: agreement raises certainty, disagreement is reported, and sides follow the names."""

import numpy as np
import pytest

import poise
from figures import Figure, Proportions
from known_bodies import Maker, Plan, rename
from poise.anatomy.evidence import swap_role
from poise.model import Model, ModelBuilder

PARTS = ("hip", "knee", "foot", "shoulder", "elbow", "hand")
TRUNK = ("pelvis", "chest", "neck", "head")


def name_figure(called: dict[str, str], seed: int = 0) -> tuple[Model, dict[str, str]]:
    """Return a figure with other names for the frames of some roles, and the frames of all of its roles."""
    model, roles = Figure(Proportions.draw(seed)).make()
    names = {name: name for name in (*model.frames, *(joint.name for joint in model.joints))}
    names |= {roles[role]: name for role, name in called.items()}
    return rename(model, names), {role: names[frame] for role, frame in roles.items()}


def call_all(side_words: tuple[str, str] = ("left", "right")) -> dict[str, str]:
    """Return names in plain words for all roles with a side, and for the trunk."""
    sides = list(zip("lr", side_words, strict=True))
    return {f"{part}_{side}": f"{word}_{part}_link" for part in PARTS for side, word in sides} | {
        part: f"{part}_link" for part in TRUNK
    }


@pytest.mark.parametrize("seed", range(4))
def test_names_that_agree_raise_the_certainty(seed: int) -> None:
    plain, named = (poise.roles(name_figure(called, seed)[0]) for called in ({}, call_all()))
    for role in call_all():
        assert named.role(role).certainty >= plain.role(role).certainty
    assert named.role("knee_l").evidence.startswith("name and shape")
    assert named.scheme == "words"
    assert not named.disagreements


@pytest.mark.parametrize("seed", range(4))
def test_names_decide_the_sides(seed: int) -> None:
    model, roles = name_figure(call_all(("right", "left")), seed)
    found = poise.roles(model)
    for role in ("knee_l", "hand_r", "hip_l"):
        assert found[role] == roles[swap_role(role)]
    assert found.facing == pytest.approx((-1.0, 0.0, 0.0), abs=1e-9)
    assert any("left by name are right by shape" in words for words in found.disagreements)


def test_a_wrong_name_is_reported() -> None:
    called = call_all() | {"knee_l": "left_elbow_link", "elbow_l": "left_knee_link"}
    model, roles = name_figure(called)
    found = poise.roles(model)
    assert found["knee_l"] == roles["knee_l"]
    assert found["elbow_l"] == roles["elbow_l"]
    assert any("left_knee_link" in words and "shape was followed" in words for words in found.disagreements)


def test_one_name_is_enough_for_one_role() -> None:
    model, roles = name_figure({"knee_l": "left_knee"})
    found = poise.roles(model)
    assert found["knee_l"] == "left_knee"
    assert found.role("knee_l").certainty >= found.role("knee_r").certainty
    assert found["knee_r"] == roles["knee_r"]


def test_numbered_joints_of_an_arm_do_not_claim_roles() -> None:
    called = {"shoulder_l": "arm_l_1", "elbow_l": "arm_l_2", "hand_l": "arm_l_3"}
    model, roles = name_figure(called)
    found = poise.roles(model)
    assert [found[role] for role in called] == [roles[role] for role in called]


@pytest.mark.parametrize(
    ("role", "other"), [("hand_l", "hand_r"), ("leg_fl", "leg_fr"), ("head", "head"), ("pelvis", "pelvis")]
)
def test_swapping_the_side_of_a_role_twice_changes_nothing(role: str, other: str) -> None:
    assert swap_role(role) == other
    assert swap_role(other) == role


def test_the_names_of_a_tool_are_followed() -> None:
    sides = {f"{part}_{s}": f"mixamorig:{word}{bone}" for s, word in (("l", "Left"), ("r", "Right")) for part, bone in (
        ("hip", "UpLeg"), ("knee", "Leg"), ("foot", "Foot"), ("shoulder", "Arm"), ("elbow", "ForeArm"), ("hand", "Hand")
    )}  # fmt: skip
    model, roles = name_figure(
        sides | {"pelvis": "mixamorig:Hips", "head": "mixamorig:Head", "chest": "mixamorig:Spine"}
    )
    found = poise.roles(model)
    assert found.scheme == "Mixamo"
    assert {role: found[role] for role in sides} == {role: roles[role] for role in sides}
    assert found.certainty > 0.95


def test_the_elbow_bends_the_arm_and_the_hand_is_the_end_of_the_forearm() -> None:
    plain, roles = Maker(Plan(shoulder="yxy", wrist="", arms="out")).make()
    names = {name: name for name in [*plain.frames, *(joint.name for joint in plain.joints)]}
    for side, word in (("l", "left"), ("r", "right")):
        names |= {f"shoulder_{side}{i}": f"{word}_arm_{i}" for i in range(2)}
        names[roles[f"shoulder_{side}"]] = f"{word}_elbow_pitch"  # it turns about the upper arm
        names[roles[f"elbow_{side}"]] = f"{word}_hand_link"  # its frame is at the elbow
        names[f"palm_{side}"] = f"{word}_end"
    model = rename(plain, names)
    found = poise.roles(model)
    assert found["elbow_l"] == "left_hand_link"
    assert "wrist_l" not in found
    palm = found.contacts["palm_r"]
    assert palm.frame == "right_hand_link"
    assert np.linalg.norm(palm.point) > 0.1


def make_knight(carried: int) -> Model:
    """Return a figure in the T-pose with two arms called alike, and long things in its left hand."""
    builder = ModelBuilder("knight")
    builder.up = "y"
    places = {"hips": (None, (0.0, 0.9, 0.0)), "chest": ("hips", (0.0, 0.5, 0.0)), "head": ("chest", (0.0, 0.3, 0.0))}
    for side, sign in (("l", 1.0), ("r", -1.0)):
        arm = {"upperarm": 0.2, "lowerarm": 0.25, "wrist": 0.25, "hand": 0.04, "handslot": 0.05}
        for above, (name, length) in zip(("chest", *arm), arm.items(), strict=False):
            places[f"{name}.{side}"] = (above if above == "chest" else f"{above}.{side}", (sign * length, 0.0, 0.0))
        places[f"upperleg.{side}"] = "hips", (0.1 * sign, -0.05, 0.0)
        places[f"lowerleg.{side}"] = f"upperleg.{side}", (0.0, -0.4, 0.02)
        places[f"foot.{side}"] = f"lowerleg.{side}", (0.0, -0.37, -0.02)
        places[f"toes.{side}"] = f"foot.{side}", (0.0, -0.08, 0.15)
    places |= {f"Shield_{k}": ("handslot.l", (0.4, 0.1 * k, 0.1)) for k in range(carried)}
    for name, (parent, place) in places.items():
        builder.add_joint(name, parent, "free" if parent is None else "ball", offset=place)
    return builder.build()


@pytest.mark.parametrize("carried", [0, 1, 5])
def test_things_in_one_hand_do_not_change_the_roles_of_its_arm(carried: int) -> None:
    found = dict(poise.roles(make_knight(carried)).items())
    sided = {role: frame for role, frame in found.items() if role[-2:] in ("_l", "_r")}
    assert {"shoulder_l", "elbow_l", "wrist_l", "hand_l", "hip_l", "knee_l", "foot_l"} <= set(sided)
    assert {swap_role(role): frame[:-1] + swap_role(f"_{frame[-1]}")[-1] for role, frame in sided.items()} == sided
