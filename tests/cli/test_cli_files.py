"""`poise info` and `poise convert`, as typed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import poise
from urdf_cases import J1, J2, L, one, robot


def typed(*words: str) -> Any:
    pytest.importorskip("typer")
    from typer.testing import CliRunner

    from poise.cli.app import app

    return CliRunner().invoke(app, words, env={"COLUMNS": "120", "NO_COLOR": "1"})


def test_info(tmp_path: Path) -> None:
    path = tmp_path / "robot.urdf"
    path.write_text(robot(L + J1 + J2, ""))
    shown = typed("info", str(path), "--joints")
    assert shown.exit_code == 0, shown.output
    for word in ("2 joints, 2 degrees of freedom, 3 frames", "j1", "revolute x [-1, 1]", "no name"):
        assert word in shown.output
    first, second = typed("info", str(path)).stdout.splitlines()[:2]
    assert "2 joints" in first
    assert second.startswith("note")
    assert "j1" not in typed("info", str(path)).stdout
    assert "warning: " in shown.stderr


def test_names_are_not_cut(tmp_path: Path) -> None:
    names = [f"a_rather_long_name_of_a_part_of_a_machine_{side}" for side in ("left", "right")]
    builder = poise.ModelBuilder("machine")
    for name in names:
        builder.add_joint(name, None, "revolute", axis=(0, 0, 1), frame=f"{name}_link")
    poise.save(builder.build(), tmp_path / "machine.urdf")
    shown = typed("info", str(tmp_path / "machine.urdf"), "--joints").stdout
    assert all(name in shown for name in names)


def test_lengths_of_a_file_in_centimetres_have_their_unit(tmp_path: Path) -> None:
    poise.save(poise.load("humanoid", scale=100.0), tmp_path / "body.bvh")
    metres = poise.load("humanoid").length
    shown = typed("info", str(tmp_path / "body.bvh")).stdout
    assert f"reaches {metres:.3g} m from its root ({100 * metres:.4g} in centimetres)" in shown
    facts = json.loads(typed("info", str(tmp_path / "body.bvh"), "--json").stdout)
    assert facts["length"] * facts["metres_per_unit"] == pytest.approx(metres)


def test_info_of_a_body_at_one_place_has_no_length(tmp_path: Path) -> None:
    builder = poise.ModelBuilder("dot")
    builder.add_joint("spin", None, "revolute", axis=(0, 0, 1), frame="dot")
    builder.add_frame("mark", "dot", (0.0, 9e-16, 0.0))
    poise.save(builder.build(), tmp_path / "dot.urdf")
    assert "frames; all frames are at one place, z is up." in typed("info", str(tmp_path / "dot.urdf")).stdout


@pytest.mark.parametrize("name", ["humanoid", "panda"])
def test_info_as_json(name: str) -> None:
    shown = typed("info", name, "--json", "--up", "z")
    facts = json.loads(shown.stdout)
    model = poise.load(name)
    assert (facts["name"], facts["nv"], facts["up"]) == (name, model.nv, "z")
    assert [joint["name"] for joint in facts["joints"]] == [joint.name for joint in model.joints]


@pytest.mark.slow
def test_convert(tmp_path: Path) -> None:
    target = tmp_path / "panda.urdf"
    shown = typed("convert", "panda", str(target), "--base", "free")
    assert shown.exit_code == 0, shown.output
    assert "wrote" in shown.stdout
    model = poise.load(target)
    assert model.nv == 13
    q = np.concatenate([[0, 0, 0, 1, 0, 0, 0], poise.load("panda").rest])
    np.testing.assert_allclose(
        model.fk(q, "panda_hand"), poise.load("panda").fk(poise.load("panda").rest, "panda_hand"), atol=1e-14
    )
    assert typed("convert", str(target), str(target), "--keep").exit_code == 2


def test_convert_tables(tmp_path: Path) -> None:
    (tmp_path / "arm.csv").write_text("# convention: standard\na,alpha,d,theta\n1,0,0,q1\n1,0,0,q2\n")
    shown = typed("convert", str(tmp_path / "arm.csv"), str(tmp_path / "arm.urdf"), "--as", "model")
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
        shown = typed(*words)
        assert shown.exit_code == 2
        assert shown.stderr.startswith(f"poise {words[0]}: ")
        assert len(shown.stderr.splitlines()) == 1
    assert [p.name for p in tmp_path.iterdir()] == ["bad.urdf"]
