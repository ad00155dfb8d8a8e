"""Collision meshes as capsules and spheres, and the pairs of parts that can collide."""

import struct
from pathlib import Path

import numpy as np
import pytest

import poise
from poise.arrays import Floats
from poise.errors import FormatError, FormatWarning, InvalidValue
from poise.goals import Reach
from poise.limits import Clearance
from poise.limits.capsules import body_capsules
from poise.limits.pairs import find_pairs
from poise.model.geometry.capsule_cover import cover_with_capsules
from poise.model.geometry.sphere_cover import cover_with_spheres
from poise.model.geometry.triangles import triangulate_box

L_SHAPE = [((0.0, 0.0, 0.0), (0.2, 0.05, 0.05)), ((0.0, 0.05, 0.0), (0.05, 0.2, 0.05))]


def make_corners(*boxes: tuple[tuple[float, ...], tuple[float, ...]]) -> Floats:
    """The triangles of boxes from one corner to the other."""
    out = []
    for low, high in boxes:
        vertices, faces = triangulate_box((high[0] - low[0], high[1] - low[1], high[2] - low[2]))
        out.append((vertices + np.add(low, high) / 2)[faces])
    return np.concatenate(out)


def write_stl(path: Path, corners: Floats) -> None:
    """Write triangles as a binary STL."""
    rows = b"".join(struct.pack("<12fH", 0, 0, 1, *triangle.ravel(), 0) for triangle in corners)
    path.write_bytes(bytes(80) + struct.pack("<I", len(corners)) + rows)


def write_arm(folder: Path, *meshes: str) -> Path:
    """A URDF of links on joints 0.3 m apart about z, each with a collision mesh."""
    links = [
        f"<link name='link{k}'><collision><geometry><mesh filename='{mesh}'/></geometry></collision></link>"
        for k, mesh in enumerate(meshes)
    ]
    joints = [
        f"<joint name='joint{k}' type='revolute'><parent link='link{k}'/><child link='link{k + 1}'/><axis xyz='0 0 1'/>"
        "<origin xyz='0.3 0 0'/><limit lower='-2' upper='2' effort='1' velocity='1'/></joint>"
        for k in range(len(meshes) - 1)
    ]
    path = folder / "arm.urdf"
    path.write_text(f"<robot name='arm'>{''.join(links)}{''.join(joints)}</robot>")
    return path


def sample_solid(boxes: list[tuple[tuple[float, ...], tuple[float, ...]]], rng: np.random.Generator) -> Floats:
    """Points inside boxes, and on their corners."""
    inside = [rng.uniform(low, high, (2000, 3)) for low, high in boxes]
    return np.concatenate([*inside, make_corners(*boxes).reshape(-1, 3)])


def measure_box_distance(points: Floats, boxes: list[tuple[tuple[float, ...], tuple[float, ...]]]) -> Floats:
    """The distance of points from the nearest of some boxes [m]."""
    each = [np.maximum(np.maximum(np.subtract(low, points), points - high), 0.0) for low, high in boxes]
    return np.linalg.norm(each, axis=2).min(axis=0)


def draw_surface(a: Floats, b: Floats, radius: float, rng: np.random.Generator, count: int = 4000) -> Floats:
    """Points on a capsule and inside it."""
    turn = rng.normal(size=(count, 3))
    turn *= radius / np.linalg.norm(turn, axis=1, keepdims=True)
    return a + rng.random((count, 1)) * (np.asarray(b) - a) + turn


@pytest.mark.parametrize(
    "boxes",
    [L_SHAPE, [((-0.1, -0.1, 0.0), (0.1, 0.1, 0.01))], [((0.0, 0.0, 0.0), (0.02, 0.03, 0.4))]],
    ids=["bracket", "plate", "rod"],
)
def test_capsules_contain_a_mesh_and_keep_their_excess(boxes) -> None:
    rng = np.random.default_rng(0)
    capsules, excess = cover_with_capsules(make_corners(*boxes))
    points = sample_solid(boxes, rng)
    assert np.min([capsule.measure_distances(points) - capsule.radius for capsule in capsules], axis=0).max() <= 0.0
    out = np.concatenate([draw_surface(capsule.a, capsule.b, capsule.radius, rng) for capsule in capsules])
    assert measure_box_distance(out, boxes).max() <= excess
    assert excess < 0.12


