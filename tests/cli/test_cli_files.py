"""Verbs for files: info, convert, show and their options."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import looks_files as made
import poise
from command_line import run_poise
from urdf_cases import J1, J2, L, one, robot
from walks import make_walk


def test_info(tmp_path: Path) -> None:
    path = tmp_path / "robot.urdf"
    path.write_text(robot(L + J1 + J2, ""))
    shown = run_poise("info", str(path), "--joints")
    assert shown.exit_code == 0, shown.output
    for word in ("2 joints, 2 degrees of freedom, 3 frames", "j1", "revolute x [-1, 1]", "no name"):
        assert word in shown.output
    first, second = run_poise("info", str(path)).stdout.splitlines()[:2]
    assert "2 joints" in first
    assert second.startswith("note")
    assert "j1" not in run_poise("info", str(path)).stdout
    assert not shown.stderr, "warnings are among the notes"


def test_names_are_not_cut(tmp_path: Path) -> None:
    names = [f"a_rather_long_name_of_a_part_of_a_machine_{side}" for side in ("left", "right")]
    builder = poise.ModelBuilder("machine")
    for name in names:
        builder.add_joint(name, None, "revolute", axis=(0, 0, 1), frame=f"{name}_link")
    poise.save(builder.build(), tmp_path / "machine.urdf")
    shown = run_poise("info", str(tmp_path / "machine.urdf"), "--joints").stdout
    assert all(name in shown for name in names)


def test_info_has_the_notes_of_the_motion_and_nothing_twice(tmp_path: Path) -> None:
    walk = make_walk()
    q = np.concatenate([walk.model.rest[None], walk.q + 0.3 * (np.arange(53) > 6)])
    poise.save(poise.Motion(walk.model, q, walk.fps), tmp_path / "walk.bvh")
    shown = run_poise("info", str(tmp_path / "walk.bvh")).stdout
    assert (shown.count("the first frame is the rest pose"), shown.count("y is up")) == (1, 1)


def test_lengths_of_a_file_in_centimetres_have_their_unit(tmp_path: Path) -> None:
    model = poise.load("humanoid", scale=100.0)
    poise.save(poise.Pose(model, model.rest), tmp_path / "body.bvh")
    metres = poise.load("humanoid").length
    shown = run_poise("info", str(tmp_path / "body.bvh")).stdout
    assert shown.startswith("body: a person, 1.8 m; ")
    assert "lengths in centimetres" in shown
    facts = json.loads(run_poise("info", str(tmp_path / "body.bvh"), "--json").stdout)
    assert facts["length"] * facts["metres_per_unit"] == pytest.approx(metres)


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("humanoid", "a person, 1.7 m"),
        ("quadruped", "a body with four legs, 0.77 m"),
        ("panda", "an arm of 7 joints, reach 0.947 m"),
        ("ur5e", "an arm of 6 joints, reach 0.969 m"),
        ("planar2", "an arm of 2 joints, reach 2 m"),
        ("hand", "a hand of 5 fingers"),
    ],
)
def test_info_begins_with_the_kind_and_size(name: str, kind: str) -> None:
    assert run_poise("info", name).stdout.startswith(f"{name}: {kind}; ")


def test_a_gripper_is_no_part_of_the_arm_and_notes_that_agree_are_merged(tmp_path: Path) -> None:
    builder = poise.ModelBuilder("arm")
    for k, above in enumerate((None, "j0", "j1")):
        builder.add_joint(f"j{k}", above, "revolute", axis=(0, 1, 0), offset=(0, 0, 0.5))
    for side in (-1, 1):
        builder.add_joint(
            f"finger{side}", "j2", "prismatic", axis=(0, 1, 0), lower=0.0, upper=0.04, offset=(0, 0.1 * side, 0.2)
        )
    path = tmp_path / "arm.urdf"
    poise.save(builder.build(), path)
    path.write_text(path.read_text("utf-8").replace("</robot>", "<odd1/><odd2/><odd3/></robot>"), "utf-8")
    lines = run_poise("info", str(path)).stdout.splitlines()
    assert lines[0].startswith("arm: an arm of 3 joints with 2 more in its gripper")
    assert len([line for line in lines if "odd" in line]) < 3
    assert not [line for line in lines if line.startswith("meshes")]


def test_info_of_a_body_with_one_joint_is_in_the_singular(tmp_path: Path) -> None:
    builder = poise.ModelBuilder("dot")
    builder.add_joint("spin", None, "revolute", axis=(0, 0, 1), frame="dot")
    builder.add_frame("mark", "dot", (0.0, 9e-16, 0.0))
    poise.save(builder.build(), tmp_path / "dot.urdf")
    fixed, free = (run_poise("info", str(tmp_path / "dot.urdf"), "--base", base).stdout for base in ("fixed", "free"))
    assert fixed.count("of 1 moving joint; 2 joints, 1 degree of freedom, ") + free.count("of 1 moving joint; ") == 2


@pytest.mark.parametrize("name", ["humanoid", "panda"])
def test_info_as_json(name: str) -> None:
    facts = json.loads(run_poise("info", name, "--json", "--up", "z").stdout)
    model = poise.load(name)
    assert (facts["name"], facts["nv"], facts["up"]) == (name, model.nv, "z")
    assert [joint["name"] for joint in facts["joints"]] == [joint.name for joint in model.joints]


@pytest.mark.slow
def test_convert(tmp_path: Path) -> None:
    target = tmp_path / "panda.urdf"
    shown = run_poise("convert", "panda", str(target), "--base", "free")
    assert shown.exit_code == 0, shown.output
    assert "wrote" in shown.stdout
    model = poise.load(target)
    assert model.nv == 13
    q = np.concatenate([[0, 0, 0, 1, 0, 0, 0], poise.load("panda").rest])
    np.testing.assert_allclose(
        model.fk(q, "panda_hand"), poise.load("panda").fk(poise.load("panda").rest, "panda_hand"), atol=1e-14
    )
    assert run_poise("convert", str(target), str(target), "--keep").exit_code == 2


def test_convert_tables(tmp_path: Path) -> None:
    (tmp_path / "arm.csv").write_text("# convention: standard\na,alpha,d,theta\n1,0,0,q1\n1,0,0,q2\n")
    shown = run_poise("convert", str(tmp_path / "arm.csv"), str(tmp_path / "arm.urdf"), "--as", "model")
    assert shown.exit_code == 0, shown.output
    assert poise.load(tmp_path / "arm.urdf").nv == 2


@pytest.mark.slow
def test_errors_are_one_line(tmp_path: Path) -> None:
    path = tmp_path / "bad.urdf"
    path.write_text(one('<axis xyz="0 0 0"/>'))
    for words in (
        ("info", str(path)),
        ("info", str(tmp_path / "none.urdf")),
        ("info", "panda", "--scale", "big"),
        ("convert", str(path), str(tmp_path / "out.urdf")),
        ("convert", "panda", str(tmp_path / "out.abc")),
        ("convert", "panda", str(tmp_path / "out.urdf"), "--as", "dance"),
    ):
        shown = run_poise(*words)
        assert shown.exit_code == 2
        assert shown.stderr.startswith(f"poise {words[0]}: ")
        assert len(shown.stderr.splitlines()) == 1
    assert [p.name for p in tmp_path.iterdir()] == ["bad.urdf"]


def notes(*arguments: str) -> str:
    result = run_poise("info", *arguments, "--json")
    assert result.exit_code == 0, result.output
    return " ".join(json.loads(result.stdout)["notes"])


@pytest.mark.slow
def test_info_says_which_meshes_are_missing_and_where_they_were_looked_for(tmp_path: Path) -> None:
    path = str(made.robot(tmp_path))
    assert "hand_description" in notes(path)
    assert "--package-path" in notes(path)
    assert notes(path, "--package-path", str(tmp_path / "elsewhere")) == ""
    assert run_poise("info", path, "--package-path", tmp_path / "none").exit_code == 2
