"""glTF files that are malformed, contradictory or hostile: rejected with the element, or read with a warning."""

import copy
import json
import os
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import poise
from budget import within
from file_cases import check_rejected, check_warned, written
from gltf_files import File, arm, glb, make_character
from poise.errors import FormatError, FormatWarning
from reading import attempt

Change = Callable[[dict[str, Any]], Any]


def changed(change: Change) -> bytes:
    """Return the character's file after a change of its JSON."""
    file = make_character()
    root = json.loads(json.dumps(file.with_buffer(None)))
    change(root)
    return glb(json.dumps(root, allow_nan=True).encode(), file.data)


# what is done to the JSON of the character, and what the error says
REFUSED: dict[str, tuple[Change, str]] = {
    "no asset": (lambda r: r.pop("asset"), "asset"),
    "version 1": (lambda r: r["asset"].update(version="1.0"), r"asset\.version is 1\.0"),
    "a file of version 1": (lambda r: r.update(asset={"version": "1.0.1"}, nodes={}), "Convert it with gltf-pipeline"),
    "version 3": (lambda r: r["asset"].update(version="3.0"), r"asset\.version"),
    "version number": (lambda r: r["asset"].update(version=2), r"asset\.version"),
    "nodes missing": (lambda r: r.pop("nodes"), "nodes are missing"),
    "nodes an object": (lambda r: r.update(nodes={}), "nodes is an object"),
    "a node is a number": (lambda r: r["nodes"].__setitem__(3, 5), r"nodes\[3\] is a number"),
    "child out of range": (lambda r: r["nodes"][3].update(children=[99]), r"nodes\[3\]\.children\[0\] is 99"),
    "child negative": (lambda r: r["nodes"][3].update(children=[-1]), r"nodes\[3\]\.children\[0\] is -1"),
    "child is text": (lambda r: r["nodes"][3].update(children=["1"]), r"nodes\[3\]\.children\[0\]"),
    "child is true": (lambda r: r["nodes"][3].update(children=[True]), r"nodes\[3\]\.children\[0\]"),
    "child is huge": (lambda r: r["nodes"][3].update(children=[10**40]), "more than 30 digits"),
    "children a number": (lambda r: r["nodes"][3].update(children=3), r"nodes\[3\]\.children is a number"),
    "its own child": (lambda r: r["nodes"][3].update(children=[3]), r"nodes\[3\]\.children\[0\] is the node itself"),
    "two parents": (lambda r: r["nodes"][3].update(children=[4]), "a node has one parent"),
    "a circle": (lambda r: (r["nodes"][0].update(children=[]), r["nodes"][3].update(children=[1])), "must form a tree"),
    "name a number": (lambda r: r["nodes"][2].update(name=3), r"nodes\[2\]\.name"),
    "short translation": (lambda r: r["nodes"][2].update(translation=[1, 2]), r"nodes\[2\]\.translation"),
    "text in translation": (lambda r: r["nodes"][2].update(translation=[1, "2", 3]), r"nodes\[2\]\.translation\[1\]"),
    "infinite translation": (lambda r: r["nodes"][2].update(translation=[1, 1e999, 3]), "JSON holds|translation"),
    "huge translation": (lambda r: r["nodes"][2].update(translation=[1, 1e300, 3]), r"nodes\[2\]\.translation\[1\]"),
    "zero quaternion": (lambda r: r["nodes"][2].update(rotation=[0, 0, 0, 0]), r"nodes\[2\]\.rotation .*zero"),
    "matrix and scale": (lambda r: r["nodes"][2].update(matrix=[1] * 16), r"nodes\[2\] has a matrix and also"),
    "projective matrix": (lambda r: r["nodes"].__setitem__(3, {"matrix": [1] * 16}), r"nodes\[3\]\.matrix"),
    "mesh out of range": (lambda r: r["nodes"][5].update(mesh=4), r"nodes\[5\]\.mesh"),
    "skin out of range": (lambda r: r["nodes"][5].update(skin=4), r"nodes\[5\]\.skin"),
    "scene node": (lambda r: r["scenes"][0].update(nodes=[77]), r"scenes\[0\]\.nodes\[0\]"),
    "scene": (lambda r: r.update(scene=3), "scene is 3"),
    "skin without joints": (lambda r: r["skins"][0].update(joints=[]), r"skins\[0\]\.joints"),
    "skin joints missing": (lambda r: r["skins"][0].pop("joints"), r"skins\[0\]\.joints"),
    "skin joint": (lambda r: r["skins"][0]["joints"].append(50), r"skins\[0\]\.joints\[4\] is 50"),
    "skeleton": (lambda r: r["skins"][0].update(skeleton=-3), r"skins\[0\]\.skeleton"),
    "bind accessor": (lambda r: r["skins"][0].update(inverseBindMatrices=99), "inverseBindMatrices is 99"),
    "too few binds": (lambda r: r["accessors"][0].update(count=3), "the skin has 4 joints"),
    "bind of another type": (lambda r: r["accessors"][0].update(type="VEC4"), "needs MAT4"),
    "bind of bytes": (lambda r: r["accessors"][0].update(componentType=5121), r"accessors\[0\]\.componentType is UNS"),
    "component type": (
        lambda r: r["accessors"][0].update(componentType=5124),
        r"accessors\[0\]\.componentType is 5124",
    ),
    "accessor type": (lambda r: r["accessors"][0].update(type="MAT9"), r"accessors\[0\]\.type"),
    "count zero": (lambda r: r["accessors"][0].update(count=0), r"accessors\[0\]\.count"),
    "count negative": (lambda r: r["accessors"][0].update(count=-4), r"accessors\[0\]\.count"),
    "count absurd": (lambda r: r["accessors"][0].update(count=2**62), r"accessors\[0\]\.count"),
    "count too large": (lambda r: r["accessors"][0].update(count=5), r"accessors\[0\] needs 320 bytes"),
    "count a fraction": (lambda r: r["accessors"][0].update(count=1.5), r"accessors\[0\]\.count"),
    "unread accessor": (lambda r: r["accessors"][1].update(count=500), r"accessors\[1\] needs"),
    "accessor view": (lambda r: r["accessors"][0].update(bufferView=70), r"accessors\[0\]\.bufferView is 70"),
    "accessor offset": (lambda r: r["accessors"][0].update(byteOffset=4), r"accessors\[0\] needs"),
    "negative offset": (lambda r: r["accessors"][0].update(byteOffset=-64), r"accessors\[0\]\.byteOffset"),
    "view out of buffer": (lambda r: r["bufferViews"][0].update(byteLength=10**9), r"bufferViews\[0\] ends"),
    "view offset": (lambda r: r["bufferViews"][0].update(byteOffset=10**15), r"bufferViews\[0\] ends"),
    "view of no buffer": (lambda r: r["bufferViews"][0].update(buffer=1), r"bufferViews\[0\]\.buffer is 1"),
    "small stride": (lambda r: r["bufferViews"][0].update(byteStride=4), r"bufferViews\[0\]\.byteStride"),
    "large stride": (lambda r: r["bufferViews"][0].update(byteStride=252), r"accessors\[0\] needs"),
    "buffer too long": (lambda r: r["buffers"][0].update(byteLength=10**12), r"buffers\[0\] declares"),
    "buffer negative": (lambda r: r["buffers"][0].update(byteLength=-1), r"buffers\[0\]\.byteLength"),
    "buffer uri up": (lambda r: r["buffers"][0].update(uri="../secret.bin"), "leads out of its folder"),
    "buffer uri hidden up": (lambda r: r["buffers"][0].update(uri="%2e%2e/secret.bin"), "leads out of its folder"),
    "buffer uri absolute": (lambda r: r["buffers"][0].update(uri="/etc/passwd"), "only files next to it"),
    "buffer uri http": (lambda r: r["buffers"][0].update(uri="http://localhost/x"), "only files next to it"),
    "buffer uri file": (lambda r: r["buffers"][0].update(uri="file:///etc/passwd"), "only files next to it"),
    "buffer uri drive": (lambda r: r["buffers"][0].update(uri="C:\\x.bin"), "only files next to it"),
    "buffer uri NUL": (lambda r: r["buffers"][0].update(uri="a%00b"), "which is not a file name"),
    "buffer uri missing": (lambda r: r["buffers"][0].update(uri="nowhere.bin"), "is missing"),
    "buffer uri folder": (lambda r: r["buffers"][0].update(uri="."), "is a folder"),
    "buffer uri a number": (lambda r: r["buffers"][0].update(uri=7), r"buffers\[0\]\.uri is a number"),
    "buffer data": (lambda r: r["buffers"][0].update(uri="data:;base64,!!!!"), "base64"),
    "buffer data short": (lambda r: r["buffers"][0].update(uri="data:;base64,AAAA"), r"buffers\[0\] declares"),
    "buffer data broken": (lambda r: r["buffers"][0].update(uri="data:nothing"), "no data uri"),
    "channel node": (
        lambda r: r["animations"][0]["channels"][0]["target"].update(node=9),
        r"channels\[0\]\.target\.node",
    ),
    "channel path": (lambda r: r["animations"][0]["channels"][0]["target"].update(path="spin"), r"target\.path"),
    # fuzzing: what cannot be looked up in a table
    "channel path a list": (
        lambda r: r["animations"][0]["channels"][0]["target"].update(path=["rotation"]),
        r"target\.path is a list",
    ),
    "interpolation an object": (lambda r: r["animations"][0]["samplers"][0].update(interpolation={}), "interpolation"),
    "type a list": (lambda r: r["accessors"][0].update(type=["MAT4"]), r"accessors\[0\]\.type"),
    "channel sampler": (lambda r: r["animations"][0]["channels"][0].update(sampler=8), r"channels\[0\]\.sampler"),
    "channel twice": (lambda r: r["animations"][0]["channels"].append(r["animations"][0]["channels"][0]), "keep one"),
    "interpolation": (lambda r: r["animations"][0]["samplers"][0].update(interpolation="X"), "interpolation"),
    "sampler input": (lambda r: r["animations"][0]["samplers"][0].update(input=None), r"samplers\[0\]\.input"),
    "times of values": (lambda r: r["animations"][0]["samplers"][1].update(input=4), "needs SCALAR"),
    "spline of too few": (lambda r: r["animations"][0]["samplers"][1].update(interpolation="CUBICSPLINE"), "need 6"),
    "extensions": (lambda r: r.update(extensions=[]), "extensions"),
    "endless name": (lambda r: r["nodes"][2].update(name="x" * 1_000_000), r"nodes\[2\].name has 1000000 letters"),
    "vrm bone": (
        lambda r: r.update(extensions={"VRM": {"humanoid": {"humanBones": [{"bone": "hips", "node": 44}]}}}),
        r"humanBones\[0\]\.node is 44",
    ),
    "vrm 1 bone": (
        lambda r: r.update(extensions={"VRMC_vrm": {"humanoid": {"humanBones": {"hips": 3}}}}),
        r"humanBones\.hips",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_rejected_by_the_element(tmp_path: Path, case: str) -> None:
    change, words = REFUSED[case]
    check_rejected(tmp_path / "a.glb", changed(change), words, seconds=30)


@pytest.mark.parametrize("cut", [*range(0, 24), 60, 400, -4, -1])
def test_a_file_that_is_cut_short(tmp_path: Path, cut: int) -> None:
    check_rejected(tmp_path / "a.glb", make_character().glb(tmp_path / "a.glb").read_bytes()[:cut])


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"", "not JSON"),
        (b"gltf" + b"\0" * 40, "not JSON"),
        (struct.pack("<4sII", b"glTF", 1, 20) + b"\0" * 8, "version 1"),
        (struct.pack("<4sIIII", b"glTF", 2, 20, 0, 0x004E4942), "first chunk is not JSON"),
        (struct.pack("<4sIIII", b"glTF", 2, 20, 0xFFFFFFF0, 0x4E4F534A), "declares 4294967280 bytes"),
        (struct.pack("<4sIIII", b"glTF", 2, 0xFFFFFFFF, 0, 0x4E4F534A), "cut short"),
        (glb(b'{"asset": {"version": "2.0", "version": "2.0"}}', b""), "'version'|\"version\""),
        (glb(b'{"asset": {"version": "2.0"}, "x": NaN}', b""), "NaN"),
        (glb(b'{"asset": {"version": "2.0"}, "x": -Infinity}', b""), "Infinity"),
        (glb(b'{"x": ' + b"[" * 200_000 + b"]" * 200_000 + b"}", b""), "nested too deeply"),
        (b"[" * 1_000_000, "nested too deeply"),
        (b'{"a":' * 100_000, "nested too deeply"),
        (glb(b'{"x": ' + b"9" * 100_000 + b"}", b""), "number that cannot be"),
        (glb(b"\xff\xfe{}", b""), "UTF-8"),
        (glb(b"[]", b""), "is a list"),
        (glb(b'"text"', b""), "is text"),
        (glb(b"{", b""), "not JSON"),
        (b'{"asset": {"version": "2.0"},\n "nodes": [}', "2: is not JSON"),
    ],
    ids=range(18),
)
def test_files_that_are_not_gltf(tmp_path: Path, data: bytes, words: str) -> None:
    check_rejected(tmp_path / "a.gltf", data, words)


