"""Bodies and clips from glTF files, against plain products of the nodes' matrices."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import poise
from gltf_files import File, arm, local, posed, quaternion, worlds
from poise.errors import FormatWarning, PoiseError


def off(model: poise.Model, q: np.ndarray, root: dict[str, Any], *, turns: bool = True) -> float:
    """How far the model's frames are from the products of the nodes' matrices."""
    world = worlds(root)
    worst = 0.0
    for i, node in enumerate(root["nodes"]):
        here = model.fk(q, node["name"])
        worst = max(worst, float(np.abs(here[:3, 3] - world[i][:3, 3]).max()))
        if turns:
            linear = world[i][:3, :3]
            worst = max(worst, float(np.abs(here[:3, :3] - linear / np.cbrt(np.linalg.det(linear))).max()))
    return worst


def random_tree(seed: int, *, count: int = 12, mirrored: bool = False) -> File:
    """Nodes in any order with even scales, some as matrices, some bones and some not."""
    rng = np.random.default_rng(seed)
    nodes: list[dict[str, Any]] = []
    for i in range(count):
        scale = float(rng.uniform(0.3, 3.0)) * np.ones(3)
        if mirrored and i % 4 == 1:
            scale = scale * rng.permutation([-1.0, 1.0, 1.0])
        node = {"name": f"n{i}", "translation": rng.normal(size=3).tolist(), "scale": scale.tolist()}
        node["rotation"] = (rng.normal(size=4) + 0.01).tolist()
        node["rotation"] = (np.array(node["rotation"]) / np.linalg.norm(node["rotation"])).tolist()
        if i % 5 == 2:
            node = {"name": f"n{i}", "matrix": local(node).T.reshape(-1).tolist()}
        nodes.append(node)
    order = rng.permutation(count)
    for k in range(1, count):
        nodes[order[rng.integers(k)]].setdefault("children", []).append(int(order[k]))
    file = File(nodes)
    file.skin([int(i) for i in order[count // 3 :]])
    return file


# ------------------------------------------------------------------------------------------------ bodies


@pytest.mark.parametrize("seed", range(8))
def test_rest_pose_is_the_products_of_the_nodes(tmp_path: Path, seed: int) -> None:
    file = random_tree(seed)
    model = poise.load(file.glb(tmp_path / "a.glb"))
    assert off(model, model.rest, file.json) < 1e-12 * 3**12


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("mirrored", [False, True])
def test_any_pose_is_the_products_of_the_nodes(tmp_path: Path, seed: int, mirrored: bool) -> None:
    file = random_tree(seed, mirrored=mirrored)
    rng = np.random.default_rng(seed)
    turned = [i for i, node in enumerate(file.json["nodes"]) if "matrix" not in node]
    values = {(i, "rotation"): rng.normal(size=4) for i in turned}
    times = [0.0, 1.0]
    keys = [(i, "rotation", times, np.stack([v, v]) / np.linalg.norm(v), "STEP") for (i, _), v in values.items()]
    file.clip("pose", keys)
    motion = poise.load_motion(file.glb(tmp_path / "a.glb"))
    root = posed(file.json, {place: np.float32(v / np.linalg.norm(v)) for place, v in values.items()})
    # a mirrored frame is turned by half a turn against its node, so only places are compared there
    assert off(motion.model, motion.q[0], root, turns=not mirrored) < 1e-6


def test_joints_are_balls_and_their_root_is_free(tmp_path: Path) -> None:
    file = arm()
    file.skin([1, 2, 3])
    model = poise.load(file.glb(tmp_path / "a.glb"))
    assert {joint.name: joint.kind for joint in model.joints} == {"hips": "free", "upper": "ball", "lower": "ball"}
    assert model.frames == ("armature", "hips", "upper", "lower", "leg")
    assert model.up == "y"
    hips = file.json["nodes"][1]
    x, y, z, w = hips["rotation"]
    np.testing.assert_allclose(model.rest[:7], [*hips["translation"], w, x, y, z], atol=1e-15)


def test_without_a_skin_every_node_is_a_joint(tmp_path: Path) -> None:
    file = arm()
    model = poise.load(file.glb(tmp_path / "a.glb"))
    assert [joint.kind for joint in model.joints] == ["free", "ball", "ball", "ball", "ball"]
    assert any("no skin" in note for note in model.notes)
    assert off(model, model.rest, file.json) < 1e-12


def test_an_armature_in_centimetres_is_read_in_metres(tmp_path: Path) -> None:
    file = arm(scale=[0.01, 0.01, 0.01])
    file.skin([1, 2, 3, 4])
    model = poise.load(file.glb(tmp_path / "a.glb"))
    assert off(model, model.rest, file.json) < 1e-15
    assert model.joint("lower").offset.translation == pytest.approx([0, 0.004, 0.001])


def test_an_uneven_scale_is_exact_in_the_files_pose_and_told(tmp_path: Path) -> None:
    file = arm(scale=[1.0, 2.0, 0.5])
    file.skin([1, 2, 3, 4])
    with pytest.warns(FormatWarning, match="uneven scale"):
        model = poise.load(file.glb(tmp_path / "a.glb"))
    assert off(model, model.rest, file.json, turns=False) < 1e-12
    assert any("uneven scale" in note for note in model.notes)


def test_an_uneven_scale_of_a_last_bone_matters_to_none(tmp_path: Path) -> None:
    file = arm()
    file.json["nodes"][3]["scale"] = [1.0, 3.0, 1.0]
    file.skin([1, 2, 3, 4])
    model = poise.load(file.glb(tmp_path / "a.glb"))
    assert off(model, model.rest, file.json, turns=False) < 1e-12


def test_a_scale_of_zero_gathers_what_hangs_from_it(tmp_path: Path) -> None:
    file = arm()
    file.skin([1, 2, 3, 4], bind=False)
    file.json["nodes"][2]["scale"] = [0, 0, 0]
    with pytest.warns(FormatWarning, match="scale is zero"):
        model = poise.load(file.glb(tmp_path / "a.glb"))
    assert off(model, model.rest, file.json, turns=False) < 1e-12


def test_the_bind_pose_comes_from_the_inverse_bind_matrices(tmp_path: Path) -> None:
    file = arm()
    file.skin([1, 2, 3, 4])
    bound = dict(file.json)
    file.json = posed(file.json, {(2, "rotation"): quaternion([0, 1, 0], 1.0), (3, "rotation"): [0, 0, 0, 1]})
    model = poise.load(file.glb(tmp_path / "a.glb"))
    assert off(model, model.rest, file.json) < 1e-12
    assert off(model, model.poses["bind"], bound) < 1e-6


def test_names_are_made_unique(tmp_path: Path) -> None:
    file = File(
        [{"children": [1, 2]}, {"name": "x", "translation": [0, 1, 0]}, {"name": "x", "translation": [1, 0, 0]}]
    )
    with pytest.warns(FormatWarning, match="several nodes have one name"):
        model = poise.load(file.glb(tmp_path / "a.glb"))
    assert model.frames == ("node_0", "x#1", "x#2")


def test_scale_and_up(tmp_path: Path) -> None:
    file = arm()
    file.skin([1, 2, 3, 4])
    path = file.glb(tmp_path / "a.glb")
    plain, turned = poise.load(path), poise.load(path, scale=0.5, up="z")
    places, others = plain.fk(plain.rest)[:, :3, 3], turned.fk(turned.rest)[:, :3, 3]
    np.testing.assert_allclose(others, 0.5 * np.stack([places[:, 0], -places[:, 2], places[:, 1]], axis=1), atol=1e-15)
    assert (plain.up, turned.up) == ("y", "z")
    guessed = poise.load(arm(scale=[100] * 3).glb(tmp_path / "b.glb"), scale="auto")
    assert any("0.01 m" in note for note in guessed.notes)
    assert guessed.length < 5


@pytest.mark.slow
def test_where_trimesh_has_the_nodes(tmp_path: Path) -> None:
    trimesh = pytest.importorskip("trimesh")
    file = random_tree(3)
    skin = file.skin(file.json["skins"][0]["joints"])
    file.mesh(skin, 4)
    path = file.glb(tmp_path / "a.glb")
    scene = trimesh.load(path, force="scene")
    model = poise.load(path)
    compared = 0
    for node in scene.graph.nodes:
        if node in model.frames:
            compared += 1
            place = scene.graph.get(node)[0][:3, 3]
            np.testing.assert_allclose(model.fk(model.rest, node)[:3, 3], place, rtol=1e-9, atol=1e-9)
    assert compared >= 12


# ------------------------------------------------------------------------------------------------ clips


def reference(mode: str, times: np.ndarray, values: np.ndarray, t: float, *, rotation: bool) -> np.ndarray:
    """A sampler by the letter of the specification's appendix C, one time at a time."""
    if mode == "CUBICSPLINE":
        before, middle, after = values[0::3], values[1::3], values[2::3]
    else:
        before = middle = after = values
    if t <= times[0] or len(times) == 1:
        out = middle[0]
    elif t >= times[-1]:
        out = middle[-1]
    else:
        k = max(i for i in range(len(times)) if times[i] <= t)
        d = times[k + 1] - times[k]
        u = (t - times[k]) / d
        if mode == "STEP":
            out = middle[k]
        elif mode == "CUBICSPLINE":
            out = (2 * u**3 - 3 * u**2 + 1) * middle[k] + d * (u**3 - 2 * u**2 + u) * after[k]
            out = out + (-2 * u**3 + 3 * u**2) * middle[k + 1] + d * (u**3 - u**2) * before[k + 1]
        elif rotation:
            a, b = middle[k], middle[k + 1]
            dot = float(a @ b)
            angle = np.arccos(min(abs(dot), 1.0))
            if angle < 1e-6:
                out = a
            else:
                out = (np.sin(angle * (1 - u)) * a + np.sign(dot) * np.sin(angle * u) * b) / np.sin(angle)
        else:
            out = (1 - u) * middle[k] + u * middle[k + 1]
    return out / np.linalg.norm(out) if rotation else out


