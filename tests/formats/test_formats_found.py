"""What real files taught: how robots and characters from elsewhere are written, each in a small file of our own."""

from __future__ import annotations

import warnings
from pathlib import Path

import numpy as np
import pytest

import poise
from bvh_oracle import Bone, text_of
from gltf_files import arm, quaternion
from poise.errors import FormatError, FormatWarning

TURNS = ("Xrotation", "Yrotation", "Zrotation")


def load(folder: Path, text: str, name: str = "robot.urdf") -> poise.Model:
    (folder / name).write_text(text, encoding="utf-8")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FormatWarning)
        return poise.load(folder / name)


@pytest.mark.parametrize(("size", "words"), [(1.0, "metres"), (100.0, "centimetres")])
def test_bodies_that_do_not_stand_in_their_offsets_are_measured_along_their_bones(
    tmp_path: Path, size: float, words: str
) -> None:
    # every bone along x, and a root on the floor below the hips: as LAFAN1 and others write
    foot = Bone("LeftFoot", (0.43 * size, 0.0, 0.0), TURNS, end=(0.1 * size, 0.0, 0.0))
    leg = Bone("LeftUpLeg", (0.0, 0.0, 0.1 * size), TURNS, [Bone("LeftLeg", (0.42 * size, 0, 0), TURNS, [foot])])
    spine = Bone("Spine", (0.3 * size, 0, 0), TURNS, [Bone("Head", (0.3 * size, 0, 0), TURNS)])
    root = Bone("Root", (0.0, 0.0, 0.0), TURNS, [Bone("Hips", (0.0, 0.9 * size, 0.0), TURNS, [spine, leg])])
    path = tmp_path / "a.bvh"
    path.write_text(text_of(root, np.zeros((1, 21))))
    model = poise.load(path, scale="auto")
    assert any(f"{1.55 * size:g} units tall, taken as {words}" in note for note in model.notes), model.notes
    assert abs(model.fk(model.rest, "Hips")[1, 3] - 0.9) < 1e-12


def test_a_urdf_that_calls_macros_of_others_is_read_without_them(tmp_path: Path) -> None:
    head = '<robot name="r" xmlns:xacro="http://www.ros.org/wiki/xacro"><link name="base"/>'
    text = f'{head}<xacro:sensors_of_somebody side="left"/></robot>'
    model = load(tmp_path, text)
    assert model.frames == ("base",)
    assert any("macros were ignored" in note and "sensors_of_somebody" in note for note in model.notes)
    with pytest.raises(FormatError, match="'side' is not defined"):  # a number that hangs on the macros
        load(tmp_path, text.replace('<link name="base"/>', '<link name="base_${side}"/>'))
    with pytest.raises(FormatError, match="no macro is named 'sensors_of_somebody'"):  # a file that calls itself xacro
        load(tmp_path, text, "robot.xacro")


HEAD = '<robot name="r" xmlns:xacro="http://www.ros.org/wiki/xacro">'


@pytest.mark.parametrize("package", ["arm_description", "hand_description"])
def test_packages_that_xacro_wants_are_found_by_their_folders(tmp_path: Path, package: str) -> None:
    for name in ("arm_description", "hand_description"):
        (tmp_path / name / "urdf").mkdir(parents=True)
        (tmp_path / name / "package.xml").write_text(f"<package><name>{name}</name></package>")
    (tmp_path / package / "urdf" / "part.xacro").write_text(f'{HEAD}<link name="part"/></robot>')
    text = f'{HEAD}<xacro:include filename="$(find {package})/urdf/part.xacro"/></robot>'
    assert load(tmp_path / "arm_description" / "urdf", text, "arm.xacro").frames == ("part",)


def test_the_package_of_a_file_is_known_by_its_own_name(tmp_path: Path) -> None:
    (tmp_path / "urdf").mkdir()
    (tmp_path / "package.xml").write_text("<package><name>arm_description</name></package>")
    (tmp_path / "part.xacro").write_text(f'{HEAD}<link name="part"/></robot>')
    text = f'{HEAD}<xacro:include filename="$(find arm_description)/part.xacro"/></robot>'
    assert load(tmp_path / "urdf", text, "arm.xacro").frames == ("part",)
    text = f'{HEAD}<xacro:include filename="../part.xacro"/></robot>'
    assert load(tmp_path / "urdf", text, "arm.xacro").frames == ("part",)


def test_a_folder_without_a_package_xml_needs_package_path(tmp_path: Path) -> None:
    for name in ("robot", "parts"):
        (tmp_path / name).mkdir()
    (tmp_path / "parts" / "part.xacro").write_text(f'{HEAD}<link name="part"/></robot>')
    path = tmp_path / "robot" / "arm.xacro"
    path.write_text(f'{HEAD}<xacro:include filename="$(find parts)/part.xacro"/></robot>')
    with pytest.raises(FormatError, match="needs the ROS package 'parts'"):
        poise.load(path)
    assert poise.load(path, package_path=[tmp_path]).frames == ("part",)


@pytest.mark.parametrize("package", ["nobodys_description", "..", "../secret", "."])
def test_packages_that_are_not_there_are_named(tmp_path: Path, package: str) -> None:
    (tmp_path / "part.xacro").write_text(f'{HEAD}<link name="part"/></robot>')
    (tmp_path / "urdf").mkdir()
    text = f'{HEAD}<xacro:include filename="$(find {package})/part.xacro"/></robot>'
    with pytest.raises(FormatError, match="needs the ROS package"):
        load(tmp_path / "urdf", text, "arm.xacro")


