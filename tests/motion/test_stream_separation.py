"""Displacements of arms in a stream keep limits, ranges and speeds while they grow and fade."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import poise
from poise.limits import Clearance, HalfSpace
from poise.model import BallRange
from poise.model.derive import remodel, with_shapes
from poise.model.geometry.shapes import Box, Capsule, Shape
from poise.model.spec import JointSpec
from poise.motion import Retargeter
from poise.motion.retargeting.separation.stream_separation import FASTEST_RAD_S, StreamSeparation
from poise.spatial import Transform

FPS = 30.0
WIDEST = 0.3  # rad
IDENTITY = np.array([1.0, 0.0, 0.0, 0.0])


def add_shapes(body: poise.Model) -> poise.Model:
    """Return the body with a box for a trunk and capsules for its hands."""
    chest = Shape("chest", Box((0.24, 0.32, 0.16)), Transform(None, (0.0, 0.05, 0.0)), "collision")
    hands = [Shape(f"hand_{side}", Capsule(0.03, 0.04), Transform(), "collision") for side in "lr"]
    return with_shapes(body, [chest, *hands])


def start(body: poise.Model) -> StreamSeparation:
    """Return the separation of a stream, with its left arm turned by 1 rad at the shoulder."""
    found = Retargeter(poise.load("humanoid"), add_shapes(body), fps=FPS).separation
    assert found is not None
    found.shift = np.zeros(body.nv)
    found.shift[body.joint("shoulder_l").v] = (-1.0, 0.0, 0.0)
    return found


@pytest.fixture(scope="module")
def body() -> poise.Model:
    return poise.load("humanoid", scale=0.8)


def test_a_fading_displacement_is_no_faster_than_arms(body: poise.Model) -> None:
    parting = start(body)
    assert parting.shift is not None
    before = body.integrate(body.rest, parting.shift)
    after = parting.part(np.array(body.rest), lambda _: True)
    steps = np.abs(body.difference(before, after))
    assert 0.1 < steps.max() * FPS < FASTEST_RAD_S * (1.0 + 1e-9)


def test_a_fading_displacement_that_is_rejected_becomes_smaller(body: poise.Model) -> None:
    def allows(q: np.ndarray) -> bool:
        return bool(np.abs(body.difference(body.rest, q)).max() < 0.5)

    out = start(body).part(np.array(body.rest), allows)
    assert 0.1 < np.abs(body.difference(body.rest, out)).max() < 0.5


def test_a_pose_is_not_changed_if_every_displacement_is_rejected(body: poise.Model) -> None:
    parting = start(body)
    np.testing.assert_array_equal(parting.part(np.array(body.rest), lambda _: False), body.rest)
    np.testing.assert_array_equal(parting.part(np.array(body.rest), lambda _: True), body.rest)


def test_a_ball_joint_stays_in_its_range(body: poise.Model) -> None:
    open_range = np.full(3, np.inf)
    specs = [
        replace(spec, kind="ball", lower=-open_range, upper=open_range, rest=IDENTITY, cone=BallRange(angle=WIDEST))
        if isinstance(spec, JointSpec) and spec.name == "shoulder_l"
        else spec
        for spec in body.layout.specs
    ]
    jointed = remodel(with_shapes(body, []), specs)
    out = start(jointed).part(np.array(jointed.rest), lambda _: True)
    turn = jointed.difference(jointed.rest, out)[jointed.joint("shoulder_l").v]
    assert np.linalg.norm(turn) == pytest.approx(WIDEST, abs=1e-9)


@pytest.mark.parametrize(("pairs", "own"), [("auto", True), ([("hand_l", "chest")], True), ([], False)])
def test_a_clearance_with_a_world_replaces_it_if_it_has_pairs(body: poise.Model, pairs: object, own: bool) -> None:
    wall = HalfSpace((0.0, 0.0, -5.0), (0.0, 0.0, 1.0))
    live = Retargeter(poise.load("humanoid"), add_shapes(body), limits=[Clearance(pairs, world=[wall])])
    assert (live.separation is None) is own
