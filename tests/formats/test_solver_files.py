"""Solver files, which the npm package reads: the data of a page that solves, with names and versions."""

import json
import re

import numpy as np
import pytest

import poise
from poise.errors import FormatError, InvalidValue
from poise.formats import solver_data
from poise.pages import drag

HUMANOID = poise.load("humanoid")
SHARED = ("body", "problem", "q", "goals", "handles", "always", "standing", "looks", "ranges", "layer", "metres")


def save(thing, folder):
    return json.loads(poise.save(thing, folder / "body.ik").read_text("utf-8"))


@pytest.mark.parametrize("name", ["humanoid", "ur5e", "planar3", "hand", "quadruped"])
def test_a_file_has_the_data_of_a_page(tmp_path, monkeypatch, name):
    monkeypatch.setattr(drag, "read_wasm", lambda: b"module")
    model = poise.load(name)
    data = save(model, tmp_path)
    html = poise.show(model, drag=True, browser=False).html
    (text,) = re.findall(r'<script type="application/json" id="scene">(.*?)</script>', html, re.DOTALL)
    page = json.loads(text)["drag"]
    assert {key: data[key] for key in SHARED} == {key: page[key] for key in SHARED}


def test_names_and_coordinates_are_those_of_the_model(tmp_path):
    data = save(HUMANOID, tmp_path)
    assert (data["poise"], data["version"], data["library"]) == ("solver", 1, poise.__version__)
    assert (data["name"], data["up"], tuple(data["frames"])) == ("humanoid", HUMANOID.up, HUMANOID.frames)
    for joint in data["joints"]:
        own = HUMANOID.joint(joint["name"]).q
        assert (joint["first"], joint["count"]) == (own.start, own.stop - own.start)
        ends = np.array(joint["lower"], dtype=float), np.array(joint["upper"], dtype=float)  # None is not a number
        assert not np.any((HUMANOID.rest[own] < ends[0] - 1e-9) | (HUMANOID.rest[own] > ends[1] + 1e-9))
    ranges = {joint["name"]: joint["lower"] + joint["upper"] for joint in data["joints"]}
    assert ranges["elbow_l"] == [HUMANOID.joint("elbow_l").lower, HUMANOID.joint("elbow_l").upper]
    assert None not in ranges["shoulder_l"]
    assert sum(joint["count"] for joint in data["joints"]) == HUMANOID.nq


def test_equal_bodies_make_equal_files(tmp_path):
    assert save(HUMANOID, tmp_path) == save(poise.load("humanoid"), tmp_path)


def test_a_pose_and_a_rig_keep_what_they_have(tmp_path):
    q = HUMANOID.random(np.random.default_rng(3))
    rig = poise.Rig(HUMANOID)
    rig.pin("hand_l")
    rig.freeze("elbow_r")
    posed, rigged = save(poise.Pose(HUMANOID, q), tmp_path), save(rig, tmp_path)
    assert posed["q"] == solver_data.pack(np.ascontiguousarray(q, "<f8").tobytes())
    assert {each["name"]: each["held"] for each in rigged["handles"] if each["held"]} == {"hand_l": "pin"}
    assert rigged["frozen"] == ["elbow_r"]


def test_other_things_and_reading_are_rejected(tmp_path):
    motion = poise.Motion(HUMANOID, np.repeat(np.array(HUMANOID.rest)[None], 3, axis=0), 30)
    with pytest.raises(FormatError, match=r"a motion cannot be saved as \.ik"):
        poise.save(motion, tmp_path / "walk.ik")
    path = poise.save(HUMANOID, tmp_path / "body.ik")
    with pytest.raises(FormatError, match="a solver for JavaScript, which contains no model"):
        poise.load(path)
    with pytest.raises(FormatError, match="style"):
        poise.save(HUMANOID, tmp_path / "body.ik", style="unitree")
    with pytest.raises(FormatError, match="like="):
        poise.save(HUMANOID, tmp_path / "body.ik", like="walk.glb")


def test_a_body_that_is_too_large_leaves_no_file(tmp_path, monkeypatch):
    monkeypatch.setattr(solver_data, "MOST_BYTES", 1000)
    with pytest.raises(InvalidValue, match="too many to solve without Python"):
        poise.save(HUMANOID, tmp_path / "body.ik")
    assert list(tmp_path.iterdir()) == []
