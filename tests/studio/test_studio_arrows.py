"""Arrows of a handle in the studio: outside its grip, out of its limb, along one axis."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

import poise
from poise.studio.puppet import Puppet
from poise.studio.scene.arrows import find_outward_signs, make_arrow, project_on_axis
from poise.studio.scene.grip_shapes import shape_grip
from poise.studio.scene.grips import Grips


@pytest.mark.parametrize("sign", [1.0, -1.0])
@pytest.mark.parametrize("axis", range(3))
def test_an_arrow_lies_outside_its_bubble_and_is_closed(axis, sign):
    model = poise.load("humanoid")
    vertices, faces = make_arrow(axis, 0.04 * model.length, sign)
    puppet = Puppet(model)
    bubble = shape_grip(model, puppet.handles["hand_l"], puppet.q, puppet.size).vertices
    assert (sign * vertices[:, axis]).min() > 1.2 * np.linalg.norm(bubble, axis=1).max()
    a, b, c = (vertices[faces[:, k]].astype(float) for k in range(3))
    assert np.einsum("ij,ij->", a, np.cross(b, c)) > 0  # seen from outside


@pytest.mark.parametrize("frame", ["hand_l", "hand_r", "foot_l"])
def test_no_arrow_points_into_the_limb(frame):
    model = poise.load("humanoid")
    T = model.fk(model.rest)
    frames = dict(zip(model.frames, T, strict=True))
    limb = frames["elbow_l" if frame == "hand_l" else "elbow_r" if frame == "hand_r" else "knee_l"][:3, 3]
    way = limb - frames[frame][:3, 3]
    tips = frames[frame][:3, :3] * find_outward_signs(model, frame, np.array(model.rest), 0.04 * model.length)
    assert (way @ tips / np.linalg.norm(way)).max() < 0.7


def test_the_nearest_place_on_an_axis_to_a_ray():
    origin, eye = np.array([0.1, 0.2, 0.3]), np.array([2.0, 3.0, 4.0])
    axis = np.array([2.0, -1.0, 2.0]) / 3
    for s in (-0.5, 0.0, 0.7):
        assert project_on_axis(origin, axis, eye, origin + s * axis) == pytest.approx(s)
    assert project_on_axis(origin, axis, origin - axis, origin) == 0.0  # in line with the eye


def test_a_pulled_arrow_moves_its_handle_along_one_axis():
    puppet = Puppet(poise.load("humanoid"))
    grips = SimpleNamespace(puppet=puppet, owners={}, _slides={}, touch=lambda _: None)
    grips.end = lambda name: (grips.owners.pop(name), puppet.let_go(name))
    before = puppet.transform("hand_l")
    eye = before[:3, 3] + (1.0, 0.4, 2.0)
    grab = before[:3, 3] + 0.1 * before[:3, 1]

    def pull(phase, place, viewer=1):
        camera = SimpleNamespace(position=tuple(eye))
        event = SimpleNamespace(
            phase=phase,
            client_id=viewer,
            client=SimpleNamespace(camera=camera),
            start_position=grab,
            end_position=place,
        )
        Grips.slide(grips, "hand_l", 1, event)

    pull("start", grab)
    pull("update", grab + 0.05 * before[:3, 1])
    pull("update", grab + 1.0, viewer=2)  # somebody else is not heard
    held = puppet.held["hand_l"]
    assert held[:3, 3] == pytest.approx(before[:3, 3] + 0.05 * before[:3, 1])
    assert np.array_equal(held[:3, :3], before[:3, :3])
    pull("end", grab)
    assert not puppet.held
    assert not grips._slides
