"""Cases at the edge of scenes and contacts: upright rods, shared points, point feet, held poses, held objects."""

import numpy as np

import poise
from poise import Motion
from poise.limits import Box, Capsule, Clearance, Cylinder
from poise.limits.near_pairs import find_near_pairs
from poise.motion import contacts
from poise.motion.clips.clear_lock import reduce_pairs
from poise.motion.contact.ledger import Contact
from poise.motion.contact.region_shapes import find_extent
from poise.motion.contact.scene import read_scene
from poise.motion.scenes.stances import push_back
from walks import make_walk

UP = np.array([0.0, 0.0, 1.0])


def test_an_upright_rod_is_the_ground_above_it_alone():
    places = np.array([[0.1, 0.0, 0.4], [5.0, 0.0, 0.25]])
    for rod, top in ((Cylinder((0, 0, 0), (0, 0, 0.3), 0.2), 0.3), (Capsule((0, 0, 0), (0, 0, 0.3), 0.2), None)):
        low, high = find_extent(rod, places, UP)
        wanted = 0.3 + np.sqrt(0.2**2 - 0.1**2) if top is None else top
        np.testing.assert_allclose(high[0], wanted, atol=1e-12)
        assert high[1] == -np.inf
        assert low[1] == np.inf


def test_point_feet_are_moved_out_of_walls():
    model = poise.load("humanoid")
    clip = Motion(model, np.tile(model.rest, (3, 1)), 30.0)
    scene = read_scene([Box((0.0, 0.1, 2.0), (1.0, 0.2, 1.0))], model)
    assert scene is not None
    stance = [Contact("foot_l", 0, 3, name="sole_1_l"), Contact("foot_r", 0, 3, name="sole_1_r")]
    places = np.array([clip.positions(c.frame)[0] for c in stance])
    assert np.isfinite(push_back(scene, clip, stance, places, {})).all()


def test_a_pose_held_before_a_clip_leaves_its_contacts():
    walk = make_walk(60)
    noisy = walk.q + 1e-5 * np.random.default_rng(0).normal(size=walk.q.shape)
    alone = contacts(Motion(walk.model, noisy, walk.fps))
    held = np.concatenate([np.tile(noisy[:1], (300, 1)), noisy])
    after = contacts(Motion(walk.model, held, walk.fps))
    count = sum(len(c) for c in alone)
    assert sum(max(0, c.end - max(c.start, 300)) for c in after) > 0.8 * count


def test_near_pairs_keep_objects_that_are_held():
    model = poise.load("humanoid")
    limit = Clearance(held={"hand_l": Box((0.0, 0.0, 0.0), (0.1, 0.1, 0.1))})
    near = find_near_pairs(model, limit, np.array(model.rest)[None], 0.1)
    reduced = reduce_pairs(limit, {(int(i), int(j)) for i, j in near})
    assert reduced.held == limit.held
    assert np.isfinite(reduced.measure_gap(model, model.rest))
