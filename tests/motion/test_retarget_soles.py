"""Soles: contacts are exact, no corner is below the floor, and a sole lies flat by its own plane."""

import numpy as np
import pytest

import poise
from falls import fall
from poise import Motion
from poise.anatomy import find_feet
from poise.motion import contacts, retarget
from poise.motion.contact.detector import ContactDetector
from poise.motion.contact.level_soles import flag_level
from poise.motion.contact.sole_places import find_stretch
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
    """The lean of a foot is measured in the solve that holds it, not in the one before it."""
    rng = np.random.default_rng(seed)
    walk = make_walk(int(rng.integers(60, 120)))
    if seed % 2:
        walk = put_skate_in(walk, seed=seed)
    swaying = lean(walk.smoothed(rng.uniform(2.0, 9.0)), rng.uniform(0.05, 0.14), rng.uniform(0.0, 6.0))
    check_soles(swaying, make_machine(nods=True, bend=0.3 * (seed % 3 == 0)))


TURNED = {
    "rolled": lambda: make_machine(roll=0.05),
    "rolled more": lambda: make_machine(roll=0.2),
    "leans": lambda: make_machine(lean=0.08),
    "leans, rolled": lambda: make_machine(lean=0.05, roll=-0.05),
}


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["clip", "online"])
@pytest.mark.parametrize("name", list(TURNED))
def test_a_sole_stands_flat_on_the_floor_however_it_is_turned_in_the_rest_pose(name, mode):
    model = TURNED[name]()
    up, known = model.up_direction, poise.roles(model).contacts
    plain, carried = (retarget(make_walk(60), body, mode=mode) for body in (make_machine(), model))
    held = [sum(map(len, each.contacts)) for each in (plain, carried)]
    assert held[1] > 0.9 * held[0]
    corners = {n: p for n, p in known.items() if n.startswith("sole")}
    heights = {n: carried.motion.positions(p.frame, p.point) @ up for n, p in corners.items()}
    assert min(h.min() for h in heights.values()) > -1e-5
    assert carried.quality.sink_max < 0.01
    for side in "lr":
        edges = [c for c in carried.contacts if c.name.endswith(f"_{side}")]
        flat = [set(range(c.start, c.end)) for c in edges if c.name == f"heel_{side}"]
        also = [set(range(c.start, c.end)) for c in edges if c.name == f"toe_{side}"]
        frames = sorted(set().union(*flat) & set().union(*also))
        assert len(frames) > 5
        assert max(h[frames].max() for n, h in heights.items() if n.endswith(f"_{side}")) < 2e-4


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["clip", "online"])
@pytest.mark.parametrize("nods", [False, True])
def test_a_sole_that_is_not_flat_stands_on_its_lowest_corners(nods, mode):
    model = make_machine(twist=0.003, nods=nods)
    assert [edge.stands for edge in find_feet(model)[0].edges] == pytest.approx([0.0015, 0.0015])
    carried = retarget(make_walk(60), model, mode=mode)
    corners = [p for n, p in poise.roles(model).contacts.items() if n.startswith("sole")]
    heights = np.array([carried.motion.positions(p.frame, p.point) @ model.up_direction for p in corners])
    assert len(carried.contacts) > 4
    assert not carried.track.released
    assert heights.min() > -1e-5
    assert np.median(heights.min(axis=0)) < 1.5e-3  # a foot leans by other angles while it stands
    assert carried.quality.sink_max < 0.05


@pytest.mark.parametrize("name", [*TURNED, "plain"])
def test_a_flat_sole_has_all_of_its_corners_at_one_height(name):
    edges = find_feet(TURNED.get(name, make_machine)())[0].edges
    assert len(edges) == 2
    for edge in edges:
        assert np.abs(edge.rises).max() < 1e-9
        assert edge.stands < 1e-9


@pytest.mark.parametrize(
    ("pitch", "roll", "stands"),
    [
        (0, 0, (True, True)),
        (30, 0, (True, True)),
        (60, 0, (False, True)),
        (-60, 0, (True, True)),
        (-88, 0, (True, False)),
        (-75, 70, (True, True)),
        (0, 60, (False, False)),
        (0, -60, (False, False)),
        (0, 180, (False, False)),
    ],
)
def test_a_sole_stands_only_while_it_faces_the_floor(pitch, roll, stands):
    """A heel stands with the toes up by 38 degrees at most, a toe also on an upright foot, neither on its side."""
    turn = poise.Rotation.from_euler("ZXY", np.radians([pitch, roll, 0.0])).matrix
    heel, toe, ankle = (turn @ np.array(point) for point in ((-0.05, 0, 0), (0.15, 0, 0), (0, 0.08, 0)))
    assert tuple(bool(each) for each in flag_level(heel, toe, ankle, np.array([0.0, 1.0, 0.0]))) == stands


def test_the_heels_of_a_lying_body_do_not_stand():
    assert max(contact.end for contact in contacts(fall())) < 30


def test_a_detector_returns_the_contacts_of_each_frame() -> None:
    detector = ContactDetector(1, 30.0, 1)
    seen = [detector.watch([[0.0, 0.0, 0.0]], [0.0], 1.0, [k < 3]) for k in range(5)]
    assert seen == [[False], [True], [True], [False], [False]]


def test_a_foot_has_its_points_its_edges_and_its_links_by_side():
    feet = {foot.side: foot for foot in find_feet(make_machine())}
    assert set(feet) == {"l", "r"}
    for side, foot in feet.items():
        assert {point.name for point in foot.standing} == {f"heel_{side}", f"toe_{side}"}
        assert [edge.name for edge in foot.edges] == [f"toe_{side}", f"heel_{side}"]
        assert foot.lies
        assert foot.ankle in foot.links
        assert foot.knee not in foot.links
    assert not any(foot.lies for foot in find_feet(make_machine(nods=True)))


@pytest.mark.parametrize("far", [0.1, 0.25])
def test_two_places_get_their_distance_by_a_level_shift(far):
    up, first, second = np.array([0.0, 0.0, 1.0]), np.zeros(3), np.array([0.15, 0.05, 0.02])
    shift = find_stretch(first, second, far, up)
    assert shift @ up == 0.0
    assert np.linalg.norm(second + shift) == pytest.approx(far)
    assert not find_stretch(first, np.array([0.1, 0.0, 2.0 * far]), far, up).any()
