"""Pages that solve: their data, without a browser."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import looks_files
import poise
from poise.errors import FormatWarning, InvalidValue, MissingExtra
from poise.formats import solver_data
from poise.goals import Reach
from poise.kinematics import Mirror
from poise.motion import Contact, Contacts
from poise.pages import drag
from poise.solvers import race

HUMANOID = poise.load("humanoid")


@pytest.fixture
def module(monkeypatch: pytest.MonkeyPatch) -> None:
    """Any bytes in place of the module, which the data of a page does not depend on."""
    monkeypatch.setattr(drag, "read_wasm", lambda: b"module")


def read_scene(thing: Any) -> dict[str, Any]:
    """The scene of the page."""
    html = poise.show(thing, drag=True, browser=False).html
    (text,) = re.findall(r'<script type="application/json" id="scene">(.*?)</script>', html, re.DOTALL)
    scene: dict[str, Any] = json.loads(text)
    return scene


def read(thing: Any) -> Any:
    """The part of the scene that the page solves with."""
    return read_scene(thing)["drag"]


def list_held(data: dict[str, Any]) -> dict[str, str]:
    return {handle["name"]: handle["held"] for handle in data["handles"] if handle["held"]}


def test_without_the_module_the_command_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(drag, "read_wasm", lambda: None)
    with pytest.raises(MissingExtra, match="make wasm"):
        poise.show(HUMANOID, drag=True, browser=False)


@pytest.mark.usefixtures("module")
def test_a_model_stands_on_its_feet() -> None:
    data = read(HUMANOID)
    assert list_held(data) == {"foot_l": "plant", "foot_r": "plant"}
    assert {handle["name"] for handle in data["handles"]} >= {"hand_l", "hand_r", "head", "pelvis", "elbow_l", "knee_r"}
    goals = [goal["label"] for goal in data["goals"]]
    for handle in data["handles"]:
        for role in ("drag", "reach", "pin"):
            assert goals[handle["goals"][role][0]] == handle["name"]
    assert goals[data["standing"][0]] == "balance"
    assert len(data["looks"]) == 1


@pytest.mark.usefixtures("module")
@pytest.mark.parametrize("name", ["planar2", "hand", "quadruped", "panda", "ur5e", "tree30"])
def test_every_body_has_handles_to_drag(name: str) -> None:
    model = poise.load(name)
    data = read(model)
    assert data["handles"]
    assert len(data["tracks"]) > 0
    assert data["nq"] == model.nq


@pytest.mark.usefixtures("module")
def test_a_rig_keeps_its_pins_and_a_solution_its_targets() -> None:
    rig = poise.Rig(HUMANOID)
    rig.pin("hand_l")
    assert list_held(read(rig)) == {"hand_l": "pin"}
    solution = poise.solve(HUMANOID, [Reach("hand_r", (-0.3, 1.2, 0.3)), Reach("hip_l", (0.1, 0.9, 0.0))])
    held = list_held(read(solution))
    assert held["hand_r"] == held["hip_l"] == "reach"


def test_a_pin_at_a_point_leaves_the_rotation_free() -> None:
    rig = poise.Rig(HUMANOID)
    rig.pin("hand_l")
    rig.pin("hand_r", rig.pose.position("hand_r"))
    goals = rig.solvers.make_catalogue().solver.goals
    ops = [goals[name].rows(HUMANOID).op.name for name in ("pin hand_l", "pin hand_r")]
    assert ops == ["POSE", "POSITION"]


@pytest.mark.usefixtures("module")
def test_a_motion_lists_the_feet_that_stand() -> None:
    q = np.repeat(np.array(HUMANOID.rest)[None], 3, axis=0)
    q[2, 1] += 0.5  # a jump
    data = read(poise.Motion(HUMANOID, q, 30))
    assert data["stands"] == [["foot_l", "foot_r"]] * 2 + [[]]


def test_a_motion_with_contacts_holds_these() -> None:
    rig, q = poise.Rig(HUMANOID), np.repeat(np.array(HUMANOID.rest)[None], 4, axis=0)
    contacts = Contacts((Contact("toe_l", 0, 4), Contact("hand_r", 2, 8)), 8, 30.0)
    assert drag.list_held(rig, q, contacts, 2) == [["foot_l"], ["foot_l", "hand_r"], ["hand_r"], ["hand_r"]]
    assert drag.list_held(rig, q, None, 1) == [["foot_l", "foot_r"]] * 4


@pytest.mark.usefixtures("module")
def test_the_mirror_map_gives_the_image_of_a_pose() -> None:
    rng = np.random.default_rng(3)
    about, q = HUMANOID.random(rng), HUMANOID.random(rng)
    data = read(poise.Rig(HUMANOID, about))
    image = np.array(data["mirror"]["shift"])
    for row, column, factor in data["mirror"]["entries"]:
        image[row] += factor * q[column]
    wanted = Mirror(HUMANOID).reflect_pose(q, about)
    assert np.abs(HUMANOID.fk(image) - HUMANOID.fk(wanted)).max() < 1e-12
    sides = {handle["name"]: handle["mirror"] for handle in data["handles"]}
    assert (sides["hand_l"], sides["pelvis"]) == ("hand_r", None)
    assert read(poise.load("panda"))["mirror"] is None


@pytest.mark.usefixtures("module")
def test_small_arms_have_a_lesson() -> None:
    lesson = read(poise.load("planar3"))["lesson"]
    assert lesson["handle"] == "tip"
    assert (lesson["rows"], len(lesson["joints"])) == (2, 3)
    assert {"transpose", "pseudoinverse", "dls", "lm", "ccd"} <= set(lesson["problems"])
    assert read(HUMANOID)["lesson"] is None


@pytest.mark.usefixtures("module")
def test_a_race_has_the_problem_of_each_method_in_the_kernels() -> None:
    data = read(race(poise.load("panda"), methods=["lm", "sequential", "ccd", "inverse"], problems=2))
    (found,) = data["races"]
    assert [racer["name"] for racer in found["racers"]] == ["lm", "ccd"]
    with pytest.raises(InvalidValue, match="the methods of this race run in Python, which a page cannot do"):
        read(race(poise.load("panda"), methods=["sequential"], problems=1))


@pytest.mark.usefixtures("module")
def test_two_racers_of_one_method_have_their_own_place() -> None:
    methods = [poise.methods.DLS(), poise.methods.DLS(damping=0.5)]
    races = [race(poise.load(name), methods=methods, problems=1) for name in ("panda", "planar3")]
    racers = read(races)["races"][0]["racers"]
    assert [racer["name"] for racer in racers] == ["panda dls", "panda dls 2"]
    assert racers[0]["color"] != racers[1]["color"]
    assert not np.allclose(racers[0]["offset"], racers[1]["offset"])


@pytest.mark.usefixtures("module")
def test_races_of_several_bodies_stand_in_rows_at_one_size() -> None:
    names = ("panda", "planar3", "hand")
    races = [race(poise.load(name), methods=["dls", "lm"], problems=1) for name in names]
    data = read(races)["races"]
    offsets = np.array([[racer["offset"] for racer in found["racers"]] for found in data])
    assert np.ptp([found["length"] for found in data]) < 1e-9
    across, ahead = np.diff(offsets, axis=1)[..., 0, 1], np.diff(offsets, axis=0)[:, 0, 0]
    assert np.ptp(across) < 1e-9, "a column for each method"
    assert across.min() > 0.2
    assert ahead.max() < -0.2, "one row behind the other"
    assert np.allclose(np.reshape(data[1]["turn"], (3, 3)), [[0, 0, 1], [1, 0, 0], [0, 1, 0]]), "it stands upright"
    assert [racer["name"] for racer in data[2]["racers"]] == ["hand dls", "hand lm"]


@pytest.mark.usefixtures("module")
def test_races_store_each_mesh_once(tmp_path: Path) -> None:
    """Of every method, and of every race: the bodies of a list of races are scaled copies."""
    path, where = looks_files.robot(tmp_path), [tmp_path / "elsewhere"]
    own = [poise.load(path, package_path=where) for _ in range(2)]
    one = read_scene(own[0])
    races = [race(body, methods=["lm", "dls", "ccd"], problems=1) for body in (poise.load("panda"), *own)]
    several = read_scene(races)
    assert len(several["patches"]) == len(one["patches"])
    assert len(several["images"]) == len(one["images"])
    assert len(several["meshes"]) == 6 * len(one["meshes"])


@pytest.mark.usefixtures("module")
def test_a_body_too_large_for_a_page_is_rejected(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(solver_data, "MOST_BYTES", 1000)
    with pytest.raises(InvalidValue, match=r"'humanoid' has .* frames, too many to solve without Python"):
        read(HUMANOID)


@pytest.mark.usefixtures("module")
def test_a_missing_mesh_is_a_sentence_on_the_page(tmp_path: Path) -> None:
    path = tmp_path / "arm.urdf"
    links = "".join(
        f'<link name="{name}"><visual><geometry><mesh filename="{name}.stl"/></geometry></visual></link>'
        for name in ("base", "arm", "hand")
    )
    joints = "".join(
        f'<joint name="{a}_{b}" type="continuous"><parent link="{a}"/><child link="{b}"/>'
        '<origin xyz="0 0 0.4"/><axis xyz="0 1 0"/></joint>'
        for a, b in (("base", "arm"), ("arm", "hand"))
    )
    path.write_text(f'<robot name="arm">{links}{joints}</robot>')
    model = poise.load(path)
    things = [model, poise.Motion(model, np.zeros((2, 2)), 30), race(model, methods=["lm"], problems=1)]
    with pytest.warns(FormatWarning, match="stl"):
        notes = [read_scene(thing)["note"] for thing in things]
    assert all(note.endswith("Some meshes were not found; these parts are drawn as limbs.") for note in notes)
    assert "not found" not in read_scene(HUMANOID)["note"]


@pytest.mark.usefixtures("module")
@pytest.mark.parametrize("thing", [3, "panda", [1]])
def test_other_things_are_rejected(thing: Any) -> None:
    with pytest.raises(InvalidValue, match="drag=True needs one body"):
        poise.show(thing, drag=True, browser=False)


@pytest.mark.usefixtures("module")
def test_equal_bodies_make_equal_pages() -> None:
    one, other = (poise.show(poise.load("panda"), drag=True, browser=False).html for _ in range(2))
    assert one == other
