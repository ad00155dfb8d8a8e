"""Convex parts: depths and directions of overlaps against closed forms, and the pairs that are measured."""

from __future__ import annotations

import numpy as np
import pytest

import poise
from poise import Motion
from poise.limits.convex_parts import ConvexParts, choose_ways, find_convex_parts
from poise.limits.support_points import find_support_points
from poise.model import Model
from poise.model.derive import with_shapes
from poise.model.geometry.shapes import Box, Capsule, Cylinder, Shape, Sphere
from poise.motion.clips.collisions import find_hull_collisions
from poise.spatial import Rotation, Transform


def make_pair(one: object, other: object) -> ConvexParts:
    """Two solids; the first moves freely."""
    builder = poise.ModelBuilder("pair").add_joint("mover", None, "free")
    builder.add_frame("base", None)
    shapes = [Shape("mover", one, Transform(), "collision"), Shape("base", other, Transform(), "collision")]
    model = with_shapes(builder.build(), shapes)
    return ConvexParts(model, find_support_points(model, 1e-4), np.array([[0, 1]]))


def place(parts: ConvexParts, xyz: tuple[float, float, float], rotation: Rotation | None = None) -> np.ndarray:
    """The configuration with the first solid at a place."""
    q = np.array(parts.model.rest)
    q[:3], q[3:] = xyz, (Rotation.identity() if rotation is None else rotation).wxyz
    return q


@pytest.mark.parametrize("gap", [-0.03, -0.004, 0.004, 0.02])
def test_depths_of_boxes_are_exact(gap: float) -> None:
    parts = make_pair(Box((0.2, 0.1, 0.3)), Box((0.1, 0.4, 0.2)))
    found = parts.measure(place(parts, (0.02, 0.25 + gap, 0.03))[None], 0.05)
    assert found.depth == pytest.approx([-gap], abs=5e-4)
    if gap < 0.0:
        np.testing.assert_allclose(found.normal[0], (0.0, 1.0, 0.0), atol=0.03)


@pytest.mark.parametrize("gap", [-0.03, -0.004, 0.004, 0.02])
def test_depths_of_round_solids_are_exact(gap: float) -> None:
    parts = make_pair(Capsule(0.05, 0.3), Sphere(0.1))
    way = np.array([0.6, 0.8, 0.0])
    found = parts.measure(place(parts, tuple((0.15 + gap) * way))[None], 0.05)
    assert found.depth == pytest.approx([-gap], abs=1e-3)
    np.testing.assert_allclose(found.normal[0], way, atol=0.1)


def test_rotated_solids() -> None:
    """An edge of a box above a cylinder."""
    parts = make_pair(Box((0.2, 0.2, 0.2)), Cylinder(0.1, 0.2))
    for gap in (-0.02, 0.01):
        q = place(
            parts, (0.0, 0.0, 0.1 + 0.1 * np.sqrt(2.0) + gap), Rotation.from_axis_angle((1.0, 0.0, 0.0), np.pi / 4)
        )
        assert parts.measure(q[None], 0.05).depth == pytest.approx([-gap], abs=1e-3)


def test_only_near_pairs_are_returned() -> None:
    parts = make_pair(Box((0.2, 0.2, 0.2)), Box((0.2, 0.2, 0.2)))
    q = np.stack([place(parts, (x, 0.0, 0.0)) for x in (0.19, 0.21, 0.23, 1.0)])
    assert parts.measure(q, 0.02).pose.tolist() == [0, 1]
    assert parts.measure(q, -0.005).pose.tolist() == [0]
    assert not len(parts.measure(q, -0.02).pose)


def test_following_keeps_the_plane_of_a_contact() -> None:
    parts = make_pair(Box((0.2, 0.2, 0.2)), Box((0.2, 0.2, 0.2)))
    found = parts.measure(place(parts, (0.19, 0.0, 0.0))[None], 0.02)
    assert parts.follow(found, place(parts, (0.195, 0.03, 0.0))).depth == pytest.approx([0.005], abs=2e-3)


def test_displacements_end_overlaps_and_stay_near_the_wanted_one() -> None:
    """Along the normal, d minimises weight^2 (depth - (d - moved))^2 + (d - wanted)^2; elsewhere it is `wanted`."""
    parts, weight, columns = make_pair(Box((0.2, 0.2, 0.2)), Box((0.2, 0.2, 0.2))), 30.0, np.arange(3)
    moved, wanted = np.array([0.02, 0.0, 0.01]), np.array([0.015, 0.03, 0.0])
    q = place(parts, (0.19, 0.0, 0.0))
    found = parts.measure(q[None], 0.02)
    d = parts.displace(q, found, columns, moved, wanted, weight)
    n = found.axes[0] @ found.normal[0]
    least = found.depth[0] + n @ moved
    np.testing.assert_allclose(d, wanted + (least - n @ wanted) / (1.0 + weight**-2) * n, atol=1e-12)
    for heavy in (1e3, 1e5):  # what is left of the overlap is less than rounding
        np.testing.assert_allclose(parts.displace(q, found, columns, moved, wanted, heavy) @ n, least, rtol=2e-6)
    clear = wanted + 0.1 * n
    np.testing.assert_allclose(parts.displace(q, found, columns, moved, clear, weight), clear, atol=1e-12)