def test_clearance_opens_the_collision_meshes(tmp_path) -> None:
    write_stl(tmp_path / "rod.stl", make_corners(((-0.02, -0.02, -0.02), (0.28, 0.02, 0.02))))
    model = poise.load(write_arm(tmp_path, "rod.stl", "rod.stl", "missing.stl"))
    assert not model.notes
    capsules = [capsule for capsule in body_capsules(model) if capsule.frame == "link1"]
    assert 0.02 * np.sqrt(2.0) <= max(capsule.radius for capsule in capsules) < 0.05
    covered, missing = model.notes
    assert "capsules that contain them" in covered
    assert "missing.stl" in missing
    assert "along their bones" in missing


def test_a_mesh_with_nan_is_named_and_the_skeleton_used_instead(tmp_path) -> None:
    corners = make_corners(((0.0, 0.0, 0.0), (0.1, 0.1, 0.1)))
    corners[3, 1, 2] = np.nan
    write_stl(tmp_path / "bad.stl", corners)
    model = poise.load(write_arm(tmp_path, "bad.stl", "bad.stl", "bad.stl"))
    assert {capsule.frame for capsule in body_capsules(model)} >= {"link0", "link1"}
    assert any("bad.stl" in note and "finite" in note for note in model.notes)


def make_chain(radius: float, *offsets: float) -> poise.Model:
    """A chain of spheres on hinges about z, from their distances."""
    builder = poise.ModelBuilder("chain")
    for k, offset in enumerate((0.0, *offsets)):
        parent = f"part{k - 1}" if k else None
        builder.add_joint(f"part{k}", parent, "revolute", offset=(offset, 0, 0), axis=(0, 0, 1), lower=-2.0, upper=2.0)
        builder.add_shape(f"part{k}", poise.model.Sphere(radius))
    return builder.build()


def test_pairs_that_nearly_always_overlap_are_left_out() -> None:
    model = make_chain(0.2, 0.05, 0.05, 1.0)
    choice = find_pairs(model, body_capsules(model), 0.0)
    assert set(choice.left_out) == {("part0", "part2")}
    assert "nearly all poses" in next(iter(choice.left_out.values()))
    assert any("Clearance leaves out part0/part2" in note for note in model.notes)


def test_pairs_that_overlap_at_rest_are_left_out_only_if_they_are_near_in_the_tree() -> None:
    model = make_chain(0.26, 0.25, 0.25, 0.3, 0.3)  # at rest 0.5, 0.55 and 0.6 m apart
    assert set(find_pairs(model, body_capsules(model), 0.0).left_out) == {("part0", "part2")}
    builder = poise.ModelBuilder("folded")
    for k, offset in enumerate((0.0, 0.4, 0.4, 0.4)):
        parent = f"part{k - 1}" if k else None
        builder.add_joint(
            f"part{k}", parent, "revolute", offset=(offset, 0, 0), axis=(0, 0, 1), lower=-2.2, upper=2.2, rest=2.1
        )
        builder.add_shape(f"part{k}", poise.model.Sphere(0.1))
    model = builder.build()
    choice = find_pairs(model, body_capsules(model), 0.0)
    assert choice.touching == (("part0", "part3"),)
    assert [0, 3] in choice.pairs.tolist()
    assert any("keeps part0/part3" in note for note in model.notes)


