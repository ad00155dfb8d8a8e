"""A body sinks more than before only if that is noticeable at its size."""

from __future__ import annotations

import numpy as np
import pytest

import poise
from poise import Motion
from poise.limits import Box
from poise.motion.contact.scene import Scene, read_scene
from poise.motion.retargeting.offline import sinks_more


def lower(model: poise.Model, depth: float) -> Motion:
    """Return two frames of the rest pose, the second of them lower."""
    q = np.tile(model.rest, (2, 1))
    q[1, :3] -= depth * model.up_direction
    return Motion(model, q, 30.0)


def make_scene(model: poise.Model) -> Scene:
    """Return a deep floor as a box."""
    found = read_scene([Box((0.0, -50.0, 0.0), (100.0, 100.0, 100.0))], model)
    assert found is not None
    return found


@pytest.mark.parametrize("inside", [False, True])
@pytest.mark.parametrize(("scale", "more", "sinks"), [(1.0, 3e-3, True), (1.0, 2e-4, False), (10.0, 3e-3, False)])
def test_only_a_noticeable_depth_counts(scale: float, more: float, sinks: bool, inside: bool) -> None:
    model = poise.load("humanoid", scale=scale)
    scene = make_scene(model) if inside else None
    before, after = lower(model, scale), lower(model, scale + more)
    assert sinks_more(before, after, scene) is sinks
    assert not sinks_more(after, before, scene)


def test_a_body_that_rises_out_of_the_floor_does_not_sink() -> None:
    model = poise.load("humanoid")
    assert not sinks_more(lower(model, 0.5), lower(model, -0.5))
    assert sinks_more(lower(model, -0.5), lower(model, 0.5))
