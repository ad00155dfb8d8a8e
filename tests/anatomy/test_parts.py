"""Parts of bodies by their names: roles, words, and bodies with four legs."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import poise
import walkers
from dogs import make_robot_dog, write_dog
from figures import UP, Figure, Proportions
from known_bodies import rename
from poise.anatomy.outlines import find_half_extent, list_corners
from poise.anatomy.parts import Body, list_parts
from poise.model import Box, Capsule, Cylinder, Model, Sphere
from poise.names import find_other_side, find_side, split_side, split_words, swap_side

BODIES = ("humanoid", "quadruped", "panda", "hand", "planar3")


def read(model: Model) -> Body:
    """Return the parts of a model in its rest pose."""
    return list_parts(model, model.rest, model.up_direction)


@pytest.mark.parametrize("name", BODIES)
def test_every_frame_belongs_to_one_part(name: str) -> None:
    body = read(poise.load(name))
    frames = [frame for part in body.parts for frame in part.frames]
    assert sorted(frames) == sorted(body.model.frames)
    assert all(part.frame == part.frames[0] for part in body.parts)
    assert [part.index for part in body.parts] == list(range(len(body.parts)))


@pytest.mark.parametrize("name", BODIES)
def test_parts_are_a_tree_with_parents_first(name: str) -> None:
    body = read(poise.load(name))
    for part in body.parts:
        assert part.parent < part.index
        assert all(body.parts[k].parent == part.index for k in body.children[part.index])
        above, below = body.list_above(part.index), body.list_below(part.index)
        assert above[0] == below[0] == part.index
        assert body.parts[above[-1]].parent < 0
        assert all(part.index in body.list_above(k) for k in below)
    roots = [part.index for part in body.parts if part.parent < 0]
    assert sorted(k for root in roots for k in body.list_below(root)) == [part.index for part in body.parts]


@pytest.mark.parametrize("name", BODIES)
def test_parts_keep_the_mass_and_the_freedom_of_the_model(name: str) -> None:
    model = poise.load(name)
    body = read(model)
    assert sum(part.mass for part in body.parts) == pytest.approx(model.mass)
    for part in body.parts:
        if part.joint is not None:
            assert (part.turns, part.slides) == (sum(part.joint.turns), sum(part.joint.slides))
            assert part.free == (part.joint.kind == "free")
        assert (part.axis is not None) == (part.turns == 1 and part.slides == 0)
        if part.axis is not None:
            assert np.linalg.norm(part.axis) == pytest.approx(1.0)


def test_fixed_frames_join_the_part_that_carries_them() -> None:
    builder = poise.ModelBuilder("arm")
    builder.add_frame("base", None)
    builder.add_joint("turn", "base", "revolute", axis=(0, 0, 1), mass=1.0)
    builder.add_joint("plate", "turn", "fixed", offset=(0.0, 0.0, 0.1), mass=0.5)
    builder.add_frame("tool", "plate", offset=(0.0, 0.0, 0.2))
    body = read(builder.build())
    assert [part.frames for part in body.parts] == [("base",), ("turn", "plate", "tool")]
    assert body.parts[1].mass == pytest.approx(1.5)
    assert body.parts[1].ends[-1] == pytest.approx((0.0, 0.0, 0.3))


@pytest.mark.parametrize("scale", [1e-3, 1e3])
def test_sizes_and_heights_scale(scale: float) -> None:
    plain, scaled = (read(Figure(scale=size).make()[0]) for size in (1.0, scale))
    assert scaled.size == pytest.approx(scale * plain.size)
    assert scaled.tall == pytest.approx(scale * plain.tall)
    assert scaled.joint_places == pytest.approx(scale * plain.joint_places)


def test_heights_are_along_the_up_direction() -> None:
    model, _ = Figure(Proportions.draw(1)).make()
    for up in (*np.eye(3), *-np.eye(3)):
        body = list_parts(model, model.rest, up)
        heights = [body.height(part.place) for part in body.parts]
        assert heights == pytest.approx(body.joint_places @ up)
    assert body.size == read(model).size


def test_a_flat_body_is_as_tall_as_it_is_large() -> None:
    builder = poise.ModelBuilder("flat")
    builder.add_joint("a", None, "free")
    builder.add_joint("b", "a", "ball", offset=(0.3, 0.0, 0.0))
    builder.add_joint("c", "a", "ball", offset=(0.0, 0.4, 0.0))
    body = list_parts(builder.build(), builder.build().rest, UP)
    assert body.tall == body.size == pytest.approx(0.4)


@pytest.mark.parametrize(
    ("solid", "half"),
    [
        (Sphere(0.2), (0.2, 0.2, 0.2)),
        (Box((0.2, 0.4, 0.6)), (0.1, 0.2, 0.3)),
        (Capsule(0.1, 0.4), (0.1, 0.1, 0.3)),
        (Cylinder(0.1, 0.4), (0.1, 0.1, 0.2)),
    ],
)
def test_corners_are_those_of_the_box_around_a_solid(solid: object, half: tuple[float, float, float]) -> None:
    assert find_half_extent(solid) == pytest.approx(half)  # type: ignore[arg-type]
    builder = poise.ModelBuilder("solid")
    builder.add_joint("root", None, "free")
    builder.add_shape("root", solid, offset=(1.0, 2.0, 3.0))  # type: ignore[arg-type]
    model = builder.build()
    corners = list_corners(model, model.fk(model.rest))["root"] - (1.0, 2.0, 3.0)
    assert np.abs(corners) == pytest.approx(np.tile(half, (8, 1)))
    assert len({tuple(np.sign(corner)) for corner in corners}) == 8
    part = read(model).parts[0]
    assert np.ptp(part.ends, axis=0) == pytest.approx(np.array((1.0, 2.0, 3.0)) + half)


SIDES = {
    "LeftHand": "l",
    "hand.R": "r",
    "l_hand": "l",
    "toe_fl": "l",
    "arm_l2": "l",
    "finger_r_1": "r",
    "r2/left_upper_arm": "l",
    "R1_right_knee": "r",
    "l7/right_arm": "r",
    "r1_l_elbow": "l",
    "L2_R_hip": "r",
    "spine": "",
}


@pytest.mark.parametrize("name", SIDES)
def test_the_most_certain_word_gives_the_side(name: str) -> None:
    assert find_side(name) == SIDES[name]
    if "_f" not in name:
        assert split_side(split_words(name))[0] == SIDES[name]
    other = swap_side(name)
    assert find_side(other) == {"l": "r", "r": "l", "": ""}[SIDES[name]]
    assert swap_side(other) == name
    if SIDES[name]:
        assert find_other_side(name, [name, other]) == other


@pytest.mark.parametrize("prefix", ["", "r2/", "R1_", "l7_", "robot_"])
def test_the_name_of_a_robot_does_not_turn_it_round(prefix: str) -> None:
    plain = walkers.make_machine()
    names = {name: f"{prefix}{name}" for name in (*plain.frames, *(joint.name for joint in plain.joints))}
    model = rename(plain, names)
    roles = poise.roles(model)
    wanted = {role: f"{prefix}{frame}" for role, frame in poise.roles(plain).items()}
    assert {role: roles.get(role) for role in wanted} == wanted
    assert roles["foot_l"] == f"{prefix}left_foot"


def test_a_chest_that_is_called_so_is_not_looked_for_among_the_spines() -> None:
    """Where the names are those of a tool whose chest is its last spine, and the body has a part called chest."""
    human = poise.load("humanoid")
    own = {"spine_1": "spine", "chest": "chest", "pelvis": "pelvis", "neck": "neck", "head": "head"}
    words = {"hip": "thigh", "knee": "shin", "ankle": "foot", "shoulder": "upper_arm", "elbow": "forearm"}
    own |= {f"{part}_{side}": f"{side}_{word}" for part, word in words.items() for side in "lr"}
    every = dict.fromkeys([*human.frames, *(joint.name for joint in human.joints)])
    model = rename(human, {name: own.get(name, f"x{k}") for k, name in enumerate(every)})
    roles = poise.roles(model)
    assert roles["chest"] == "chest"
    assert roles["spine_1"] == "spine"


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize(
    ("names", "hind"),
    [
        ("{end}{side}_{part}", "R"),
        ("{side}{end}_{part}", "H"),
        ("{part}_{end}_{side}", "hind"),
        ("{end}{side}{part}", "Back"),
    ],
)
def test_names_of_fore_and_hind_legs_decide_the_facing(names: str, hind: str, reverse: bool) -> None:
    found = poise.roles(make_robot_dog(names=names, hind=hind, reverse=reverse))
    assert found.kind == "quadruped"
    assert found["hip_fl"] == names.format(end="F", side="L", part="thigh")
    assert found["knee_hr"] == names.format(end=hind, side="R", part="calf")
    assert found.facing == pytest.approx((-1.0 if reverse else 1.0, 0.0, 0.0))


@pytest.mark.parametrize("along_x", [False, True])
def test_arms_that_stand_are_fore_legs(tmp_path: Path, along_x: bool) -> None:
    found = poise.roles(poise.load(write_dog(tmp_path / "dog.bvh", along_x=along_x)))
    assert found.kind == "quadruped"
    legs = {"hip_fl": "LeftArm", "knee_fr": "RightForeArm", "ankle_hl": "LeftFoot", "toe_hr": "RightFoot_end"}
    assert legs.items() <= dict(found.items()).items()
    assert not {"shoulder_l", "hip_l", "wrist_r"} & set(found)
    assert found.facing == pytest.approx((0.0, 0.0, 1.0), abs=1e-6)


def test_roles_that_are_given_are_kept(tmp_path: Path) -> None:
    dog = poise.load(write_dog(tmp_path / "dog.bvh")).with_roles({"head": "Neck", "neck": None})
    assert poise.roles(dog)["head"] == "Neck"
    assert "neck" not in poise.roles(dog)


def test_a_robot_with_folded_legs_is_read_in_the_middle_of_its_ranges() -> None:
    builder = poise.ModelBuilder("folded")
    builder.up = "z"
    builder.add_joint("base", None, "free")
    pitch: dict[str, Any] = {"kind": "revolute", "axis": (0.0, 1.0, 0.0)}
    for end, x in (("front", 0.2), ("hind", -0.2)):
        for side, y in (("left", 0.1), ("right", -0.1)):
            hip, upper, lower = (f"{part}_{end}_{side}" for part in ("leg", "upper", "lower"))
            builder.add_joint(hip, "base", "revolute", offset=(x, y, 0.0), axis=(1.0, 0.0, 0.0), lower=-1.0, upper=1.0)
            builder.add_joint(upper, hip, offset=(0.0, 0.0, 0.0), lower=-2.2, upper=0.2, **pitch)
            builder.add_joint(lower, upper, offset=(-0.2, 0.0, 0.0), lower=0.0, upper=2.4, **pitch)
            builder.add_frame(f"foot_{end}_{side}", lower, (0.2, 0.0, -0.02))
    found = poise.roles(builder.build())
    assert found.kind == "quadruped"
    assert found["knee_fl"] == "lower_front_left"
    assert found.facing == pytest.approx((1.0, 0.0, 0.0))