@pytest.mark.parametrize("mode", ["STEP", "LINEAR", "CUBICSPLINE"])
@pytest.mark.parametrize("dtype", ["f4", "i2", "i1", "u2"])
def test_a_clip_is_what_its_sampler_says(tmp_path: Path, mode: str, dtype: str) -> None:
    rng = np.random.default_rng(5)
    times = np.array([0.0, 0.1, 0.5, 1.2], np.float32)
    rows = len(times) * (3 if mode == "CUBICSPLINE" else 1)
    quats, shifts = rng.normal(size=(rows, 4)), rng.normal(size=(rows, 3)).astype(np.float32)
    quats /= np.linalg.norm(quats, axis=1, keepdims=True)
    if dtype == "f4":
        stored = used = quats.astype(np.float32)
    else:
        most = np.iinfo(dtype).max
        stored = np.round((np.abs(quats) if dtype == "u2" else quats) * most)
        used = stored / most
    if mode != "CUBICSPLINE":
        used = used / np.linalg.norm(used, axis=1, keepdims=True)
    file = arm(scale=[2, 2, 2])
    file.skin([1, 2, 3, 4])
    file.clip("one", [(2, "rotation", times, stored, mode), (3, "translation", times, shifts, mode)], dtype)
    motion = poise.load_motion(file.glb(tmp_path / "a.glb"))
    assert motion.fps == 30
    assert len(motion) == 37
    assert motion.model.joint("lower").kind == "ball"
    assert motion.model.joint("lower_position").locked
    for k in range(len(motion)):
        # frames that hit a key to rounding take that key, so that no STEP is late by a frame
        t = float(min(times, key=lambda key: abs(key - k / 30)))
        t = t if abs(t - k / 30) < 1e-5 else k / 30
        values = {
            (2, "rotation"): reference(mode, times.astype(float), used.astype(float), t, rotation=True),
            (3, "translation"): reference(mode, times.astype(float), shifts.astype(float), t, rotation=False),
        }
        assert off(motion.model, motion.q[k], posed(file.json, values)) < 2e-6