def test_arguments_that_xacro_wants_are_named(tmp_path: Path) -> None:
    with pytest.raises(FormatError, match=r"Give it a value: xacro arm\.xacro side:=\.\.\. -o robot\.urdf"):
        load(tmp_path, f'{HEAD}<link name="hand_$(arg side)"/></robot>', "arm.xacro")


def test_a_file_of_macros_reports_it(tmp_path: Path) -> None:
    macro = '<xacro:macro name="m" params="x"><link name="${x}"/></xacro:macro>'
    with pytest.raises(FormatError, match="load the file that calls them"):
        load(tmp_path, f"{HEAD}{macro}</robot>", "arm.xacro")


def test_the_rest_and_the_poses_of_ball_joints_come_back_as_angles(tmp_path: Path) -> None:
    rng = np.random.default_rng(4)
    turns = [row / np.linalg.norm(row) for row in rng.normal(size=(4, 4))]
    builder = poise.ModelBuilder("arm")
    builder.add_joint("a", None, "ball", offset=(0, 0, 1), rest=turns[0])
    builder.add_joint("b", "a", "revolute", offset=(0.3, 0, 0), rest=0.25)
    builder.add_joint("c", "b", "ball", offset=(0.2, 0.1, 0), rest=turns[1])
    builder.add_frame("tip", "c", (0.1, 0.2, 0.3))
    builder.add_pose("up", np.concatenate([turns[2], [0.5], turns[3]]))
    model = builder.build()
    with pytest.warns(FormatWarning, match="rows of single ones"):
        back = poise.load(poise.save(model, tmp_path / "a.urdf"))
    for frame in model.frames:
        np.testing.assert_allclose(back.fk(back.rest, frame), model.fk(model.rest, frame), atol=1e-14)
        np.testing.assert_allclose(back.fk(back.poses["up"], frame), model.fk(model.poses["up"], frame), atol=1e-14)


def test_names_that_differ_by_blanks_alone_are_rejected(tmp_path: Path) -> None:
    builder = poise.ModelBuilder("arm")
    builder.add_joint("a", None, "revolute")
    builder.add_frame(" a", "a")
    with pytest.raises(FormatError, match="differ by blanks alone"):
        poise.save(builder.build(), tmp_path / "a.urdf")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("suffix", ["urdf", "glb"])
def test_lengths_not_in_metres_are_reported_and_kept(suffix: str, tmp_path: Path) -> None:
    builder = poise.ModelBuilder("arm")
    builder.units = "cm"
    builder.add_joint("a", None, "free" if suffix == "urdf" else "ball")
    builder.add_frame("tip", "a", (0, 0, 130))
    model = builder.build()
    with pytest.warns(FormatWarning, match=r"in centimetres and were written as they are.*scale=0\.01"):
        path = poise.save(model, tmp_path / f"a.{suffix}")
    back, metres = poise.load(path), poise.load(path, scale=0.01)
    assert (back.units, metres.units) == ("cm", "m")
    np.testing.assert_allclose(back.fk(back.rest, "tip"), model.fk(model.rest, "tip"), atol=1e-12)
    np.testing.assert_allclose(metres.fk(metres.rest, "tip")[:3, 3], [0, 0, 1.3], atol=1e-12)


@pytest.mark.parametrize("name", ["EXT_meshopt_compression", "KHR_later_compression"])
def test_a_packed_file_gives_its_body_and_says_how_to_unpack_its_clips(tmp_path: Path, name: str) -> None:
    file = arm()
    file.skin([1, 2, 3, 4])
    file.clip("turn", [(2, "rotation", [0, 1], [quaternion([1, 0, 0], angle) for angle in (0.0, 0.5)], "LINEAR")])
    plain = poise.load(file.glb(tmp_path / "plain.glb"))
    for view in file.json["bufferViews"]:
        view["extensions"] = {name: {"buffer": 0, "byteLength": 1, "byteStride": 4, "count": 1, "mode": "INDICES"}}
    file.json["extensionsUsed"] = [name]
    with pytest.warns(FormatWarning, match=rf"packed by {name}") as told:
        model = poise.load(file.glb(tmp_path / "a.glb"))
    assert len(told) == 2  # the bind pose, and the clips
    assert all("npx @gltf-transform/cli copy" in str(warning.message) for warning in told)
    assert model.frames == plain.frames
    np.testing.assert_array_equal(model.fk(model.rest), plain.fk(plain.rest))
    with pytest.raises(FormatError, match=rf"packed by {name}; unpack the file"):
        poise.load_motion(tmp_path / "a.glb")


def test_roles_of_a_vrm_are_distinguished_from_roles_by_name(tmp_path: Path) -> None:
    file = arm()
    humanoid = {"humanBones": {"hips": {"node": 1}, "leftHand": {"node": 3}}}
    file.json["extensions"] = {"VRMC_vrm_animation": {"specVersion": "1.0", "humanoid": humanoid}}
    model = poise.load(file.glb(tmp_path / "a.vrma"))  # a motion of VRM names its bones too
    assert (model.roles["pelvis"], model.roles["hand_l"]) == ("hips", "lower")
    assert "roles: 3 stated by the file itself" in model.notes  # a hand bone is wrist and hand


def test_several_scenes_are_reported(tmp_path: Path) -> None:
    file = arm()
    file.json["scenes"] = [{"nodes": [0]}, {"nodes": []}]
    assert "2 scenes: the nodes of all of them were read" in poise.load(file.glb(tmp_path / "a.glb")).notes
