"""Convex meshes, point clouds and height maps as regions of the world."""

import copy
import json
import pickle

import numpy as np
import pytest

import poise
from limit_oracle import clearance_gaps, hull_distance
from poise import Status
from poise.arrays import Floats
from poise.errors import InvalidValue
from poise.formats.plain_values import decode_value, encode_value
from poise.goals import Reach
from poise.limits import Box, Capsule, Clearance, ConvexMesh, HeightMap, PointCloud, Sphere
from poise.scale.job import CLASSES
from poise.spatial import Rotation, Transform

TIP = "tool0"
ROUNDING = 1e-9  # m
CUBE = np.array([[x, y, z] for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)]) * 0.5


@pytest.fixture(scope="module")
def arm() -> poise.Model:
    return poise.load("ur5e")


def make_ball(count: int) -> Floats:
    """Points on the unit sphere, in general position."""
    points = np.random.default_rng(2).normal(size=(count, 3))
    return points / np.linalg.norm(points, axis=1, keepdims=True)


def make_prism(sides: int) -> Floats:
    """A prism with many corners in the planes of its caps."""
    turn = np.linspace(0.0, 2.0 * np.pi, sides, endpoint=False)
    ring = np.stack([np.cos(turn), np.sin(turn)], axis=1)
    return np.concatenate([np.column_stack([ring, np.full(sides, z)]) for z in (-1.0, 0.3, 1.0)])


MESHES = {
    "ball": (0.4, 0.1, 0.4) + 0.15 * make_ball(60),
    "prism": (0.3, -0.2, 0.5) + 0.2 * make_prism(17) * (1.0, 0.5, 0.2),
    "loose": np.random.default_rng(5).uniform((0.1, -0.5, 0.0), (0.5, 0.5, 0.6), (40, 3)),
}


@pytest.mark.parametrize("kind", MESHES)
def test_gaps_of_a_mesh_are_exact(arm, kind) -> None:
    limit, q = Clearance([], world=[ConvexMesh(MESHES[kind])]), arm.random(np.random.default_rng(3), 200)
    order = np.argsort(limit.measure_gap(arm, q))
    q = q[order[[0, 1, 150]]]
    expected = [min(clearance_gaps(arm, limit, one)) for one in q]
    assert min(expected) < 0.0 < max(expected)
    np.testing.assert_allclose(limit.measure_gap(arm, q), expected, atol=1e-6)


def test_a_cube_is_a_box(arm) -> None:
    q = arm.random(np.random.default_rng(1), 300)
    grid = np.stack(np.meshgrid(*[np.linspace(-0.5, 0.5, 5)] * 3), axis=-1).reshape(
        -1, 3
    )  # corners in its sides, inside
    place = np.array([0.2, 0.5, 0.3])
    expected = Clearance([], world=[Box(place, (0.3, 0.2, 0.5))]).measure_gap(arm, q)
    assert expected.min() < -0.1
    for corners in (CUBE, grid):
        mesh = ConvexMesh(corners * (0.3, 0.2, 0.5) + place)
        np.testing.assert_allclose(mesh.vertices.min(axis=0), place - (0.15, 0.1, 0.25))
        np.testing.assert_allclose(Clearance([], world=[mesh]).measure_gap(arm, q), expected, atol=1e-9)


def test_meshes_without_volume_are_polygons_lines_and_points(arm) -> None:
    q = arm.random(np.random.default_rng(3), 100)
    at = np.array([0.3, 0.2, 0.4])
    square = np.array([[x, y, 0.0] for x in (0.0, 0.1, 0.3) for y in (0.0, 0.2, 0.4)])
    cases = {
        Box(np.add(at, (0.15, 0.2, 0.0)), (0.3, 0.4, 0.0)): square,
        Capsule(at, np.add(at, (0.3, 0.1, 0.2)), 0.0): np.outer([0.0, 0.3, 0.5, 1.0], (0.3, 0.1, 0.2)),
        Sphere(at, 0.0): np.zeros((2, 3)),
    }
    for region, points in cases.items():
        expected = Clearance([], world=[region]).measure_gap(arm, q)
        found = Clearance([], world=[ConvexMesh(at + points)]).measure_gap(arm, q)
        np.testing.assert_allclose(found, expected, atol=1e-7)


@pytest.mark.parametrize("count", [5, 40, 700])
def test_a_hull_is_that_of_qhull(count) -> None:
    points = np.random.default_rng(count).normal(size=(count, 3)) * (1.0, 0.3, 0.1) + 20.0
    mesh, inside = ConvexMesh(points), points.mean(axis=0)
    np.testing.assert_allclose(hull_distance(points, mesh.vertices), 0.0, atol=1e-9)
    np.testing.assert_allclose(hull_distance(mesh.vertices, inside[None]), hull_distance(points, inside[None]))
    faces = mesh.vertices[mesh.faces]
    volume = np.linalg.det(faces - inside).sum() / 6.0
    from scipy.spatial import ConvexHull

    assert volume == pytest.approx(ConvexHull(points).volume, rel=1e-9)


