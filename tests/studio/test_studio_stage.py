"""The stage: from where a body is seen, and how large it looks."""

from __future__ import annotations

import numpy as np
import pytest

import poise
from poise.studio.puppet import measure_size
from poise.studio.stage import VIEWS, find_direction, find_view

BODIES = ("humanoid", "panda", "quadruped", "planar3", "snake100")
FOV = 0.72  # of the studio's camera [rad]


@pytest.mark.parametrize("aspect", [2.0, 1.2, 0.6])
@pytest.mark.parametrize("view", VIEWS)
@pytest.mark.parametrize("name", BODIES)
def test_every_view_shows_the_whole_body_from_above_the_floor(name: str, view: str, aspect: float) -> None:
    model = poise.load(name)
    points = model.fk(np.array(model.rest))[:, :3, 3]
    size = measure_size(model, np.array(model.rest))
    seen = find_view(model, size, points, find_direction(model, view), aspect)
    forward = seen.look_at - seen.position
    forward /= np.linalg.norm(forward)
    right = np.cross(forward, model.up_direction)
    right /= np.linalg.norm(right)
    above = np.cross(right, forward)
    away = points - seen.position
    depth = away @ forward
    assert (depth > 0).all()
    assert (np.abs(away @ above / depth) < np.tan(FOV / 2)).all()
    assert (np.abs(away @ right / depth) < aspect * np.tan(FOV / 2)).all()
    assert seen.position @ model.up_direction >= points[:, model.up_axis].min()


def test_planar_bodies_are_seen_as_on_paper() -> None:
    model = poise.load("planar3")
    away = find_direction(model, "fit")
    forward = -away / np.linalg.norm(away)
    right = np.cross(forward, (0.0, 0.0, 1.0))
    assert right / np.linalg.norm(right) == pytest.approx((1.0, 0.0, 0.0))
    assert np.cross(right, forward)[1] > 0.0


def test_the_size_of_a_body_does_not_hang_on_a_long_way_that_it_does_not_show() -> None:
    builder = poise.ModelBuilder("sliding")
    builder.add_joint("slide", None, "prismatic", lower=-100.0, upper=100.0)
    builder.add_joint("arm", "slide", "revolute", offset=(0.3, 0.0, 0.0))
    builder.add_frame("tip", "arm", (0.4, 0.0, 0.0))
    model = builder.build()
    assert measure_size(model, np.array(model.rest)) < 1.2
    humanoid = poise.load("humanoid")
    assert measure_size(humanoid, np.array(humanoid.rest)) == humanoid.length
