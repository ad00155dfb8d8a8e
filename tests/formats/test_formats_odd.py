"""Odd, large or sloppy files: each reader reads them with a warning, or rejects them quickly."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import poise
from budget import within
from poise.errors import FormatError, FormatWarning
from poise.kinematics.column_names import name_columns

LEGS = "".join(
    f"JOINT {side}UpLeg\n{{\nOFFSET {x} 0 0\nJOINT {side}Leg\n{{\nOFFSET 0 -45 0\nJOINT {side}Foot\n{{\n"
    "OFFSET 0 -45 0\nEnd Site\n{\nOFFSET 0 -5 10\n}\n}\n}\n}\n"
    for side, x in (("Left", 10), ("Right", -10))
)
ARMS = "".join(
    f"JOINT {side}Shoulder\n{{\nOFFSET {x} 0 0\nJOINT {side}Arm\n{{\nOFFSET {x} 0 0\nJOINT {side}ForeArm\n{{\n"
    f"OFFSET {3 * x} 0 0\nJOINT {side}Hand\n{{\nOFFSET {3 * x} 0 0\n}}\n}}\n}}\n}}\n"
    for side, x in (("Left", 10), ("Right", -10))
)
TRUNK = f"JOINT Spine\n{{\nOFFSET 0 20 0\nJOINT Spine1\n{{\nOFFSET 0 20 0\n{ARMS}JOINT Neck\n{{\nOFFSET 0 15 0\n"
PERSON = (
    f"HIERARCHY\nROOT Hips\n{{\nOFFSET 0 0 0\nCHANNELS 3 Zrotation Xrotation Yrotation\n{LEGS}{TRUNK}JOINT Head\n{{\n"
    "OFFSET 0 10 0\nEnd Site\n{\nOFFSET 0 20 0\n}\n}\n}\n}\n}\n}\nMOTION\nFrames: 2\nFrame Time: 0.1\n1 2 3\n4 5 6\n"
)


def written(folder: Path, name: str, text: str) -> Path:
    (folder / name).write_text(text)
    return folder / name


# ------------------------------------------------------------------------------------------------ BVH


def test_two_bones_of_one_name_get_names_apart(tmp_path: Path) -> None:
    text = PERSON.replace("RightFoot", "LeftFoot").replace("JOINT Head", "JOINT LeftFoot#2")
    with pytest.warns(FormatWarning, match="'LeftFoot#3' here"):
        model = poise.load(written(tmp_path, "a.bvh", text))
    assert {"LeftFoot", "LeftFoot#2", "LeftFoot#3", "LeftFoot#3_end"} <= set(model.frames)
    assert model.frame("LeftFoot#3").parent == "RightLeg"


def test_rows_beyond_those_declared_are_left_out(tmp_path: Path) -> None:
    with pytest.warns(FormatWarning, match="declares 1 frames and holds 2; the first 1 were read"):
        motion = poise.load_motion(written(tmp_path, "a.bvh", PERSON.replace("Frames: 2", "Frames: 1")))
    np.testing.assert_allclose(np.degrees(motion.q), [[1, 2, 3]])


@pytest.mark.parametrize(
    ("scale", "unit", "word"), [(1, "cm", "centimetres"), (0.01, "m", "metres"), (10, "mm", "mil")]
)
def test_the_unit_of_a_person_is_stated(scale: float, unit: str, word: str, tmp_path: Path) -> None:
    lines = (line.split() for line in PERSON.splitlines())
    text = "\n".join(
        " ".join(["OFFSET", *(repr(scale * float(x)) for x in words[1:])])
        if words[:1] == ["OFFSET"]
        else " ".join(words)
        for words in lines
    )
    model = poise.load(written(tmp_path, "a.bvh", text))
    assert model.units == unit
    assert any("units tall" in note and word in note for note in model.notes)
    assert poise.load(tmp_path / "a.bvh", scale="auto").units == "m"


def test_a_body_unlike_a_person_has_no_known_unit(tmp_path: Path) -> None:
    text = "HIERARCHY\nROOT a\n{\nOFFSET 0 0 0\nCHANNELS 0\n}\nMOTION\nFrames: 1\nFrame Time: 1\n"
    model = poise.load(written(tmp_path, "a.bvh", text))
    assert model.units == "m"
    assert "BVH has no unit; its numbers were taken as metres" in model.notes


@pytest.mark.slow
@pytest.mark.parametrize(("count", "refused"), [(4000, False), (10_001, True)])
def test_thousands_of_end_sites(count: int, refused: bool, tmp_path: Path) -> None:
    ends = "End Site\n{\nOFFSET 0 1 0\n}\n" * count
    path = written(tmp_path, "a.bvh", f"HIERARCHY\nROOT a\n{{\nOFFSET 0 0 0\n{ends}}}\n")
    if refused:
        with within(20), pytest.raises(FormatError, match="End Sites"):
            poise.load(path)
    else:
        with within(20), pytest.warns(FormatWarning):
            assert len(poise.load(path).frames) == count + 1


# ------------------------------------------------------------------------------------------------ glTF


def gltf(folder: Path, **more: Any) -> Path:
    root = {"asset": {"version": "2.0"}, "nodes": [{"name": "a", "children": [1]}, {"name": "b"}], **more}
    return written(folder, "a.gltf", json.dumps(root))


def test_an_unknown_extension_is_reported(tmp_path: Path) -> None:
    with pytest.warns(FormatWarning, match="ACME_bones: the file needs this extension"):
        poise.load(gltf(tmp_path, extensionsRequired=["ACME_bones"]))
    poise.load(gltf(tmp_path, extensionsRequired=["KHR_draco_mesh_compression", "KHR_texture_transform"]))


def test_the_unit_of_a_gltf_is_stated(tmp_path: Path) -> None:
    assert "in metres, y is up, as glTF has it" in poise.load(gltf(tmp_path)).notes
    nodes = [{"name": "a", "children": [1]}, {"name": "b", "translation": [0, 170, 0]}]
    tall = poise.load(gltf(tmp_path, nodes=nodes))
    assert tall.units == "cm"
    assert any("170 units large, as in centimetres" in note for note in tall.notes)


def test_an_endless_name_is_rejected(tmp_path: Path) -> None:
    with pytest.raises(FormatError, match=r"nodes\[0\].name has 1000000 letters"):
        poise.load(gltf(tmp_path, nodes=[{"name": "x" * 1_000_000}]))


# ------------------------------------------------------------------------------------------------ tables


def test_an_array_without_names_is_read_for_a_given_model(tmp_path: Path) -> None:
    model = poise.load("panda")
    q = model.random(np.random.default_rng(0), size=3)
    path = tmp_path / "q.npz"
    np.savez(path, q=q, fps=60.0)
    with pytest.warns(FormatWarning, match="does not name its 7 columns"):
        motion = poise.load_motion(path, model=model)
    np.testing.assert_array_equal(motion.q, q)
    assert motion.fps == 60.0
    with pytest.raises(FormatError, match="which body"):
        poise.load_motion(path)
    np.savez(path, q=np.zeros((3, 8)))
    with pytest.raises(FormatError, match="no column 'panda_joint1'"):
        poise.load_motion(path, model=model)


def test_rounded_times_are_an_even_beat(tmp_path: Path) -> None:
    model = poise.load("planar2")
    names = list(name_columns(model))

    def table(times: list[float]) -> Path:
        rows = [",".join(["time", *names]), *(f"{t},0.1,0.2" for t in times)]
        return written(tmp_path, "a.csv", "\n".join(rows))

    with pytest.warns(FormatWarning, match="read as even steps"):
        motion = poise.load_motion(table([round(k / 60, 3) for k in range(61)]), model=model)
    assert motion.fps == pytest.approx(60.0)
    with pytest.raises(FormatError, match="even steps"):
        poise.load_motion(table([k / 60 for k in range(61) if k != 30]), model=model)


def test_a_column_twice_among_many_is_found_in_time(tmp_path: Path) -> None:
    names = ",".join(f"c{i}" for i in range(90_000))
    with within(20), pytest.raises(FormatError, match="'c7' occur more than once"):
        poise.load_motion(written(tmp_path, "a.csv", f"{names},c7\n"))


@pytest.mark.slow
@pytest.mark.parametrize("read", [poise.load, poise.load_motion])
@pytest.mark.parametrize("filler", ["\n", "\r", " ", "\r\n"])
def test_endless_nothing_is_rejected_in_time(read: Any, filler: str, tmp_path: Path) -> None:
    path = written(tmp_path, "a.csv", "time,a,alpha,d\n" + filler * 20_000_000)
    with within(20), pytest.raises(FormatError):
        read(path)


# ------------------------------------------------------------------------------------------------ URDF


@pytest.mark.slow
def test_many_forgotten_prefixes_are_found_in_time(tmp_path: Path) -> None:
    parts = "".join(
        f'<link name="l{i}"/><joint name="p_j{i}" type="continuous"><parent link="l"/><child link="l{i}"/>'
        f"{'<mimic joint=@j0@/>'.replace('@', chr(34)) if i else ''}</joint>"
        for i in range(1000)
    )
    with within(10), pytest.warns(FormatWarning):
        model = poise.load(written(tmp_path, "a.urdf", f'<robot name="r"><link name="l"/>{parts}</robot>'))
    assert model.nq == 1
