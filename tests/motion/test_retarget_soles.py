"""Soles of whole clips that are carried over: contacts are exact, and no corner is below the floor."""

import numpy as np
import pytest

import poise
from poise import Motion
from poise.motion import retarget
from poise.spatial import Rotation
from walkers import make_machine
from walks import make_walk

BODIES = {
    "machine": make_machine,
    "child": lambda: poise.load("humanoid", scale=0.6),
    "nods": lambda: make_machine(nods=True),
}


def lean(walk, most):
    """The walk of a body that sways from side to side as a whole, feet and all; `most` in radians."""
    q = np.array(walk.q)
    turn = Rotation.from_axis_angle((0.0, 0.0, 1.0), most * np.sin(2.0 * np.pi * walk.times / 0.9))
    q[:, :3] = turn.apply(q[:, :3])
    q[:, 3:7] = (turn @ Rotation(q[:, 3:7])).wxyz
    return Motion(walk.model, q, walk.fps)


@pytest.mark.parametrize("most", [0.0, 0.06, 0.12])
@pytest.mark.parametrize("name", list(BODIES))
def test_contacts_of_a_clip_are_exact_and_no_corner_of_a_sole_is_below_the_floor(name, most):
    """A foot that cannot be laid flat stands as high as its lower corner asks, where it leans most."""
    walk, model = lean(make_walk(72).smoothed(3.0), most), BODIES[name]()
    carried = retarget(walk, model)
    up = model.up_direction
    points = [p for n, p in poise.roles(model).contacts.items() if n.startswith(("sole", "heel", "toe"))]
    heights = [carried.motion.positions(point.frame, point.point) @ up for point in points]
    assert len(carried.contacts) > 6
    for contact in carried.contacts:
        path = carried.motion[contact.start : contact.end].positions(contact.frame, contact.point)
        assert np.abs(path - np.array(contact.place)).max() < 2e-5
        assert np.array(contact.place) @ up >= -1e-9
    assert np.min(heights) > -1e-5
    assert np.median(np.min(heights, axis=0)) < 0.012  # and it stands on it all the same
    assert carried.quality.sink_max < 0.1
