"""Pictures of bodies by their own meshes: the nearest is seen, in its colours, on a floor at the lowest point."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import looks_files as made
import poise
from poise.errors import FormatWarning
from poise.kinematics import Pose
from poise.model.geometry.looks import Look, Material, Patch, Piece, Skin, deform
from poise.model.geometry.shapes import Box, Capsule, Cylinder, Shape, Sphere
from poise.pictures import raster
from poise.pictures.body.pieces import find_pieces, sample_extremes
from poise.pictures.body.stick import Camera
from poise.pictures.body.surface import make_solid, mesh_solid
from poise.pictures.bounds import find_floor, sample_outline
from poise.pictures.raster import Canvas, Sheet, paint_sheets
from poise.pictures.textures import decode_texture, shrink_texture
from poise.spatial import Transform

pytest.importorskip("matplotlib")

RED, BLUE = (200, 30, 30), (30, 30, 200)
HALVES = made.png([[RED, RED, BLUE, BLUE]] * 4)


def flat_sheet(corners: Any, depth: float, color: tuple[float, float, float]) -> Sheet:
    patch = Patch(np.zeros((3, 3), np.float32), np.array([[0, 1, 2]], np.uint32), Material((*color, 1.0)))
    return Sheet(np.array(corners, float), np.full(3, depth), np.tile([0.0, 0.0, 1.0], (3, 1)), patch)


@pytest.mark.slow
def test_triangles_cover_their_area_and_the_nearest_is_seen() -> None:
    back = flat_sheet([(0, 0), (4, 0), (0, 4)], 2.0, (1, 0, 0))
    front = flat_sheet([(0, 0), (2, 0), (0, 2)], 1.0, (0, 0, 1))
    for sheets in ([back, front], [front, back]):
        image, (left, right, bottom, top) = paint_sheets(sheets, 400)
        pixel = (right - left) / image.shape[1]
        assert abs(image[..., 3].sum() * pixel**2 - 8.0) < 0.05
        assert pixel == pytest.approx((top - bottom) / image.shape[0])
        blue = (image[..., 2] > image[..., 0] + 0.1) & (image[..., 3] > 0.9)
        assert abs(blue.sum() * pixel**2 - 2.0) < 0.05


@pytest.mark.parametrize("seed", range(6))
def test_every_pixel_belongs_to_the_nearest_triangle_over_its_middle(seed: int) -> None:
    rng = np.random.default_rng(seed)
    many = 40
    corners = rng.uniform(0.0, 1.0, (many, 1, 2)) + 0.4 * rng.normal(size=(many, 3, 2))
    depth = rng.uniform(0.0, 1.0, (many, 3))
    patch = Patch(np.zeros((3 * many, 3), np.float32), np.arange(3 * many, dtype=np.uint32).reshape(-1, 3))
    for closed in (False, True):
        canvas = Canvas(np.zeros(2), np.ones(2), 60)
        canvas.draw(0, Sheet(corners.reshape(-1, 2), depth.ravel(), np.zeros((3 * many, 3)), patch, closed))
        x, y = np.meshgrid(*(canvas.step * (np.arange(n) + 0.5) for n in (canvas.columns, canvas.rows)))
        points = np.stack([x.ravel(), y.ravel()], axis=1)
        found = np.full((many, len(points)), np.inf)
        for k, (p, z) in enumerate(zip(corners, depth, strict=True)):
            u, v = p[1] - p[0], p[2] - p[0]
            if closed and u[0] * v[1] - u[1] * v[0] < 0.0:
                continue
            a, b = np.linalg.solve(np.stack([u, v], axis=1), (points - p[0]).T)
            behind = z[0] + a * (z[1] - z[0]) + b * (z[2] - z[0])
            found[k] = np.where((a >= 0) & (b >= 0) & (a + b <= 1), behind, np.inf)
        seen = np.isfinite(found.min(axis=0))
        assert ((canvas.sheet >= 0) == seen).mean() > 0.999  # on an edge, a last bit decides
        both = seen & (canvas.sheet >= 0)
        assert canvas.depth[both] == pytest.approx(found.min(axis=0)[both], abs=1e-6)
        assert (canvas.triangle[both] == found.argmin(axis=0)[both]).mean() > 0.999


def test_triangles_that_meet_leave_no_pixel_between_them() -> None:
    rng = np.random.default_rng(0)
    inside = rng.uniform(0.0, 1.0, (60, 2))
    square = np.array([(0, 0), (1, 0), (1, 1), (0, 1)], float)
    for middle in inside:  # four triangles around a point of a square
        corners = np.stack([square, np.roll(square, -1, axis=0), np.tile(middle, (4, 1))], axis=1)
        patch = Patch(np.zeros((12, 3), np.float32), np.arange(12, dtype=np.uint32).reshape(-1, 3))
        canvas = Canvas(np.full(2, 0.01), np.full(2, 0.99), 90)
        canvas.draw(0, Sheet(corners.reshape(-1, 2), np.zeros(12), np.zeros((12, 3)), patch))
        assert (canvas.sheet.reshape(canvas.rows, canvas.columns)[:90, :90] == 0).all()


def test_a_picture_is_no_finer_than_what_is_seen_of_it() -> None:
    sheet = flat_sheet([(0, 0), (4, 0), (0, 4)], 2.0, (1, 0, 0))
    whole, _ = paint_sheets([sheet], 200)
    coarse, (left, right, _, _) = paint_sheets([sheet], 200, pixel=0.1)
    assert max(whole.shape) > 190
    assert (right - left) / coarse.shape[1] == pytest.approx(0.1, rel=0.05)
    assert coarse[..., 3].sum() * 0.1**2 == pytest.approx(8.0, rel=0.05)


@pytest.mark.slow
def test_a_hostile_mesh_makes_a_coarser_picture_and_not_a_slow_one(monkeypatch) -> None:
    monkeypatch.setattr(raster, "MOST_WORK", 1_000_000)
    corners = np.tile([(0, 0), (4, 0), (0, 4)], (2000, 1)).astype(float)
    patch = Patch(np.zeros((6000, 3), np.float32), np.arange(6000, dtype=np.uint32).reshape(-1, 3))
    sheet = Sheet(corners, np.zeros(6000), np.tile([0.0, 0.0, 1.0], (6000, 1)), patch)
    image, _ = paint_sheets([sheet], 900)
    assert 8 < image.shape[0] < 30


@pytest.mark.parametrize("solid", [Box((1, 2, 3)), Sphere(0.5), Capsule(0.3, 1.0), Cylinder(0.4, 1.0)])
def test_solids_are_closed_and_face_outwards(solid: Any) -> None:
    surface = mesh_solid(make_solid(Shape("", solid, Transform.identity())) or pytest.fail("not a mesh"))
    a, b, c = (surface.vertices[surface.faces[:, k]] for k in range(3))
    volume = float(np.einsum("ij,ij->i", a, np.cross(b, c)).sum() / 6)
    exact = {
        Box: lambda s: float(np.prod(s.size)),
        Sphere: lambda s: 4 / 3 * np.pi * s.radius**3,
        Capsule: lambda s: 4 / 3 * np.pi * s.radius**3 + np.pi * s.radius**2 * s.length,
        Cylinder: lambda s: np.pi * s.radius**2 * s.length,
    }[type(solid)](solid)
    assert volume == pytest.approx(exact, rel=0.03)


def colors_of(picture: Any) -> tuple[int, int]:
    """How many reddish and bluish pixels a picture has."""
    picture.figure.canvas.draw()
    pixels = np.asarray(picture.figure.canvas.buffer_rgba())[..., :3].astype(int)
    red = (pixels[..., 0] > pixels[..., 2] + 60).sum()
    blue = (pixels[..., 2] > pixels[..., 0] + 60).sum()
    return int(red), int(blue)


@pytest.mark.slow
def test_a_textured_skin_is_seen_in_its_colors(tmp_path: Path) -> None:
    file, *_ = made.strip(texture=HALVES)
    model = poise.load(file.glb(tmp_path / "strip.glb"))
    red, blue = colors_of(poise.plot(model, camera=Camera(0.0, 0.2)))
    assert min(red, blue) > 1000
    assert 0.5 < red / blue < 2.0


@pytest.mark.slow
def test_a_robot_is_seen_in_the_colors_of_its_meshes(tmp_path: Path) -> None:
    model = poise.load(made.robot(tmp_path), package_path=[tmp_path / "elsewhere"])
    red, blue = colors_of(poise.plot(model))
    assert min(red, blue) > 1000


@pytest.mark.slow
def test_missing_meshes_are_reported_once_and_drawn_as_flesh(tmp_path: Path) -> None:
    model = poise.load(made.robot(tmp_path))
    with pytest.warns(FormatWarning, match="hand_description"):
        poise.plot(model)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        poise.plot(model)
        poise.plot(Pose(model, [0.1, 0.2, 0.3]))


@pytest.mark.parametrize(
    ("parts", "grows"), [(("head", "neck"), True), (tuple(poise.load("humanoid").frames[:25]), False)]
)
def test_a_character_with_a_skin_on_few_parts_has_flesh_on_the_others(parts, grows, monkeypatch) -> None:
    model = poise.load("humanoid").with_frame("tag", "head", (0.0, 0.1, 0.0))  # a copy, which keeps no pieces
    skin = Skin(parts, np.tile(np.eye(4), (len(parts), 1, 1)), np.zeros((3, 1), np.uint16), np.ones((3, 1), np.float32))
    patch = Patch(np.eye(3, dtype=np.float32), np.array([[0, 1, 2]], np.uint32))
    look = Look((Piece(patch, parts[0], np.eye(4), skin),))
    monkeypatch.setattr("poise.formats.meshes.looks.find_look", lambda _: look)
    drawn = {piece.frame for piece in find_pieces(model)}
    assert ({"elbow_l", "knee_r", "hip_l"} <= drawn) is grows


def test_solids_next_to_meshes_are_drawn(tmp_path: Path) -> None:
    path = made.robot(tmp_path)
    ball = '<link name="hand"><visual><geometry><sphere radius="0.2"/></geometry></visual></link>'
    text = made.ROBOT
    start, end = text.index('<link name="hand">'), text.index("</link>", text.index('<link name="hand">')) + 7
    path.write_text(text[:start] + ball + text[end:])
    assert {piece.frame for piece in find_pieces(poise.load(path))} == {"base", "upper", "lower", "hand"}


# ------------------------------------------------------------------------------------------------ bounds


def test_the_floor_is_at_the_lowest_point_of_pose_and_clip(tmp_path: Path) -> None:
    file, *_ = made.strip(8)
    path = file.glb(tmp_path / "strip.glb")
    model, motion = poise.load(path), poise.load_motion(path)
    (piece,) = find_pieces(model)
    for q in (model.rest, motion.q[len(motion) // 2]):
        exact = deform(piece, model.frames, model.fk(q))[:, 1].min()
        assert find_floor(model, q) == pytest.approx(exact, abs=0.05)
    assert find_floor(model, motion.q) <= min(find_floor(model, q) for q in motion.q) + 1e-9
    solid = poise.load("humanoid")
    assert abs(find_floor(solid, solid.rest)) < 0.02


def test_a_few_points_bound_the_whole_piece() -> None:
    rng = np.random.default_rng(0)
    points = rng.normal(size=(5000, 3)).astype(np.float32)
    piece = Piece(Patch(points, np.zeros((0, 3), np.uint32)), "a", np.eye(4))
    few = sample_extremes(piece).patch.vertices
    assert len(few) <= 26
    np.testing.assert_array_equal(few.min(axis=0), points.min(axis=0))
    np.testing.assert_array_equal(few.max(axis=0), points.max(axis=0))


def test_bodies_of_every_kind_have_an_outline() -> None:
    for name in poise.models.names():
        model = poise.load(name)
        outline = sample_outline(model, np.stack([model.rest, model.rest]))
        assert outline.shape[0] == 2
        assert np.isfinite(outline).all()


# ------------------------------------------------------------------------------------------------ colours


@pytest.mark.slow
def test_images_that_are_none_are_left_out() -> None:
    from poise.model.geometry.looks import Texture

    assert decode_texture(Texture(HALVES[:40], "image/png")) is None
    assert decode_texture(Texture(b"", "image/jpeg")) is None
    pytest.importorskip("imageio")
    rng = np.random.default_rng(1)
    large = Texture(made.png(rng.integers(0, 255, (1500, 700, 3))), "image/png")
    small = decode_texture(shrink_texture(large))
    assert small is not None
    assert max(small.shape[:2]) <= 1024


# ------------------------------------------------------------------------------------------------ pages


def unpacked(text: str, dtype: str, width: int) -> np.ndarray:
    import base64

    return np.frombuffer(base64.b64decode(text), dtype).reshape(-1, width).astype(float)


@pytest.mark.parametrize("influences", [4, 8])
def test_what_a_page_holds_is_the_body(influences: int, tmp_path: Path) -> None:
    from poise.pages.scenes import make_scene

    file, *_ = made.strip(5, influences, texture=HALVES, scale=[2, 2, 2])
    motion = poise.load_motion(file.glb(tmp_path / "strip.glb"))
    data = make_scene(motion).to_data()
    (mesh,), (patch,) = data["meshes"], data["patches"]
    assert len(data["images"]) == 1
    assert data["images"][0].startswith("data:image/png;base64,")
    points = unpacked(patch["points"], "<i2", 4)[:, :3] / 32767 * patch["half"] + patch["middle"]
    width = 4 * patch["influences"]
    joints, weights = unpacked(patch["joints"], "<u2", width).astype(int), unpacked(patch["weights"], "u1", width)
    weights /= weights.sum(axis=1, keepdims=True)
    binds = unpacked(mesh["binds"], "<f4", 16).reshape(-1, 4, 4).swapaxes(1, 2)
    tracks = unpacked(data["data"], "<f4", 7).reshape(data["frames"], data["tracks"], 7)
    (piece,) = find_pieces(motion.model)
    for frame in (0, len(motion) // 2):
        T = np.tile(np.eye(4), (len(mesh["tracks"]), 1, 1))
        row = tracks[frame, mesh["tracks"]]
        T[:, :3, :3] = poise.Rotation(row[:, 3:]).matrix
        T[:, :3, 3] = row[:, :3]
        found = np.einsum(
            "nk,nkij,nj->ni", weights, (T @ binds)[joints], np.column_stack([points, np.ones(len(points))])
        )
        wanted = deform(piece, motion.model.frames, motion.model.fk(motion.q[frame]))
        np.testing.assert_allclose(found[:, :3], wanted, atol=0.05)
    lowest = min(deform(piece, motion.model.frames, motion.model.fk(q))[:, 1].min() for q in motion.q)
    assert data["floor"] == pytest.approx(lowest, abs=0.1)


def test_bodies_that_look_alike_are_packed_once(tmp_path: Path) -> None:
    from poise.pages.scene import PageScene

    model = poise.load(made.robot(tmp_path), package_path=[tmp_path / "elsewhere"])
    scene = PageScene(model.up)
    for k in range(3):
        scene.add_body(model, np.array(model.rest)[None], offset=np.array([k, 0.0, 0.0]), color=(0.1, 0.2, 0.3))
    data = scene.to_data()
    assert (len(data["patches"]), len(data["meshes"])) == (1, 12)  # its four parts have the same mesh, too
    assert {tuple(mesh["color"]) for mesh in data["meshes"]} == {(0.1, 0.2, 0.3, 1.0)}


def test_a_figure_without_mass_and_mesh_is_a_person_with_a_head(tmp_path: Path) -> None:
    from poise.pictures.body.solids import find_solids

    human = poise.load("humanoid")
    path = tmp_path / "walk.bvh"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        poise.save(poise.Motion(human, np.stack([human.rest] * 2), 30.0), path)
    model = poise.load(path)
    assert model.mass == 0.0
    solids = find_solids(model)
    head = [solid for solid in solids if solid.frame == model.roles["head"]]
    wide = np.linalg.norm(np.subtract(*(model.fk(model.rest, model.roles[f"shoulder_{side}"])[:3, 3] for side in "lr")))
    assert max(max(solid.round) for solid in head) > 0.2 * wide, "a head, not a stick"
    assert {model.roles["pelvis"], model.roles["chest"]} <= {solid.frame for solid in solids}
