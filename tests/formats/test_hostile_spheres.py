"""Files of collision spheres that are not what they should be: each raises a FormatError with the path, or is read."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import poise
from poise.errors import FormatError, InvalidValue

pytest.importorskip("yaml")

VALUES = (
    *("1", "-1", "0.1", ".nan", ".inf", "-.inf", "null", "true", "text", "[]", "{}", "[1, 2, 3]", "[[1], 2]", "{a: 1}"),
    *(
        "{1: 2}",
        "{[1]: 2}",
        "&a [*a]",
        "&a {b: *a}",
        "1e400",
        "9" * 90,
        "2020-01-01",
        "!!python/x {}",
        "[" * 2000,
    ),
    *("{<<: 1}", "? [1, {}]\n", "!degrees x", '"\\0"', "[null]", "{panda_hand: null}", "{panda_hand: {center: 1}}"),
)
PLACES = (
    "{}",
    "collision_spheres: {}",
    "collision_spheres: {{panda_hand: {}}}",
    "collision_spheres: {{panda_hand: [{}]}}",
    "collision_spheres: {{panda_hand: [{{center: {}, radius: 0.1}}]}}",
    "collision_spheres: {{panda_hand: [{{center: [0, 0, 0], radius: {}}}]}}",
    "collision_spheres: {{panda_hand: [{{center: [0, 0, 0], radius: 0.1}}], {}: []}}",
    "collision_spheres: {{panda_hand: [{{center: [0,0,0], radius: 1}}]}}\ncollision_sphere_buffer: {}",
    "collision_spheres: {{panda_hand: [{{center: [0,0,0], radius: 1}}]}}\ncollision_sphere_buffer: {{panda_hand: {}}}",
    "collision_spheres: {{panda_hand: [{{center: [0,0,0], radius: 1}}]}}\nself_collision_ignore: {}",
    "collision_spheres: {{panda_hand: [{{center: [0,0,0], radius: 1}}]}}\nself_collision_ignore: {{panda_hand: {}}}",
    "robot_cfg: {}",
    "robot_cfg: {{kinematics: {}}}",
)


@pytest.mark.parametrize("place", PLACES)
def test_odd_files_of_spheres_raise_errors_of_formats(tmp_path: Path, place: str) -> None:
    arm, path, rejected = poise.load("panda"), tmp_path / "spheres.yml", list[str]()
    for value in VALUES:
        path.write_text(place.format(value))
        try:
            found = arm.with_spheres(path)
        except (FormatError, InvalidValue) as error:
            rejected.append(str(error))
        else:
            radii = [shape.shape.radius for shape in found.shapes if shape.use == "collision"]
            assert np.isfinite(radii).all(), value
    assert rejected
    assert all(str(tmp_path) in text for text in rejected)


@pytest.mark.parametrize("field", ["radius: .nan", "radius: .inf", "radius: 0.1}]}\ncollision_sphere_buffer: .nan #"])
def test_a_radius_that_is_not_a_number_is_rejected(tmp_path: Path, field: str) -> None:
    path = tmp_path / "spheres.yml"
    path.write_text(f"collision_spheres: {{panda_hand: [{{center: [0, 0, 0], {field}}}]}}")
    with pytest.raises(FormatError, match="radius"):
        poise.load("panda").with_spheres(path)
