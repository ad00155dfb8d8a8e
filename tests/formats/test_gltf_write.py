"""Poses and motions put back into glTF files, and bare skeletons."""

import json
import struct
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import poise
from gltf_files import File, arm, glb, make_character, worlds
from poise.errors import FormatError, FormatWarning


def parts(path: Path) -> tuple[dict[str, Any], bytes]:
    """JSON and BIN of a GLB, by hand; of a .gltf its JSON."""
    data = path.read_bytes()
    if data[:4] != b"glTF":
        return json.loads(data), b""
    _, _, length = struct.unpack_from("<4sII", data)
    assert length == len(data)
    size, kind = struct.unpack_from("<I4s", data, 12)
    assert kind == b"JSON"
    assert size % 4 == 0
    root, rest = json.loads(data[20 : 20 + size]), data[20 + size :]
    return root, rest[8:]


def character() -> File:
    """Return a character with things that Poise does not know."""
    file = make_character(scale=[2, 2, 2])
    file.json["extensions"] = {"X_unknown": {"deep": [1, 2.5, {"é": None}], "big": 12345678901234567890}}
    file.json["extensionsUsed"] = ["X_unknown"]
    file.json["nodes"][2]["extras"] = {"mine": [True, "text"]}
    file.json["extras"] = {"x": 1e-300}
    return file


def written(file: File, path: Path, suffix: str) -> Path:
    return {".glb": file.glb, ".gltf": file.gltf}[suffix](path / f"character{suffix}")


@pytest.mark.parametrize("before", [".glb", ".gltf"])
@pytest.mark.parametrize("after", [".glb", ".gltf"])
@pytest.mark.parametrize("folder", ["", "elsewhere"])
def test_a_pose_goes_back_into_the_characters_file(tmp_path: Path, before: str, after: str, folder: str) -> None:
    path = written(character(), tmp_path, before)
    (tmp_path / "elsewhere").mkdir()
    model = poise.load(path)
    pose = poise.Pose(model, model.random(np.random.default_rng(0)))
    out = poise.save(pose, tmp_path / folder / f"out{after}")
    again = poise.load(out)
    assert again.fk(again.rest) == pytest.approx(model.fk(pose.q), abs=1e-12)
    assert poise.load_motion(out).fps == poise.load_motion(path).fps
    one, _ = parts(path)
    other, _ = parts(out)
    np.testing.assert_allclose(worlds(other)[:5, :3, 3], model.fk(pose.q)[:5, :3, 3], atol=1e-12)
    for key in ("skins", "meshes", "materials", "animations", "accessors", "extensions", "extensionsUsed", "extras"):
        assert other[key] == one[key], key
    for a, b in zip(one["nodes"], other["nodes"], strict=True):
        assert {k: v for k, v in a.items() if k not in ("rotation", "translation")} == {
            k: v for k, v in b.items() if k not in ("rotation", "translation")
        }
    assert sorted(p.name for p in tmp_path.iterdir() if p.name.startswith(".")) == []


def test_nothing_changes_where_nothing_moved(tmp_path: Path) -> None:
    path = character().glb(tmp_path / "a.glb")
    model = poise.load(path)
    poise.save(poise.Pose(model), tmp_path / "b.glb")
    poise.save(model, tmp_path / "c.glb")
    assert parts(tmp_path / "b.glb") == parts(path)
    assert parts(tmp_path / "c.glb") == parts(path)


@pytest.mark.parametrize("before", [".glb", ".gltf"])
@pytest.mark.parametrize("after", [".glb", ".gltf"])
def test_a_motion_becomes_the_first_clip(tmp_path: Path, before: str, after: str) -> None:
    path = written(character(), tmp_path, before)
    model = poise.load(path)
    motion = poise.Motion(model, model.random(np.random.default_rng(1), 17), fps=12.5)
    out = poise.save(motion, tmp_path / f"out{after}")
    again = poise.load_motion(out)
    assert (len(again), again.fps) == (17, 12.5)
    assert again.model.fk(again.q) == pytest.approx(model.fk(motion.q), abs=2e-6)
    np.testing.assert_allclose(again.model.rest, model.rest, atol=1e-15)
    root, _ = parts(out)
    assert [clip["name"] for clip in root["animations"]] == ["poise", "walk"]
    assert poise.load_motion(out, clip="walk").q == pytest.approx(poise.load_motion(path).q)
    twice = poise.save(motion, tmp_path / f"twice{after}", like=out)
    assert [clip["name"] for clip in parts(twice)[0]["animations"]] == ["poise_2", "poise", "walk"]


