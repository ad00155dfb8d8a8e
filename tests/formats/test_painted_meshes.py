"""Images on the meshes of robots: the same squares in every format, and the colours drawn without an image."""

from __future__ import annotations

import base64
from pathlib import Path

import numpy as np
import pytest

import looks_files as made
import poise
from poise.formats import load_within
from poise.formats.meshes.looks import find_look
from poise.model.geometry.decimation import split_creases
from poise.model.geometry.looks import Look, Patch
from poise.pictures.textures import decode_texture, sample_texture

URDF = """<robot name="sign"><link name="base"><visual><geometry><mesh filename="{mesh}"/></geometry>{paint}
  </visual></link><link name="hand"/><joint name="j" type="revolute"><parent link="base"/><child link="hand"/>
  <origin xyz="0 0 1"/><axis xyz="0 1 0"/><limit lower="-1" upper="1"/></joint></robot>"""
KD = (0.2, 0.4, 0.6)


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
    path.write_text(URDF.format(mesh=mesh, paint=paint))
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
    (folder / "squares.dae").write_bytes(made.painted_dae(name, "<color>{} {} {} 1</color>".format(*KD)))
    patch = only_patch(find_look(load_within(write_robot(folder, f"squares.{suffix}"), str(folder))))
    assert patch.material is not None
    assert patch.material.texture is None
    assert patch.uv is None
    assert patch.material.color[:3] == pytest.approx(KD)


def test_a_color_of_the_robot_file_overrides_the_image_unless_it_is_white(tmp_path: Path) -> None:
    made.painted_folder(tmp_path)
    for rgba, kept in (("1 1 1 1", True), ("0 0 1 1", False)):
        paint = f'<material name="p"><color rgba="{rgba}"/></material>'
        patch = only_patch(find_look(poise.load(write_robot(tmp_path, "squares.obj", paint))))
        assert patch.material is not None
        assert (patch.material.texture is not None) == kept


MJCF = """<mujoco><compiler meshdir="meshes" texturedir="meshes"/><asset>
  <texture name="t" type="{kind}" file="{image}"/><texture name="other" type="2d" builtin="flat" width="9" height="9"/>
  <mesh name="s" file="squares.{suffix}" inertia="shell"/>
  <material name="m" texture="t" rgba="1 1 1 1"/><material name="plain" rgba="0.2 0.4 0.6 1"/></asset>
  <worldbody><body name="arm"><joint/><inertial pos="0 0 0" mass="1" diaginertia="1 1 1"/>
    <geom type="mesh" mesh="s" material="{material}"/></body></worldbody></mujoco>"""


def load_sign(folder: Path, **how: str) -> poise.Model:
    text = MJCF.format(**{"kind": "2d", "image": "squares.png", "suffix": "obj", "material": "m", **how})
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
