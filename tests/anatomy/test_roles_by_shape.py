"""Roles by shape alone: names say nothing, and the same parts are found, however a body is built, turned and sized."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import poise
from carts import make_cart
from known_bodies import Maker, Plan, find_parts, rename, scramble, turn
from poise.model import Model
from poise.model.spec import JointSpec
from poise.spatial import Rotation
from stools import make_hanger, make_stool

AXES = [a + b + c for a in "xyz" for b in "xyz" for c in "xyz" if len({a, b, c}) == 3]
JOINTS = ("clavicle", "shoulder", "elbow", "wrist", "hip", "knee", "ankle")
TRUNK = ("pelvis", "spine_1", "spine_2", "chest", "neck", "head")


def agree(model: Model, roles: dict[str, str], seed: int = 0) -> poise.anatomy.Roles:
    """Scramble the names of a body and find the same roles: the same frame, or one fixed to the same part."""
    parts = find_parts(model)
    scrambled, old = scramble(model, seed)
    found = poise.roles(scrambled)
    assert not found.scheme
    wrong = {role: old[found[role]] if role in found else None for role in roles}
    wrong = {role: frame for role, frame in wrong.items() if frame is None or parts[frame] != parts[roles[role]]}
    assert not wrong
    return found


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_the_humanoid_without_its_names(seed: int) -> None:
    model = poise.load("humanoid")
    wanted = {role: frame for role, frame in model.roles.items() if role not in ("eyes", "head_top")}
    sided = {part for role in wanted if (part := role[:-2]) in (*JOINTS, "hand", "foot")}
    roles = {role: frame for role, frame in wanted.items() if role in TRUNK or role[:-2] in sided}
    found = agree(model, roles, seed)
    scrambled, old = scramble(model, seed)
    assert {old[found[f"{part}_{side}"]] for part in JOINTS for side in "lr"} == {
        f"{part}_{side}" for part in JOINTS for side in "lr"
    }
    assert found.kind == "biped"
    assert not found.missing
    assert poise.roles(scrambled).found == found.found


def test_the_dog_without_its_names() -> None:
    model = poise.load("quadruped")
    legs = {role: frame for role, frame in model.roles.items() if role[:-3] in ("hip", "knee", "ankle", "foot")}
    assert len(legs) == 16
    assert agree(model, legs | {role: model.roles[role] for role in ("pelvis", "chest", "head")}).kind == "quadruped"


plans = st.builds(
    Plan,
    hip=st.sampled_from(AXES),
    ankle=st.sampled_from(["y", "yx", "xy"]),
    shoulder=st.sampled_from(["yxz", "xyz", "zyx"]),
    wrist=st.sampled_from(["z", "zy", "zyx", "zxy", "xyz"]),
    waist=st.sampled_from(["", "z", "zx", "zxy"]),
    neck=st.sampled_from(["", "z", "zy", "yz"]),
    apart=st.sampled_from([0.0, 0.02, 0.06]),
    arms=st.just("down"),
    scale=st.sampled_from([0.3, 1.0, 100.0]),
    toes=st.booleans(),
)


@pytest.mark.slow
@given(plans, st.integers(0, 5))
def test_robots_whose_hip_is_three_links_in_one_place(plan: Plan, seed: int) -> None:
    model, roles = Maker(plan).make()
    found = agree(model, roles, seed)
    assert found.kind == "biped"
    assert plan.toes == ("toe_l" in found)
    assert ("head" in found) == bool(plan.neck)
    if not plan.neck:
        assert any("head has no frame" in note for note in found.notes)


def test_arms_stretched_aside_are_arms() -> None:
    model, roles = Maker(Plan(arms="out", shoulder="yxz", wrist="yxz")).make()
    agree(model, roles)


@pytest.mark.slow
@given(st.floats(-np.pi, np.pi), st.sampled_from(["z", "y", "x"]), st.booleans())
def test_turning_the_world_changes_nothing(angle: float, up: str, wrong: bool) -> None:
    """Turned about the vertical, with another axis up; and where the file says a wrong axis is up, a head tells."""
    model, roles = Maker(Plan()).make()
    tip = {"z": np.eye(3), "y": np.eye(3)[[1, 2, 0]], "x": np.eye(3)[[2, 0, 1]]}[up]
    about = Rotation.from_matrix(tip) @ Rotation.from_axis_angle((0.0, 0.0, 1.0), angle)
    said = {"z": "y", "y": "z", "x": "z"}[up] if wrong else up
    agree(turn(model, about, said), roles)


def test_names_decide_the_sides_and_contradictions_are_reported() -> None:
    model, roles = Maker(Plan()).make()
    swap = {"l": "r", "r": "l"}
    names = {n: n for n in (*model.frames, *(j.name for j in model.joints))}
    for name in names:
        for side, other in swap.items():
            if f"_{side}" in name:
                names[name] = name.replace(f"_{side}", f"_{other}")
    found = poise.roles(rename(model, names))
    assert found["knee_l"] == "knee_l"
    assert roles["knee_r"] == "knee_r"
    assert any("left" in words and "names were followed" in words for words in found.disagreements)


def test_a_body_on_wheels_has_no_legs_and_reports_it() -> None:
    found = poise.roles(make_cart())
    assert found.kind == "two arms"
    assert (found["elbow_l"], found["hand_r"]) == ("left_3", "right_4")
    assert any("wheels" in note and "no legs" in note for note in found.notes)


def test_a_clip_shows_a_body_whose_rest_pose_does_not_stand() -> None:
    stands = poise.load("humanoid")
    q = stands.random(np.random.default_rng(3))
    specs = [
        replace(spec, rest=q[stands.joint(spec.name).q]) if isinstance(spec, JointSpec) else spec
        for spec in stands.layout.specs
    ]
    lying = Model("lying", specs, attached=replace(stands.attachments, roles=()))
    scrambled, old = scramble(lying, 1)
    clip = poise.Motion(scrambled, np.stack([q, stands.rest]))
    found = poise.roles(scrambled, clip=clip)
    assert found.kind == "biped"
    for role in ("pelvis", "head", "knee_l", "elbow_r", "shoulder_l", "hip_r"):
        assert old[found[role]] == role


def test_a_single_arm_has_no_two_sides() -> None:
    found = poise.roles(poise.load("panda"))
    assert not found.kind
    assert len(found) == 0
    assert any("mirror images" in note for note in found.notes)


@pytest.mark.slow
@pytest.mark.parametrize("names", ["{side}_{part}", "{side}_{part}_link", "{part}.{side}"])
@pytest.mark.parametrize("trunk", [0, 1, 3])
@pytest.mark.parametrize("arms", [False, True])
def test_a_pair_of_limbs_that_hangs_down_is_what_its_names_say(arms: bool, trunk: int, names: str) -> None:
    """Arms and legs of a body with one pair of limbs look alike; without names they are legs."""
    limb = ("shoulder", "elbow", "wrist") if arms else ("hip", "knee", "ankle")
    builder = poise.ModelBuilder("half")
    builder.add_joint("base", None, "free", mass=5.0)
    above = "base"
    for k in range(trunk):
        builder.add_joint(f"part{k}", above, "revolute", axis=(0, 1, 0), offset=(0.0, 0.0, 0.1), mass=2.0)
        above = f"part{k}"
    for side, y in (("left", 0.15), ("right", -0.15)):
        first, middle, last = (names.format(side=side, part=part) for part in limb)
        for k, axis in enumerate(np.eye(3)[:2]):
            builder.add_joint(
                f"{first}{k}", above if k == 0 else f"{first}0", "revolute", axis=axis, offset=(0.0, (1 - k) * y, 0.0)
            )
        builder.add_joint(middle, f"{first}1", "revolute", axis=(0, 1, 0), offset=(0.0, 0.0, -0.3), mass=1.0)
        builder.add_joint(last, middle, "revolute", axis=(0, 1, 0), offset=(0.0, 0.0, -0.3), mass=1.0)
        builder.add_frame(f"{side}_tip", last, (0.0, 0.0, -0.1))
    model = builder.build()
    found = poise.roles(model)
    assert found.kind == ("two arms" if arms else "biped")
    assert found[f"{limb[1]}_l"] == names.format(side="left", part=limb[1])
    assert not {f"{part}_l" for part in (("hip", "knee", "ankle") if arms else ("shoulder", "elbow", "wrist"))} & {
        *found
    }
    assert poise.roles(scramble(model, 0)[0]).kind == "biped"


@pytest.mark.parametrize("legs", range(2, 8))
def test_a_body_is_a_biped_on_exactly_two_legs(legs: int) -> None:
    rng = np.random.default_rng(legs)
    model = make_stool(legs, int(rng.integers(2, 6)), rng.uniform(0.0, 6.0), bool(legs % 2), rng.choice([0.0, 0.4]))
    found = poise.roles(model)
    assert found.kind == {2: "biped", 4: "quadruped"}.get(legs, "many legs")
    assert {found.get(part) for part in ("chest", "neck", "head")} <= {None, "hub", "mast"}
    assert any("no partner" in note for note in found.notes) == (legs % 2 == 1)


@pytest.mark.parametrize("waist", [False, True])
@pytest.mark.parametrize(("joints", "length"), [(4, 0.4), (5, 0.7), (6, 1.0)])
def test_arms_that_hang_from_a_mast_are_not_legs(joints: int, length: float, waist: bool) -> None:
    found = poise.roles(make_hanger(joints, 1.2, length, waist))
    assert found.kind == "two arms"
    assert "hand_l" in found
    assert "hip_l" not in found
