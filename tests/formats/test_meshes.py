"""Mesh files: every kind gives the same box and the same image; hostile ones are rejected by name."""

import base64
import struct
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import looks_files as made
import poise
from file_cases import written
from poise.errors import FormatError
from poise.formats import load_within
from poise.formats.meshes.looks import find_look
from poise.formats.meshes.reader import MESHES
from poise.model.geometry.decimation import split_creases, thin
from poise.model.geometry.looks import Look, Patch, Piece, Skin, find_normals
from poise.pictures.textures import decode_texture, sample_texture

TURNED = "<rotate>0 0 1 90</rotate><translate>1 0 0</translate>"


def whole(patches: tuple[Patch, ...]) -> tuple[np.ndarray, np.ndarray]:
    """All vertices and triangles."""
    counts = np.cumsum([0, *(len(p.vertices) for p in patches)])
    triangles = [p.triangles.astype(int) + k for p, k in zip(patches, counts, strict=False)]
    return np.concatenate([p.vertices for p in patches]).astype(float), np.concatenate(triangles)


def volume(points: np.ndarray, triangles: np.ndarray) -> float:
    a, b, c = (points[triangles[:, k]] for k in range(3))
    return float(np.einsum("ij,ij->i", a, np.cross(b, c)).sum() / 6)


FILES = {
    "box.stl": made.stl(),
    "words.stl": made.text_stl(),
    "box.obj": made.obj(),
    "box.msh": made.msh(),
    "box.dae": made.dae(),
    "centimetres.dae": made.dae(0.01),
}


@pytest.mark.parametrize("name", FILES)
def test_every_kind_gives_the_same_box(name: str, tmp_path: Path) -> None:
    patches = made.read_patches(written(tmp_path / name, FILES[name]))
    points, triangles = whole(patches)
    np.testing.assert_allclose([points.min(axis=0), points.max(axis=0)], [[0, 0, 0], [1, 2, 3]], atol=1e-6)
    assert abs(volume(points, triangles) - made.VOLUME) < 1e-5, "triangles face outwards"
    assert len(triangles) == 12


def test_a_glb_is_a_mesh_too(tmp_path: Path) -> None:
    path = made.box_file(translation=[0, 0, 5], scale=[2, 1, -1]).glb(tmp_path / "box.glb")
    (patch,) = made.read_patches(path)
    points = patch.vertices
    np.testing.assert_allclose([points.min(axis=0), points.max(axis=0)], [[0, 0, 2], [2, 2, 5]], atol=1e-6)
    assert volume(points.astype(float), patch.triangles.astype(int)) > 0, "a mirrored mesh is turned outside out"
    assert patch.material is not None
    assert patch.material.color == pytest.approx((1.0, 0.0, 0.0, 1.0))


def test_loose_corners_become_one_vertex(tmp_path: Path) -> None:
    assert len(whole(made.read_patches(written(tmp_path / "box.stl", made.stl())))[0]) == 8


def test_colors_come_from_the_mesh(tmp_path: Path) -> None:
    (red,) = made.read_patches(written(tmp_path / "box.dae", made.dae()))
    assert red.material is not None
    assert red.material.color == (1.0, 0.0, 0.0, 1.0)
    (tmp_path / "paint.mtl").write_text("newmtl paint\nKd 0 0.5 1\n")
    (blue,) = made.read_patches(written(tmp_path / "box.obj", made.obj("paint.mtl")))
    assert blue.material is not None
    assert blue.material.color == (0.0, 0.5, 1.0, 1.0)
    (plain,) = made.read_patches(written(tmp_path / "bare.obj", made.obj("../../secret.mtl")))
    assert plain.material is None, "no colours are looked for outside of the folder"


def test_the_nodes_of_a_dae_place_its_meshes(tmp_path: Path) -> None:
    points, _ = whole(made.read_patches(written(tmp_path / "box.dae", made.dae(node=TURNED))))
    # turned by a quarter about z after a step along x: x' = -y, y' = x + 1
    np.testing.assert_allclose([points.min(axis=0), points.max(axis=0)], [[-2, 1, 0], [0, 2, 3]], atol=1e-6)