@pytest.mark.parametrize(
    ("times", "values", "words"),
    [
        ([0, np.nan], np.eye(4)[:2], "element 1 is .nan"),
        ([0, np.inf], np.eye(4)[:2], "element 1 is .inf"),
        ([1, 0], np.eye(4)[:2], "times that fall at key 1"),
        ([0, 1], np.array([[0, 0, 0, 1], [0, 0, np.nan, 1]]), "element 1"),
        ([0, 1], np.zeros((2, 4)), "length zero at key 0"),
        ([0, 1], np.eye(4)[:1], "has 1 values; 2 keys"),
        ([0, 1], np.eye(4)[:3], "has 3 values; 2 keys"),
        ([0, 3e38], np.eye(4)[:2], "too long to read"),
        ([0, 65536], np.eye(4)[:2], "too long to read"),  # fuzzing: two keys a day apart took 18 s
    ],
)
def test_keys_that_cannot_be(tmp_path: Path, times: Any, values: Any, words: str) -> None:
    file = arm()
    file.clip("c", [(2, "rotation", times, values, "LINEAR")])
    text = json.dumps(file.with_buffer(None)).replace("NaN", "0").replace("Infinity", "0").encode()
    check_rejected(tmp_path / "a.glb", glb(text, file.data), words, read=poise.load_motion)


