"""Collision spheres from cuRobo's robot files; odd and hostile ones raise a FormatError with the path."""

from pathlib import Path

import numpy as np
import pytest

import poise
from poise.errors import FormatError, InvalidValue
from poise.limits import Clearance
from poise.limits.capsules import body_capsules
from poise.limits.pairs import find_pairs

SPHERES = """
collision_spheres:
  panda_link0:
    - center: [0.0, 0.0, 0.05]
      radius: 0.08
  panda_hand:
    - {center: [0.0, 0.02, 0.01], radius: 0.03}
    - {center: [0.0, -0.02, 0.01], radius: -1.0}
  camera:
    - {center: [0, 0, 0], radius: 0.1}
"""


ROBOT = """
robot_cfg:
  kinematics:
    urdf_path: "robot/franka.urdf"
    collision_spheres: "spheres/franka.yml"
    collision_sphere_buffer: 0.005
    self_collision_ignore: {"panda_link0": ["panda_hand", "camera"]}
"""


def test_spheres_of_a_file_replace_the_shapes(tmp_path) -> None:
    (tmp_path / "spheres.yml").write_text(SPHERES)
    model = poise.load("panda").with_spheres(tmp_path / "spheres.yml")
    assert [(c.frame, c.a, c.radius) for c in body_capsules(model)] == [
        ("panda_link0", (0.0, 0.0, 0.05), 0.08),
        ("panda_hand", (0.0, 0.02, 0.01), 0.03),
    ]
    assert any("'camera'" in note for note in model.notes)
    T = model.fk(model.rest, "panda_hand")
    gap = np.linalg.norm(T[:3, :3] @ [0.0, 0.02, 0.01] + T[:3, 3] - [0.0, 0.0, 0.05]) - 0.11
    assert Clearance([("panda_link0", "panda_hand")]).measure_gap(model, model.rest) == pytest.approx(gap)


def test_a_robot_file_names_its_spheres_and_the_pairs_to_ignore(tmp_path) -> None:
    (tmp_path / "spheres").mkdir()
    (tmp_path / "spheres" / "franka.yml").write_text(SPHERES)
    (tmp_path / "franka.yml").write_text(ROBOT)
    model = poise.load("panda").with_spheres(tmp_path / "franka.yml")
    assert [c.radius for c in body_capsules(model)] == pytest.approx([0.085, 0.035])
    assert len(find_pairs(model, body_capsules(model), 0.0).pairs) == 0


@pytest.mark.parametrize(
    ("text", "error", "message"),
    [
        ("collision_spheres: 3", FormatError, "has no collision_spheres"),
        ("[1, 2]", FormatError, "not a mapping"),
        ("collision_spheres: {panda_hand: [{center: [0, 0], radius: 1}]}", FormatError, "a sphere of 'panda_hand'"),
        ("collision_spheres: {panda_hand: [{radius: 1}]}", FormatError, "a sphere of 'panda_hand'"),
        ("collision_spheres: {panda_hand: 4}", FormatError, "must be a list"),
        ("collision_spheres: {arm: [{center: [0, 0, 0], radius: 1}]}", InvalidValue, "no link of"),
        ("collision_spheres: lost.yml", FormatError, "lost.yml"),
    ],
)
def test_malformed_files_are_named(tmp_path, text, error, message) -> None:
    (tmp_path / "bad.yml").write_text(text)
    with pytest.raises(error, match=message):
        poise.load("panda").with_spheres(tmp_path / "bad.yml")


pytest.importorskip("yaml")


VALUES = (
    *("1", "-1", "0.1", ".nan", ".inf", "-.inf", "null", "true", "text", "[]", "{}", "[1, 2, 3]", "[[1], 2]", "{a: 1}"),
    *("{1: 2}", "{[1]: 2}", "&a [*a]", "&a {b: *a}", "1e400", "9" * 90, "2020-01-01", "!!python/x {}", "[\n" * 2000),
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