@pytest.mark.slow
def test_clips_by_name_and_number(tmp_path: Path) -> None:
    file = arm()
    file.skin([1, 2, 3, 4])
    for name, angle in (("walk", 0.1), ("run", 0.2), ("", 0.3)):
        file.clip(name, [(2, "rotation", [0, 1], [quaternion([1, 0, 0], angle)] * 2, "LINEAR")])
    path = file.glb(tmp_path / "a.glb")
    model = poise.load(path)
    assert any("3 clips: 'walk', 'run', 'clip_2'" in note for note in model.notes)
    for clip, angle in ((None, 0.1), (0, 0.1), ("run", 0.2), (2, 0.3), (-1, 0.3), ("clip_2", 0.3)):
        motion = poise.load_motion(path, clip=clip)
        assert motion.model == model
        assert motion.q[0][model.joint("upper").q][0] == pytest.approx(np.cos(angle / 2), abs=1e-7)
    for clip in ("wlak", 3, True):
        with pytest.raises(PoiseError, match="walk"):
            poise.load_motion(path, clip=clip)


@pytest.mark.parametrize("fps", [24.0, 25.0, 29.97, 30.0, 59.94, 60.0, 120.0, 1000.0])
def test_the_rate_is_the_clips_own(tmp_path: Path, fps: float) -> None:
    file = arm()
    times = 2.0 + np.arange(200) / fps
    file.clip("c", [(2, "rotation", times, [quaternion([1, 0, 0], 0.01 * k) for k in range(200)], "STEP")])
    motion = poise.load_motion(file.glb(tmp_path / "a.glb"))
    assert len(motion) == 200
    assert motion.fps == pytest.approx(fps, rel=1e-5)
    angles = 2 * np.arccos(motion.q[:, motion.model.joint("upper").q][:, 0])
    np.testing.assert_allclose(angles, 0.01 * np.arange(200), atol=1e-3)