def test_why_lists_the_pairs_that_are_left_out() -> None:
    model = make_chain(0.2, 0.05, 0.05, 1.0)
    for target in ((0.9, 0.3, 0.0), (3.0, 0.0, 0.0)):
        solution = poise.solve(model, Reach("part3", target), limits=[Clearance()])
        assert "Clearance leaves out part0/part2" in solution.why()
    assert "leaves out" not in poise.solve(model, Reach("part3", (0.9, 0.3, 0.0))).why()


SRDF = "<robot name='{}'><disable_collisions link1='link0' link2='{}' reason='Never'/></robot>"


def test_an_srdf_overrides_the_automatic_pairs(tmp_path) -> None:
    write_stl(tmp_path / "rod.stl", make_corners(((-0.02, -0.02, -0.02), (0.65, 0.02, 0.02))))
    path = write_arm(tmp_path, "rod.stl", "rod.stl", "rod.stl", "rod.stl")
    model = poise.load(path)
    assert ("link0", "link2") in find_pairs(model, body_capsules(model), 0.0).left_out
    (tmp_path / "other.srdf").write_text(SRDF.format("arm", "link3"))
    for loaded in (poise.load(path), poise.load(path, srdf=tmp_path / "other.srdf")):
        choice = find_pairs(loaded, body_capsules(loaded), 0.0)
        assert [pair for pair, why in choice.left_out.items() if "SRDF" in why] == [("link0", "link3")]
        assert set(choice.left_out) == {("link0", "link3"), *((f"link{k}", f"link{k + 1}") for k in range(3))}
        assert ("link0", "link2") in choice.touching
        assert any("other.srdf" in note for note in loaded.notes)
    assert poise.load(path) != model
    (tmp_path / "other.srdf").write_text(SRDF.format("another", "link3"))
    assert poise.load(path) == model


def test_a_bad_srdf_is_named(tmp_path) -> None:
    path = write_arm(tmp_path, "rod.stl", "rod.stl")
    with pytest.raises(FormatError, match=r"missing\.srdf"):
        poise.load(path, srdf=tmp_path / "missing.srdf")
    with pytest.raises(InvalidValue, match="not from a URDF"):
        poise.load("panda", srdf=tmp_path / "missing.srdf")
    (tmp_path / "arm.srdf").write_text("<robot")
    with pytest.warns(FormatWarning, match=r"arm\.srdf"):
        assert poise.load(path).attachments.disabled_pairs is None
    with pytest.raises(FormatError, match=r"arm\.srdf"):
        poise.load(path, srdf=tmp_path / "arm.srdf")


def place_spheres(model: poise.Model, frame: str) -> tuple[Floats, Floats]:
    """The centres and radii of the collision spheres of a frame."""
    shapes = [shape for shape in model.shapes if shape.frame == frame and shape.use == "collision"]
    assert all(isinstance(shape.shape, poise.model.Sphere) for shape in shapes)
    return np.array([shape.offset.translation for shape in shapes]), np.array([shape.shape.radius for shape in shapes])


@pytest.mark.parametrize("error", [0.01, 0.03])
def test_spheres_contain_a_mesh_and_keep_the_error(tmp_path, error) -> None:
    rng = np.random.default_rng(0)
    write_stl(tmp_path / "bracket.stl", make_corners(*L_SHAPE))
    body = poise.load(write_arm(tmp_path, "bracket.stl", "bracket.stl"))
    model = poise.fit_spheres(body, error)
    centers, radii = place_spheres(model, "link1")
    points = sample_solid(L_SHAPE, rng)
    assert (np.linalg.norm(points[:, None] - centers, axis=2) <= radii).any(axis=1).all()
    out = np.concatenate([draw_surface(c, c, r, rng, 300) for c, r in zip(centers, radii, strict=True)])
    assert measure_box_distance(out, L_SHAPE).max() <= error
    (bound,) = [note for note in model.notes if "spheres contain its shapes" in note]
    stated = float(bound.rsplit("at most ", 1)[1].split()[0])
    assert measure_box_distance(out, L_SHAPE).max() <= stated * 1.001 <= error * 1.002
    assert len(body_capsules(model)) == 2 * len(radii)
    assert poise.fit_spheres(body, error) == model


