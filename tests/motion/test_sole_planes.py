"""Soles lie flat by their own plane: not by how a body happens to be turned in its rest pose."""

import numpy as np
import pytest

import poise
from poise.anatomy import find_feet
from poise.motion import retarget
from poise.motion.contact.sole_places import find_stretch
from walkers import make_machine
from walks import make_walk

BODIES = {
    "rolled": lambda: make_machine(roll=0.05),
    "rolled more": lambda: make_machine(roll=0.2),
    "leans": lambda: make_machine(lean=0.08),
    "leans, rolled": lambda: make_machine(lean=0.05, roll=-0.05),
}


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["clip", "online"])
@pytest.mark.parametrize("name", list(BODIES))
def test_a_sole_stands_flat_on_the_floor_however_it_is_turned_in_the_rest_pose(name, mode):
    model = BODIES[name]()
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
    assert np.median(heights.min(axis=0)) < 1e-3
    assert carried.quality.sink_max < 0.01


@pytest.mark.parametrize("name", [*BODIES, "plain"])
def test_a_flat_sole_has_all_of_its_corners_at_one_height(name):
    edges = find_feet(BODIES.get(name, make_machine)())[0].edges
    assert len(edges) == 2
    for edge in edges:
        assert np.abs(edge.rises).max() < 1e-9
        assert edge.stands < 1e-9


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
