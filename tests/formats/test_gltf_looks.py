"""Skins of glTF characters: every vertex where the specification puts it, in every pose; hostile ones are rejected."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import looks_files as made
import poise
from gltf_files import File, posed, quaternion, worlds
from poise.errors import FormatError
from poise.formats.meshes.looks import find_look
from poise.model.geometry.looks import Look, deform

RED = made.png([[[200, 30, 30], [30, 30, 200]]])


def reference(file: File, root: dict[str, Any], points: Any, joints: Any, weights: Any) -> np.ndarray:
    """sum_k w_k W_k M_k v, with the nodes of `root` and the matrices of binding of `file`."""
    skin = file.json["skins"][0]
    world = worlds(root)[skin["joints"]]
    bind = np.linalg.inv(worlds(file.json)[skin["joints"]])
    moves = (world @ bind)[joints]
    homogeneous = np.column_stack([points, np.ones(len(points))])
    return np.einsum("nk,nkij,nj->ni", weights, moves, homogeneous)[:, :3]


def placed(path: Path, q: Any = None, **options: Any) -> tuple[Any, np.ndarray]:
    model = poise.load(path, **options)
    (piece,) = find_look(model).pieces
    return model, deform(piece, model.frames, model.fk(model.rest if q is None else q))


@pytest.mark.parametrize("influences", [4, 8, 12])
@pytest.mark.parametrize("top", [{}, {"scale": [2, 2, 2]}, {"scale": [0.01, 0.01, -0.01]}, {"translation": [1, 2, 3]}])
def test_vertices_are_where_the_specification_puts_them(influences: int, top: dict[str, Any], tmp_path: Path) -> None:
    file, points, joints, weights = made.strip(4, influences, **top)
    if influences > 8:  # the eight heaviest count
        best = np.argsort(-weights, axis=1, kind="stable")[:, :8]
        joints, weights = np.take_along_axis(joints, best, 1), np.take_along_axis(weights, best, 1)
        weights = weights / weights.sum(axis=1, keepdims=True)
    path = file.glb(tmp_path / "strip.glb")
    model, rest = placed(path)
    np.testing.assert_allclose(rest, reference(file, file.json, points, joints, weights), atol=1e-5)
    turned = quaternion([1, 2, 3], 0.7)
    bent = posed(file.json, {(2, "rotation"): turned, (4, "rotation"): quaternion([0, 1, 0], -1.1)})
    q = np.array(model.rest)
    q[model.joint("bone_1").q] = np.roll(turned, 1)
    q[model.joint("bone_3").q] = np.roll(quaternion([0, 1, 0], -1.1), 1)
    _, moved = placed(path, q)
    np.testing.assert_allclose(moved, reference(file, bent, points, joints, weights), atol=1e-5)


def test_scale_and_up_apply_to_the_skin_too(tmp_path: Path) -> None:
    file, points, joints, weights = made.strip()
    _, found = placed(file.glb(tmp_path / "strip.glb"), scale=0.01, up="z")
    wanted = 0.01 * reference(file, file.json, points, joints, weights)
    np.testing.assert_allclose(found, wanted[:, [0, 2, 1]] * (1, -1, 1), atol=1e-7)


def test_a_mesh_without_a_skin_rides_on_its_node(tmp_path: Path) -> None:
    file = made.box_file(translation=[1, 0, 0], scale=[2, 1, 1], rotation=quaternion([0, 0, 1], np.pi / 2))
    model, found = placed(file.glb(tmp_path / "box.glb"))
    np.testing.assert_allclose([found.min(axis=0), found.max(axis=0)], [[-1, 0, 0], [1, 2, 3]], atol=1e-6)
    assert find_look(model).pieces[0].skin is None


@pytest.mark.parametrize("write", ["glb", "gltf", "data_uri"])
def test_textures_are_kept_as_bytes(write: str, tmp_path: Path) -> None:
    file, *_ = made.strip(texture=RED)
    suffix = ".glb" if write == "glb" else ".gltf"
    model = poise.load(getattr(file, write)(tmp_path / f"strip{suffix}"))
    (piece,) = find_look(model).pieces
    assert piece.patch.material is not None
    assert piece.patch.material.texture is not None
    assert piece.patch.material.texture.data == RED
    assert piece.patch.uv is not None
    assert piece.patch.uv.shape == (len(piece.patch.vertices), 2)


def test_quantized_interleaved_and_sparse_meshes(tmp_path: Path) -> None:
    file, points, joints, weights = made.strip()
    primitive = file.json["meshes"][0]["primitives"][0]
    rows = np.zeros(len(points), np.dtype([("p", "<f4", 3), ("w", "<u2", 4), ("j", "<u1", 4)]))
    rows["p"], rows["j"] = points, joints
    rows["w"] = np.round(weights * 65535)
    view = file.view(rows.tobytes(), byteStride=24)
    moved = {"count": 1, "indices": {"bufferView": file.view(b"\x03\0"), "componentType": 5123}}
    moved["values"] = {"bufferView": file.view(np.array([9, 9, 9], "<f4").tobytes())}
    about = {"bufferView": view, "count": len(points)}
    plain = {"componentType": 5126, "type": "VEC3", **about, "sparse": moved}
    primitive["attributes"]["POSITION"] = file.add("accessors", plain)
    heavy = {"componentType": 5123, "type": "VEC4", "normalized": True, "byteOffset": 12, **about}
    primitive["attributes"]["WEIGHTS_0"] = file.add("accessors", heavy)
    bones = {"componentType": 5121, "type": "VEC4", "byteOffset": 20, **about}
    primitive["attributes"]["JOINTS_0"] = file.add("accessors", bones)
    _, found = placed(file.glb(tmp_path / "strip.glb"))
    points[3] = 9
    np.testing.assert_allclose(found, reference(file, file.json, points, joints, weights), atol=1e-3)


def test_a_body_that_lost_a_bone_has_no_skin(tmp_path: Path) -> None:
    file, *_ = made.strip()
    model = poise.load(file.glb(tmp_path / "strip.glb"))
    assert find_look(model.subtree("bone_2")).pieces == ()
    assert len(find_look(model.with_frame("tip", "bone_3")).pieces) == 1
    assert len(find_look(model.locked({"bone_2": model.rest[model.joint("bone_2").q]})).pieces) == 1


# ------------------------------------------------------------------------------------------------ hostile


def attributes(file: File) -> dict[str, Any]:
    found = file.json["meshes"][0]["primitives"][0]["attributes"]
    assert isinstance(found, dict)
    return found


def spoil(name: str, value: Any) -> Callable[[File], None]:
    def change(file: File) -> None:
        accessor = file.json["accessors"][attributes(file)[name]]
        accessor.update(value)

    return change


def fill(name: str, dtype: str, value: float) -> Callable[[File], None]:
    """Writes a value into the bytes of an attribute."""

    def change(file: File) -> None:
        view = file.json["bufferViews"][file.json["accessors"][attributes(file)[name]]["bufferView"]]
        data = bytearray(file.data)
        data[view["byteOffset"] : view["byteOffset"] + 4] = np.full(4 // int(dtype[1]), value, "<" + dtype).tobytes()
        file.data = bytes(data)

    return change


def draco(file: File) -> None:
    file.json["meshes"][0]["primitives"][0]["extensions"] = {"KHR_draco_mesh_compression": {"bufferView": 0}}


def basis(file: File) -> None:
    file.json["textures"][0] = {"extensions": {"KHR_texture_basisu": {"source": 0}}}


def escape(file: File) -> None:
    file.json["images"][0] = {"uri": "../../secret.png"}


def odd_indices(file: File) -> None:
    indices = file.json["accessors"][file.json["meshes"][0]["primitives"][0]["indices"]]
    view = file.json["bufferViews"][indices["bufferView"]]
    data = bytearray(file.data)
    data[view["byteOffset"] : view["byteOffset"] + 2] = b"\xff\xff"
    file.data = bytes(data)


HOSTILE: dict[str, tuple[Callable[[File], None], str]] = {
    "nan": (fill("POSITION", "f4", np.nan), "finite"),
    "infinite weight": (fill("WEIGHTS_0", "f4", np.inf), "finite"),
    "joint": (fill("JOINTS_0", "u1", 200), "joint 200"),
    "count": (spoil("WEIGHTS_0", {"count": 3}), "POSITION has"),
    "type": (spoil("JOINTS_0", {"type": "SCALAR"}), "VEC4"),
    "index": (odd_indices, "65535"),
    "draco": (draco, "KHR_draco_mesh_compression"),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_an_invalid_mesh_is_reported_and_the_body_is_loaded(name: str, tmp_path: Path) -> None:
    file, *_ = made.strip(texture=RED)
    change, word = HOSTILE[name]
    change(file)
    model = poise.load(file.glb(tmp_path / "strip.glb"))
    assert "bone_3" in model.frames
    look = find_look(model)
    assert look.pieces == ()
    assert any(word in note for note in look.notes), look.notes


@pytest.mark.parametrize(("change", "word"), [(basis, "KHR_texture_basisu"), (escape, "folder")])
def test_a_texture_that_cannot_be_had_leaves_the_mesh(
    change: Callable[[File], None], word: str, tmp_path: Path
) -> None:
    file, *_ = made.strip(texture=RED)
    change(file)
    look = find_look(poise.load(file.glb(tmp_path / "strip.glb")))
    assert len(look.pieces) == 1
    assert look.pieces[0].patch.material is not None
    assert look.pieces[0].patch.material.texture is None
    assert any(word in note for note in look.notes), look.notes


def test_a_missing_file_is_reported(tmp_path: Path) -> None:
    file, *_ = made.strip()
    path = file.glb(tmp_path / "strip.glb")
    model = poise.load(path)
    path.unlink()
    look = find_look(model)
    assert look.pieces == ()
    assert "missing" in look.notes[0]


def test_triangles_are_bounded_in_bodies_and_in_meshes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = made.box_file().glb(tmp_path / "box.glb")
    monkeypatch.setattr("poise.formats.gltf.looks.MAX_TRIANGLES", 11)  # a box has 12
    look = find_look(poise.load(path))
    assert look.pieces == ()
    assert "one triangle too many" in look.notes[0]
    with pytest.raises(FormatError, match="one triangle too many"):
        made.read_patches(path)
    monkeypatch.setattr("poise.formats.gltf.looks.MAX_TRIANGLES", 12)
    assert len(made.read_patches(path)) == len(find_look(poise.load(path)).pieces) == 1


def test_bodies_without_a_file_have_no_look() -> None:
    assert find_look(poise.load("humanoid")) == find_look(poise.load("panda"))
    assert isinstance(find_look(poise.load("humanoid")), Look)
    assert find_look(poise.load("humanoid")).pieces == ()