@pytest.mark.parametrize("size", [(0.2, 0.08, 0.2), (0.12, 0.24, 0.06)])
def test_spheres_of_a_box_that_fits_the_grid_keep_the_error(size) -> None:
    vertices, faces = triangulate_box(size)
    centers, radii, excess = cover_with_spheres(vertices[faces], 0.016)
    assert excess <= 0.016
    over = radii[:, None] + np.abs(centers) - 0.5 * np.array(size)  # a sphere's farthest point beyond each side
    assert over.max() <= excess + 1e-9


def test_round_solids_are_inside_their_spheres() -> None:
    rng = np.random.default_rng(1)
    builder = poise.ModelBuilder("rods")
    builder.add_joint("a", None, "revolute", axis=(0, 0, 1), lower=-1.0, upper=1.0)
    builder.add_shape("a", poise.model.Cylinder(0.05, 0.2))
    builder.add_frame("b", "a", (1, 0, 0))
    builder.add_shape("b", poise.model.Capsule(0.05, 0.2))
    model = poise.fit_spheres(builder.build(), 0.01)
    turn, height = rng.uniform(0, 2 * np.pi, 3000), rng.choice([-0.1, 0.1, 0.05, 0.0], 3000)
    rim = np.stack([0.05 * np.cos(turn), 0.05 * np.sin(turn), height], axis=1)
    for frame, points in (("a", rim), ("b", draw_surface(np.array([0, 0, -0.1]), np.array([0, 0, 0.1]), 0.05, rng))):
        centers, radii = place_spheres(model, frame)
        assert (np.linalg.norm(points[:, None] - centers, axis=2) <= radii).any(axis=1).all()


def test_fits_of_open_missing_and_large_meshes(tmp_path) -> None:
    write_stl(tmp_path / "open.stl", make_corners(((0.0, 0.0, 0.0), (0.1, 0.1, 0.1)))[2:])
    body = poise.load(write_arm(tmp_path, "open.stl", "missing.stl"))
    model = poise.fit_spheres(body)
    assert any("open.stl is not closed" in note for note in model.notes)
    assert any("missing.stl" in note and "Without spheres: link1" in note for note in model.notes)
    with pytest.raises(InvalidValue, match=r"error is 1e-05.*Type error="):
        poise.fit_spheres(body, 1e-5)
    with pytest.raises(InvalidValue, match="error is 0"):
        poise.fit_spheres(body, 0.0)
    with pytest.raises(InvalidValue, match="no solids or readable meshes"):
        poise.fit_spheres(poise.load("planar2"))


@pytest.mark.parametrize(
    "solid",
    [
        poise.model.Box((0, 0, 0), (0, 0, 0)),
        poise.model.Box((0, 0, 0), (0.1, 0, 0)),
        poise.model.Cylinder(0.0, 0.0),
        poise.model.Cylinder(0.0, 0.2),
        poise.model.Capsule(0.0, 0.0),
    ],
)
def test_solids_without_volume_are_fitted(solid) -> None:
    builder = poise.ModelBuilder("thin")
    builder.add_joint("a", None, "revolute", axis=(0, 0, 1), lower=-1.0, upper=1.0)
    builder.add_shape("a", solid)
    centers, radii = place_spheres(poise.fit_spheres(builder.build(), 0.01), "a")
    ends = np.array([[0.05, 0, 0], [-0.05, 0, 0]]) if getattr(solid, "size", (0,))[0] else np.zeros((1, 3))
    ends = np.array([[0, 0, 0.1], [0, 0, -0.1]]) if getattr(solid, "length", 0.0) else ends
    assert (np.linalg.norm(ends[:, None] - centers, axis=2) <= radii).any(axis=1).all()
    assert radii.max() <= 0.02
