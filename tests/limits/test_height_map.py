"""Height maps: heights and gaps of points, placements, and errors."""

import numpy as np
import pytest

import poise
from poise.errors import InvalidValue, ShapeMismatch
from poise.limits import Clearance, HeightMap


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


@pytest.mark.parametrize(
    ("heights", "spacing", "options", "error", "fragment"),
    [
        ([[0.0, np.nan], [0.0, 0.0]], 0.1, {}, InvalidValue, r"heights\[0, 1\] is nan"),
        ([0.0, 1.0, 2.0], 0.1, {}, ShapeMismatch, "two or more rows and columns"),
        ([[0.0, 1.0]], 0.1, {}, ShapeMismatch, "two or more rows and columns"),
        (np.zeros((2, 2)), 0.0, {}, InvalidValue, "spacing"),
        (np.zeros((2, 2)), -1.0, {}, InvalidValue, "spacing"),
        (np.zeros((2, 2)), (0.1, 0.1, 0.1), {}, InvalidValue, "spacing"),
        (np.zeros((2, 2)), 0.1, {"up": "x"}, InvalidValue, "up is 'x'"),
        (np.zeros((2, 2)), 0.1, {"name": 3}, InvalidValue, "name"),
        ("hills", 0.1, {}, InvalidValue, "heights"),
    ],
)
def test_mistakes_are_named(heights, spacing, options, error, fragment):
    with pytest.raises(error, match=fragment):
        HeightMap(heights, spacing, **options)


def test_points_must_have_three_numbers():
    with pytest.raises(ShapeMismatch, match="points"):
        HeightMap(np.zeros((2, 2)), 0.1).measure_gaps((0.0, 0.0))


def test_a_clearance_says_where_height_maps_are_supported():
    with pytest.raises(InvalidValue, match="HeightMap"):
        Clearance(world=[HeightMap(np.zeros((2, 2)), 0.1)])
