"""Names and transforms of the regions of the world."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import poise
from poise.errors import InvalidValue, ShapeMismatch
from poise.limits import Box, Capsule, Clearance, ConvexMesh, Cylinder, HalfSpace, PointCloud, Sphere
from poise.spatial import Rotation, Transform

MAKERS: dict[str, Callable[..., Any]] = {
    "sphere": lambda **more: Sphere((0.3, 0.1, 0.2), 0.1, **more),
    "box": lambda **more: Box((0.3, 0.1, 0.2), (0.1, 0.2, 0.3), Rotation.from_vector((0.3, 0.2, 0.1)), **more),
    "sizes": lambda **more: Box((0.1, 0.2, 0.3), **more),
    "capsule": lambda **more: Capsule((0.3, 0.1, 0.2), (0.1, 0.3, 0.2), 0.05, **more),
    "cylinder": lambda **more: Cylinder(0.05, 0.3, **more),
    "mesh": lambda **more: ConvexMesh(np.random.default_rng(1).uniform(-0.1, 0.3, (20, 3)), **more),
    "cloud": lambda **more: PointCloud(np.random.default_rng(1).uniform(-0.1, 0.3, (50, 3)), 0.01, **more),
    "half-space": lambda **more: HalfSpace((0.0, 0.0, -1.0), (0.0, 0.6, 0.8), **more),
}


@pytest.mark.parametrize("kind", MAKERS)
def test_a_transform_moves_a_region_as_it_moves_the_body(kind) -> None:
    rng = np.random.default_rng(0)
    arm = poise.load("ur5e", base="free")
    T = Transform(Rotation.from_vector((0.4, -0.7, 1.1)), (0.3, 0.2, -0.5))
    still, moved = MAKERS[kind](), MAKERS[kind](transform=T.matrix)
    for q in arm.random(rng, 20):
        base = Transform.from_matrix(arm.fk(q, arm.frames[0]))
        placed = np.concatenate([(T @ base).translation, (T @ base).rotation.wxyz, q[7:]])
        gaps = [Clearance([], world=[region]).measure_gap(arm, at) for region, at in ((still, q), (moved, placed))]
        assert gaps[0] == pytest.approx(gaps[1], abs=1e-9)


@pytest.mark.parametrize("kind", MAKERS)
def test_a_name_belongs_to_the_region(kind) -> None:
    make = MAKERS[kind]
    assert make().name == ""
    assert make(name="table").name == "table"
    assert make(name="table") != make()
    assert repr(make(name="table")) == repr(make())
    with pytest.raises(InvalidValue, match="name must be a string"):
        make(name=3)
    with pytest.raises(InvalidValue, match="transform"):
        make(transform="table")
    with pytest.raises(ShapeMismatch, match="one transform"):
        make(transform=np.eye(4)[None])
