"""The parts of a body: rigid pieces between joints, in the tree of the model, wherever it stands."""

from __future__ import annotations

import numpy as np
import pytest

import poise
from figures import UP, Figure, Proportions
from poise.anatomy.outlines import find_half_extent, list_corners
from poise.anatomy.parts import Body, list_parts
from poise.model import Box, Capsule, Cylinder, Model, Sphere

BODIES = ("humanoid", "quadruped", "panda", "hand", "planar3")


def read(model: Model) -> Body:
    """Return the parts of a model in its rest pose."""
    return list_parts(model, model.rest, model.up_direction)


@pytest.mark.parametrize("name", BODIES)
def test_every_frame_belongs_to_one_part(name: str) -> None:
    body = read(poise.load(name))
    frames = [frame for part in body.parts for frame in part.frames]
    assert sorted(frames) == sorted(body.model.frames)
    assert all(part.frame == part.frames[0] for part in body.parts)
    assert [part.index for part in body.parts] == list(range(len(body.parts)))


@pytest.mark.parametrize("name", BODIES)
def test_parts_are_a_tree_with_parents_first(name: str) -> None:
    body = read(poise.load(name))
    for part in body.parts:
        assert part.parent < part.index
        assert all(body.parts[k].parent == part.index for k in body.children[part.index])
        above, below = body.list_above(part.index), body.list_below(part.index)
        assert above[0] == below[0] == part.index
        assert body.parts[above[-1]].parent < 0
        assert all(part.index in body.list_above(k) for k in below)
    roots = [part.index for part in body.parts if part.parent < 0]
    assert sorted(k for root in roots for k in body.list_below(root)) == [part.index for part in body.parts]


@pytest.mark.parametrize("name", BODIES)
def test_parts_keep_the_mass_and_the_freedom_of_the_model(name: str) -> None:
    model = poise.load(name)
    body = read(model)
    assert sum(part.mass for part in body.parts) == pytest.approx(model.mass)
    for part in body.parts:
        if part.joint is not None:
            assert (part.turns, part.slides) == (sum(part.joint.turns), sum(part.joint.slides))
            assert part.free == (part.joint.kind == "free")
        assert (part.axis is not None) == (part.turns == 1 and part.slides == 0)
        if part.axis is not None:
            assert np.linalg.norm(part.axis) == pytest.approx(1.0)


def test_fixed_frames_join_the_part_that_carries_them() -> None:
    builder = poise.ModelBuilder("arm")
    builder.add_frame("base", None)
    builder.add_joint("turn", "base", "revolute", axis=(0, 0, 1), mass=1.0)
    builder.add_joint("plate", "turn", "fixed", offset=(0.0, 0.0, 0.1), mass=0.5)
    builder.add_frame("tool", "plate", offset=(0.0, 0.0, 0.2))
    body = read(builder.build())
    assert [part.frames for part in body.parts] == [("base",), ("turn", "plate", "tool")]
    assert body.parts[1].mass == pytest.approx(1.5)
    assert body.parts[1].ends[-1] == pytest.approx((0.0, 0.0, 0.3))


@pytest.mark.parametrize("scale", [1e-3, 1e3])
def test_sizes_and_heights_scale(scale: float) -> None:
    plain, scaled = (read(Figure(scale=size).make()[0]) for size in (1.0, scale))
    assert scaled.size == pytest.approx(scale * plain.size)
    assert scaled.tall == pytest.approx(scale * plain.tall)
    assert scaled.joint_places == pytest.approx(scale * plain.joint_places)


def test_heights_are_along_the_up_direction() -> None:
    model, _ = Figure(Proportions.draw(1)).make()
    for up in (*np.eye(3), *-np.eye(3)):
        body = list_parts(model, model.rest, up)
        heights = [body.height(part.place) for part in body.parts]
        assert heights == pytest.approx(body.joint_places @ up)
    assert body.size == read(model).size


def test_a_flat_body_is_as_tall_as_it_is_large() -> None:
    builder = poise.ModelBuilder("flat")
    builder.add_joint("a", None, "free")
    builder.add_joint("b", "a", "ball", offset=(0.3, 0.0, 0.0))
    builder.add_joint("c", "a", "ball", offset=(0.0, 0.4, 0.0))
    body = list_parts(builder.build(), builder.build().rest, UP)
    assert body.tall == body.size == pytest.approx(0.4)


@pytest.mark.parametrize(
    ("solid", "half"),
    [
        (Sphere(0.2), (0.2, 0.2, 0.2)),
        (Box((0.2, 0.4, 0.6)), (0.1, 0.2, 0.3)),
        (Capsule(0.1, 0.4), (0.1, 0.1, 0.3)),
        (Cylinder(0.1, 0.4), (0.1, 0.1, 0.2)),
    ],
)
def test_corners_are_those_of_the_box_around_a_solid(solid: object, half: tuple[float, float, float]) -> None:
    assert find_half_extent(solid) == pytest.approx(half)  # type: ignore[arg-type]
    builder = poise.ModelBuilder("solid")
    builder.add_joint("root", None, "free")
    builder.add_shape("root", solid, offset=(1.0, 2.0, 3.0))  # type: ignore[arg-type]
    model = builder.build()
    corners = list_corners(model, model.fk(model.rest))["root"] - (1.0, 2.0, 3.0)
    assert np.abs(corners) == pytest.approx(np.tile(half, (8, 1)))
    assert len({tuple(np.sign(corner)) for corner in corners}) == 8
    part = read(model).parts[0]
    assert np.ptp(part.ends, axis=0) == pytest.approx(np.array((1.0, 2.0, 3.0)) + half)
