"""Every sole of a body has a floor, and a body sinks only if that is noticeable at its size."""

from __future__ import annotations

import numpy as np
import pytest

import poise
from poise import Motion
from poise.motion import Contacts, lock, quality, retarget
from poise.spatial import Rotation
from walkers import make_character, make_machine
from walks import make_walk

BODIES = {
    "machine": make_machine,
    "nods": lambda: make_machine(nods=True),
    "child": lambda: poise.load("humanoid", scale=0.6),
    "character": make_character,
}


def find_depth(motion):
    """How deep the lowest contact point of a foot is below height 0 at its deepest [m]."""
    known, up = poise.roles(motion.model).contacts, motion.model.up_direction
    points = [p for name, p in known.items() if name.startswith(("sole", "heel", "toe"))]
    return -min(float((motion.positions(p.frame, p.point) @ up).min()) for p in points)


def skate():
    """The walk of a body that glides over the floor, faster than anything that stands."""
    walk = make_walk(60)
    q = np.array(walk.q)
    q[:, 2] += 3.0 * walk.times
    q[:, 1] -= 0.03 * np.sin(np.pi * walk.times / walk.times[-1])  # and is recorded a little below it
    return Motion(walk.model, q, walk.fps)


@pytest.mark.slow
@pytest.mark.parametrize("name", list(BODIES))
def test_a_clip_in_which_nothing_stands_does_not_go_through_the_floor(name):
    carried = retarget(skate(), BODIES[name]())
    assert not len(carried.contacts)
    assert carried.contacts.floor == 0.0
    assert find_depth(carried.motion) < 1e-5
    assert carried.quality.sink_max < 0.1


@pytest.mark.parametrize("side", ["l", "r"])
def test_a_foot_that_never_stands_does_not_go_through_the_floor_while_the_other_one_does(side):
    """A ledger of one foot alone, and a ground that is higher than where the other one swings."""
    walk = make_walk(60)
    found = poise.motion.contacts(walk)
    one = Contacts(tuple(c for c in found if c.name.endswith(f"_{side}")), len(walk), walk.fps, found.floor)
    held = lock(walk, one, floor=0.04)
    known, up = poise.roles(walk.model).contacts, walk.model.up_direction
    for name in ("heel_l", "toe_l", "heel_r", "toe_r"):
        point = known[name]
        assert (held.motion.positions(point.frame, point.point) @ up).min() > 0.04 - 2e-3, name
    assert held.quality.sink_max < 2.0


@pytest.mark.parametrize("turn", [0.0, 0.02, 0.1, 0.35])
@pytest.mark.parametrize("options", [{}, {"nods": True}, {"twist": 0.004}])
def test_a_body_that_glides_over_the_floor_leaning_has_no_corner_below_it(options, turn):
    """The middles of its edges are above the floor; it moves if a corner is below, and else not by one bit."""
    model = make_machine(**options)
    q = np.tile(model.rest, (30, 1))
    q[:, 0] += 0.2 * np.arange(30)
    q[:, 3:7] = Rotation.from_axis_angle((1.0, 0.0, 0.0), turn).wxyz
    known = poise.roles(model).contacts
    middles = [known[name] for name in ("heel_l", "toe_l", "heel_r", "toe_r")]
    clip = Motion(model, q, 30.0)
    q[:, 2] += 0.001 - min(float(clip.positions(p.frame, p.point)[:, 2].min()) for p in middles)
    clip = Motion(model, q, 30.0)
    held = lock(clip, Contacts((), len(clip), clip.fps, 0.0))
    assert quality(clip, contacts=held.contacts).sink_max == pytest.approx(1e3 * max(find_depth(clip), 0.0), abs=0.5)
    assert find_depth(held.motion) < 1e-5
    assert held.quality.sink_max < 0.5
    assert find_depth(clip) > 0.0 or np.array_equal(held.motion.q, clip.q)


@pytest.mark.parametrize("deep", [0.02, 0.1])
def test_the_measure_counts_soles_that_never_stand(deep):
    walk = make_walk(30)
    q = np.array(walk.q)
    q[:, 1] -= deep
    clip = Motion(walk.model, q, walk.fps)
    measured = quality(clip, contacts=Contacts((), len(clip), clip.fps, 0.0))
    assert measured.sink_max == pytest.approx(1e3 * find_depth(clip), abs=0.1)
    assert measured.sink_share == 1.0


def test_where_the_ground_is_not_known_nothing_has_a_floor():
    walk = make_walk(30)
    q = np.array(walk.q)
    q[:, 1] -= 0.1
    clip = Motion(walk.model, q, walk.fps)
    nothing = Contacts((), len(clip), clip.fps)
    assert quality(clip, contacts=nothing).sink_max == 0.0
    assert np.array_equal(lock(clip, nothing).motion.q, clip.q)
    assert retarget(clip, make_machine(), contacts=nothing).contacts.floor is None
