"""Solids: one Box, one Capsule and one Sphere, as parts of a body and as regions of the world."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import poise
from poise import goals, kinematics, limits
from poise import model as shapes
from poise.errors import InvalidValue
from poise.model import Box, Capsule, ModelBuilder, Sphere

TURN = poise.Rotation.from_vector((0.3, -0.4, 0.5))
PLACED = {
    "sphere": Sphere((1.0, 2.0, 3.0), 0.5),
    "box": Box((1.0, 2.0, 3.0), (0.1, 0.2, 0.3), TURN),
    "capsule": Capsule((1.0, 2.0, 3.0), (1.5, 1.0, 3.5), 0.2),
    "capsule down": Capsule((0.0, 0.0, 1.0), (0.0, 0.0, -1.0), 0.2),
    "capsule of no length": Capsule((1.0, 0.0, 0.0), (1.0, 0.0, 0.0), 0.2),
}


def test_every_door_leads_to_the_same_class() -> None:
    assert goals.Box is limits.Box is kinematics.Box is shapes.Box
    assert limits.Capsule is kinematics.Capsule is shapes.Capsule
    assert goals.Ball is limits.Ball is limits.Sphere is kinematics.Sphere is shapes.Sphere


def test_a_solid_without_a_place_stands_at_the_origin() -> None:
    assert Sphere(0.5) == Sphere((0, 0, 0), 0.5) == Sphere(radius=0.5)
    assert Box((1, 2, 3)) == Box((0, 0, 0), (1, 2, 3)) == Box(size=(1, 2, 3)) == Box((0, 0, 0), size=(1, 2, 3))
    assert Capsule(0.1, 2.0) == Capsule((0, 0, -1), (0, 0, 1), 0.1) == Capsule(length=2.0, radius=0.1)
    assert all(solid.placement is None for solid in (Sphere(0.5), Box((1, 2, 3)), Capsule(0.1, 2.0), Capsule(0.1, 0)))


def test_the_length_of_a_capsule_is_the_one_given() -> None:
    for length in (*np.random.default_rng(0).lognormal(0.0, 20.0, 1000).tolist(), 0.0, 1e-150, 1e90):
        assert Capsule(0.1, length).length == length


@pytest.mark.parametrize("solid", PLACED.values(), ids=PLACED)
def test_a_place_of_its_own_becomes_part_of_the_offset(solid: Any) -> None:
    """A region is a solid and a place: the same points, as a shape of a body and as a region."""
    offset = poise.Transform(poise.Rotation.from_vector((0.1, 0.2, 0.3)), (3.0, 2.0, 1.0))
    builder = ModelBuilder("one").add_joint("a", None, "fixed")
    (shape,) = builder.add_shape("a", solid, offset=offset).build().shapes
    assert shape.shape == type(solid)(**solid.sizes)
    assert shape.shape.placement is None
    np.testing.assert_allclose(shape.offset.matrix, (offset @ solid.placement).matrix, atol=1e-15)
    for x in np.random.default_rng(1).normal(size=(50, 3)) * 0.3 + solid.placement.translation:
        inside = solid.placement.inverse().apply(x)
        assert gap(shape.shape, inside) == pytest.approx(gap(solid, x), abs=1e-12)


def gap(solid: Any, x: Any) -> float:
    """Return the distance of a point from a solid [m], from its own fields."""
    if isinstance(solid, Sphere):
        return max(0.0, float(np.linalg.norm(x - np.array(solid.center))) - solid.radius)
    if isinstance(solid, Box):
        local = solid.matrix.T @ (x - np.array(solid.center))
        return float(np.linalg.norm(np.maximum(np.abs(local) - np.array(solid.size) / 2, 0.0)))
    start, along = np.array(solid.start), np.array(solid.end) - np.array(solid.start)
    share = np.clip(along @ (x - start) / max(along @ along, 1e-300), 0.0, 1.0)
    return max(0.0, float(np.linalg.norm(x - start - share * along)) - solid.radius)


@pytest.mark.parametrize("solid", PLACED.values(), ids=PLACED)
def test_a_solid_can_be_changed_in_one_number(solid: Any) -> None:
    larger = replace(solid, **({"size": (1, 1, 1)} if isinstance(solid, Box) else {"radius": 1.0}))
    assert larger != solid
    assert larger.placement.almost_equal(solid.placement)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (Box, r"type Box\(size\) or Box\(center, size, rotation\)"),
        (lambda: Box((0, 0, 0), (1, 1, 1), None, 3), r"type Box\(size\) or Box"),
        (lambda: Sphere(0.1, 0.2, 0.3), r"type Sphere\(radius\) or Sphere\(center, radius\)"),
        (lambda: Sphere(0.1, width=3), r"Sphere\(0.1, width=\) is neither"),
        (lambda: Capsule(0.1), r"type Capsule\(radius, length\) or Capsule\(start, end, radius\)"),
    ],
)
def test_a_call_that_matches_no_form_lists_both(make: Any, words: str) -> None:
    with pytest.raises(InvalidValue, match=words):
        make()