def sparse(count: int, rows: list[int]) -> File:
    file = arm()
    file.clip("c", [(2, "rotation", [0, 1], np.eye(4)[:2], "LINEAR")])
    at = file.view(np.array(rows, "<u4").tobytes())
    file.json["accessors"][0]["sparse"] = {
        "count": count,
        "indices": {"bufferView": at, "componentType": 5125},
        "values": {"bufferView": file.view(np.ones((len(rows), 4), "<f4").tobytes())},
    }
    return file


@pytest.mark.parametrize(
    ("count", "rows", "words"),
    [
        (10**12, [0, 1], r"accessors\[0\]\.sparse\.count"),
        (0, [0, 1], r"accessors\[0\]\.sparse\.count"),
        (2, [1, 0], "rise strictly"),
        (2, [0, 0], "rise strictly"),
        (2, [0, 4_000_000_000], "rise strictly"),
        (2, [0], r"accessors\[0\]\.sparse\.indices needs"),
    ],
)
def test_sparse_accessors_that_cannot_be(tmp_path: Path, count: int, rows: list[int], words: str) -> None:
    with pytest.raises(FormatError, match=words):
        poise.load_motion(sparse(count, rows).glb(tmp_path / "a.glb"))


def test_a_clip_of_nothing_and_a_file_of_no_clip(tmp_path: Path) -> None:
    file = arm()
    with pytest.raises(FormatError, match="no animation"):
        poise.load_motion(file.glb(tmp_path / "a.glb"))
    file.add("animations", {"channels": [], "samplers": []})
    with pytest.raises(FormatError, match="moves no node"):
        poise.load_motion(file.glb(tmp_path / "a.glb"))