def test_an_edited_clip_is_named_after_the_one_it_came_from(tmp_path: Path) -> None:
    path = character().glb(tmp_path / "a.glb")
    clip = poise.load_motion(path)
    moved = poise.Motion(clip.model, clip.model.integrate(clip.q, np.full(clip.model.nv, 0.01)), clip.fps)
    for k, names in enumerate([["walk (edited)", "walk"], ["walk (edited 2)", "walk (edited)", "walk"]]):
        path = poise.save(moved, tmp_path / f"{k}.glb", like=path)
        assert [item["name"] for item in parts(path)[0]["animations"]] == names


def test_the_bytes_of_a_glb_are_added_to(tmp_path: Path) -> None:
    path = character().glb(tmp_path / "a.glb")
    data = path.read_bytes() + struct.pack("<I4s", 4, b"OWN\0") + b"mine"
    path.write_bytes(data[:8] + struct.pack("<I", len(data)) + data[12:])
    model = poise.load(path)
    poise.save(poise.Motion(model, model.random(np.random.default_rng(1), 5)), tmp_path / "b.glb")
    old, new = parts(path)[1], parts(tmp_path / "b.glb")[1]
    size = parts(path)[0]["buffers"][0]["byteLength"]
    assert new[:size] == old[:size]
    assert new.endswith(b"OWN\0mine")


def test_images_next_to_a_file_come_along(tmp_path: Path) -> None:
    file = character()
    file.json["images"] = [{"uri": "skin%20a.png"}, {"uri": "data:image/png;base64,AAAA"}]
    (tmp_path / "skin a.png").write_bytes(b"\x89PNG....")
    path = file.gltf(tmp_path / "a.gltf")
    (tmp_path / "far").mkdir()
    model = poise.load(path)
    for name in ("near.gltf", "far/x.gltf", "far/x.glb", "near.glb"):
        poise.save(model, tmp_path / name)
        root, binary = parts(tmp_path / name)
        image = root["images"][0]
        if name == "near.gltf":
            assert image == {"uri": "skin%20a.png"}
            assert root["buffers"] == [{"byteLength": len(file.data), "uri": "a.bin"}]
        elif name.endswith(".gltf"):
            assert image["uri"].startswith("data:image/png;base64,iVBORy4")
        else:
            view = root["bufferViews"][image["bufferView"]]
            assert binary[view["byteOffset"] :][: view["byteLength"]] == b"\x89PNG...."
            assert image["mimeType"] == "image/png"
        assert poise.load(tmp_path / name).nq == model.nq


@pytest.mark.parametrize("uri", ["lost.png", "../../etc/passwd", "/etc/passwd", "file:///etc/passwd"])
@pytest.mark.parametrize("suffix", ["gltf", "glb"])
def test_images_that_are_not_there_stay_so(tmp_path: Path, uri: str, suffix: str) -> None:
    file = character()
    file.json["images"] = [{"uri": uri, "name": "skin"}]
    (tmp_path / "far").mkdir()
    model = poise.load(file.gltf(tmp_path / "a.gltf"))
    with pytest.warns(FormatWarning, match="an image.*Its name was kept"):
        poise.save(model, tmp_path / "far" / f"b.{suffix}")
    assert parts(tmp_path / "far" / f"b.{suffix}")[0]["images"] == [{"uri": uri, "name": "skin"}]