def test_keys_on_no_even_rate_are_sampled(tmp_path: Path) -> None:
    file = arm()
    file.clip("c", [(2, "rotation", [0, 0.1234, 0.77777], [quaternion([1, 0, 0], a) for a in (0, 1, 2)], "LINEAR")])
    motion = poise.load_motion(file.glb(tmp_path / "a.glb"))
    assert motion.fps == 60
    assert any("no even rate" in note for note in motion.model.notes)
    assert 2 * np.arccos(motion.q[-1][motion.model.joint("upper").q][0]) == pytest.approx(2.0, abs=1e-6)


def test_an_animated_scale_is_held_and_told(tmp_path: Path) -> None:
    file = arm()
    file.clip("c", [(2, "scale", [0, 1], [[1, 1, 1], [2, 2, 2]], "LINEAR")])
    with pytest.warns(FormatWarning, match="changes the scale"):
        motion = poise.load_motion(file.glb(tmp_path / "a.glb"))
    np.testing.assert_array_equal(motion.q[0], motion.q[-1])


def test_nodes_beside_the_skin_move_where_a_clip_moves_them(tmp_path: Path) -> None:
    file = arm()
    file.skin([2, 3])
    still = [file.json["nodes"][4]["translation"]] * 2
    file.clip(
        "c",
        [
            (0, "translation", [0, 1], [[0.5, 0, 0], [3, 0, 0]], "LINEAR"),
            (1, "rotation", [0, 1], [quaternion([0, 1, 0], 0.0), quaternion([0, 1, 0], 1.0)], "LINEAR"),
            (4, "translation", [0, 1], still, "LINEAR"),
        ],
    )
    motion = poise.load_motion(file.glb(tmp_path / "a.glb"))
    kinds = {joint.name: joint.kind for joint in motion.model.joints}
    assert kinds == {"armature": "free", "hips": "ball", "upper": "free", "lower": "ball"}
    last = posed(file.json, {(0, "translation"): [3, 0, 0], (1, "rotation"): quaternion([0, 1, 0], 1.0)})
    assert off(motion.model, motion.q[-1], last) < 1e-6


# ------------------------------------------------------------------------------------------------ bytes


@pytest.mark.slow
def test_every_way_to_keep_the_bytes(tmp_path: Path) -> None:
    file = arm()
    file.skin([1, 2, 3, 4])
    file.clip("c", [(2, "rotation", [0, 1], [quaternion([1, 0, 0], a) for a in (0.1, 0.4)], "LINEAR")])
    paths = [file.glb(tmp_path / "a.glb"), file.gltf(tmp_path / "b c.gltf"), file.data_uri(tmp_path / "d.gltf")]
    motions = [poise.load_motion(path) for path in paths]
    for motion in motions[1:]:
        np.testing.assert_array_equal(motion.q, motions[0].q)
    (tmp_path / "noname").write_bytes(paths[0].read_bytes())
    assert poise.load(tmp_path / "noname").nq == motions[0].model.nq
    (tmp_path / "UPPER.GLB").write_bytes(paths[0].read_bytes())
    assert poise.load(tmp_path / "UPPER.GLB").nq == motions[0].model.nq


