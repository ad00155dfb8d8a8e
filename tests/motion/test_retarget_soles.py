"""Soles of whole clips that are carried over: contacts are exact, and no corner is below the floor."""

import numpy as np
import pytest

import poise
from poise import Motion
from poise.motion import retarget
from poise.spatial import Rotation
from walkers import make_machine
from walks import make_walk, put_skate_in

BODIES = {
    "machine": make_machine,
    "child": lambda: poise.load("humanoid", scale=0.6),
    "nods": lambda: make_machine(nods=True),
}


def lean(walk, most, phase=0.0):
    """The walk of a body that sways from side to side as a whole, feet and all; `most` and `phase` in radians."""
    q = np.array(walk.q)
    turn = Rotation.from_axis_angle((0.0, 0.0, 1.0), most * np.sin(2.0 * np.pi * walk.times / 0.9 + phase))
    q[:, :3] = turn.apply(q[:, :3])
    q[:, 3:7] = (turn @ Rotation(q[:, 3:7])).wxyz
    return Motion(walk.model, q, walk.fps)


def check_soles(walk, model):
    """Contacts are exact, no corner is below the floor, and the body stands on it all the same."""
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
    assert np.median(np.min(heights, axis=0)) < 0.012
    assert carried.quality.sink_max < 0.1


@pytest.mark.slow
@pytest.mark.parametrize("most", [0.0, 0.06, 0.12])
@pytest.mark.parametrize("name", list(BODIES))
def test_contacts_of_a_clip_are_exact_and_no_corner_of_a_sole_is_below_the_floor(name, most):
    """A foot that cannot be laid flat stands as high as its lower corner asks, where it leans most."""
    check_soles(lean(make_walk(72).smoothed(3.0), most), BODIES[name]())


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(10))
def test_no_corner_of_a_foot_that_only_nods_is_below_the_floor_however_it_sways(seed):
    """How far a foot leans is told by the solve that holds it, not by the one before it."""
    rng = np.random.default_rng(seed)
    walk = make_walk(int(rng.integers(60, 120)))
    if seed % 2:
        walk = put_skate_in(walk, seed=seed)
    swaying = lean(walk.smoothed(rng.uniform(2.0, 9.0)), rng.uniform(0.05, 0.14), rng.uniform(0.0, 6.0))
    check_soles(swaying, make_machine(nods=True, bend=0.3 * (seed % 3 == 0)))
