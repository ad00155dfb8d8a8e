"""Motions on stairs, boxes, ramps and height maps."""

import numpy as np
import pytest

import poise
from poise.errors import InvalidValue
from poise.limits import Box, HalfSpace, HeightMap, PointCloud
from poise.motion import retarget
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


@pytest.mark.parametrize(
    ("scene", "fragment"),
    [
        ("stairs", "scene is"),
        ([1.0], "scene is"),
        ([PointCloud(np.zeros((4, 3)), 0.1)], "scene is"),
        ([HeightMap(np.zeros((2, 2)), 1.0, up="y")], "up='z'"),
        ([Box((0.0, 0.0, 1.0), (2.0, 2.0, 2.0))], "begins inside"),
    ],
)
def test_scenes_that_cannot_be_are_rejected(scene, fragment):
    with pytest.raises(InvalidValue, match=fragment):
        retarget(make_walk(12), make_machine(), scene=scene)


def test_a_stream_has_no_scene():
    with pytest.raises(InvalidValue, match="whole clips"):
        retarget(make_walk(4), make_machine(), mode="online", scene=[Box((0.0, 5.0, 0.0), (1.0, 1.0, 1.0))])