@pytest.mark.slow
def test_numbers_out_of_nothing_are_bounded(tmp_path: Path) -> None:
    """Accessors without a bufferView are zeros and cost no bytes: a small file could ask for any memory."""
    file = arm()
    zeros = {"componentType": 5126, "count": 6_000_000}
    times, values = file.add("accessors", {**zeros, "type": "SCALAR"}), file.add("accessors", {**zeros, "type": "VEC3"})
    samplers = [{"input": times, "output": values}]
    channels = [{"sampler": 0, "target": {"node": i, "path": "translation"}} for i in range(5)]
    file.add("animations", {"channels": channels, "samplers": samplers})
    with within(30), pytest.raises(FormatError, match="more numbers than are read"):
        poise.load(file.glb(tmp_path / "a.glb"))


@pytest.mark.slow
def test_many_nodes_and_deep_trees(tmp_path: Path) -> None:
    chain = [{"children": [i + 1], "translation": [0, 0.001, 0]} for i in range(3000)] + [{}]
    model = poise.load(File(chain).glb(tmp_path / "deep.glb"))
    assert model.fk(model.rest, "node_3000")[1, 3] == pytest.approx(3.0)
    with pytest.raises(FormatError, match="at most 20000 are read"):
        poise.load(File([{} for _ in range(60_000)]).glb(tmp_path / "many.glb"))
    grown = [{"children": [i + 1], "translation": [0, 1, 0], "scale": [1e10] * 3} for i in range(60)] + [{}]
    with pytest.raises(FormatError, match="beyond the range of numbers"):
        poise.load(File(grown).glb(tmp_path / "grown.glb"))


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes here")
def test_links_and_pipes_are_not_followed(tmp_path: Path) -> None:
    inside = tmp_path / "inside"
    inside.mkdir()
    file = make_character()
    path = file.gltf(inside / "a.gltf")
    (tmp_path / "secret.bin").write_bytes(file.data)
    (inside / "a.bin").unlink()
    (inside / "a.bin").symlink_to(tmp_path / "secret.bin")
    with pytest.raises(FormatError, match="leads out of its folder"):
        poise.load(path)
    (inside / "a.bin").unlink()
    os.mkfifo(inside / "a.bin")
    with pytest.raises(FormatError, match="not a plain file"):
        poise.load(path)