def test_several_buffers_become_one_chunk(tmp_path: Path) -> None:
    file = character()
    path = file.gltf(tmp_path / "a.gltf")
    root = json.loads(path.read_text())
    root["buffers"].insert(0, {"byteLength": 3, "uri": "data:;base64,QUJD"})
    for view in root["bufferViews"]:
        view["buffer"] = 1
    root["bufferViews"].append({"buffer": 0, "byteLength": 3})
    path.write_text(json.dumps(root))
    model = poise.load(path)
    motion = poise.load_motion(path)
    poise.save(motion, tmp_path / "b.glb")
    again, binary = parts(tmp_path / "b.glb")
    assert len(again["buffers"]) == 1
    assert binary[:3] == b"ABC"
    assert poise.load_motion(tmp_path / "b.glb").q == pytest.approx(motion.q, abs=1e-6)
    assert poise.load(tmp_path / "b.glb").poses["bind"] == pytest.approx(model.poses["bind"])


def test_a_body_read_with_scale_and_up_goes_back_as_it_was(tmp_path: Path) -> None:
    path = character().glb(tmp_path / "a.glb")
    plain, turned = poise.load(path), poise.load(path, scale=0.01, up="z")
    q = plain.random(np.random.default_rng(2))
    other = q.copy()
    other[:3] *= 0.01
    poise.save(poise.Pose(turned, other), tmp_path / "b.glb")
    again = poise.load(tmp_path / "b.glb")
    assert again.fk(again.rest) == pytest.approx(plain.fk(q), abs=1e-9)


def test_parts_of_a_body_and_bodies_with_tools_go_back(tmp_path: Path) -> None:
    path = character().glb(tmp_path / "a.glb")
    model = poise.load(path)
    q = model.random(np.random.default_rng(3))
    tool = model.with_frame("tool", "lower", (0, 1, 0))
    poise.save(poise.Pose(tool, q), tmp_path / "tool.glb")
    again = poise.load(tmp_path / "tool.glb")
    assert again.fk(again.rest) == pytest.approx(model.fk(q), abs=1e-12)
    upper = q[model.joint("upper").q]
    locked = model.locked({"upper": upper})
    poise.save(locked, tmp_path / "locked.glb")
    again = poise.load(tmp_path / "locked.glb")
    assert again.fk(again.rest) == pytest.approx(locked.fk(locked.rest), abs=1e-12)
    part = model.subtree("upper")
    turned = poise.Pose(part, part.random(np.random.default_rng(4)))
    poise.save(turned, tmp_path / "part.glb")
    again = poise.load(tmp_path / "part.glb")
    assert again.rest[model.joint("hips").q] == pytest.approx(model.rest[model.joint("hips").q])
    assert abs(again.rest[model.joint("lower").q] @ turned.q) == pytest.approx(1)


def test_mirrored_uneven_and_matrix_nodes_go_back(tmp_path: Path) -> None:
    file = arm(scale=[-1, 1, 1])
    file.json["nodes"][3]["scale"] = [1, 2, 3]
    file.json["nodes"][2] = {
        "name": "upper",
        "children": [3],
        "matrix": [0, -2, 0, 0, 2, 0, 0, 0, 0, 0, 2, 0, 0.1, 0.2, 0.3, 1],
    }
    file.skin([1, 2, 3, 4])
    path = file.glb(tmp_path / "a.glb")
    model = poise.load(path)
    q = model.random(np.random.default_rng(5))
    poise.save(poise.Pose(model, q), tmp_path / "b.glb")
    root, _ = parts(tmp_path / "b.glb")
    assert "matrix" not in root["nodes"][2]
    np.testing.assert_allclose(worlds(root)[:, :3, 3], model.fk(q)[:, :3, 3], atol=1e-12)
    poise.save(poise.Motion(model, q[None]), tmp_path / "c.glb")
    motion = poise.load_motion(tmp_path / "c.glb")
    assert motion.model.fk(motion.q)[0] == pytest.approx(model.fk(q), abs=1e-6)


# ------------------------------------------------------------------------------------------------ bare skeletons


