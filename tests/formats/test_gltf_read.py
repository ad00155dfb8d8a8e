"""Bodies and clips from glTF files, against plain products of the nodes' matrices."""

import contextlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import poise
from gltf_files import File, arm, local, off, posed, quaternion
from poise.errors import FormatWarning


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


SCALES: dict[str, tuple[int, list[float], str]] = {
    "uneven": (0, [1.0, 2.0, 0.5], "non-uniform scale"),
    "of a last bone, which matters to none": (3, [1.0, 3.0, 1.0], ""),
    "zero, which gathers what hangs from it": (2, [0, 0, 0], "scale is zero"),
}


@pytest.mark.parametrize("name", SCALES)
def test_odd_scales_are_exact_in_the_pose_of_the_file_and_reported(name: str, tmp_path: Path) -> None:
    node, scale, words = SCALES[name]
    file = arm()
    file.json["nodes"][node]["scale"] = scale
    file.skin([1, 2, 3, 4], bind=all(scale))
    with pytest.warns(FormatWarning, match=words) if words else contextlib.nullcontext():
        model = poise.load(file.glb(tmp_path / "a.glb"))
    assert off(model, model.rest, file.json, turns=False) < 1e-12
    assert not words or any(words in note for note in model.notes)


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
    with pytest.warns(FormatWarning, match="several nodes have the same name"):
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


def test_roles_of_a_vrm_are_distinguished_from_roles_by_name(tmp_path: Path) -> None:
    file = arm()
    humanoid = {"humanBones": {"hips": {"node": 1}, "leftHand": {"node": 3}}}
    file.json["extensions"] = {"VRMC_vrm_animation": {"specVersion": "1.0", "humanoid": humanoid}}
    model = poise.load(file.glb(tmp_path / "a.vrma"))  # a motion of VRM names its bones too
    assert (model.roles["pelvis"], model.roles["hand_l"]) == ("hips", "lower")
    assert "roles: 3 stated by the file itself" in model.notes  # a hand bone is wrist and hand
