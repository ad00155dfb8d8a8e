"""Clearance of a box that a frame carries: the same as of one that stands in the world, and it may be pushed away."""

import numpy as np
import pytest

import poise
from poise.goals import Reach
from poise.kinematics.together import write_coordinates
from poise.limits import Box as Region
from poise.limits import Clearance
from poise.limits.carried_objects import CarriedObject, ClearOfObjects
from poise.model import Box, Capsule, ModelBuilder, Sphere
from poise.model.derive import add_objects
from poise.motion.clips.whole_clip import Kernel
from poise.spatial import Rotation, Transform

ARM = poise.load("panda")
TCP = "panda_hand_tcp"
SIZE = (0.2, 0.3, 0.16)


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("kind", ["box", "placed box", "sphere", "capsule"])
def test_it_is_the_clearance_of_the_same_thing_in_the_world(kind, seed):
    rng = np.random.default_rng(seed)
    place = Transform(Rotation.random(rng), (0.45, 0.1 * rng.normal(), 0.45))
    own = Transform(Rotation.random(rng), 0.05 * rng.normal(size=3)) if kind == "placed box" else Transform.identity()
    there = place @ own
    if kind.endswith("box"):
        shape = Box(own.translation, SIZE, own.rotation) if kind == "placed box" else Box(SIZE)
        region = Region(there.translation, SIZE, there.rotation)
    elif kind == "sphere":
        shape, region = Sphere(0.12), Sphere(there.translation, 0.12)
    else:
        shape = Capsule(0.08, 0.2)
        region = Capsule(there.apply((0.0, 0.0, -0.1)), there.apply((0.0, 0.0, 0.1)), 0.08)
    things = ModelBuilder("things").add_joint("crate", None, "free", locked=True).build()
    whole = add_objects(ARM, things.layout.specs)
    carried = CarriedObject(poise.Object(shape, place, name="crate"), "crate", frozenset())
    moving = ClearOfObjects.extend(Clearance(), ARM, (carried,))
    q = ARM.random(rng, 100)
    both = np.concatenate([q, np.tile(write_coordinates(np.array(place.matrix)), (100, 1))], axis=1)
    gaps = measure_gaps(ARM, q, Clearance(world=[region]))
    assert np.abs(measure_gaps(whole, both, moving) - gaps).max() < 1e-12
    assert (gaps < 0.0).any()
    assert (gaps > 0.0).any()
    goal = Reach(TCP, there.translation)
    held = poise.solve(whole, goal, np.append(ARM.rest, both[0, ARM.nq :]), limits=[moving], restarts=0)
    assert measure_gaps(whole, held.q[None], moving)[0] >= 0.0
    assert np.array_equal(held.q[ARM.nq :], both[0, ARM.nq :])


def measure_gaps(model, q, limit):
    """The least gap of each pose, in lengths of the body, as the kernel of clips sees it."""
    kernel = Kernel(poise.Motion(model, q), [], 1.0, 1.0, 1.0, None, [limit], 0)
    return kernel.solve(q, 0, len(q), np.ones(len(q), dtype=bool), 0).gaps


def test_a_box_that_may_move_is_pushed_away():
    builder = ModelBuilder("two")
    builder.add_joint("finger", None, "prismatic", axis=(1, 0, 0), lower=-1.0, upper=1.0)
    builder.add_shape("finger", Sphere(0.05))
    body = builder.build()
    things = ModelBuilder("things").add_joint("crate", None, "planar").build()
    whole = add_objects(body, things.layout.specs)
    carried = CarriedObject(poise.Object(Box((0.2, 0.2, 0.2)), np.eye(4), name="crate"), "crate", frozenset())
    limit = ClearOfObjects.extend(Clearance(), body, (carried,))
    start = np.array([-0.3, 0.0, 0.02, 0.1])
    solution = poise.solve(whole, Reach("finger", (0.4, 0.0, 0.0)), start, limits=[limit], restarts=0)
    assert solution.reached
    x, *place = solution.q
    turn = np.array([[np.cos(place[2]), -np.sin(place[2])], [np.sin(place[2]), np.cos(place[2])]])
    over = np.abs(turn.T @ (np.array([x, 0.0]) - place[:2])) - 0.1
    assert np.linalg.norm(np.maximum(over, 0.0)) + min(over.max(), 0.0) > 0.05 - 1e-6