def test_faces_leave_out_other_vertices() -> None:
    vertices = np.concatenate([CUBE, [[9.0, 9.0, 9.0]]])
    assert ConvexMesh(vertices, np.arange(8).reshape(-1, 4)) == ConvexMesh(CUBE)
    with pytest.raises(InvalidValue, match="ConvexMesh: faces"):
        ConvexMesh(CUBE, [[0, 1, 8]])


@pytest.mark.parametrize("count", [1, 30, 900])
def test_gaps_of_a_cloud_are_those_of_its_balls(arm, count) -> None:
    rng = np.random.default_rng(4)
    points = rng.uniform((0.1, -0.6, 0.0), (0.7, 0.6, 0.8), (count, 3))
    q = arm.random(rng, 60)
    balls = Clearance([], world=[Sphere(point, 0.02) for point in points]).measure_gap(arm, q)
    limit = Clearance([], world=[PointCloud(points, 0.02)])
    np.testing.assert_allclose(limit.measure_gap(arm, q), balls, atol=1e-12)
    assert balls.min() < 0.25
    if count == 30:
        np.testing.assert_allclose(balls[:5], [min(clearance_gaps(arm, limit, one)) for one in q[:5]], atol=1e-9)


def test_a_solve_keeps_clear_of_a_cloud_and_a_mesh(arm) -> None:
    rng = np.random.default_rng(0)
    points = rng.uniform((0.2, -0.6, 0.1), (0.6, 0.6, 0.9), (300, 3))
    limit = Clearance(world=[PointCloud(points, 0.005), ConvexMesh(MESHES["ball"] + (0.0, 0.4, 0.0))])
    q = arm.random(rng, 3000)
    clear = q[limit.measure_gap(arm, q) > 0.002][:12]
    goals = [Reach(TIP, T) for T in arm.fk(clear, TIP)]
    found = [poise.solve(arm, goal, limits=[limit]) for goal in goals]
    assert sum(solution.reached for solution in found) == len(goals)
    assert limit.measure_gap(arm, [solution.q for solution in found]).min() >= -ROUNDING
    assert min(clearance_gaps(arm, limit, found[0].q)) >= -ROUNDING
    batch = poise.solve_batch(arm, Reach(TIP, np.eye(4)), arm.fk(clear, TIP), limits=[limit])
    assert batch.reached.all()
    assert limit.measure_gap(arm, batch.q).min() >= -ROUNDING


@pytest.mark.parametrize("make", [lambda x: PointCloud(x, 0.03, name="thing"), lambda x: ConvexMesh(x, name="thing")])
def test_every_pose_on_the_way_is_clear(arm, make) -> None:
    T = np.array(arm.fk(arm.rest, TIP))
    goal = Reach(TIP, T[:3, 3] - (0.0, 0.0, 0.5))
    region = make(T[:3, 3] - (0.0, 0.0, 0.25) + 0.1 * make_ball(40))
    limit = Clearance([], 0.001, [region])
    solution = poise.solve(arm, goal, arm.rest, mode="continuous", limits=[limit])
    assert limit.measure_gap(arm, solution.q) >= 0.001 - ROUNDING
    assert not solution.reached


def test_why_names_the_obstacle(arm) -> None:
    T = np.array(arm.fk(arm.rest, TIP))
    for region in (ConvexMesh(T[:3, 3] + 0.2 * CUBE, name="crate"), PointCloud(T[None, :3, 3], 0.1, name="scan")):
        solution = poise.solve(arm, Reach(TIP, T), limits=[Clearance([], world=[region])])
        assert solution.status is Status.IN_COLLISION
        assert region.name in solution.why()


def test_places_move_meshes_and_clouds_row_by_row(arm) -> None:
    rng = np.random.default_rng(6)
    make = {
        "mesh": lambda **more: ConvexMesh(MESHES["ball"], **more),
        "cloud": lambda **more: PointCloud(MESHES["loose"], 0.01, **more),
    }
    places = Transform(Rotation.random(rng, 6), rng.uniform(-0.3, 0.3, (6, 3))).matrix
    T = arm.fk(arm.random(rng, 6), TIP)
    for name, region in make.items():
        limits = [Clearance([], world=[region(name=name)])]
        batch = poise.solve_batch(arm, Reach(TIP, np.eye(4)), T, limits=limits, places={name: places})
        for row, place in enumerate(places):
            moved = region(transform=place)
            gap = Clearance([], world=[moved]).measure_gap(arm, batch.q[row])
            assert batch.reached[row] <= (gap >= -ROUNDING)
        assert batch.reached.any()