def test_directions_do_not_flip_between_poses() -> None:
    """Alone, the middle pose would part the other way."""
    overlaps = np.full((3, 70), 0.1)
    overlaps[:, 3], overlaps[1, 3], overlaps[1, 40] = 0.01, 0.02, 0.015
    assert overlaps.argmin(axis=1).tolist() == [3, 40, 3]
    assert choose_ways(overlaps, np.array([0, 1, 2]), 0.05).tolist() == [3, 3, 3]
    assert choose_ways(overlaps, np.array([0, 2, 4]), 0.05).tolist() == [3, 40, 3]


def test_directions_begin_anew_after_a_gap_in_time() -> None:
    """A cube inside a flat plate, nearer to one face and then to the other."""
    parts = make_pair(Box((0.1, 0.1, 0.1)), Box((0.6, 0.6, 0.02)))
    q = np.stack([place(parts, (0.0, 0.0, z)) for z in (0.04, 0.03, -0.005, -0.01)])
    assert (parts.measure(q, 0.0).normal[:, 2] > 0.5).all()
    assert np.sign(parts.measure(q, 0.0, times=np.array([0, 1, 7, 8])).normal[:, 2]).tolist() == [1, 1, -1, -1]


def test_the_least_depth_does_not_depend_on_other_poses() -> None:
    parts = make_pair(Box((0.1, 0.1, 0.1)), Box((0.6, 0.6, 0.02)))
    q = np.stack([place(parts, (0.0, 0.0, z)) for z in (0.04, 0.0, -0.035)])
    assert parts.measure(q, 0.0, steady=False).depth == pytest.approx([0.02, 0.06, 0.025], abs=1e-3)
    found = find_hull_collisions(Motion(parts.model, q, 30.0), parts)
    assert found.depths == pytest.approx([0.02, 0.06, 0.025], abs=1e-3)


def test_the_least_depth_is_never_above_the_first_one_found() -> None:
    parts, rng = make_pair(Box((0.6, 0.6, 0.02)), Box((0.1, 0.1, 0.1))), np.random.default_rng(5)
    turns = [Rotation.from_axis_angle(axis / np.linalg.norm(axis), 1.0) for axis in rng.normal(size=(40, 3))]
    q = np.stack([place(parts, tuple(0.02 * turn.matrix[:, 2]), turn) for turn in turns])
    first = parts.hulls.find(parts.model.fk(q)[:, parts.at], 0.0, np.zeros((1, 3)))[0]["depth"]
    found = parts.measure(q, 0.0, steady=False).depth
    assert len(found) == len(q)
    assert (found <= first + 1e-12).all()
    edges = np.array([np.abs(turn.matrix[:, 2]).sum() for turn in turns])
    assert found == pytest.approx(0.05 * edges + 0.01 - 0.02, abs=5e-4)


def test_many_pairs_are_measured_at_once() -> None:
    parts = make_pair(Box((0.1, 0.1, 0.1)), Box((0.1, 0.1, 0.1)))
    many = ConvexParts(parts.model, parts.solids, np.tile(parts.pairs, (5000, 1)))
    q = np.tile(place(parts, (1.0, 0.0, 0.0)), (1024, 1))
    q[700] = place(parts, (0.09, 0.0, 0.0))
    found = many.measure(q, 0.0)
    assert found.pair.tolist() == list(range(5000))
    assert set(found.pose.tolist()) == {700}


def add_boxes(model: Model, sizes: dict[str, tuple[float, float, float]]) -> Model:
    """The model with boxes around the origins of frames."""
    return with_shapes(model, [Shape(name, Box(size), Transform(), "collision") for name, size in sizes.items()])


def test_neighbours_and_parts_that_touch_at_rest_are_left_out() -> None:
    body = add_boxes(
        poise.load("humanoid"),
        {
            "chest": (0.3, 0.3, 0.2),
            "hand_l": (0.1, 0.1, 0.1),
            "elbow_l": (0.1, 0.1, 0.1),
            "clavicle_l": (0.1, 0.1, 0.1),
        },
    )
    parts = find_convex_parts(body)
    assert parts is not None
    names = {frozenset(parts.solids[i].frame for i in pair) for pair in parts.pairs}
    assert frozenset(("chest", "hand_l")) in names
    assert frozenset(("chest", "clavicle_l")) not in names
    assert find_convex_parts(poise.load("humanoid")) is None


def test_remembered_directions_change_no_result() -> None:
    """Boxes that approach, collide and part again, with a direction of the pose before."""
    parts = make_pair(Box((0.2, 0.1, 0.3)), Box((0.1, 0.4, 0.2)))
    path = [place(parts, (x, 0.1, 0.05)) for x in (0.4, 0.18, 0.16, 0.14, 0.2, 0.3)]
    last = np.zeros((1, 3))
    for q, near in zip(path, (False, False, True, True, False, False), strict=True):
        with_last, alone = parts.measure(q[None], 0.02, last=last), parts.measure(q[None], 0.02)
        assert len(with_last.depth) == len(alone.depth) == near
        np.testing.assert_array_equal(with_last.depth, alone.depth)
    assert last[0, 0] == pytest.approx(1.0, abs=0.1)
