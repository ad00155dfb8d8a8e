"""Paths in pictures, pages and the studio, and contact sheets of many files."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import bvh_cases
import looks_files as made
import poise
from bodies import make_stage
from paths import TOOLS
from poise.goals import Reach, Rest
from poise.limits.skeleton import make_skeleton_capsules
from poise.pictures.body.flesh import find_flesh
from poise.pictures.body.solids import RAIL_RODS, find_solids
from poise.studio import Studio
from poise.studio.panel.coordinates import find_dials, read_dials, set_dial
from poise.studio.panel.joints_tab import describe_pose, describe_range
from poise.studio.puppet import Puppet
from poise.studio.scene.joint_turn import find_turning_joint

STAGE = make_stage()


def test_a_rail_is_drawn_where_the_carriage_runs() -> None:
    rods = [solid for solid in find_solids(STAGE) if solid.color is not None]
    assert len(rods) == RAIL_RODS
    middles = np.array([rod.T_frame_solid[:3, 3] for rod in rods])
    x = np.linspace(0.0, STAGE.upper[0], 2001)
    path = STAGE.joint("carriage").path
    assert path is not None
    near = np.linalg.norm(path.transform(x)[:, None, :3, 3] - middles, axis=-1).min(axis=0)
    assert near.max() < 1e-2 * path.length
    assert {rod.frame for rod in rods} == {None}


@pytest.mark.parametrize("stretch", [0.7, 1.0, 1.5])
def test_a_stretching_bone_is_a_telescope(stretch: float) -> None:
    """Its tubes lie along the bone, and never beyond its ends, however long it is."""
    q = np.array(STAGE.rest)
    q[STAGE.joint("upper").q] = stretch
    places = dict(zip(STAGE.frames, STAGE.fk(q), strict=True))
    a, b = places["shoulder"][:3, 3], places["upper"][:3, 3]
    tubes = [c for c in make_skeleton_capsules(STAGE) if c.frame in ("shoulder", "upper")]
    assert len(tubes) == 2
    for tube in tubes:
        ends = [places[tube.frame][:3, :3] @ end + places[tube.frame][:3, 3] for end in (tube.a, tube.b)]
        along = [float((end - a) @ (b - a)) / float((b - a) @ (b - a)) for end in ends]
        assert min(along) > -0.05  # lifted over the ground, it is a little askew
        assert max(along) < 1.05


@pytest.mark.slow
def test_pictures_and_pages(tmp_path: Path) -> None:
    solution = poise.solve(STAGE, [Reach("hand", (1.5, 0.8, 0.3)), Rest()])
    clip = poise.Motion(STAGE, np.stack([STAGE.rest, solution.q]), fps=10)
    for k, thing in enumerate((STAGE, solution, solution.pose, clip)):
        assert poise.plot(thing).save(tmp_path / f"{k}.png").stat().st_size > 5000
        poise.show(thing, tmp_path / f"{k}.html")
        assert (tmp_path / f"{k}.html").stat().st_size > 5000
    assert find_flesh(STAGE)


def test_sliders_say_metres_and_factors() -> None:
    dials = {dial.name: dial for dial in find_dials(STAGE, 1.0)}
    assert (dials["carriage"].unit, dials["upper"].unit, dials["elbow"].unit) == ("m", "", "rad")
    assert describe_range(dials["upper"]) == "0.700 to 1.500"
    assert describe_range(dials["carriage"]).endswith(" m")
    assert "degrees" in describe_range(dials["elbow"])
    q = set_dial(STAGE, dials["upper"], np.array(STAGE.rest), 9.0)
    assert q[STAGE.joint("upper").q] == 1.5
    values = read_dials(STAGE, tuple(dials.values()), q)
    assert "1.5000" in describe_pose(tuple(dials.values()), values, q)
    assert find_turning_joint(STAGE, "lower", 1.0) == "elbow"  # a bone that lengthens has no ring


def test_the_studio_pulls_them() -> None:
    puppet = Puppet(STAGE)
    target = np.array([1.2, 0.4, 0.3])
    puppet.hold("hand", target)
    for _ in range(60):
        puppet.frame()
    assert np.linalg.norm(puppet.transform("hand")[:3, 3] - target) < 5e-3
    puppet.let_go("hand")
    for name in ("carriage", "upper"):
        q = puppet.q.copy()
        q[STAGE.joint(name).q] = 1.1
        puppet.turn_joint(name, q)
        assert puppet.q[STAGE.joint(name).q] == pytest.approx(1.1)


@pytest.mark.slow
def test_the_studio_opens_such_a_body() -> None:
    pytest.importorskip("viser", reason="the studio needs viser: pip install 'poise-ik[studio]'")
    with Studio(STAGE, port=18057, shadows=False) as studio:
        assert studio is not None


@pytest.mark.slow
def test_every_file_of_a_folder_is_opened_and_listed(tmp_path: Path) -> None:
    pytest.importorskip("viser")
    pytest.importorskip("matplotlib")
    files, out = tmp_path / "files", tmp_path / "out"
    made.robot(files)
    file, *_ = made.strip(5, texture=made.png([[(200, 30, 30), (30, 30, 200)]]))
    file.glb(files / "strip.glb")
    (files / "six.bvh").write_text(bvh_cases.six_channels("0 0 0"))
    (files / "broken.urdf").write_text("<robot")
    command = [sys.executable, str(TOOLS / "gallery.py"), str(files), "--out", str(out)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=500, check=False)
    assert done.returncode == 0, done.stderr
    rows = {Path(row["file"]).name: row for row in json.loads((out / "table.json").read_text())}
    assert set(rows) == {"arm.urdf", "hand.glb", "strip.glb", "six.bvh", "broken.urdf"}
    assert rows.pop("hand.glb")["drawn"]  # a mesh of the arm: a body without bones
    assert "FormatError" in rows.pop("broken.urdf")["problem"]
    for name, row in rows.items():
        assert row["drawn"], (name, row)
        assert row["framed"], (name, row)
        assert row["saved"], (name, row)
        assert row["draggable"], (name, row)
    assert rows["strip.glb"]["look"].startswith("skin")
    assert rows["arm.urdf"]["look"].startswith("meshes")
    assert (out / "sheet_0.png").stat().st_size > 5000
    assert "drawn" in (out / "table.md").read_text()