HOSTILE = {
    "short.stl": (b"solid", "84"),
    "count.stl": (made.stl()[:80] + struct.pack("<I", 2**31) + made.stl()[84:], "cut short"),
    "nan.stl": (made.stl(np.where(made.CORNERS == 3.0, np.nan, made.CORNERS)), "finite"),
    "far.stl": (made.stl(made.CORNERS * 1e30), "finite"),
    "index.obj": (made.obj().replace(b"f 1//1", b"f 99//1"), "vertex"),
    "zero.obj": (made.obj().replace(b"f 1//1", b"f 0//1"), "vertex"),
    "word.obj": (made.obj().replace(b"f 1//1", b"f x//1"), "not a number"),
    "line.obj": (b"v 0 0 0\nf 1 1\n", "three"),
    "nothing.obj": (b"# nothing\n", "no vertices"),
    "counts.msh": (struct.pack("<4i", 2**30, 0, 0, 2**30), "no mesh has"),
    "negative.msh": (struct.pack("<4i", -1, 0, 0, 1), "counts"),
    "index.msh": (made.msh()[:-4] + struct.pack("<i", 8), "vertex 8"),
    "index.dae": (made.dae().replace(b"<p>0 0", b"<p>9 0"), "vertex 9"),
    "vcount.dae": (made.dae().replace(b"<vcount>4", b"<vcount>400000000"), "vcount"),
    "nan.dae": (made.dae().replace(b">0.0 0.0", b">nan 0.0"), "finite"),
    "entity.dae": (made.dae().replace(b"<COLLADA", b'<!DOCTYPE a [<!ENTITY b "c">]><COLLADA'), "entit"),
    "loop.dae": (made.dae(node='<instance_node url="#top"/>'), "deep"),
    "page.dae": (b"<html/>", "COLLADA"),
    "empty.glb": (b"", "JSON"),
    "other.txt": (b"v 0 0 0", "not a mesh"),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_meshes_are_rejected_by_name(name: str, tmp_path: Path) -> None:
    data, word = HOSTILE[name]
    with pytest.raises(FormatError, match=word) as found:
        made.read_patches(written(tmp_path / name, data))
    assert name in str(found.value)


@given(st.sampled_from(sorted(FILES)), st.data())
def test_whatever_happens_to_a_mesh_it_is_read_or_rejected(name: str, data: st.DataObject) -> None:
    import tempfile

    whole_file = bytearray(FILES[name])
    for _ in range(data.draw(st.integers(1, 6))):
        at = data.draw(st.integers(0, len(whole_file) - 1))
        whole_file[at] = data.draw(st.integers(0, 255))
    cut = data.draw(st.integers(0, len(whole_file)))
    with tempfile.TemporaryDirectory() as folder:
        path = written(Path(folder) / name, bytes(whole_file[: max(cut, len(whole_file) // 2)]))
        try:
            patches = made.read_patches(path)
        except FormatError:
            return
    for patch in patches:
        assert np.isfinite(patch.vertices).all()
        assert patch.triangles.max(initial=0) < len(patch.vertices)


def test_every_suffix_has_a_reader(tmp_path: Path) -> None:
    for suffix in MESHES:
        with pytest.raises(FormatError, match="x") as found:
            made.read_patches(written(tmp_path / f"x{suffix}", b""))
        assert "is not a mesh that Poise reads" not in str(found.value)


# ------------------------------------------------------------------------------------------------ thinning, edges


def ball(count: int) -> Patch:
    """A ball of about count^2 triangles."""
    u, v = np.meshgrid(np.linspace(0, np.pi, count), np.linspace(0, 2 * np.pi, count), indexing="ij")
    points = np.stack([np.sin(u) * np.cos(v), np.sin(u) * np.sin(v), np.cos(u)], axis=-1).reshape(-1, 3)
    k = np.arange(count * count).reshape(count, count)
    quads = np.stack([k[:-1, :-1], k[1:, :-1], k[1:, 1:], k[:-1, 1:]], axis=-1).reshape(-1, 4)
    triangles = np.concatenate([quads[:, [0, 1, 2]], quads[:, [0, 2, 3]]])
    return Patch(points.astype(np.float32), triangles.astype(np.uint32))


@pytest.mark.parametrize("most", [50, 500, 5000, 20_000, 27_000])
def test_a_thinned_mesh_keeps_its_shape_and_what_hangs_on_its_vertices(most: int) -> None:
    patch = ball(120)
    joints = (np.arange(len(patch.vertices)) % 7)[:, None].astype(np.uint16)
    skin = Skin(("a",) * 7, np.repeat(np.eye(4)[None], 7, axis=0), joints, np.ones((len(joints), 1), np.float32))
    small = thin(Piece(patch, "a", np.eye(4), skin), most)
    assert 0.6 * most < len(small.patch.triangles) <= most
    assert np.ptp(small.patch.vertices, axis=0).min() > 1.7
    assert small.skin is not None
    old = {tuple(p): int(j) for p, j in zip(patch.vertices.tolist(), joints[:, 0], strict=True)}
    assert all(tuple(p) in old for p in small.patch.vertices.tolist()), "every vertex is one that was there"
    assert len(small.skin.joints) == len(small.patch.vertices)


def test_edges_stay_sharp_and_round_parts_round() -> None:
    box = split_creases(Patch(made.CORNERS.astype(np.float32), np.array(made.TRIANGLES, np.uint32)))
    assert len(box.vertices) == 24, "each corner of a box has three normals"
    normals = find_normals(box.vertices, box.triangles)
    assert np.allclose(np.abs(normals).max(axis=1), 1.0)
    round_patch = ball(40)
    assert len(split_creases(round_patch).vertices) <= len(round_patch.vertices)


SIGN_URDF = """<robot name="sign"><link name="base"><visual><geometry><mesh filename="{mesh}"/></geometry>{paint}
  </visual></link><link name="hand"/><joint name="j" type="revolute"><parent link="base"/><child link="hand"/>
  <origin xyz="0 0 1"/><axis xyz="0 1 0"/><limit lower="-1" upper="1"/></joint></robot>"""


PAINT = (0.2, 0.4, 0.6)


def colors_of(patch: Patch) -> np.ndarray:
    """The colour of each of the four squares, by where it stands, 0 to 255."""
    middle = np.asarray(patch.vertices)[patch.triangles.astype(int)].mean(axis=1)
    assert patch.material is not None
    found = np.tile(255 * np.array(patch.material.color[:3]), (len(middle), 1))
    if patch.material.texture is not None and patch.uv is not None:
        pixels = decode_texture(patch.material.texture)
        assert pixels is not None
        found = found * sample_texture(pixels, patch.uv[patch.triangles.astype(int)].mean(axis=1))[:, :3]
    assert len(middle) == 8
    return np.array([found[np.floor(middle[:, 0]) == k].mean(axis=0) for k in range(4)])


def write_robot(folder: Path, mesh: str, paint: str = "") -> Path:
    path = folder / "sign.urdf"
    path.write_text(SIGN_URDF.format(mesh=mesh, paint=paint))
    return path


def only_patch(look: Look) -> Patch:
    (piece,) = look.pieces
    return piece.patch


@pytest.mark.slow
@pytest.mark.parametrize("suffix", ["obj", "dae", "glb"])
def test_every_format_shows_the_same_image(suffix: str, tmp_path: Path) -> None:
    (patch,) = made.read_patches(made.painted_folder(tmp_path) / f"squares.{suffix}")
    np.testing.assert_allclose(colors_of(patch), made.COLORS, atol=1)
    np.testing.assert_allclose(colors_of(split_creases(patch)), made.COLORS, atol=1)
    path = write_robot(tmp_path, f"squares.{suffix}")
    look = find_look(poise.load(path))
    assert not look.notes
    np.testing.assert_allclose(colors_of(only_patch(look)), made.COLORS, atol=1)


@pytest.mark.slow
@pytest.mark.parametrize("suffix", ["obj", "dae"])
def test_pictures_and_pages_show_it(suffix: str, tmp_path: Path) -> None:
    made.painted_folder(tmp_path)
    model = poise.load(write_robot(tmp_path, f"squares.{suffix}"))
    page = poise.show(model, tmp_path / "page.html").path.read_text()
    assert base64.b64encode(made.SQUARES).decode() in page
    figure = poise.plot(model, camera=poise.pictures.Camera(0.2, 1.2)).figure
    figure.canvas.draw()
    pixels = np.asarray(figure.canvas.buffer_rgba())[..., :3].astype(float)
    hue = pixels - pixels.mean(axis=-1, keepdims=True)
    for color in np.array(made.COLORS, float):
        want = color - color.mean()
        alike = hue @ want / np.maximum(np.linalg.norm(hue, axis=-1) * np.linalg.norm(want), 1e-9)
        assert ((alike > 0.97) & (np.linalg.norm(hue, axis=-1) > 60)).sum() > 200


@pytest.mark.parametrize("suffix", ["obj", "dae"])
@pytest.mark.parametrize("image", ["../images/squares.png", "file:///home/maker/squares.png", "C:\\maker\\squares.png"])
def test_an_image_is_found_where_its_maker_had_it_or_next_to_the_mesh(suffix: str, image: str, tmp_path: Path) -> None:
    folder = made.painted_folder(tmp_path / "meshes")
    if image.startswith(".."):
        (tmp_path / "images").mkdir()
        (folder / "squares.png").rename(tmp_path / "images" / "squares.png")
    (folder / "paint.mtl").write_bytes(made.painted_mtl(image))
    (folder / "squares.dae").write_bytes(made.painted_dae(image))
    (patch,) = made.read_patches(folder / f"squares.{suffix}")
    np.testing.assert_allclose(colors_of(patch), made.COLORS, atol=1)


@pytest.mark.parametrize(
    "what", ["missing", "no image", "another suffix", "a link out of the upload", "above the upload"]
)
@pytest.mark.parametrize("suffix", ["obj", "dae"])
def test_without_its_image_a_mesh_has_its_color(suffix: str, what: str, tmp_path: Path) -> None:
    folder = made.painted_folder(tmp_path / "upload")
    image = folder / "squares.png"
    name = {"another suffix": "squares.tga", "above the upload": "../squares.png"}.get(what, "squares.png")
    (tmp_path / "squares.png").write_bytes(made.SQUARES)
    image.unlink()
    if what == "no image":
        image.write_bytes(b"#!/bin/sh")
    elif what == "a link outwards":
        image.symlink_to(tmp_path / "squares.png")
    elif what == "another suffix":
        (folder / name).write_bytes(made.SQUARES)
    (folder / "paint.mtl").write_bytes(made.painted_mtl(name))
    (folder / "squares.dae").write_bytes(made.painted_dae(name, "<color>{} {} {} 1</color>".format(*PAINT)))
    patch = only_patch(find_look(load_within(write_robot(folder, f"squares.{suffix}"), str(folder))))
    assert patch.material is not None
    assert patch.material.texture is None
    assert patch.uv is None
    assert patch.material.color[:3] == pytest.approx(PAINT)


def test_a_color_of_the_robot_file_overrides_the_image_unless_it_is_white(tmp_path: Path) -> None:
    made.painted_folder(tmp_path)
    for rgba, kept in (("1 1 1 1", True), ("0 0 1 1", False)):
        paint = f'<material name="p"><color rgba="{rgba}"/></material>'
        patch = only_patch(find_look(poise.load(write_robot(tmp_path, "squares.obj", paint))))
        assert patch.material is not None
        assert (patch.material.texture is not None) == kept


SIGN = """<mujoco><compiler meshdir="meshes" texturedir="meshes"/><asset>
  <texture name="t" type="{kind}" file="{image}"/><texture name="other" type="2d" builtin="flat" width="9" height="9"/>
  <mesh name="s" file="squares.{suffix}" inertia="shell"/>
  <material name="m" texture="t" rgba="1 1 1 1"/><material name="plain" rgba="0.2 0.4 0.6 1"/></asset>
  <worldbody><body name="arm"><joint/><inertial pos="0 0 0" mass="1" diaginertia="1 1 1"/>
    <geom type="mesh" mesh="s" material="{material}"/></body></worldbody></mujoco>"""


def load_sign(folder: Path, **how: str) -> poise.Model:
    text = SIGN.format(**{"kind": "2d", "image": "squares.png", "suffix": "obj", "material": "m", **how})
    (folder / "sign.xml").write_text(text)
    return poise.load(folder / "sign.xml")


@pytest.mark.slow
@pytest.mark.parametrize("suffix", ["obj", "msh"])
def test_an_mjcf_material_lays_its_image_on_a_mesh(suffix: str, tmp_path: Path) -> None:
    folder = made.painted_folder(tmp_path / "meshes")
    (folder / "paint.mtl").unlink()  # MuJoCo looks at none
    patch = only_patch(find_look(load_sign(tmp_path, suffix=suffix)))
    np.testing.assert_allclose(colors_of(patch), made.COLORS, atol=1)


@pytest.mark.slow
def test_an_mjcf_material_without_an_image_that_fits_has_its_color(tmp_path: Path) -> None:
    folder = made.painted_folder(tmp_path / "meshes")
    (folder / "paint.mtl").unlink()
    for how in ({"material": "plain"}, {"kind": "cube"}, {"image": "missing.png"}):
        look = find_look(load_sign(tmp_path, **how))
        patch = only_patch(look)
        assert patch.material is not None
        assert patch.material.texture is None
        assert patch.uv is None
        assert [note for note in look.notes if "missing.png" in note] == list(look.notes)
        assert len(look.notes) == ("image" in how)