# ------------------------------------------------------------------------------------------------ merely odd

ODD: dict[str, tuple[Change, str]] = {
    "long quaternion": (lambda r: r["nodes"][2].update(rotation=[0, 0, 0, 2]), "not of length 1"),
    "scene lists a child": (lambda r: r["scenes"][0].update(nodes=[0, 2]), "has a parent"),
    "shear": (
        lambda r: r["nodes"].__setitem__(3, {"matrix": [1, 0, 0, 0, 1, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1]}),
        "has shear",
    ),
    "joint twice": (lambda r: r["skins"][0].update(joints=[1, 2, 3, 3]), "listed twice"),
    "unknown extension": (
        lambda r: r.update(extensionsRequired=["ACME_bones"]),
        "ACME_bones: the file needs this extension",
    ),
    "one name": (lambda r: r["nodes"][2].update(name="hips"), "several nodes have the same name"),
}


@pytest.mark.parametrize("case", ODD)
def test_unusual_files_are_read_with_a_warning(tmp_path: Path, case: str) -> None:
    change, words = ODD[case]
    model = check_warned(tmp_path / "a.glb", changed(change), words)
    assert np.isfinite(model.fk(model.rest)).all()


NOTED: dict[str, tuple[Change, str]] = {
    "two scenes": (
        lambda r: r.update(scenes=[{"nodes": [0]}, {"nodes": []}]),
        "2 scenes: the nodes of all of them were read",
    ),
    "metres": (lambda _: None, "in metres, y is up, as glTF has it"),
    "centimetres": (lambda r: r["nodes"][3].update(translation=[0, 170, 0]), "units large, as in centimetres"),
}


@pytest.mark.parametrize("case", NOTED)
def test_what_is_assumed_is_noted(tmp_path: Path, case: str) -> None:
    change, words = NOTED[case]
    model = poise.load(written(tmp_path / "a.glb", changed(change)))
    assert any(words in note for note in model.notes)
    assert model.units == ("cm" if case == "centimetres" else "m")


def test_a_known_extension_is_read_without_a_word(tmp_path: Path) -> None:
    names = ["KHR_draco_mesh_compression", "KHR_texture_transform"]
    poise.load(written(tmp_path / "a.glb", changed(lambda r: r.update(extensionsRequired=names))))


def test_bytes_behind_the_end_are_ignored(tmp_path: Path) -> None:
    path = make_character().glb(tmp_path / "a.glb")
    path.write_bytes(path.read_bytes() + b"more")
    with pytest.warns(FormatWarning, match="4 bytes follow"):
        poise.load(path)


# ------------------------------------------------------------------------------------------------ fuzzing


BASE = make_character()
ROOT = BASE.with_buffer(None)
VALUES = st.one_of(
    st.none(), st.booleans(), st.integers(-3, 300), st.sampled_from([2**31, 2**53, -(2**70), 1e308, 1e-320, 0.5, 5126]),
    st.text(max_size=4), st.just([]), st.just({}), st.lists(st.integers(-2, 9), max_size=4),
    st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=3, max_size=4),
)  # fmt: skip


def places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Every place of the JSON, as the way to it."""
    found = [path] if path else []
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in inner:
        found += places(item, (*path, key))
    return found


PLACES = places(ROOT)


@pytest.mark.slow
@settings(max_examples=400, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(st.tuples(st.sampled_from(PLACES), VALUES), min_size=1, max_size=4))
def test_any_value_anywhere(changes: list[tuple[tuple[Any, ...], Any]]) -> None:
    root = json.loads(json.dumps(ROOT))
    for path, value in changes:
        at = root
        try:
            for key in path[:-1]:
                at = at[key]
            at[path[-1]] = copy.deepcopy(value)  # one value in two places could hold itself
        except (TypeError, KeyError, IndexError):
            continue
    for verb in ("read_model", "read_motion"):
        attempt("fuzz.glb", glb(root, BASE.data), verb)