def test_many_points_are_shared_by_worlds_and_copies(arm) -> None:
    points = np.random.default_rng(0).uniform(-3.0, 3.0, (100_000, 3))
    cloud = PointCloud(points[np.linalg.norm(points, axis=1) > 1.2].astype(np.float32), 0.01)
    solver = poise.Solver(
        arm, Reach(TIP, arm.fk(arm.rest, TIP)), limits=[Clearance([], world=[Sphere((3, 3, 3), 0.1)])]
    )
    assert solver.with_world([cloud]).solve(arm.rest).reached
    for twin in (copy.deepcopy(cloud), pickle.loads(pickle.dumps(cloud))):
        assert twin == cloud
        assert hash(twin) == hash(cloud)
    assert cloud != PointCloud(cloud.points, 0.02)


def test_regions_and_held_objects_are_saved_exactly() -> None:
    mesh = ConvexMesh(MESHES["prism"], name="prism")
    assert pickle.loads(pickle.dumps(mesh)) == mesh
    limit = Clearance(world=[mesh, PointCloud(MESHES["loose"], 0.01, name="scan")], held={TIP: [mesh, Sphere(0.1)]})
    written = json.loads(json.dumps(encode_value(limit, "limit", CLASSES)))
    assert decode_value(written, CLASSES, None) == limit


# ------------------------------------------------------ Height maps: heights and gaps of points, placements, and errors


def test_a_plane_has_its_height_and_slope_everywhere():
    x, y = np.meshgrid(0.1 * np.arange(5), 0.2 * np.arange(4))
    ramp = HeightMap(0.5 * x - 0.25 * y, (0.1, 0.2), center=(0.2, 0.3, 0.0))
    points = np.random.default_rng(0).uniform((0, 0, -1), (0.4, 0.6, 1), (50, 3))
    above = points[:, 2] - (0.5 * points[:, 0] - 0.25 * points[:, 1])
    assert ramp.measure_heights(points) == pytest.approx(above, abs=1e-12)
    gaps, normals = ramp.measure_gaps(points)
    unit = np.array([-0.5, 0.25, 1.0]) / np.linalg.norm([-0.5, 0.25, 1.0])
    assert normals == pytest.approx(np.tile(unit, (50, 1)), abs=1e-12)
    assert gaps == pytest.approx(above * unit[2], abs=1e-12)  # the distance from a plane


def test_the_gradient_of_heights_is_that_of_small_differences():
    hills = HeightMap(np.random.default_rng(1).normal(size=(6, 7)), 0.3)
    x, step = np.array([0.137, -0.22, 2.0]), 1e-6
    _, normal = hills.measure_gaps(x)
    ways = step * np.eye(3)
    slopes = [float(hills.measure_heights(x + way) - hills.measure_heights(x - way)) / (2.0 * step) for way in ways]
    assert normal == pytest.approx(np.array(slopes) / np.linalg.norm(slopes), abs=1e-6)


def test_rows_follow_y_and_columns_follow_x():
    steps = HeightMap([[0.0, 1.0], [2.0, 3.0]], 2.0)
    corners = [(-1.0, -1.0), (1.0, -1.0), (-1.0, 1.0), (1.0, 1.0)]
    assert [-float(steps.measure_heights((x, y, 0.0))) for x, y in corners] == [0.0, 1.0, 2.0, 3.0]


def test_a_world_with_y_up_and_a_transform():
    grid = np.arange(12.0).reshape(3, 4)
    plain = HeightMap(grid, 0.5)
    tall = HeightMap(grid, 0.5, up="y", name="hill")
    p = np.array([0.3, 0.1, 0.7])
    turned = np.array([p[0], p[2], -p[1]])
    assert float(tall.measure_heights(turned)) == pytest.approx(float(plain.measure_heights(p)))
    moved = HeightMap(grid, 0.5, transform=poise.Transform(None, (1.0, 2.0, 3.0)))
    assert float(moved.measure_heights(np.add(p, (1.0, 2.0, 3.0)))) == pytest.approx(float(plain.measure_heights(p)))
    assert tall.name == "hill"
    assert tall.up == pytest.approx([0.0, 1.0, 0.0])


def test_outside_of_the_grid_there_is_nothing():
    flat = HeightMap(np.zeros((3, 3)), 1.0)
    assert np.isinf(flat.measure_heights((1.5, 0.0, -1.0)))
    assert float(flat.measure_heights((1.0, 1.0, -1.0))) == -1.0
    assert "3 x 3" in repr(flat)
    assert flat.size == (2.0, 2.0)
