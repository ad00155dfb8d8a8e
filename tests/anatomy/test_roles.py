"""Roles of models, also of bodies that lie flat."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import poise
from known_bodies import Maker, Plan, rename
from poise.errors import InvalidValue, ModelMismatch, NameNotFound
from poise.goals import LookAt, Reach
from poise.model import Box, Capsule, Cylinder, Model, Sphere
from tiers import mostly_slow

MIXAMO = {
    **{"pelvis": "Hips", "spine_1": "Spine", "spine_2": "Spine1", "chest": "Spine2", "neck": "Neck", "head": "Head"},
    **{"head_top": "HeadTop_End", "clavicle": "Shoulder", "shoulder": "Arm", "elbow": "ForeArm", "wrist": "Hand"},
    **{"hip": "UpLeg", "knee": "Leg", "ankle": "Foot", "ball": "ToeBase"},
}


@pytest.fixture(scope="module")
def mixamo() -> Model:
    """The built-in humanoid under the names of Mixamo, its roles found as a reader finds them."""
    human = poise.load("humanoid")
    names = {}
    for name in human.frames:
        part, _, side = name.rpartition("_")
        long = {"l": "Left", "r": "Right"}.get(side, "")
        known = MIXAMO.get(part) if long else MIXAMO.get(name)
        names[name] = f"mixamorig:{long}{known}" if known else f"more_{name}"
    model = rename(human, names)
    return model.with_roles(poise.roles(model))


def test_roles_have_a_certainty_and_evidence(mixamo: Model) -> None:
    found = poise.roles(mixamo)
    assert found.scheme == "Mixamo"
    assert found["hand_l"] == "mixamorig:LeftHand"
    assert found.role("knee_r").certainty > 0.95
    assert "name and shape" in found.role("knee_r").evidence
    assert found.list_roles("mixamorig:LeftHand") == ("wrist_l", "hand_l")
    text = str(found)
    assert "biped, Mixamo names" in text
    assert "mixamorig:RightLeg" in text
    with pytest.raises(NameNotFound, match="hand_l"):
        _ = found["hand_left"]
    assert found.get("tail") is None
    assert dict(found) == dict(mixamo.roles)


def test_a_role_is_accepted_wherever_a_frame_is(mixamo: Model) -> None:
    hand = "mixamorig:LeftHand"
    T = mixamo.fk(mixamo.rest, "hand_l")
    np.testing.assert_array_equal(T, mixamo.fk(mixamo.rest, hand))
    np.testing.assert_array_equal(mixamo.jacobian(mixamo.rest, "hand_l"), mixamo.jacobian(mixamo.rest, hand))
    assert mixamo.frame("hand_l").name == hand
    assert mixamo.ancestors("hand_l") == mixamo.ancestors(hand)
    there = T[:3, 3] + np.array([0.05, 0.1, 0.1])
    one = poise.solve(mixamo, [Reach("hand_l", there), LookAt("head", there, weight=0.3)])
    other = poise.solve(mixamo, [Reach(hand, there), LookAt("mixamorig:Head", there, weight=0.3)])
    np.testing.assert_array_equal(one.q, other.q)
    assert one.reached
    many = poise.solve_batch(mixamo, [Reach("hand_l", there, name="hand")], {"hand": np.stack([there, T[:3, 3]])})
    assert many.reached.all()
    rig = poise.Rig(mixamo)
    rig.handles.add("grip", "hand_r", "end")
    assert rig.handles["grip"].frame == "mixamorig:RightHand"
    assert mixamo.with_frame("tool", "hand_l").frame("tool").parent == hand
    assert mixamo.subtree("hand_l").frames[0] == hand


def test_a_frame_comes_before_a_joint_and_a_joint_before_a_role() -> None:
    builder = poise.ModelBuilder("names")
    builder.add_joint("a", None, "ball", frame="b", offset=(1.0, 0.0, 0.0))
    builder.add_joint("c", "b", "ball", frame="d", offset=(0.0, 1.0, 0.0))
    model = builder.build().with_roles({"b": "d", "a": "d", "head": "d", "hand_l": "c"})
    places = [model.fk(model.rest, name)[:3, 3].tolist() for name in ("b", "a", "head", "hand_l")]
    assert places == [[1.0, 0.0, 0.0], [1.0, 0.0, 0.0], [1.0, 1.0, 0.0], [1.0, 1.0, 0.0]]
    assert [model.frame(name).name for name in ("b", "a", "head")] == ["b", "b", "d"]


def test_an_unknown_frame_lists_the_roles_too(mixamo: Model) -> None:
    for ask in (lambda: mixamo.frame("hand_left"), lambda: mixamo.fk(mixamo.rest, "hand_left")):
        with pytest.raises(NameNotFound, match="'hand_l'"):
            ask()


def test_roles_are_corrected_and_taken_away(mixamo: Model) -> None:
    other = mixamo.with_roles({"hand_l": "mixamorig:LeftForeArm", "head": None})
    assert mixamo.roles["hand_l"] == "mixamorig:LeftHand"
    assert other.roles["hand_l"] == "mixamorig:LeftForeArm"
    assert "head" not in other.roles
    found = poise.roles(other)
    assert found["hand_l"] == "mixamorig:LeftForeArm"
    assert found.role("hand_l").evidence == "given"
    assert "head" not in found
    assert other != mixamo
    again = other.with_frame("tool", "hand_r")
    assert "head" not in poise.roles(again)
    with pytest.raises(NameNotFound, match="no frame"):
        mixamo.with_roles({"hand_l": "nowhere"})
    with pytest.raises(InvalidValue, match="mapping"):
        mixamo.with_roles(["hand_l"])  # type: ignore[arg-type]
    with pytest.raises(InvalidValue, match="role"):
        mixamo.with_roles({"": "mixamorig:Head"})


def test_robots_get_their_roles_when_they_are_read(tmp_path: Path) -> None:
    model, roles = Maker(Plan()).make()
    poise.save(model, tmp_path / "robot.urdf")
    back = poise.load(tmp_path / "robot.urdf")
    assert {role: back.roles[role] for role in roles} == roles
    assert any("roles" in note and "shape" in note for note in back.notes)


def test_objects_that_are_not_bodies_are_rejected(mixamo: Model) -> None:
    with pytest.raises(InvalidValue, match=r"poise\.load"):
        poise.roles("humanoid")  # type: ignore[arg-type]
    human = poise.load("humanoid")
    with pytest.raises(ModelMismatch, match="humanoid"):
        poise.roles(mixamo, clip=poise.Motion(human, human.rest[None]))


NAMES = ("foot", "hand", "toe", "hip", "link")
SOLIDS = (Box((0.1, 0.3, 0.1)), Sphere(0.1), Capsule(0.05, 0.2), Cylinder(0.05, 0.2), Box((1e-9, 1e-9, 1e-9)))
KINDS = ("revolute", "continuous", "prismatic", "ball", "free", "fixed")


def make_flat(seed: int) -> poise.Model:
    """Make a random body whose frames are all at one height: two equal limbs, a chain, or frames in one place."""
    rng = np.random.default_rng(seed)
    builder = poise.ModelBuilder(f"flat{seed}")
    builder.up = "xyz"[axis := int(rng.integers(3))]
    builder.add_joint("base", None, str(rng.choice(KINDS)), mass=1.0)
    size = float(rng.choice([0.0, 0.3]))
    for side, sign in (("l", 1.0), ("r", -1.0))[: int(rng.integers(3))]:
        parent, offsets = "base", np.random.default_rng(seed + 1).normal(size=(4, 3)) * size
        for k, offset in enumerate(offsets):
            offset[axis], offset[axis - 1] = 0.0, sign * abs(offset[axis - 1])
            name = f"{NAMES[(k + seed) % len(NAMES)]}_{side}"
            builder.add_joint(name, parent, KINDS[(seed + k) % 4], offset=offset, mass=1.0)
            parent = name
            builder.add_shape(name, SOLIDS[int(rng.integers(len(SOLIDS)))])
    if rng.random() < 0.5:
        builder.add_shape("base", SOLIDS[int(rng.integers(len(SOLIDS)))])
    return builder.build()


def stand(model: poise.Model, clip: poise.Motion) -> None:
    rig = poise.Rig(model, clip.q[0])
    rig.plant()
    rig.update()
    assert np.isfinite(rig.q).all()


CALLS: dict[str, Callable[[poise.Model, poise.Motion], Any]] = {
    "roles": lambda model, _: poise.roles(model).contacts,
    "rig": stand,
    "contacts": lambda _, clip: poise.motion.contacts(clip),
    "contacts of a frame": lambda model, clip: poise.motion.contacts(clip, [model.frames[-1]]),
    "lock": lambda _, clip: poise.motion.lock(clip),
    "quality": lambda _, clip: str(poise.motion.quality(clip)),
    "retarget": lambda model, clip: poise.retarget(clip, model),
    "balance": lambda model, _: poise.solve(model, poise.goals.Balance([model.frames[-1]])),
}


@pytest.mark.parametrize("seed", mostly_slow(range(40), quick=8))
def test_flat_bodies_raise_errors_of_ours_alone(seed: int) -> None:
    model = make_flat(seed)
    moving = poise.Motion(model, model.random(np.random.default_rng(seed), 6), 30.0)
    still = poise.Motion(model, np.tile(model.rest, (6, 1)), 30.0)
    answered = set()
    for clip in (moving, still):
        for name, call in CALLS.items():
            try:
                call(model, clip)
                answered.add(name)
            except poise.PoiseError:
                continue
    assert {"roles", "rig", "quality"} <= answered


def test_the_sole_of_a_flat_body_is_the_lower_face_of_its_box() -> None:
    builder = poise.ModelBuilder("slab")
    builder.add_joint("foot", None, "free", mass=1.0)
    model = builder.add_shape("foot", Box((0.2, 0.1, 0.04))).build()
    points = poise.anatomy.find_sole(model, "foot")
    assert {point.point[2] for point in points} == {-0.02}
    assert poise.Rig(model).state.standing == ("foot",)