@pytest.mark.parametrize("name", ["humanoid", "panda", "tree30", "quadruped", "planar2"])
@pytest.mark.parametrize("suffix", [".glb", ".gltf"])
def test_any_body_is_written_as_a_bare_skeleton(tmp_path: Path, name: str, suffix: str) -> None:
    model = poise.load(name)
    motion = poise.Motion(model, model.random(np.random.default_rng(6), 9), fps=50)
    again = poise.load_motion(poise.save(motion, tmp_path / f"clip{suffix}"))
    assert (len(again), again.fps, again.model.up) == (9, 50, model.up)
    for frame in model.frames:
        assert again.model.fk(again.q, frame) == pytest.approx(
            model.fk(motion.q, frame), abs=3e-6 * model.length + 3e-6
        )
    pose = motion[3]
    still = poise.load(poise.save(pose, tmp_path / f"pose{suffix}"))
    for frame in model.frames:
        assert still.fk(still.rest, frame) == pytest.approx(model.fk(pose.q, frame), abs=1e-12)
    moving = {joint.frame for joint in model.joints if joint.kind != "fixed"}
    assert {joint.name for joint in still.joints} == moving


def test_values_that_gltf_cannot_store_are_reported(tmp_path: Path) -> None:
    with pytest.warns(FormatWarning, match=r"ranges.*masses") as caught:
        poise.save(poise.load("humanoid"), tmp_path / "a.glb")
    assert caught[0].filename == __file__


def test_a_solution_and_a_motion_that_stands_still(tmp_path: Path) -> None:
    path = character().glb(tmp_path / "a.glb")
    model = poise.load(path)
    target = model.fk(model.random(np.random.default_rng(8)), "lower")[:3, 3]
    solution = poise.solve(model, [poise.goals.Reach("lower", target)])
    poise.save(solution, tmp_path / "b.glb")
    again = poise.load(tmp_path / "b.glb")
    assert again.fk(again.rest, "lower")[:3, 3] == pytest.approx(target, abs=1e-3)
    poise.save(poise.Motion(model, np.tile(model.rest, (4, 1))), tmp_path / "c.glb")
    still = poise.load_motion(tmp_path / "c.glb")
    assert len(still) == 4
    assert still.q == pytest.approx(np.tile(model.rest, (4, 1)), abs=1e-6)


# ------------------------------------------------------------------------------------------------ refusals


def test_another_body_is_rejected(tmp_path: Path) -> None:
    path = character().glb(tmp_path / "a.glb")
    other = arm(scale=[2, 2, 2])
    other.json["nodes"][3]["translation"] = [0, 5, 0]
    other.skin([1, 2, 3, 4])
    longer = poise.load(other.glb(tmp_path / "longer.glb"))
    with pytest.raises(FormatError, match=r"'lower' is .* from where"):
        poise.save(poise.Pose(longer), tmp_path / "b.glb", like=path)
    with pytest.raises(FormatError, match="none of the nodes"):
        poise.save(poise.Pose(poise.load("panda")), tmp_path / "b.glb", like=path)
    assert not (tmp_path / "b.glb").exists()


def test_a_missing_character_file_is_requested(tmp_path: Path) -> None:
    path = character().glb(tmp_path / "a.glb")
    model = poise.load(path)
    path.unlink()
    with pytest.raises(FormatError, match="like="):
        poise.save(poise.Pose(model), tmp_path / "b.glb")
    assert list(tmp_path.iterdir()) == []
    again = poise.load(poise.save(poise.Pose(model), tmp_path / "b.glb", like=""))
    assert again.fk(again.rest) == pytest.approx(model.fk(model.rest), abs=1e-12)


def test_text_that_utf8_cannot_hold_survives(tmp_path: Path) -> None:
    root = character().with_buffer(None)
    root["nodes"][3]["extras"] = "\ud800"
    (tmp_path / "a.glb").write_bytes(glb(root, character().data))
    model = poise.load(tmp_path / "a.glb")
    poise.save(poise.Pose(model, model.random(np.random.default_rng(9))), tmp_path / "b.glb")
    assert parts(tmp_path / "b.glb")[0]["nodes"][3]["extras"] == "\ud800"


def test_unnamed_clips_have_the_name_of_their_file(tmp_path: Path) -> None:
    walk = poise.load("humanoid")
    clip = poise.Motion(walk, np.repeat(walk.rest[None], 5, axis=0), 30.0)
    poise.save(clip, tmp_path / "march.bvh")
    poise.save(poise.load_motion(tmp_path / "march.bvh"), tmp_path / "other.glb")
    assert [each["name"] for each in parts(tmp_path / "other.glb")[0]["animations"]] == ["march"]
