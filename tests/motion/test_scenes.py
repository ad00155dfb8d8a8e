"""Scenes: stairs, walls, rods and held poses."""

import numpy as np
import pytest

import poise
from poise import Motion
from poise.limits import Box, Capsule, Clearance, Cylinder, HalfSpace, HeightMap
from poise.limits.near_pairs import find_near_pairs, reduce_pairs
from poise.motion import contacts, retarget
from poise.motion.contact.ledger import Contact
from poise.motion.contact.region_shapes import find_extent
from poise.motion.contact.scene import read_scene
from poise.motion.scenes.stances import push_back
from walkers import make_machine
from walks import STRIDE, make_walk

RISE = 0.12


def list_stairs(model, scale, count=4, depth=STRIDE, rise=RISE):
    """Boxes below the places of the walk, the first higher than the floor; each reaches down to the floor."""
    turn = poise.Rotation.between((0.0, 1.0, 0.0), model.up_direction)
    out = []
    for k in range(1, count + 1):
        ahead, high = scale * (depth * (k + 0.05)), scale * rise * k
        size, center = (2.0, high, scale * depth), (0.0, 0.5 * high, ahead)
        out.append(Box(center, size, transform=poise.Transform(turn), name=f"stair {k}"))
    return out


def list_soles(model):
    """The corners of the soles, by frame and point."""
    known = poise.roles(model).contacts
    return [(p.frame, p.point) for n, p in known.items() if n.startswith(("sole", "heel", "toe"))]


def measure_depth(carried, boxes):
    """The depth of the deepest sole in boxes and below height 0, and the largest slip in contact [m]; by plain sums."""
    motion, up = carried.motion, carried.motion.model.up_direction
    deepest, slip = 0.0, 0.0
    for frame, point in list_soles(motion.model):
        path = motion.positions(frame, point)
        deepest = max(deepest, float(-(path @ up).min()))
        for box in boxes:
            local = (path - np.array(box.center)) @ box.matrix
            deepest = max(deepest, float((0.5 * np.array(box.size) - np.abs(local)).min(axis=1).max()))
    for contact in carried.contacts:
        path = motion.positions(contact.frame, contact.point)[contact.start : contact.end]
        slip = max(slip, float(np.linalg.norm(np.diff(path, axis=0), axis=1).max(initial=0.0)))
    return deepest, slip


def test_a_walk_up_stairs_stands_on_them():
    walk, model = make_walk(84, rise=RISE), make_machine()
    scale = retarget(walk[:2], model).scale
    stairs = list_stairs(model, scale)
    carried = retarget(walk, model, scene=stairs)
    deepest, slip = measure_depth(carried, stairs)
    heights = {round(float(np.dot(c.place, model.up_direction)) / (scale * RISE)) for c in carried.contacts}
    assert heights == {0, 1, 2}
    assert slip < 1e-5
    assert deepest < 1e-3
    assert carried.quality.sink_max < 1.0
    assert "inside the scene" not in carried.why()


def test_the_same_stairs_as_a_height_map():
    """Nearly vertical risers between two rows of the grid."""
    walk, model = make_walk(60, rise=RISE), make_machine()
    scale = retarget(walk[:2], model).scale
    ahead = np.arange(0.0, 2.5, 0.01)
    level = np.clip(np.floor(ahead / STRIDE + 0.45), 0.0, None) * RISE
    grid = np.tile(scale * level[::-1], (2, 1)).T  # the machine walks along -y
    terrain = HeightMap(grid, (4.0, 0.01 * scale), center=(0.0, -0.5 * scale * ahead[-1], 0.0))
    carried = retarget(walk, model, scene=terrain)
    up = model.up_direction
    places = [np.array(c.place) for c in carried.contacts]
    assert max(float(p @ up) for p in places) == pytest.approx(2.0 * scale * RISE, abs=1e-6)
    assert carried.quality.sink_max < 1.0


def test_a_level_walk_climbs_a_box():
    """The source is on a level floor: the hips rise with the feet."""
    walk, model = make_walk(84), make_machine()
    scale = retarget(walk[:2], model).scale
    turn = poise.Rotation.between((0.0, 1.0, 0.0), model.up_direction)
    box = Box((0.0, 0.05, 2.75 * scale * STRIDE), (2.0, 0.1, 4.0 * scale * STRIDE), transform=poise.Transform(turn))
    plain, carried = retarget(walk, model), retarget(walk, model, scene=[box])
    deepest, slip = measure_depth(carried, [box])
    assert slip < 1e-5
    assert deepest < 1e-3
    hips = [m.motion.positions("pelvis")[-1] @ model.up_direction for m in (plain, carried)]
    assert hips[1] - hips[0] == pytest.approx(0.1, abs=0.03)


def test_soles_follow_a_ramp():
    walk, model = make_walk(60), make_machine()
    normal = np.array([0.15, 0.1, 1.0])
    carried = retarget(walk, model, scene=[HalfSpace((0.0, 0.0, 0.0), normal)])
    unit = normal / np.linalg.norm(normal)
    standing = [c for c in carried.contacts if c.name.startswith("heel") and c.place[2] > 0.02]
    assert standing
    for contact in standing:
        R = model.fk(carried.motion.q[(contact.start + contact.end) // 2], contact.frame)[:3, :3]
        assert R[:, 2] @ unit > np.cos(np.radians(2.0))


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
