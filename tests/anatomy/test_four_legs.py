"""Which legs of a quadruped are fore and hind, and animals whose bones have the names of a person's."""

from pathlib import Path
from typing import Any

import pytest

import poise
from dogs import make_robot_dog, write_dog


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