def test_sparse_and_interleaved_accessors(tmp_path: Path) -> None:
    file = arm()
    times = np.arange(6) / 30
    quats = np.array([quaternion([1, 0, 0], 0.1 * k) for k in range(6)], np.float32)
    shifts = np.random.default_rng(1).normal(size=(6, 3)).astype(np.float32)
    woven = np.hstack([quats, shifts]).astype("<f4")
    view = file.view(woven.tobytes(), byteStride=28)
    about = {"bufferView": view, "componentType": 5126, "count": 6}
    turns = file.add("accessors", {**about, "type": "VEC4"})
    base = file.add("accessors", {**about, "type": "VEC3", "byteOffset": 16})
    new = np.array([[9, 9, 9], [8, 8, 8]], "<f4")
    sparse = {
        "count": 2,
        "indices": {"bufferView": file.view(np.array([1, 4], "<u2").tobytes()), "componentType": 5123},
        "values": {"bufferView": file.view(new.tobytes())},
    }
    file.json["accessors"][base]["sparse"] = sparse
    zeros = file.add("accessors", {"componentType": 5126, "type": "VEC3", "count": 6, "sparse": sparse})
    at = file.accessor(times)
    samplers = [{"input": at, "output": out} for out in (turns, base, zeros)]
    targets = [(2, "rotation"), (2, "translation"), (3, "translation")]
    channels = [{"sampler": i, "target": {"node": n, "path": p}} for i, (n, p) in enumerate(targets)]
    file.add("animations", {"samplers": samplers, "channels": channels})
    motion = poise.load_motion(file.glb(tmp_path / "a.glb"))
    shifts[[1, 4]] = new
    others = np.zeros((6, 3))
    others[[1, 4]] = new
    for k in range(6):
        values = {(2, "rotation"): quats[k], (2, "translation"): shifts[k], (3, "translation"): others[k]}
        assert off(motion.model, motion.q[k], posed(file.json, values)) < 1e-6


# ------------------------------------------------------------------------------------------------ VRM


@pytest.mark.parametrize("edition", [0, 1])
def test_bones_of_a_vrm_are_roles(tmp_path: Path, edition: int) -> None:
    file = arm()
    bones = {"hips": 1, "leftUpperArm": 2, "leftHand": 3, "rightFoot": 4}
    if edition:
        humanoid: Any = {"humanBones": {name: {"node": node} for name, node in bones.items()}}
        file.json["extensions"] = {"VRMC_vrm": {"specVersion": "1.0", "humanoid": humanoid}}
    else:
        humanoid = {"humanBones": [{"bone": name, "node": node} for name, node in bones.items()]}
        file.json["extensions"] = {"VRM": {"specVersion": "0.0", "humanoid": humanoid}}
    model = poise.load(file.glb(tmp_path / "a.vrm"))
    assert model.roles["hand_l"] == "lower"
    assert model.roles["foot_r"] == "leg"
    assert model.roles["pelvis"] == "hips"
    assert model.joint("hips").kind == "free"
    assert model.roles["shoulder_l"] == "upper"
    assert "armature" not in [joint.name for joint in model.joints]


def test_names_of_a_known_rig_are_roles(tmp_path: Path) -> None:
    chains = {"Spine": "Hips", "Spine1": "Spine", "Spine2": "Spine1", "Neck": "Spine2", "Head": "Neck"}
    for side in ("Left", "Right"):
        for chain, root in ((("Shoulder", "Arm", "ForeArm", "Hand"), "Spine2"), (("UpLeg", "Leg", "Foot"), "Hips")):
            names = [root, *(side + name for name in chain)]
            chains |= dict(zip(names[1:], names[:-1], strict=True))
    order = ["Hips", *chains]
    nodes: list[dict[str, Any]] = [{"name": f"mixamorig:{name}", "translation": [0, 0.1, 0]} for name in order]
    for child, parent in chains.items():
        nodes[order.index(parent)].setdefault("children", []).append(order.index(child))
    model = poise.load(File(nodes).glb(tmp_path / "a.glb"))
    assert model.roles["hand_l"] == "mixamorig:LeftHand"
    assert model.roles["foot_r"] == "mixamorig:RightFoot"
    assert any(note.startswith("roles:") for note in model.notes)
